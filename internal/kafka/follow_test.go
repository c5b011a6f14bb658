package kafka_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
)

// A follower that claims the end too early makes an edge refuse companies that
// it has yet to read, for good.
func TestASlowReaderIsNotCaughtUp(t *testing.T) {
	cluster, client := broker(t)
	if err := client.EnsureTopics(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	if err := kafka.NewProducer(client).Produce(t.Context(), wire.TopicDirectory,
		kafka.Record{Key: []byte("k"), Value: []byte("v")}); err != nil {
		t.Fatal(err)
	}
	var open atomic.Bool
	cluster.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		if open.Load() {
			return nil, nil, false
		}
		return nil, errors.New("no records now"), true
	})
	opening := time.AfterFunc(6*time.Second, func() { open.Store(true) }) // longer than a gap is waited for
	defer opening.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	handled := 0
	err := client.Follow(ctx, wire.TopicDirectory, 0, kafka.FromFirst, func(int64, kafka.Record) error {
		handled++
		return nil
	}, func() {
		if handled != 1 {
			t.Errorf("caught up after %d of 1 records", handled)
		}
		cancel()
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// What compaction took from the log's end never comes: it must not be waited
// for, and no record may pass for it.
func TestAGapHoldsNoRecord(t *testing.T) {
	_, client := broker(t)
	if err := client.EnsureTopics(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	if err := kafka.NewProducer(client).Produce(t.Context(), wire.TopicDirectory,
		kafka.Record{Key: []byte("k"), Value: []byte("v")}); err != nil {
		t.Fatal(err)
	}
	if !client.IsGap(t.Context(), wire.TopicDirectory, 0, 1, 2) {
		t.Error("nothing is after the last record")
	}
	if client.IsGap(t.Context(), wire.TopicDirectory, 0, 0, 1) {
		t.Error("a record was taken for a gap")
	}
}
