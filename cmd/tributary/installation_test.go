package main

import (
	"strings"
	"testing"

	segment "github.com/segmentio/kafka-go"

	"github.com/tributary-io/tributary/internal/devstack/devtest"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
)

// TestServicesOfAnotherInstallationAreRefused: two databases, one Kafka. The second one's
// processor and admin end, its processor joins no group and writes no dead letter, migrate
// refuses to take the topics, and doctor says it. With a prefix both go on.
func TestServicesOfAnotherInstallationAreRefused(t *testing.T) {
	live, _ := installation(t)
	broker := devtest.Kafka(t)
	t.Setenv("TRIBUTARY_KAFKA_BROKERS", broker)
	t.Setenv("TRIBUTARY_ADDR", "127.0.0.1:0")
	t.Setenv("TRIBUTARY_TOKEN_SECRET", strings.Repeat("t", 32))
	plan := []string{"migrate", "--partitions", "8", "--replication", "1", "--min-insync-replicas", "1"}
	f := func(status int, want string, args ...string) {
		t.Helper()
		if out, got := command(t, args...); got != status || !strings.Contains(out, want) {
			t.Errorf("%s: exit status %d and\n%s\nwant %d and %s", strings.Join(args, " "), got, out, status, want)
		}
	}
	f(0, "up to date", plan...)
	f(0, "up to date", plan...) // its own topics
	publishCompany(t, broker, live.CompanyID, hasherOf(t, "s"))
	publishCompany(t, broker, "c_unknown", hasherOf(t, "s"))
	client := newClient(t, broker)
	if err := kafka.NewProducer(client).Publish(t.Context(), wire.TopicEvents, []byte(live.CompanyID), []byte("{}")); err != nil {
		t.Fatal(err)
	}

	other := devtest.Postgres(t)
	execute(t, other, `update installation set installation_id = 'i_other'`) // the tests' databases are copies of one
	t.Setenv("TRIBUTARY_POSTGRES", other)
	const refused = "these topics belong to another installation: directory.v1 is of i_"
	f(1, refused, plan...)
	f(1, refused, "processor")
	f(1, refused, "admin", "--short-base", "go.example.com")
	if records, err := client.ReadPartition(t.Context(), wire.TopicRejected, 0); err != nil || len(records) != 0 {
		t.Errorf("%d dead letters (%v), want none", len(records), err)
	}
	groups, err := (&segment.Client{Addr: segment.TCP(broker)}).ListGroups(t.Context(), &segment.ListGroupsRequest{})
	if err != nil || len(groups.Groups) != 0 {
		t.Errorf("groups %+v (%v), want none", groups.Groups, err)
	}
	p := &patient{t, oneBroker(broker)}
	p.dsn = other
	p.finds("FAIL", "installation", "belong to another installation")

	t.Setenv("TRIBUTARY_TOPIC_PREFIX", "staging.")
	f(0, "up to date", plan...)
	running := start(t, "processor")
	running.says("partition owned")
	running.stop()
	p.kafka.TopicPrefix = "staging."
	p.finds("ok", "installation", "i_other")
}

// TestADirectoryOfBeforeIsNotTakenByAnEmptyDatabase: it names no installation and has companies
// that the database does not know.
func TestADirectoryOfBeforeIsNotTakenByAnEmptyDatabase(t *testing.T) {
	live, _ := installation(t)
	broker := devtest.Kafka(t)
	t.Setenv("TRIBUTARY_KAFKA_BROKERS", broker)
	plan := []string{"migrate", "--partitions", "8", "--replication", "1", "--min-insync-replicas", "1"}
	publishCompany(t, broker, "c_unknown", hasherOf(t, "s"))
	if out, status := command(t, plan...); status != 1 || !strings.Contains(out, "directory.v1 has companies, such as c_unknown, of which the database has none") {
		t.Errorf("exit status %d:\n%s", status, out)
	}
	publishCompany(t, broker, live.CompanyID, hasherOf(t, "s"))
	if out, status := command(t, plan...); status != 0 {
		t.Errorf("exit status %d:\n%s", status, out)
	}
}
