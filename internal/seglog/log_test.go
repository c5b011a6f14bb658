package seglog

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tributary-io/tributary/test/await"
)

func add(t testing.TB, l *Log, lane uint32, payload string) {
	t.Helper()
	if err := l.Append(t.Context(), Record{Lane: lane, Payload: []byte(payload)}); err != nil {
		t.Fatal(err)
	}
}

// payloads are a lane's open records, joined by blanks.
func payloads(t testing.TB, l *Log, lane uint32) string {
	t.Helper()
	records, err := l.Next(lane, 1<<20, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, r := range records {
		list = append(list, string(r.Payload))
	}
	return strings.Join(list, " ")
}

func done(t testing.TB, l *Log, lane uint32, n int) {
	t.Helper()
	records, err := l.Next(lane, n, 1<<30)
	if err == nil && len(records) == n {
		err = l.Done(lane, records[n-1].Seq)
	}
	if err != nil || len(records) != n {
		t.Fatalf("%d records, %v", len(records), err)
	}
}

func TestLanesAreReadInTheirOrderAlsoAfterAReopening(t *testing.T) {
	for name, files := range map[string]FS{"in memory": newMemFS(), "on disk": OS{}} {
		dir := "q"
		if name == "on disk" {
			dir = filepath.Join(t.TempDir(), "spool", "a")
		}
		l, recovered, err := Open(dir, Options{FS: files, SegmentBytes: 100})
		if err != nil || recovered != (Recovered{}) {
			t.Fatal(recovered, err)
		}
		for i := range 10 {
			add(t, l, uint32(i%2), fmt.Sprint("record", i))
		}
		done(t, l, 0, 2)
		add(t, l, 1, "last") // carries the mark of lane 0
		if got := payloads(t, l, 0) + "/" + payloads(t, l, 1); got != "record4 record6 record8/record1 record3 record5 record7 record9 last" {
			t.Errorf("%s: %s", name, got)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l, recovered, err = Open(dir, Options{FS: files, SegmentBytes: 100})
		if err != nil || recovered != (Recovered{Records: 9}) {
			t.Errorf("%s: recovered %+v, %v", name, recovered, err)
		}
		add(t, l, 0, "new")
		if got := payloads(t, l, 0); got != "record4 record6 record8 new" {
			t.Errorf("%s: reopened %s", name, got)
		}
		done(t, l, 0, 4)
		done(t, l, 1, 6)
		if l.Bytes() != 0 || len(l.Lanes()) != 0 {
			t.Errorf("%s: %d bytes are kept of lanes %v, want none", name, l.Bytes(), l.Lanes())
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestADirectoryHasOneUser(t *testing.T) {
	dir := t.TempDir()
	l, _, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(dir, Options{}); !errors.Is(err, ErrLocked) {
		t.Errorf("a second user: %v, want %v", err, ErrLocked)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, _, err = Open(dir, Options{})
	if err != nil {
		t.Fatalf("after the first has closed it: %v", err)
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	if err := l.Append(t.Context(), Record{}); !errors.Is(err, ErrClosed) {
		t.Errorf("append to a closed log: %v", err)
	}
}

func TestABoundIsKeptAndWhatIsDoneMakesRoom(t *testing.T) {
	l, _ := open(t, newMemFS(), Options{MaxBytes: 300, SegmentBytes: 100})
	n := 0
	var err error
	for ; err == nil; n++ {
		err = l.Append(t.Context(), Record{Payload: make([]byte, 30)})
	}
	if !errors.Is(err, ErrFull) || l.Bytes() > 300 || n < 4 {
		t.Errorf("%d records, %d bytes, %v", n-1, l.Bytes(), err)
	}
	done(t, l, 0, 3)
	if err := l.Append(t.Context(), Record{Payload: make([]byte, 30)}); err != nil {
		t.Errorf("after three are done: %v", err)
	}
	if err := l.Append(t.Context(), Record{Payload: make([]byte, MaxRecord+1)}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a record too large: %v", err)
	}
	if err := l.Append(t.Context(), Record{Lane: laneMarks}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a lane too great: %v", err)
	}
}

// Those who wait at the same time share one sync.
func TestAppendsAreCommittedInGroups(t *testing.T) {
	files := newMemFS()
	l, _ := open(t, files, Options{})
	add(t, l, 0, "first") // the segment is there
	inSync, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	files.fail = func(op, _ string) error {
		if op == "sync" {
			once.Do(func() { close(inSync); <-goOn })
		}
		return nil
	}
	before := files.syncs
	var appends sync.WaitGroup
	one := func(i int) {
		appends.Go(func() {
			if err := l.Append(t.Context(), Record{Payload: []byte(fmt.Sprint(i))}); err != nil {
				t.Error(err)
			}
		})
	}
	one(0)
	<-inSync
	for i := range 99 {
		one(i + 1)
	}
	waiting := 0
	await.Until(t, await.Long, func() bool { // enqueued: nothing tells
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.pending != nil {
			waiting = len(l.pending.records)
		}
		return waiting == 99
	}, func() string { return fmt.Sprint(waiting, " of 99 wait") })
	close(goOn)
	appends.Wait()
	if n := files.syncs - before; n != 2 || l.Len(0) != 101 {
		t.Errorf("%d syncs for %d records, want 2", n, l.Len(0))
	}
}

func TestAnAppendThatIsNotWaitedForMayBeThere(t *testing.T) {
	files := newMemFS()
	l, _ := open(t, files, Options{})
	goOn := make(chan struct{})
	files.fail = func(op, _ string) error {
		if op == "sync" {
			<-goOn
		}
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Append(ctx, Record{Payload: []byte("a")}); !errors.Is(err, context.Canceled) {
		t.Errorf("append: %v", err)
	}
	close(goOn)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if again, _ := open(t, files, Options{}); payloads(t, again, 0) != "a" {
		t.Errorf("after closing: %q", payloads(t, again, 0))
	}
}

// One who flushes may wait before those who append. Each record still gets its own
// number: with another's, Done would drop a record that comes after it.
func TestRecordsBehindAFlushGetTheirOwnNumbers(t *testing.T) {
	files := newMemFS()
	l, _ := open(t, files, Options{})
	add(t, l, 0, "first")
	inSync, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	files.fail = func(op, _ string) error {
		if op == "sync" {
			once.Do(func() { close(inSync); <-goOn })
		}
		return nil
	}
	var waiting sync.WaitGroup
	waiting.Go(func() { add(t, l, 0, "second") })
	<-inSync
	done(t, l, 0, 1) // so that the flush has something to say
	waiting.Go(func() {
		if err := l.Flush(t.Context()); err != nil {
			t.Error(err)
		}
	})
	await.Until(t, await.Long, func() bool { // nothing tells
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.pending != nil
	}, func() string { return "the flush waits" })
	given := map[string]uint64{}
	var mu sync.Mutex
	for _, payload := range []string{"a", "b", "c"} {
		waiting.Add(1)
		err := l.Enqueue(Record{Payload: []byte(payload)}, func(seq uint64, err error) {
			defer waiting.Done()
			mu.Lock()
			defer mu.Unlock()
			if given[payload] = seq; err != nil {
				t.Error(err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	close(goOn)
	waiting.Wait()
	records, err := l.Next(0, 10, 1<<20)
	if err != nil || len(records) != 4 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	for _, r := range records[1:] {
		if given[string(r.Payload)] != r.Seq {
			t.Errorf("%s has the number %d and was told %d", r.Payload, r.Seq, given[string(r.Payload)])
		}
	}
}

// A write or a sync that fails is an error of those who wait for it; what
// comes later goes into another file, and nothing that was acknowledged is lost.
func TestAFailedWriteOrSyncEndsItsSegment(t *testing.T) {
	broken := errors.New("i/o error")
	for _, c := range []struct {
		op  string
		err error
	}{{"sync", broken}, {"write", broken}, {"write", errShort}, {"create", broken}, {"syncdir", broken}} {
		files := newMemFS()
		l, _ := open(t, files, Options{SegmentBytes: 60})
		add(t, l, 0, "before")
		files.fail = func(op, name string) error {
			if op == c.op && name != "q" || op == c.op && op == "syncdir" {
				return c.err
			}
			return nil
		}
		var failed error
		for i := 0; i < 4 && failed == nil; i++ { // a new segment is begun at the third
			if failed = l.Append(t.Context(), Record{Payload: []byte("kept")}); failed == nil && c.op != "create" && c.op != "syncdir" {
				t.Fatalf("%s: no error", c.op)
			}
		}
		if !errors.Is(failed, c.err) {
			t.Errorf("%s: %v, want %v", c.op, failed, c.err)
		}
		files.fail = nil
		add(t, l, 0, "after")
		got := payloads(t, l, 0)
		if !strings.HasPrefix(got, "before") || !strings.HasSuffix(got, "after") {
			t.Errorf("%s: %s", c.op, got)
		}
		again, _ := open(t, files.crash(nil), Options{})
		if kept := payloads(t, again, 0); kept != got {
			t.Errorf("%s: %s after a crash, %s before", c.op, kept, got)
		}
	}
}

func TestAFlushWithNothingToSayWritesNothing(t *testing.T) {
	files := newMemFS()
	l, _ := open(t, files, Options{})
	if err := l.Flush(t.Context()); err != nil || files.syncs != 0 || l.Bytes() != 0 {
		t.Errorf("%v, %d syncs, %d bytes", err, files.syncs, l.Bytes())
	}
	add(t, l, 0, "one")
	done(t, l, 0, 1)
	if err := l.Flush(t.Context()); err != nil || l.Bytes() != 0 {
		t.Errorf("%v, %d bytes", err, l.Bytes())
	}
}

// What is done while a commit is written leaves no file behind.
func TestWhatIsDoneDuringACommitLeavesNoFile(t *testing.T) {
	files := newMemFS()
	l, _ := open(t, files, Options{})
	add(t, l, 0, "one")
	add(t, l, 0, "two")
	done(t, l, 0, 1)
	files.fail = func(op, _ string) error {
		if op == "sync" {
			done(t, l, 0, 1)
		}
		return nil
	}
	if err := l.Flush(t.Context()); err != nil || l.Bytes() != 0 {
		t.Errorf("%v, %d bytes are kept of nothing", err, l.Bytes())
	}
}

func TestNextIsBoundedInBytes(t *testing.T) {
	l, _ := open(t, newMemFS(), Options{})
	for range 3 {
		add(t, l, 0, "0123456789")
	}
	for maxBytes, want := range map[int64]int{0: 1, 10: 1, 19: 1, 20: 2, 30: 3} {
		if records, err := l.Next(0, 9, maxBytes); err != nil || len(records) != want {
			t.Errorf("%d bytes: %d records, %v; want %d", maxBytes, len(records), err, want)
		}
	}
}

// A full disk must not be filled further by what is tried again and again.
func TestAttemptsOnAFullDiskLeaveNothing(t *testing.T) {
	files := newMemFS()
	l, _ := open(t, files, Options{})
	add(t, l, 0, "before")
	files.fail = func(op, name string) error {
		if op == "write" {
			return errShort
		}
		return nil
	}
	before := l.Bytes()
	for range 20 {
		if err := l.Append(t.Context(), Record{Payload: []byte("more")}); !errors.Is(err, errShort) {
			t.Fatal(err)
		}
	}
	names, _ := files.ReadDir("q")
	if len(names) != 1 || l.Bytes() != before || len(files.files[filepath.Join("q", names[0])].bytes) != int(before) {
		t.Errorf("%v, %d bytes, %d before", names, l.Bytes(), before)
	}
}

// A directory that is made for the log must itself be durable.
func TestTheDirectoryIsSyncedIntoItsParent(t *testing.T) {
	files := newMemFS()
	var synced []string
	files.fail = func(op, name string) error {
		if op == "syncdir" {
			synced = append(synced, name)
		}
		return nil
	}
	l, _, err := Open("spool/q", Options{FS: files})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if !slices.Contains(synced, "spool") {
		t.Errorf("synced: %v", synced)
	}
}

// Another version's file must not be taken for a torn one, and removed.
func TestAFileOfAnotherVersionIsKept(t *testing.T) {
	files := newMemFS()
	name := filepath.Join("q", segmentName(1))
	files.files[name] = &memFile{fs: files, name: name, bytes: []byte("TRBSEG02 and more")}
	if _, _, err := Open("q", Options{FS: files}); !errors.Is(err, errForeign) || files.files[name] == nil {
		t.Errorf("%v, file %v", err, files.files[name])
	}
	files.files[name].bytes = make([]byte, 100)
	if l, recovered := open(t, files, Options{}); recovered.CutBytes != 100 || l.Bytes() != 0 {
		t.Errorf("a file of zeros: %+v", recovered)
	}
}
