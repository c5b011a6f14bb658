package spool_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	segment "github.com/segmentio/kafka-go"

	"github.com/tributary-io/tributary/edge/spool"
	"github.com/tributary-io/tributary/internal/produce"
	"github.com/tributary-io/tributary/test/await"
)

func TestWhatKafkaDoesNotTakeIsSpooledAndSentLaterInOrder(t *testing.T) {
	c := &cluster{}
	e := start(t, c, spool.Config{Dir: t.TempDir()})
	e.wantSent("a", produce.Kafka)
	c.set(func() { c.answer = down })
	e.wantSent("b", produce.Spooled)
	e.wantSent("c", produce.Spooled)
	c.set(func() { c.answer = nil })
	e.awaitEmpty()
	c.awaitValues(t, "a b c")
	if state := e.spool.State(); state.Spooled != 2 || state.Sent != 2 || state.Bytes != 0 || state.Oldest != 0 || !state.Room {
		t.Errorf("%+v", state)
	}
	e.wantSent("d", "")
	c.awaitValues(t, "a b c d")
}

// An error that no retry mends, but not of the records themselves.
func TestAnErrorForGoodIsSpooledAtOnce(t *testing.T) {
	c := &cluster{answer: func(string) error { return segment.TopicAuthorizationFailed }}
	e := start(t, c, spool.Config{Dir: t.TempDir()})
	e.wantSent("a", produce.Spooled)
	c.set(func() { c.answer = nil })
	c.awaitValues(t, "a")
}

func TestRecordsThatKafkaRefusesAreNotSpooled(t *testing.T) {
	c := &cluster{answer: func(values string) error {
		if strings.Contains(values, "poison") {
			return segment.MessageSizeTooLarge
		}
		return nil
	}}
	e := start(t, c, spool.Config{Dir: t.TempDir()})
	if _, err := e.send("poison"); !errors.Is(err, produce.ErrRefused) {
		t.Errorf("%v, want %v", err, produce.ErrRefused)
	}
	e.wantSent("a", produce.Kafka)
}

// Once a drain sends its last part, what comes waits for it in memory: else a
// drain under steady traffic, with always something new behind, would not end.
func TestWhatComesWhileTheLastPartIsSentIsNotSpooled(t *testing.T) {
	c := &cluster{answer: func(string) error { return segment.TopicAuthorizationFailed }}
	opened, err := spool.Open(spool.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	// A produce that hangs is not what this is about.
	e := &edge{t, opened, produce.NewBatcher(c, produce.Config{Spool: opened, AwayAfter: time.Hour})}
	t.Cleanup(e.stop)
	e.wantSent("a", produce.Spooled)
	hang := func() chan struct{} {
		held := make(chan struct{})
		c.set(func() { c.answer, c.hang, c.waiting = nil, held, make(chan struct{}, 1) })
		return held
	}
	first := hang()
	<-c.waiting // a, from the spool
	e.wantSent("b", produce.Spooled)
	second := hang()
	waiting := c.waiting
	close(first)
	<-waiting // b: the last part
	parcel, err := e.enqueue("c")
	if err != nil {
		t.Fatal(err)
	}
	c.set(func() { c.hang = nil })
	close(second)
	if where, err := parcel.Wait(); where != produce.Kafka || err != nil {
		t.Errorf("c: %q, %v; want %q", where, err, produce.Kafka)
	}
	c.awaitValues(t, "a b c")
}

// A produce that is late but comes needs no second copy.
func TestWhatIsAcknowledgedAfterAllIsNotSentAgain(t *testing.T) {
	c := &cluster{hang: make(chan struct{}), waiting: make(chan struct{}, 1)}
	e := start(t, c, spool.Config{Dir: t.TempDir()})
	e.wantSent("a", produce.Spooled)
	e.wantSent("b", produce.Spooled)
	c.set(func() { close(c.hang); c.hang = nil })
	e.awaitEmpty()
	e.wantSent("c", "")
	c.awaitValues(t, "a b c")
}

// What comes while the last spooled records are sent waits for them, and follows
// them into the spool if they hang.
func TestNewerRecordsNeverOvertakeSpooledOnes(t *testing.T) {
	c := &cluster{answer: down}
	e := start(t, c, spool.Config{Dir: t.TempDir()})
	e.wantSent("a", produce.Spooled)
	hang := make(chan struct{})
	c.set(func() { c.answer, c.hang, c.waiting = nil, hang, make(chan struct{}, 1) })
	<-c.waiting // a, from the spool
	e.wantSent("b", produce.Spooled)
	e.wantSent("c", produce.Spooled)
	c.set(func() { close(hang); c.hang = nil })
	e.awaitEmpty()
	c.awaitValues(t, "a b c")
}

func TestWhatIsSpooledIsSentByTheNextStart(t *testing.T) {
	c := &cluster{answer: down}
	dir := t.TempDir()
	e := start(t, c, spool.Config{Dir: dir})
	e.wantSent("a", produce.Spooled)
	e.wantSent("b", produce.Spooled)
	e.stop()
	e = start(t, c, spool.Config{Dir: dir})
	e.wantSent("c", produce.Spooled) // at once: it queues behind the others
	e.stop()
	c.set(func() { c.answer = nil })
	e = start(t, c, spool.Config{Dir: dir})
	e.awaitEmpty()
	e.wantSent("d", "")
	c.awaitValues(t, "a b c d")
}

// Two edges share a directory; what one that is gone left is sent by the next to
// start, which leaves the living one's alone.
func TestADeadEdgesDirectoryIsAdopted(t *testing.T) {
	c := &cluster{answer: down}
	dir := t.TempDir()
	first, second, third := start(t, c, spool.Config{Dir: dir}), start(t, c, spool.Config{Dir: dir}), start(t, c, spool.Config{Dir: dir})
	first.wantSent("living", produce.Spooled)
	second.wantSent("dead2", produce.Spooled)
	third.wantSent("dead3", produce.Spooled)
	second.stop()
	third.stop()
	other := &cluster{}
	fourth := start(t, other, spool.Config{Dir: dir})
	fourth.awaitEmpty()
	if got := other.values(); got != "dead3 dead2" && got != "dead2 dead3" {
		t.Errorf("the fourth edge sent %q", got)
	}
	fifth := start(t, other, spool.Config{Dir: dir})
	if n := len(fifth.spool.Partitions()); n != 0 {
		t.Errorf("%d partitions are left", n)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 3 {
		t.Errorf("%d directories, %v; want 3, used again", len(names), err)
	}
}

// Senders send one record after another, through outages of all kinds. First
// copies come in each sender's order, and none is missing.
func TestFirstCopiesKeepTheirOrder(t *testing.T) {
	c := &cluster{waiting: make(chan struct{}, 1)}
	dir := t.TempDir()
	e := start(t, c, spool.Config{Dir: dir})
	const senders, rounds = 6, 12
	var group sync.WaitGroup
	var stop atomic.Bool
	var acked [senders]int
	for sender := range senders {
		group.Go(func() {
			for n := 0; !stop.Load(); n++ {
				if _, err := e.send(fmt.Sprintf("%d/%d", sender, n)); err != nil {
					t.Error(err)
					return
				}
				acked[sender] = n + 1
			}
		})
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range rounds {
		hang := make(chan struct{})
		c.set(func() {
			switch r.IntN(3) {
			case 0:
				c.answer = down
			case 1:
				c.answer = func(string) error { return segment.ClusterAuthorizationFailed }
			default:
				c.hang = hang
			}
		})
		before := e.spool.State().Spooled
		await.Until(t, await.Long, func() bool {
			return e.spool.State().Spooled > before+senders
		}, func() string { return "records are spooled" })
		c.set(func() { close(hang); c.hang, c.answer = nil, nil })
		length := func() int { c.mu.Lock(); defer c.mu.Unlock(); return len(c.log) }
		at := length()
		await.Until(t, await.Long, func() bool { return length() > at+3*senders }, func() string { return "records are sent" })
	}
	// Under steady traffic a drain comes to its end.
	await.Until(t, await.Long, func() bool {
		return len(e.spool.Partitions()) == 0
	}, func() string { return "the spool is drained while records come" })
	stop.Store(true)
	group.Wait()
	e.awaitEmpty()
	next, copies := map[int]int{}, 0
	for _, value := range strings.Fields(c.values()) {
		var sender, n int
		if _, err := fmt.Sscanf(value, "%d/%d", &sender, &n); err != nil {
			t.Fatal(err)
		}
		switch {
		case n < next[sender]:
			copies++
		case n > next[sender]:
			t.Fatalf("%s came before %d/%d", value, sender, next[sender])
		default:
			next[sender]++
		}
	}
	for sender, n := range acked {
		if next[sender] != n {
			t.Errorf("sender %d: %d in the log, %d acknowledged", sender, next[sender], n)
		}
	}
	t.Logf("%d records in the log, %d of them copies, %d spooled", len(c.log), copies, e.spool.State().Spooled)
}
