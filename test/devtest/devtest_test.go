package devtest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/devtest"
)

func TestPostgresGivesEachCallItsOwnMigratedDatabase(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	stores := func(dsn string) (n int) {
		t.Helper()
		conn, err := pgx.Connect(ctx, dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx)
		if err := conn.QueryRow(ctx, "select count(*) from store").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	first, second := devtest.Postgres(t), devtest.Postgres(t)
	conn, err := pgx.Connect(ctx, first)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "insert into store (store_id, name) values (gen_random_uuid(), 'a')"); err != nil {
		t.Fatal(err)
	}
	if a, b := stores(first), stores(second); a != 1 || b != 0 {
		t.Errorf("stores in the two databases: %d and %d, want 1 and 0", a, b)
	}
}

func TestKafkaTakesAndGivesRecordsOfOurTopics(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	client, err := kafka.NewClient(kafka.Config{Brokers: []string{devtest.Kafka(t)}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	want := kafka.Record{Key: []byte("c_1"), Value: []byte("value")}
	if err := kafka.NewProducer(client).Produce(ctx, wire.TopicEvents, want); err != nil {
		t.Fatal(err)
	}
	stop := context.Canceled
	partition := kafka.PartitionFor(want.Key, devtest.Partitions)
	err = client.Follow(ctx, wire.TopicEvents, partition, kafka.FromFirst, func(_ int64, got kafka.Record) error {
		if string(got.Value) != string(want.Value) {
			t.Errorf("value %q, want %q", got.Value, want.Value)
		}
		return stop
	}, nil)
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
}

func TestRealKafkaKeepsWhatItAcknowledgedOverAKill(t *testing.T) {
	t.Parallel()
	broker := devtest.RealKafka(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, err := kafka.NewClient(kafka.Config{Brokers: []string{broker.Addr}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	producer := kafka.NewProducer(client)
	if err := producer.Produce(ctx, wire.TopicResults, kafka.Record{Key: []byte("c_1"), Value: []byte("first")}); err != nil {
		t.Fatal(err)
	}
	broker.Kill()
	broker.Restart()
	if err := producer.Produce(ctx, wire.TopicResults, kafka.Record{Key: []byte("c_1"), Value: []byte("second")}); err != nil {
		t.Fatal(err)
	}
	var got []string
	err = client.Follow(ctx, wire.TopicResults, 0, kafka.FromFirst, func(_ int64, r kafka.Record) error {
		if got = append(got, string(r.Value)); len(got) == 2 {
			return context.Canceled
		}
		return nil
	}, nil)
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if got[0] != "first" || got[1] != "second" {
		t.Errorf("the log holds %q, want first and second", got)
	}
}
