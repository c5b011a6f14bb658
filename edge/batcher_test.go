package edge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	segment "github.com/segmentio/kafka-go"

	"github.com/tributary-io/tributary/internal/kafka"
)

// memoryLog stands for Kafka where a test needs a hand on it: each produce
// waits for its turn, and fails as told.
type memoryLog struct {
	mu      sync.Mutex
	calls   [][]string
	fail    func(call int) error
	entered chan struct{} // gets one token per call, if not nil
	release chan struct{} // each call takes one, if not nil
}

func (l *memoryLog) Partitions(context.Context, string) (int, error) { return 4, nil }

func (l *memoryLog) ProducePartition(ctx context.Context, _ string, _ int, batch []kafka.Record) error {
	if l.entered != nil {
		l.entered <- struct{}{}
	}
	if l.release != nil {
		select {
		case <-l.release:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	values := make([]string, len(batch))
	for i, r := range batch {
		values[i] = string(r.Value)
	}
	l.calls = append(l.calls, values)
	if l.fail != nil {
		return l.fail(len(l.calls) - 1)
	}
	return nil
}

func testBatcher(t *testing.T, log *memoryLog, change func(*Config)) *batcher {
	t.Helper()
	config, err := Config{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&config)
	}
	m := newMetrics(prometheus.NewRegistry(), newDirectory(nil, config, nil, time.Now))
	return newBatcher(log, config, time.Now, m, slog.New(slog.DiscardHandler))
}

func records(values ...string) []kafka.Record {
	made := make([]kafka.Record, len(values))
	for i, v := range values {
		made[i] = kafka.Record{Key: []byte("c"), Value: []byte(v)}
	}
	return made
}

func TestWhatGathersBehindAProduceGoesTogetherInOrder(t *testing.T) {
	log := &memoryLog{entered: make(chan struct{}, 8), release: make(chan struct{})}
	b := testBatcher(t, log, nil)
	soon := time.Now().Add(10 * time.Second)
	var all []*pack
	add := func(value string) {
		packs, err := b.enqueue("events", "c", records(value), soon, nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, packs...)
	}
	add("first")
	<-log.entered
	for i := range 50 {
		add(fmt.Sprint(i))
	}
	select {
	case <-all[0].done:
		t.Fatal("acknowledged before Kafka did")
	default:
	}
	close(log.release)
	for _, p := range all {
		if err := p.await(time.After(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	b.close(t.Context())
	if len(log.calls) != 2 || len(log.calls[1]) != 50 {
		t.Fatalf("%d calls: %v", len(log.calls), log.calls)
	}
	for i, value := range log.calls[1] {
		if value != fmt.Sprint(i) {
			t.Fatalf("record %d is %s", i, value)
		}
	}
}

func TestTemporaryErrorsAreTriedAgainPermanentOnesNot(t *testing.T) {
	log := &memoryLog{fail: func(call int) error {
		switch call {
		case 0, 1:
			return segment.NotLeaderForPartition
		case 3:
			return segment.MessageSizeTooLarge
		}
		return nil
	}}
	b := testBatcher(t, log, nil)
	send := func() error {
		packs, err := b.enqueue("events", "c", records("x"), time.Now().Add(10*time.Second), nil)
		if err != nil {
			t.Fatal(err)
		}
		return packs[0].await(time.After(10 * time.Second))
	}
	if err := send(); err != nil {
		t.Errorf("after two temporary errors: %v", err)
	}
	if err := send(); !errors.Is(err, errRefused) {
		t.Errorf("a permanent error: %v", err)
	}
	b.close(t.Context())
	if len(log.calls) != 4 {
		t.Errorf("%d calls", len(log.calls))
	}
}

func TestRefusedRecordsDoNotSpoilTheOthers(t *testing.T) {
	log := &memoryLog{entered: make(chan struct{}, 8), release: make(chan struct{})}
	log.fail = func(call int) error {
		for _, value := range log.calls[call] {
			if value == "poison" {
				return segment.MessageSizeTooLarge
			}
		}
		return nil
	}
	b := testBatcher(t, log, nil)
	var all []*pack
	for i, value := range []string{"first", "a", "poison", "b"} {
		packs, err := b.enqueue("events", "c", records(value), time.Now().Add(10*time.Second), nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, packs...)
		if i == 0 {
			<-log.entered // the others gather behind it
		}
	}
	close(log.release)
	for i, p := range all {
		if err := p.await(time.After(10 * time.Second)); (err != nil) != (i == 2) {
			t.Errorf("pack %d: %v", i, err)
		}
	}
	b.close(t.Context())
}

func TestQueueIsBounded(t *testing.T) {
	log := &memoryLog{entered: make(chan struct{}, 8), release: make(chan struct{})}
	b := testBatcher(t, log, func(c *Config) { c.MaxQueuedBytes = 1000 })
	soon := time.Now().Add(10 * time.Second)
	value := string(make([]byte, 300))
	for range 3 {
		if _, err := b.enqueue("events", "c", records(value), soon, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.enqueue("events", "c", records(value), soon, nil); !errors.Is(err, errQueueFull) {
		t.Errorf("beyond the bound: %v", err)
	}
	close(log.release)
	b.close(t.Context())
	if _, err := b.enqueue("events", "c", records("x"), soon, nil); !errors.Is(err, errClosed) {
		t.Errorf("after close: %v", err)
	}
	for _, l := range b.lanes {
		if l.bytes != 0 {
			t.Errorf("%d bytes are still counted", l.bytes)
		}
	}
}

func TestLargeRequestIsCutIntoSeveralProduces(t *testing.T) {
	log := &memoryLog{}
	b := testBatcher(t, log, nil)
	values := make([]string, 40)
	for i := range values {
		values[i] = fmt.Sprintf("%02d%030000d", i, 0)
	}
	packs, err := b.enqueue("events", "c", records(values...), time.Now().Add(10*time.Second), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packs {
		if err := p.await(time.After(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	b.close(t.Context())
	n := 0
	for _, call := range log.calls {
		size := 0
		for _, value := range call {
			if value != values[n] {
				t.Fatalf("record %d is out of order", n)
			}
			size += len(value)
			n++
		}
		if size > b.config.MaxBatchBytes {
			t.Errorf("a produce of %d bytes", size)
		}
	}
	if n != len(values) || len(log.calls) < 2 {
		t.Errorf("%d records in %d calls", n, len(log.calls))
	}
}

func TestCloseEndsWithKafkaHanging(t *testing.T) {
	log := &memoryLog{entered: make(chan struct{}, 8), release: make(chan struct{})}
	b := testBatcher(t, log, nil)
	packs, err := b.enqueue("events", "c", records("x"), time.Now().Add(time.Minute), nil)
	if err != nil {
		t.Fatal(err)
	}
	<-log.entered
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	b.close(ctx)
	if err := packs[0].await(nil); !errors.Is(err, errClosed) {
		t.Errorf("%v", err)
	}
}
