package produce

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	segment "github.com/segmentio/kafka-go"

	"github.com/tributary-io/tributary/internal/wire"
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

func (l *memoryLog) ProducePartition(ctx context.Context, _ string, _ int, batch []wire.Record) error {
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

func testBatcher(log *memoryLog, config Config) *Batcher { return NewBatcher(log, config) }

func records(values ...string) []wire.Record {
	made := make([]wire.Record, len(values))
	for i, v := range values {
		made[i] = wire.Record{Key: []byte("c"), Value: []byte(v)}
	}
	return made
}

// enqueue hands the batcher a parcel of records.
func enqueue(b *Batcher, key string, records []wire.Record, deadline time.Time) (*Parcel, error) {
	p := b.NewParcel()
	p.Records = append(p.Records, records...)
	return p, b.Enqueue("events", key, p, deadline)
}

func TestWhatGathersBehindAProduceGoesTogetherInOrder(t *testing.T) {
	log := &memoryLog{entered: make(chan struct{}, 8), release: make(chan struct{})}
	b := testBatcher(log, Config{})
	soon := time.Now().Add(10 * time.Second)
	var all []*Parcel
	add := func(value string) {
		p, err := enqueue(b, "c", records(value), soon)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	add("first")
	<-log.entered
	for i := range 50 {
		add(fmt.Sprint(i))
	}
	select {
	case <-all[0].ended:
		t.Fatal("acknowledged before Kafka did")
	default:
	}
	close(log.release)
	for _, p := range all {
		if _, err := p.Await(time.After(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	b.Close(t.Context())
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
	b := testBatcher(log, Config{})
	send := func() error {
		p, err := enqueue(b, "c", records("x"), time.Now().Add(10*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Await(time.After(10 * time.Second))
		return err
	}
	if err := send(); err != nil {
		t.Errorf("after two temporary errors: %v", err)
	}
	if err := send(); !errors.Is(err, ErrRefused) {
		t.Errorf("a permanent error: %v", err)
	}
	b.Close(t.Context())
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
	b := testBatcher(log, Config{})
	var all []*Parcel
	for i, value := range []string{"first", "a", "poison", "b"} {
		p, err := enqueue(b, "c", records(value), time.Now().Add(10*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
		if i == 0 {
			<-log.entered // the others gather behind it
		}
	}
	close(log.release)
	for i, p := range all {
		if _, err := p.Await(time.After(10 * time.Second)); (err != nil) != (i == 2) {
			t.Errorf("chunk %d: %v", i, err)
		}
	}
	b.Close(t.Context())
}

func TestQueueIsBounded(t *testing.T) {
	log := &memoryLog{entered: make(chan struct{}, 8), release: make(chan struct{})}
	b := testBatcher(log, Config{MaxPartitionBytes: 1000})
	soon := time.Now().Add(10 * time.Second)
	value := string(make([]byte, 300))
	for range 3 {
		if _, err := enqueue(b, "c", records(value), soon); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := enqueue(b, "c", records(value), soon); !errors.Is(err, ErrQueueFull) {
		t.Errorf("beyond the bound: %v", err)
	}
	close(log.release)
	b.Close(t.Context())
	if _, err := enqueue(b, "c", records("x"), soon); !errors.Is(err, ErrClosed) {
		t.Errorf("after close: %v", err)
	}
	for _, l := range b.lanes {
		if _, bytes := l.queue.waiting(); bytes != 0 {
			t.Errorf("%d bytes are still counted", bytes)
		}
	}
	if b.budget.used != 0 {
		t.Errorf("%d bytes are still reserved", b.budget.used)
	}
}

func TestQueuesAreBoundedTogether(t *testing.T) {
	log := &memoryLog{release: make(chan struct{})}
	var queued atomic.Int64
	b := testBatcher(log, Config{MaxQueuedBytes: 2500, MaxPartitionBytes: 1000, Queued: func(bytes int) { queued.Add(int64(bytes)) }})
	soon := time.Now().Add(time.Minute)
	value := string(make([]byte, 300))
	taken, full := 0, 0
	for key := range 64 {
		switch _, err := enqueue(b, fmt.Sprint(key), records(value), soon); {
		case err == nil:
			taken++
		case errors.Is(err, ErrQueueFull):
			full++
		default:
			t.Fatal(err)
		}
	}
	if size := recordBytes(records(value)[0]); taken != 2500/size || full != 64-taken || queued.Load() != int64(taken*size) {
		t.Errorf("%d taken and %d refused, %d bytes queued", taken, full, queued.Load())
	}
	close(log.release)
	b.Close(t.Context())
	if queued.Load() != 0 {
		t.Errorf("%d bytes are still counted", queued.Load())
	}
}

// diskLike settles what it is given at once, as a queue on disk will.
type diskLike struct{ queue }

func (q diskLike) put(p *Parcel) error {
	for i := range p.chunks {
		p.chunks[i].settle("spool", nil)
	}
	return q.queue.put(p)
}

func TestAChunkThatIsDurableElsewhereIsSentPastItsDeadline(t *testing.T) {
	log := &memoryLog{fail: func(call int) error {
		if call == 0 {
			return segment.NotLeaderForPartition
		}
		return nil
	}}
	b := testBatcher(log, Config{})
	if _, err := enqueue(b, "c", records("first"), time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for _, l := range b.lanes {
		l.mu.Lock()
		l.queue = diskLike{l.queue}
		l.mu.Unlock()
	}
	var settled atomic.Int64
	p := b.NewParcel()
	p.Records = append(p.Records, records("late")...)
	p.Settled = func(error) { settled.Add(1) }
	if err := b.Enqueue("events", "c", p, time.Now().Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	if where, err := p.Await(nil); where != "spool" || err != nil {
		t.Errorf("%q %v", where, err)
	}
	b.Close(t.Context())
	sent := fmt.Sprint(log.calls)
	if !strings.Contains(sent, "late") || settled.Load() != 1 {
		t.Errorf("sent %s, told %d times", sent, settled.Load())
	}
}

func TestLargeRequestIsCutIntoSeveralProduces(t *testing.T) {
	log := &memoryLog{}
	b := testBatcher(log, Config{})
	values := make([]string, 40)
	for i := range values {
		values[i] = fmt.Sprintf("%02d%030000d", i, 0)
	}
	p, err := enqueue(b, "c", records(values...), time.Now().Add(10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Await(time.After(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	b.Close(t.Context())
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
	b := testBatcher(log, Config{})
	p, err := enqueue(b, "c", records("x"), time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	<-log.entered
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	b.Close(ctx)
	if _, err := p.Await(nil); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
}

func TestBatchedProduceKeepsTheOrderOfItsCaller(t *testing.T) {
	log := &memoryLog{}
	b := testBatcher(log, Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var group sync.WaitGroup
	for caller := range 20 {
		group.Go(func() {
			for version := range 20 {
				if err := b.Produce(ctx, "commerce", records(fmt.Sprintf("%d/%d", caller, version))...); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	b.Close(t.Context())
	next := map[int]int{}
	for _, call := range log.calls {
		for _, value := range call {
			var caller, version int
			if _, err := fmt.Sscanf(value, "%d/%d", &caller, &version); err != nil {
				t.Fatal(err)
			}
			if version != next[caller] {
				t.Errorf("%s after %d/%d", value, caller, next[caller]-1)
			}
			next[caller] = version + 1
		}
	}
	if len(next) != 20 || len(log.calls) > 200 {
		t.Errorf("%d callers in %d produces", len(next), len(log.calls))
	}
}

func TestBatchedProduceEndsWithItsContext(t *testing.T) {
	log := &memoryLog{entered: make(chan struct{}, 8), release: make(chan struct{})}
	b := testBatcher(log, Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := b.Produce(ctx, "commerce", records("x")...); err == nil {
		t.Error("acknowledged by a Kafka that hangs")
	}
	stop, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	b.Close(stop)
}
