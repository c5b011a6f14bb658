package kafka_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	segment "github.com/segmentio/kafka-go"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/devtest"
)

// TestInstallationsWithPrefixesShareAClusterAndNothingElse: topics, offsets and groups.
func TestInstallationsWithPrefixesShareAClusterAndNothingElse(t *testing.T) {
	t.Parallel()
	broker := devtest.Kafka(t) // with topics without a prefix
	ctx := t.Context()
	var clients []*kafka.Client
	for _, prefix := range []string{"", "staging.", "test_2-"} {
		client, err := kafka.NewClient(kafka.Config{Brokers: []string{broker}, TopicPrefix: prefix})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		if prefix != "" {
			if missing, err := client.MissingTopics(ctx, wire.TopicEvents); err != nil || len(missing) != 1 {
				t.Errorf("%q: missing %v (%v), want the events", prefix, missing, err)
			}
		}
		if err := client.EnsureTopics(ctx,
			kafka.TopicPlan{Partitions: devtest.Partitions, Replication: 1, MinInsyncReplicas: 1, KeepForever: true}); err != nil {
			t.Fatal(err)
		}
		clients = append(clients, client)
	}
	key := []byte("c_1")
	for i, client := range clients {
		for range i + 1 {
			if err := kafka.NewProducer(client).Publish(ctx, wire.TopicEvents, key, []byte(client.Named("value"))); err != nil {
				t.Fatal(err)
			}
		}
	}
	partition := kafka.PartitionFor(key, devtest.Partitions)
	ids := map[string]bool{}
	for i, client := range clients {
		id, err := client.TopicID(ctx, wire.TopicEvents)
		if err != nil || ids[id] {
			t.Errorf("%q: the topic's id %q is not its own (%v)", client.Named(""), id, err)
		}
		ids[id] = true
		group := kafka.NewGroup(client, "processor", nil, wire.TopicEvents, wire.TopicCommerce)
		if _, next, err := group.Bounds(ctx, wire.TopicEvents, partition); err != nil || next != int64(i+1) {
			t.Errorf("%q: the log ends at %d (%v), want %d", client.Named(""), next, err, i+1)
		}
		if r, found, err := client.RecordAt(ctx, wire.TopicEvents, partition, 0); err != nil || !found ||
			string(r.Value) != client.Named("value") {
			t.Errorf("%q: %q, found: %t (%v)", client.Named(""), r.Value, found, err)
		}
		if records, err := client.ReadPartition(ctx, wire.TopicEvents, partition); err != nil || len(records) != i+1 {
			t.Errorf("%q: read %d records (%v)", client.Named(""), len(records), err)
		}
		if tail, err := client.Tail(ctx, wire.TopicEvents, key, -1, 10); err != nil || len(tail.Values) != i+1 {
			t.Errorf("%q: a tail of %d records (%v)", client.Named(""), len(tail.Values), err)
		}
		topics, err := client.Topics(ctx, wire.TopicEvents, wire.TopicDirectory)
		if err != nil || topics[0].Name != wire.TopicEvents || topics[0].Partitions != devtest.Partitions ||
			topics[1].Settings["cleanup.policy"] != "compact" {
			t.Errorf("%q: %+v (%v)", client.Named(""), topics, err)
		}
		ownsAll(t, group)
	}
	// All three owned all partitions, one after the other; their groups are three.
	groups, err := (&segment.Client{Addr: segment.TCP(broker)}).ListGroups(ctx, &segment.ListGroupsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, g := range groups.Groups {
		names = append(names, g.GroupID)
	}
	for _, name := range []string{"processor", "staging.processor", "test_2-processor"} {
		if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+name+" ") {
			t.Errorf("no group %s: %q", name, names)
		}
	}
	if _, err := kafka.NewClient(kafka.Config{Brokers: []string{broker}, TopicPrefix: "a/b"}); err == nil ||
		!strings.Contains(err.Error(), `"a/b"`) {
		t.Errorf("the prefix a/b: %v", err)
	}
}

// ownsAll joins the group until it owns a partition and has read its first record.
func ownsAll(t *testing.T, group *kafka.Group) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := errors.New("done")
	mine, err := group.PartitionOf(ctx, []byte("c_1"))
	if err != nil {
		t.Fatal(err)
	}
	err = group.Consume(ctx, func(ctx context.Context, partition int) error {
		if partition != mine {
			<-ctx.Done()
			return nil
		}
		return group.Read(ctx, wire.TopicEvents, partition, 0, func(wire.Fetched) error { return done })
	})
	if !errors.Is(err, done) {
		t.Errorf("consume: %v", err)
	}
}
