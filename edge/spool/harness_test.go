package spool_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	segment "github.com/segmentio/kafka-go"

	"github.com/tributary-io/tributary/edge/spool"
	"github.com/tributary-io/tributary/internal/produce"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
)

// cluster stands for Kafka where a test needs a hand on it.
type cluster struct {
	mu         sync.Mutex
	log        []string                  // values, in order
	partitions error                     // of Partitions
	answer     func(values string) error // nil: records are written
	hang       chan struct{}             // if not nil, produces wait until it is closed, and are written then
	waiting    chan struct{}             // gets a token when one waits
}

func (c *cluster) Partitions(context.Context, string) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return 1, c.partitions
}

func (c *cluster) ProducePartition(ctx context.Context, _ string, _ int, batch []wire.Record) error {
	var values []string
	for _, r := range batch {
		values = append(values, string(r.Value))
	}
	c.mu.Lock()
	hang, answer := c.hang, c.answer
	c.mu.Unlock()
	if hang != nil {
		select {
		case c.waiting <- struct{}{}:
		default:
		}
		select {
		case <-hang:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if answer != nil {
		if err := answer(strings.Join(values, " ")); err != nil {
			return err
		}
	}
	c.mu.Lock()
	c.log = append(c.log, values...)
	c.mu.Unlock()
	return nil
}

func (c *cluster) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

func (c *cluster) values() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.log, " ")
}

func (c *cluster) awaitValues(t *testing.T, want string) {
	t.Helper()
	await.Until(t, await.Long, func() bool {
		return c.values() == want
	}, func() string { return fmt.Sprintf("%q, want %q", c.values(), want) })
}

func down(string) error { return segment.BrokerNotAvailable }

// edge is a batcher with a spool.
type edge struct {
	t     *testing.T
	spool *spool.Spool
	*produce.Batcher
}

func start(t *testing.T, c *cluster, config spool.Config) *edge {
	t.Helper()
	opened, err := spool.Open(config)
	if err != nil {
		t.Fatal(err)
	}
	e := &edge{t, opened, produce.NewBatcher(c, produce.Config{
		Spool: opened, AwayAfter: 50 * time.Millisecond, Partitions: map[string]int{wire.TopicEvents: 1, wire.TopicRejected: 1},
	})}
	e.Resume()
	t.Cleanup(e.stop)
	return e
}

func (e *edge) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), await.Long)
	defer cancel()
	e.Batcher.Close(ctx)
	if err := e.spool.Close(); err != nil {
		e.t.Error(err)
	}
}

// enqueue hands over a request of some records; its caller waits for it.
func (e *edge) enqueue(values ...string) (*produce.Parcel, error) {
	p := e.NewParcel()
	for _, v := range values {
		p.Records = append(p.Records, wire.Record{Key: []byte("co"), Value: []byte(v)})
	}
	return p, e.Enqueue(wire.TopicEvents, "co", p, time.Now().Add(await.Long))
}

func (e *edge) send(values ...string) (produce.Durability, error) {
	p, err := e.enqueue(values...)
	defer p.Release()
	if err != nil {
		return "", err
	}
	return p.Wait()
}

// wantSent sends a value and wants its durability; "": either. Just after a drain
// it may be either.
func (e *edge) wantSent(value string, want produce.Durability) {
	e.t.Helper()
	if got, err := e.send(value); err != nil || want != "" && got != want {
		e.t.Errorf("%s: %q, %v; want %q", value, got, err, want)
	}
}

func (e *edge) awaitEmpty() {
	e.t.Helper()
	await.Until(e.t, await.Long, func() bool { return len(e.spool.Partitions()) == 0 }, func() string { return "the spool is drained" })
}
