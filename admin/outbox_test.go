package admin_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"testing"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// awayKafka takes nothing.
type awayKafka struct{}

func (awayKafka) Produce(context.Context, string, ...wire.Record) error {
	return errors.New("Kafka is away")
}

// metric reads one value, -1 where it is not there.
func (s *service) metric(name string) float64 {
	s.t.Helper()
	response, err := http.Get(s.url + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(page)
	if found == nil {
		return -1
	}
	value, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return value
}

// Every admin says what waits, also one that has never published: otherwise an
// outbox that nobody publishes looks as an empty one.
func TestTheOutboxIsMeasuredWhoeverPublishes(t *testing.T) {
	t.Parallel()
	dsn, broker := devtest.Postgres(t), devtest.Kafka(t)
	s := startWith(t, admin.Config{}, dsn, broker, func(d *admin.Deps) { d.Producer = awayKafka{} })
	await.Until(t, await.Long, func() bool {
		return s.metric("tributary_admin_outbox_waiting") > 0 && s.metric("tributary_admin_outbox_oldest_age_seconds") > 0
	}, func() string { return "the store's companies wait, and no metric says so" })
	other := startOn(t, admin.Config{}, dsn, broker) // publishes them
	for _, one := range []*service{s, other} {
		await.Until(t, await.Long, func() bool {
			return one.metric("tributary_admin_outbox_waiting") == 0 && one.metric("tributary_admin_outbox_oldest_age_seconds") == 0
		}, func() string { return "all is published, and the metrics say that something waits" })
	}
}
