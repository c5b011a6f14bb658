package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/devstack/devtest"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/factstore"
	"github.com/tributary-io/tributary/internal/wire"
)

func TestDoctorSeesOffsetsThatAreNotThisLogs(t *testing.T) {
	dsn, config := devtest.Postgres(t), kafka.Config{Brokers: []string{devtest.Kafka(t)}}
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	client, err := kafka.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	cluster, err := client.ClusterID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := func(healthy bool, want string) {
		t.Helper()
		var out bytes.Buffer
		err := examine(t.Context(), &out, dsn, config, nil)
		if !strings.Contains(out.String(), want) || (err == nil) != healthy {
			t.Errorf("%v; want %q in\n%s", err, want, out.String())
		}
	}
	offset := func(partition int, cluster string, next int64) {
		t.Helper()
		if _, err := factstore.New(db).Offset(t.Context(), wire.TopicEvents, partition, cluster, next); err != nil {
			t.Fatal(err)
		}
	}
	f(true, "no processor has run")
	offset(0, cluster, 0)
	key := []byte("c_1")
	for kafka.PartitionFor(key, devtest.Partitions) != 0 {
		key = append(key, 'x')
	}
	if err := kafka.NewProducer(client).Publish(t.Context(), wire.TopicEvents, key, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	f(true, "1 records not yet applied")
	offset(1, cluster, 5)
	f(false, "past the log's end")
}
