package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

func TestTheEndOfALogIsRead(t *testing.T) {
	t.Parallel()
	tailOn(t, devtest.Kafka(t))
}

func TestTheEndOfALogOfARealKafkaIsRead(t *testing.T) {
	t.Parallel()
	tailOn(t, devtest.RealKafka(t).Addr)
}

// tailOn reads the tail of rejected.v1, which has one partition for all keys.
func tailOn(t *testing.T, broker string) {
	t.Helper()
	client, err := kafka.NewClient(kafka.Config{Brokers: []string{broker}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	producer, ctx := kafka.NewProducer(client), t.Context()
	put := func(key, value string) {
		t.Helper()
		if err := producer.Produce(ctx, wire.TopicRejected, kafka.Record{Key: []byte(key), Value: []byte(value)}); err != nil {
			t.Fatal(err)
		}
	}
	f := func(what string, from int64, most int, values string, next, skipped int64) {
		t.Helper()
		tail, err := client.Tail(ctx, wire.TopicRejected, []byte("a"), from, most)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		var got []string
		for _, value := range tail.Values {
			got = append(got, string(value[:min(len(value), 8)]))
		}
		if strings.Join(got, " ") != values || tail.Next != next || tail.Skipped != skipped {
			t.Errorf("%s: %q to %d, %d skipped; want %q to %d, %d skipped", what, got, tail.Next, tail.Skipped, values, next, skipped)
		}
	}
	// A topic that was made just now has no leader yet.
	await.Until(t, await.Long, func() bool {
		_, err = client.Tail(ctx, wire.TopicRejected, []byte("a"), -1, 1)
		return err == nil
	}, func() string { return fmt.Sprint(err) })
	f("an empty log", -1, 10, "", 0, 0)
	for i := range 10 {
		put([]string{"a", "b"}[i%2], fmt.Sprint(i))
	}
	f("a first look", -1, 100, "0 2 4 6 8", 10, 0)
	f("a bounded look", -1, 4, "6 8", 10, 0)
	f("what is new", 7, 100, "8", 10, 0)
	f("nothing new", 10, 100, "", 10, 0)
	f("far behind", 1, 4, "6 8", 10, 5)
	f("an offset of another log", 1000, 4, "6 8", 10, 0)
	for range 3 {
		put("a", strings.Repeat("x", 900<<10))
	}
	f("values that are too many bytes", 10, 100, "xxxxxxxx xxxxxxxx", 13, 1)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := client.Tail(ended, wire.TopicRejected, []byte("a"), -1, 10); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
	if _, err := client.Tail(ctx, "no.such.topic", []byte("a"), -1, 10); err == nil {
		t.Error("a topic that is not there has a tail")
	}
}
