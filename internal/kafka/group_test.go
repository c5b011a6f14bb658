package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/devtest"
)

func newGroup(t *testing.T) (*kafka.Client, func() *kafka.Group) {
	t.Helper()
	client, err := kafka.NewClient(kafka.Config{Brokers: []string{devtest.Kafka(t)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client, func() *kafka.Group {
		return kafka.NewGroup(client, "g", nil, wire.TopicEvents, wire.TopicCommerce)
	}
}

// member joins the group and tells of each partition gained and lost.
type member struct {
	mu    sync.Mutex
	owned map[int]bool
	moved chan struct{}
	stop  func() error
}

func join(ctx context.Context, g *kafka.Group) *member {
	m := &member{owned: map[int]bool{}, moved: make(chan struct{}, 1000)}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		done <- g.Consume(ctx, func(ctx context.Context, partition int) error {
			m.set(partition, true)
			<-ctx.Done()
			m.set(partition, false)
			return nil
		})
	}()
	m.stop = func() error { cancel(); return <-done }
	return m
}

func (m *member) set(partition int, owned bool) {
	m.mu.Lock()
	m.owned[partition] = owned
	m.mu.Unlock()
	m.moved <- struct{}{}
}

func (m *member) count() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, owned := range m.owned {
		if owned {
			n++
		}
	}
	return n
}

func awaitCount(t *testing.T, ctx context.Context, m *member, want int) {
	t.Helper()
	for m.count() != want {
		select {
		case <-m.moved:
		case <-ctx.Done():
			t.Fatalf("%d partitions owned, want %d", m.count(), want)
		}
	}
}

func TestMembersShareThePartitionsAndTakeOverFromWhoLeaves(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, group := newGroup(t)
	first := join(ctx, group())
	awaitCount(t, ctx, first, devtest.Partitions)
	second := join(ctx, group())
	awaitCount(t, ctx, second, devtest.Partitions/2)
	awaitCount(t, ctx, first, devtest.Partitions/2)
	if err := first.stop(); err != nil {
		t.Error(err)
	}
	awaitCount(t, ctx, second, devtest.Partitions)
	if err := second.stop(); err != nil {
		t.Error(err)
	}
	if first.count()+second.count() != 0 {
		t.Error("Consume returned before its owners")
	}
}

func TestAnOwnersErrorEndsConsumeAndStopsTheOthers(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, group := newGroup(t)
	broken := errors.New("broken")
	err := group().Consume(ctx, func(ctx context.Context, partition int) error {
		if partition == 3 {
			return broken
		}
		<-ctx.Done()
		return nil
	})
	if !errors.Is(err, broken) {
		t.Errorf("Consume: %v, want %v", err, broken)
	}
}

func TestReadBeginsWhereItIsToldTo(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, group := newGroup(t)
	g := group()
	key := []byte("c_1")
	partition, err := g.PartitionOf(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	producer := kafka.NewProducer(client)
	for i := range 5 {
		if err := producer.Publish(ctx, wire.TopicEvents, key, fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	if first, next, err := g.Bounds(ctx, wire.TopicEvents, partition); err != nil || first != 0 || next != 5 {
		t.Errorf("bounds %d to %d, %v; want 0 to 5", first, next, err)
	}
	var got string
	enough := errors.New("enough")
	err = g.Read(ctx, wire.TopicEvents, partition, 2, func(r wire.Fetched) error {
		got += fmt.Sprintf("%d:%s:%s ", r.Offset, r.Key, r.Value)
		if r.Offset == 4 {
			return enough
		}
		return nil
	})
	if want := "2:c_1:2 3:c_1:3 4:c_1:4 "; !errors.Is(err, enough) || got != want {
		t.Errorf("read %q, %v; want %q", got, err, want)
	}
	if err := g.Read(ctx, wire.TopicEvents, partition, 99, func(wire.Fetched) error { return nil }); err == nil || ctx.Err() != nil {
		t.Errorf("reading past the end: %v, want an error at once", err)
	}
}
