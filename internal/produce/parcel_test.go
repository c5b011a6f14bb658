package produce

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	segment "github.com/segmentio/kafka-go"

	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
)

// A parcel's memory is used again, and never before what was in it has been
// written: whatever fails on the way, each value arrives as it was sent.
func TestAParcelsMemoryIsUsedAgainOnlyWhenNothingReadsIt(t *testing.T) {
	log := &memoryLog{fail: func(call int) error {
		if call%5 == 1 {
			return segment.NotLeaderForPartition
		}
		return nil
	}}
	b := testBatcher(log, Config{Linger: time.Microsecond})
	const senders, each = 8, 50
	var want []string
	var wait sync.WaitGroup
	for sender := range senders {
		for i := range each {
			want = append(want, fmt.Sprintf("sender %d, value %d", sender, i))
		}
		wait.Go(func() {
			for i := range each {
				p := b.NewParcel()
				p.Buffer = fmt.Appendf(p.Buffer, "sender %d, value %d", sender, i)
				p.Records = append(p.Records, records("")...)
				p.Records[0].Value = p.Buffer
				if err := b.Enqueue("events", "c", p, time.Now().Add(time.Minute)); err != nil {
					t.Error(err)
				}
				if where, err := p.Wait(); where != Kafka || err != nil {
					t.Errorf("%q %v", where, err)
				}
				p.Release()
			}
		})
	}
	wait.Wait()
	b.Close(t.Context())
	slices.Sort(want)
	var got []string
	for i, call := range log.calls {
		if i%5 != 1 {
			got = append(got, call...)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%d values arrived, %d were sent: %q", len(got), len(want), got)
	}
}

// A wait ends at its deadline although the produce does not, and the parcel, whose
// records are still being sent, is not used again.
func TestAWaitEndsAtItsDeadline(t *testing.T) {
	log := &memoryLog{entered: make(chan struct{}, 8), release: make(chan struct{})}
	b := testBatcher(log, Config{})
	if _, err := enqueue(b, "c", records("long"), time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	<-log.entered // what comes now waits behind it, past its own deadline
	p, err := enqueue(b, "c", records("short"), time.Now().Add(time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); !errors.Is(err, ErrTimeout) {
		t.Errorf("%v", err)
	}
	p.Release()
	for range 100 {
		if other := b.NewParcel(); other == p {
			t.Fatal("its memory is used again")
		}
	}
	close(log.release)
	b.Close(t.Context())
	if b.deadlines.first != nil {
		t.Error("a wait that has ended is still known")
	}
}

// slowSpool is a disk that has not yet made durable what it was given.
type slowSpool struct {
	Spool
	mu      sync.Mutex
	holds   bool
	settled chan func(Position, error)
}

func (s *slowSpool) Keep(_ Partition, _ []wire.Record, _ bool, settled func(Position, error)) error {
	s.mu.Lock()
	s.holds = true
	s.mu.Unlock()
	s.settled <- settled
	return nil
}

func (s *slowSpool) Holds(Partition) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holds
}

func (s *slowSpool) Sent(Partition, Position, int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds = false
	return nil
}

// What was handed to the spool, and is acknowledged by Kafka first, is still the
// spool's to settle: another request's records in its place would count as durable.
func TestAParcelIsNotUsedAgainBeforeTheSpoolHasSettledIt(t *testing.T) {
	for range 10 { // a pool may forget what it is given
		log := &memoryLog{entered: make(chan struct{}, 8), release: make(chan struct{})}
		disk := &slowSpool{settled: make(chan func(Position, error), 8)}
		b := testBatcher(log, Config{Spool: disk, AwayAfter: time.Millisecond})
		p, err := enqueue(b, "c", records("acknowledged by both"), time.Now().Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		settle := <-disk.settled
		close(log.release)
		if where, err := p.Wait(); where != Kafka || err != nil {
			t.Errorf("%q %v", where, err)
		}
		p.Release()
		for _, l := range b.lanes {
			await.Until(t, await.Long, func() bool {
				l.mu.Lock()
				defer l.mu.Unlock()
				return len(l.sent) == 0
			}, func() string { return "the produce has ended" })
		}
		if b.NewParcel() == p {
			t.Error("its memory is used again")
		}
		settle(Position{Seq: 1}, nil)
		b.Close(t.Context())
	}
}
