package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/devtest"
)

func TestAPartitionIsReadToItsEndAsItStands(t *testing.T) {
	t.Parallel()
	client, err := kafka.NewClient(kafka.Config{Brokers: []string{devtest.Kafka(t)}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	key := []byte("c_1")
	partition := kafka.PartitionFor(key, devtest.Partitions)
	if records, err := client.ReadPartition(t.Context(), wire.TopicEvents, partition); err != nil || len(records) != 0 {
		t.Errorf("an empty partition has %d records, %v", len(records), err)
	}
	producer := kafka.NewProducer(client)
	const n = 2500 // of several batches and several fetches
	big := make([]byte, 4000)
	for i := range n {
		big[0] = byte(i)
		record := kafka.Record{Key: key, Value: append([]byte(fmt.Sprintf("%06d ", i)), big...)}
		if i%50 == 49 {
			record.Value = nil // a tombstone
		}
		if err := producer.Produce(t.Context(), wire.TopicEvents, record); err != nil {
			t.Fatal(err)
		}
	}
	records, err := client.ReadPartition(t.Context(), wire.TopicEvents, partition)
	if err != nil || len(records) != n {
		t.Fatalf("%d records, %v; want %d", len(records), err, n)
	}
	for i, r := range records {
		if string(r.Key) != "c_1" || (i%50 == 49) != (r.Value == nil) || r.Value != nil && string(r.Value[:6]) != fmt.Sprintf("%06d", i) {
			t.Fatalf("record %d is %.20q", i, r.Value)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.ReadPartition(ctx, wire.TopicEvents, partition); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
}
