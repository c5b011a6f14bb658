package spool_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	segment "github.com/segmentio/kafka-go"

	"github.com/tributary-io/tributary/edge/spool"
	"github.com/tributary-io/tributary/internal/await"
	"github.com/tributary-io/tributary/internal/produce"
	"github.com/tributary-io/tributary/internal/seglog"
	"github.com/tributary-io/tributary/internal/wire"
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
	await.Until(t, await.Long, func() bool { return c.values() == want }, func() string { return fmt.Sprintf("%q, want %q", c.values(), want) })
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

// refusing stands for a topic whose max.message.bytes was lowered.
func refusing(word string) func(values string) error {
	return func(values string) error {
		if strings.Contains(values, word) {
			return segment.MessageSizeTooLarge
		}
		return nil
	}
}

// What was acknowledged and is refused for good later is neither lost nor in
// the way of the others, of its request and of its partition.
func TestWhatKafkaRefusesForGoodIsSetAsideUntilTheNextStart(t *testing.T) {
	c := &cluster{answer: func(string) error { return segment.TopicAuthorizationFailed }}
	dir := t.TempDir()
	e := start(t, c, spool.Config{Dir: dir})
	e.wantSent("a", produce.Spooled)
	if _, err := e.send("b", "poison1", "c", "poison2"); err != nil {
		t.Fatal(err)
	}
	e.wantSent("d", produce.Spooled)
	c.set(func() { c.answer = refusing("poison") })
	e.awaitEmpty()
	e.wantSent("e", "")
	c.awaitValues(t, "a b c d e")
	if state := e.spool.State(); state.Refused != 2 || state.Bytes == 0 {
		t.Errorf("set aside: %+v", state)
	}
	e.stop()
	e = start(t, c, spool.Config{Dir: dir}) // refused once more
	e.awaitEmpty()
	await.Until(t, await.Long, func() bool { return e.spool.State().Refused == 2 }, func() string { return fmt.Sprintf("%+v", e.spool.State()) })
	e.stop()
	c.set(func() { c.answer = nil })
	e = start(t, c, spool.Config{Dir: dir})
	e.awaitEmpty()
	c.awaitValues(t, "a b c d e poison1 poison2")
	if state := e.spool.State(); state.Refused != 0 || state.Bytes != 0 {
		t.Errorf("sent: %+v", state)
	}
}

// What a dead edge had set aside is tried again by the edge that adopts it.
func TestWhatADeadEdgeHadSetAsideIsAdopted(t *testing.T) {
	c := &cluster{answer: func(string) error { return segment.TopicAuthorizationFailed }}
	dir := t.TempDir()
	first, second := start(t, c, spool.Config{Dir: dir}), start(t, c, spool.Config{Dir: dir})
	second.wantSent("poison", produce.Spooled)
	c.set(func() { c.answer = refusing("poison") })
	second.awaitEmpty()
	await.Until(t, await.Long, func() bool { return second.spool.State().Refused == 1 }, func() string { return "it is set aside" })
	second.stop()
	first.stop()
	c.set(func() { c.answer = nil })
	third := start(t, c, spool.Config{Dir: dir}) // in the first's directory
	third.awaitEmpty()
	c.awaitValues(t, "poison")
}

// Where the place for refused records is full, the partition waits, and nothing
// is lost.
func TestAFullPlaceForRefusedRecordsHoldsThePartition(t *testing.T) {
	dir := t.TempDir() // outside: files know no virtual time
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{answer: func(string) error { return segment.TopicAuthorizationFailed }}
		e := start(t, c, spool.Config{Dir: dir, MaxBytes: spool.MinBytes})
		poison := "poison" + strings.Repeat("x", 30<<10)
		const n = 6 // 128 KiB take four
		for range n {
			e.wantSent(poison, produce.Spooled)
		}
		e.wantSent("last", produce.Spooled)
		c.set(func() { c.answer = refusing("poison") })
		time.Sleep(10 * time.Minute)
		if state := e.spool.State(); state.Refused != 4 || c.values() != "" || !e.spool.Holds(produce.Partition{Topic: wire.TopicEvents}) {
			t.Errorf("%d are set aside, in the log %d bytes", state.Refused, len(c.values()))
		}
		c.set(func() { c.answer = nil })
		time.Sleep(time.Minute)
		if got := c.values(); strings.Count(got, "poison") != n-4 || !strings.HasSuffix(got, "last") {
			t.Errorf("sent: %d", strings.Count(got, "poison"))
		}
	})
}

// A place for refused records that cannot be read does not keep an edge from
// starting, nor from spooling.
func TestWithoutAPlaceForRefusedRecordsThePartitionWaits(t *testing.T) {
	dir := t.TempDir()
	aside := filepath.Join(dir, "1", "refused")
	if err := os.MkdirAll(aside, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(aside, "0000000000000001.seg"), []byte("TRBSEG99 of a later version"), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{answer: func(string) error { return segment.TopicAuthorizationFailed }}
		e := start(t, c, spool.Config{Dir: dir})
		e.wantSent("poison", produce.Spooled)
		c.set(func() { c.answer = refusing("poison") })
		time.Sleep(2 * time.Minute)
		if state := e.spool.State(); state.Refused != 0 || len(e.spool.Partitions()) != 1 {
			t.Errorf("%+v", state)
		}
		c.set(func() { c.answer = nil })
		time.Sleep(time.Minute)
		if c.values() != "poison" {
			t.Errorf("in the log: %q", c.values())
		}
	})
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

// failingFS is the real file system, with errors.
type failingFS struct {
	seglog.OS
	sync, write atomic.Pointer[error]
	failed      atomic.Int32 // syncs
}

func (f *failingFS) Create(name string) (seglog.File, error) {
	file, err := f.OS.Create(name)
	return failingFile{file, f}, err
}

type failingFile struct {
	seglog.File
	fs *failingFS
}

func (f failingFile) Sync() error {
	if err := f.fs.sync.Load(); err != nil {
		f.fs.failed.Add(1)
		return *err
	}
	return f.File.Sync()
}

func (f failingFile) WriteAt(b []byte, at int64) (int, error) {
	if err := f.fs.write.Load(); err != nil {
		return 0, *err
	}
	return f.File.WriteAt(b, at)
}

func TestNothingIsAcknowledgedThatTheDiskDoesNotTake(t *testing.T) {
	c := &cluster{answer: down}
	files := &failingFS{}
	var now atomic.Int64 // beside the real clock
	e := start(t, c, spool.Config{Dir: t.TempDir(), FS: files, Now: func() time.Time { return time.Now().Add(time.Duration(now.Load())) }})
	for name, fails := range map[string]*atomic.Pointer[error]{"fsync": &files.sync, "write": &files.write} {
		broken := error(syscall.EIO)
		fails.Store(&broken)
		if _, err := e.send("lost"); !errors.Is(err, produce.ErrSpool) || !errors.Is(err, syscall.EIO) {
			t.Errorf("%s fails: %v", name, err)
		}
		if state := e.spool.State(); state.Room || state.Failures == 0 {
			t.Errorf("%s fails: %+v", name, state)
		}
		now.Add(int64(time.Hour))
		if !e.spool.Room() {
			t.Errorf("%s: a failure an hour ago still counts", name)
		}
		fails.Store(nil)
		e.wantSent("kept-"+name, produce.Spooled)
	}
	c.set(func() { c.answer = nil })
	e.awaitEmpty()
	if got := c.values(); !strings.Contains(got, "kept-fsync") || !strings.Contains(got, "kept-write") {
		t.Error(got)
	}
}

// That Kafka has records is written again until the disk takes it, even when
// nothing else is written: hours later, a crash would bring them back.
func TestWhatKafkaHasIsWrittenOnceTheDiskTakesIt(t *testing.T) {
	files, dir := &failingFS{}, t.TempDir()
	s, err := spool.Open(spool.Config{Dir: dir, FS: files})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	sent, other := produce.Partition{Topic: wire.TopicEvents}, produce.Partition{Topic: wire.TopicRejected}
	for _, p := range []produce.Partition{sent, other} {
		kept := make(chan error, 1)
		if err := s.Keep(p, []wire.Record{{Key: []byte("co"), Value: []byte("a")}}, func(_ produce.Position, err error) { kept <- err }); err != nil {
			t.Fatal(err)
		}
		if err := <-kept; err != nil {
			t.Fatal(err)
		}
	}
	broken := error(syscall.EIO)
	files.sync.Store(&broken)
	first, err := s.Next(sent, 1<<20)
	if err == nil {
		err = s.Sent(sent, first.Last, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	await.Until(t, await.Long, func() bool { return files.failed.Load() > 0 }, func() string { return "a flush that fails" })
	files.sync.Store(nil)
	await.Until(t, await.Long, func() bool {
		crashed := t.TempDir()
		if err := os.CopyFS(crashed, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		after, err := spool.Open(spool.Config{Dir: crashed})
		if err != nil {
			t.Fatal(err)
		}
		again, kept := after.Holds(sent), after.Holds(other)
		if err := after.Close(); err != nil || !kept {
			t.Fatal(err, kept)
		}
		return !again
	}, func() string { return "a crash that does not bring back what Kafka has" })
}

func TestAFullSpoolRefusesAndHasRoomAgain(t *testing.T) {
	c := &cluster{answer: down}
	e := start(t, c, spool.Config{Dir: t.TempDir(), MaxBytes: spool.MinBytes})
	value := strings.Repeat("x", 30<<10)
	n := 0
	var err error
	for ; err == nil && n < 100; n++ {
		_, err = e.send(value)
	}
	if !errors.Is(err, produce.ErrSpool) || !errors.Is(err, seglog.ErrFull) || n < 30 || e.spool.Room() {
		t.Errorf("after %d records: %v", n, err)
	}
	c.set(func() { c.answer = nil })
	e.awaitEmpty()
	e.wantSent("last", "")
	if got := strings.Count(c.values(), value); got != n-1 {
		t.Errorf("%d records in the log, %d were acknowledged", got, n-1)
	}
}

// A full file system, not one that says so.
func TestAFullDiskRefuses(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("LEFT OUT: only root may mount the small file system that this test fills")
	}
	dir := filepath.Join(t.TempDir(), "tiny")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("LEFT OUT: no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	c := &cluster{answer: down}
	e := start(t, c, spool.Config{Dir: dir})
	acked := 0
	var err error
	for ; err == nil && acked < 100; acked++ {
		_, err = e.send(fmt.Sprintf("v%02d-%s", acked, strings.Repeat("x", 10<<10)))
	}
	acked--
	if !errors.Is(err, produce.ErrSpool) || !errors.Is(err, syscall.ENOSPC) || acked < 10 {
		t.Fatalf("after %d records: %v", acked, err)
	}
	for range 20 { // what is tried again takes no room
		if _, err := e.send(strings.Repeat("y", 10<<10)); !errors.Is(err, produce.ErrSpool) {
			t.Fatal(err)
		}
	}
	c.set(func() { c.answer = nil })
	e.awaitEmpty()
	for i := range acked {
		if !strings.Contains(c.values(), fmt.Sprintf("v%02d-", i)) {
			t.Errorf("record %d is lost", i)
		}
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
		await.Until(t, await.Long, func() bool { return e.spool.State().Spooled > before+senders }, func() string { return "records are spooled" })
		c.set(func() { close(hang); c.hang, c.answer = nil, nil })
		length := func() int { c.mu.Lock(); defer c.mu.Unlock(); return len(c.log) }
		at := length()
		await.Until(t, await.Long, func() bool { return length() > at+3*senders }, func() string { return "records are sent" })
	}
	// Under steady traffic a drain comes to its end.
	await.Until(t, await.Long, func() bool { return len(e.spool.Partitions()) == 0 }, func() string { return "the spool is drained while records come" })
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
