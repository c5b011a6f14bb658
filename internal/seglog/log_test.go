package seglog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tributary-io/tributary/internal/await"
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

func TestATornTailIsCutAtEveryByte(t *testing.T) {
	files := newMemFS()
	l, _ := open(t, files, Options{})
	for _, payload := range []string{"one", "", "three"} {
		add(t, l, 7, payload)
	}
	name := filepath.Join("q", segmentName(1))
	whole := slices.Clone(files.files[name].bytes)
	counts := []int{}
	for size := range len(whole) + 1 {
		cut := newMemFS()
		file := &memFile{fs: cut, name: name, bytes: slices.Clone(whole[:size])}
		cut.files[name] = file
		again, recovered := open(t, cut, Options{})
		if recovered.CutBytes != int64(size)-again.Bytes() && recovered.Records > 0 {
			t.Errorf("cut at %d: %+v, %d bytes are kept", size, recovered, again.Bytes())
		}
		if got := payloads(t, again, 7); !strings.HasPrefix("one  three", got) {
			t.Errorf("cut at %d: %q", size, got)
		}
		counts = append(counts, recovered.Records)
		add(t, again, 7, "new")
		if got := payloads(t, again, 7); !strings.HasSuffix(got, "new") {
			t.Errorf("cut at %d, appended: %q", size, got)
		}
	}
	if !slices.IsSorted(counts) || counts[0] != 0 || counts[len(counts)-1] != 3 {
		t.Errorf("records by size: %v", counts)
	}
}

func TestAFlippedBitIsNeverAnotherRecord(t *testing.T) {
	files := newMemFS()
	l, _ := open(t, files, Options{})
	for _, payload := range []string{"one", "two", "three"} {
		add(t, l, 7, payload)
	}
	name := filepath.Join("q", segmentName(1))
	whole := files.files[name].bytes
	for bit := len(magic) * 8; bit < len(whole)*8; bit++ {
		flipped := newMemFS()
		bytes := slices.Clone(whole)
		bytes[bit/8] ^= 1 << (bit % 8)
		flipped.files[name] = &memFile{fs: flipped, name: name, bytes: bytes}
		again, recovered := open(t, flipped, Options{})
		if got := payloads(t, again, 7); recovered.Records == 3 || !strings.HasPrefix("one two three", got) {
			t.Fatalf("bit %d: %q, %+v", bit, got, recovered)
		}
	}
}

// Over random histories of appends, records done, failures and crashes: every
// record that was acknowledged and is not done is there, in its lane's order;
// nothing is there that was not appended.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	seeds := uint64(400)
	if testing.Short() {
		seeds = 100
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		history(t, seed, r)
	}
}

func history(t *testing.T, seed uint64, r *rand.Rand) {
	files := newMemFS()
	options := Options{SegmentBytes: int64(60 + r.IntN(200)), MaxBytes: 2000}
	l, _ := open(t, files, options)
	type sent struct {
		payload string
		acked   bool
	}
	var all [3][]sent             // by lane, as sent
	var finished [3]int           // by lane: how many of the sent are done for good or for now
	open3 := func() [3][]string { // what each lane says
		var lists [3][]string
		for lane := range lists {
			lists[lane] = strings.Fields(payloads(t, l, uint32(lane)))
		}
		return lists
	}
	check := func(when string) {
		t.Helper()
		for lane, list := range open3() {
			at := 0
			for i, s := range all[lane] {
				switch {
				case at < len(list) && list[at] == s.payload:
					at++
				case s.acked && i >= finished[lane]:
					t.Fatalf("seed %d, %s: %s of lane %d is lost; there are %v", seed, when, s.payload, lane, list)
				}
			}
			if at != len(list) {
				t.Fatalf("seed %d, %s: lane %d says %v, sent %v", seed, when, lane, list, all[lane])
			}
		}
	}
	n := 0
	for range 60 {
		switch p := r.IntN(20); {
		case p < 11:
			lane := r.IntN(3)
			if r.IntN(6) == 0 {
				op := []string{"sync", "write", "create", "syncdir"}[r.IntN(4)]
				files.fail = func(o, _ string) error {
					if o == op {
						return errShort
					}
					return nil
				}
			}
			n++
			payload := fmt.Sprintf("r%d-%s", n, strings.Repeat("x", r.IntN(40)))
			err := l.Append(t.Context(), Record{Lane: uint32(lane), Payload: []byte(payload)})
			files.fail = nil
			if !errors.Is(err, ErrFull) {
				all[lane] = append(all[lane], sent{payload, err == nil})
			}
		case p < 16:
			lane := r.IntN(3)
			records, err := l.Next(uint32(lane), 1+r.IntN(4), 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			if len(records) > 0 {
				last := records[len(records)-1]
				if err := l.Done(uint32(lane), last.Seq); err != nil {
					t.Fatal(err)
				}
				finished[lane] = 1 + slices.IndexFunc(all[lane], func(s sent) bool { return s.payload == string(last.Payload) })
			}
			check("done")
		case p < 18:
			files = files.crash(r)
			l, _ = open(t, files, options)
			check("after a crash")
		default:
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			l, _ = open(t, files, options)
			check("reopened")
		}
	}
}

// A file that came back after a loss of power would bring its records once more,
// however long ago they were done.
func TestAFileThatIsRemovedStaysRemovedAfterAFlushOrAClose(t *testing.T) {
	for _, end := range []func(l *Log) error{
		func(l *Log) error { return l.Flush(t.Context()) },
		(*Log).Close,
	} {
		files := newMemFS()
		l, _ := open(t, files, Options{})
		add(t, l, 0, "old")
		done(t, l, 0, 1)
		if again, _ := open(t, files.crash(nil), Options{}); payloads(t, again, 0) != "old" {
			t.Error("the removal is durable by itself: this test shows nothing")
		}
		broken := errors.New("i/o error")
		files.fail = func(op, _ string) error {
			if op == "syncdir" {
				return broken
			}
			return nil
		}
		if err := l.Flush(t.Context()); !errors.Is(err, broken) {
			t.Errorf("%v, want %v", err, broken)
		}
		files.fail = nil
		if err := end(l); err != nil {
			t.Fatal(err)
		}
		if again, _ := open(t, files.crash(nil), Options{}); payloads(t, again, 0) != "" {
			t.Errorf("there again: %s", payloads(t, again, 0))
		}
	}
}

// A segment that a crash left without a record must not keep its name from the next.
func TestASegmentWithoutARecordDoesNotStopTheNext(t *testing.T) {
	files := newMemFS()
	l, _ := open(t, files, Options{SegmentBytes: 10})
	add(t, l, 0, "one")
	files.fail = func(op, _ string) error {
		if op == "sync" {
			return errShort
		}
		return nil
	}
	if err := l.Append(t.Context(), Record{Payload: []byte("lost")}); err == nil {
		t.Fatal("acknowledged without a sync")
	}
	files = files.crash(nil) // the second segment's name is there, and nothing in it
	again, _ := open(t, files, Options{})
	add(t, again, 0, "two")
	if got := payloads(t, again, 0); got != "one two" {
		t.Error(got)
	}
}

// At the end of a drain nothing more is appended that could say what is done.
func TestWhatIsDoneIsDurableAfterAFlushOrAClose(t *testing.T) {
	for _, end := range []func(l *Log) error{
		func(l *Log) error { return l.Flush(t.Context()) },
		(*Log).Close,
	} {
		files := newMemFS()
		l, _ := open(t, files, Options{})
		for i := range 4 {
			add(t, l, uint32(i%2), fmt.Sprint(i))
		}
		done(t, l, 0, 2) // lane 1 keeps the segment
		if err := end(l); err != nil {
			t.Fatal(err)
		}
		again, recovered := open(t, files.crash(nil), Options{})
		if got := payloads(t, again, 0); got != "" || recovered.Records != 2 {
			t.Errorf("lane 0 brings %q once more, %+v", got, recovered)
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

// A loss of power may leave anything where a segment was begun. It must not keep
// the segments before it from being read.
func TestRubbishWhereASegmentWasBegunIsCut(t *testing.T) {
	for _, rubbish := range []string{"T", "TRB\x00\x00\x00\x00\x00", "TRBSEG", "TRBSEG\x00\x00", "TRBSEGxy and more", strings.Repeat("\x00", 40), strings.Repeat("x", 100)} {
		files := newMemFS()
		l, _ := open(t, files, Options{})
		add(t, l, 0, "one")
		name := filepath.Join("q", segmentName(2))
		files.files[name] = &memFile{fs: files, name: name, bytes: []byte(rubbish)}
		again, recovered, err := Open("q", Options{FS: unlocked{files}})
		if err != nil {
			t.Errorf("%q: %v", rubbish, err)
			continue
		}
		if got := payloads(t, again, 0); got != "one" || recovered != (Recovered{Records: 1, CutBytes: int64(len(rubbish))}) {
			t.Errorf("%q: %q, %+v", rubbish, got, recovered)
		}
		add(t, again, 0, "two")
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Records whose segment's first bytes have decayed are still whole.
func TestRecordsBehindADecayedHeadAreRead(t *testing.T) {
	files := newMemFS()
	l, _ := open(t, files, Options{})
	add(t, l, 0, "one")
	add(t, l, 0, "two")
	after := files.crash(nil)
	copy(after.files[filepath.Join("q", segmentName(1))].bytes, "XX")
	if again, recovered := open(t, after, Options{}); payloads(t, again, 0) != "one two" || recovered != (Recovered{Records: 2}) {
		t.Errorf("%q, %+v", payloads(t, again, 0), recovered)
	}
}

// unlocked is a file system whose locks nobody has.
type unlocked struct{ *memFS }

func (unlocked) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }
