package devtest

import (
	"context"
	"testing"
	"time"

	"github.com/tributary-io/tributary/dev/devstack"
	"github.com/tributary-io/tributary/internal/kafka"
)

// Partitions is the count of events.v1 and commerce.v1 in tests and in dev.
const Partitions = 8

// Kafka starts an embedded broker with our topics, in memory, and returns its
// address. It is stopped when the test ends.
func Kafka(t testing.TB) (broker string) {
	t.Helper()
	b, err := devstack.StartBroker(devstack.BrokerConfig{})
	if err != nil {
		t.Fatalf("devtest: %v", err)
	}
	t.Cleanup(b.Stop)
	ensureTopics(t, b.Addr())
	return b.Addr()
}

func ensureTopics(t testing.TB, broker string) {
	t.Helper()
	client, err := kafka.NewClient(kafka.Config{Brokers: []string{broker}, ClientID: "devtest"})
	if err != nil {
		t.Fatalf("devtest: %v", err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	plan := kafka.TopicPlan{Partitions: Partitions, Replication: 1, MinInsyncReplicas: 1, KeepForever: true}
	if err := client.EnsureTopics(ctx, plan); err != nil {
		t.Fatalf("devtest: %v", err)
	}
}
