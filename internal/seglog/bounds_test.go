package seglog

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// size is what a record takes in a file.
func size(payload string) int64 { return recordHeader + int64(len(payload)) }

// hold makes the next sync wait. release ends that; inSync is closed once it waits.
func (m *memFS) hold() (inSync chan struct{}, release func()) {
	inSync, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = func(op, _ string) error {
		if op == "sync" {
			once.Do(func() { close(inSync); <-goOn })
		}
		return nil
	}
	return inSync, func() { close(goOn) }
}

// Those who share a commit get the numbers under which their records are read.
func TestEachRecordOfACommitGetsItsOwnNumber(t *testing.T) {
	files := newMemFS()
	l, _ := open(t, files, Options{})
	inSync, release := files.hold()
	var (
		group  sync.WaitGroup
		mu     sync.Mutex
		number = map[string]uint64{}
	)
	enqueue := func(payload string) {
		group.Add(1)
		if err := l.Enqueue(Record{Payload: []byte(payload)}, func(seq uint64, err error) {
			defer group.Done()
			mu.Lock()
			defer mu.Unlock()
			if number[payload] = seq; err != nil {
				t.Error(err)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	enqueue("first")
	<-inSync
	for i := range 5 { // they wait for the first, and are committed together
		enqueue(fmt.Sprint("record", i))
	}
	release()
	group.Wait()
	records, err := l.Next(0, 10, 1<<20)
	if err != nil || len(records) != 6 {
		t.Fatal(len(records), err)
	}
	for i, r := range records {
		if number[string(r.Payload)] != r.Seq || r.Seq != uint64(i+1) {
			t.Errorf("%s has the number %d, was told %d", r.Payload, r.Seq, number[string(r.Payload)])
		}
	}
}

func TestTheBoundsAreExact(t *testing.T) {
	const payload = "0123456789"
	most := int64(len(magic)) + size(payload)
	for bytes, want := range map[int64]error{most: nil, most - 1: ErrFull} {
		l, _ := open(t, newMemFS(), Options{MaxBytes: bytes})
		if err := l.Append(t.Context(), Record{Payload: []byte(payload)}); !errors.Is(err, want) {
			t.Errorf("%d bytes of at most %d: %v, want %v", most, bytes, err, want)
		}
	}
	// What waits counts too, and what is being written: a segment's head, three
	// records, and room for another head.
	for less, want := range map[int64]error{0: nil, 1: ErrFull} {
		files := newMemFS()
		l, _ := open(t, files, Options{MaxBytes: 2*int64(len(magic)) + 3*size(payload) - less})
		inSync, release := files.hold()
		ignore := func(uint64, error) {}
		if err := l.Enqueue(Record{Payload: []byte(payload)}, ignore); err != nil {
			t.Fatal(err)
		}
		<-inSync
		for i, want := range []error{nil, want, ErrFull} {
			if err := l.Enqueue(Record{Payload: []byte(payload)}, ignore); !errors.Is(err, want) {
				t.Errorf("%d bytes less, record %d behind the first: %v, want %v", less, i+1, err, want)
			}
		}
		release()
	}
}

func TestTheGreatestLaneAndRecordAreTaken(t *testing.T) {
	files := newMemFS()
	l, _ := open(t, files, Options{})
	if err := l.Append(t.Context(), Record{Lane: MaxLane, Payload: make([]byte, MaxRecord)}); err != nil {
		t.Fatal(err)
	}
	if _, recovered := open(t, files.crash(nil), Options{}); recovered != (Recovered{Records: 1}) {
		t.Errorf("after a crash: %+v", recovered)
	}
}

// A segment that is full, to the byte, takes no more.
func TestASegmentEndsAtItsBound(t *testing.T) {
	for extra, want := range map[int64]int{0: 2, 1: 1} {
		files := newMemFS()
		l, _ := open(t, files, Options{SegmentBytes: int64(len(magic)) + size("one") + extra})
		add(t, l, 0, "one")
		add(t, l, 0, "two")
		if names, _ := files.ReadDir("q"); len(names) != want {
			t.Errorf("with %d bytes of room: %v, want %d files", extra, names, want)
		}
	}
}

// What a failed write left and cannot be cut off takes room.
func TestWhatCannotBeCutOffCounts(t *testing.T) {
	files := newMemFS()
	l, _ := open(t, files, Options{})
	add(t, l, 0, "one")
	before := l.Bytes()
	broken := errors.New("i/o error")
	files.fail = func(op, _ string) error {
		switch op {
		case "sync":
			return errShort
		case "truncate":
			return broken
		}
		return nil
	}
	err := l.Append(t.Context(), Record{Payload: []byte("two")})
	if !errors.Is(err, errShort) || !errors.Is(err, broken) || l.Bytes() != before+size("two") {
		t.Errorf("%v, %d bytes, %d before", err, l.Bytes(), before)
	}
	files.fail = nil
	add(t, l, 0, "three")
	again, _ := open(t, files.crash(nil), Options{})
	if got := payloads(t, again, 0); got != "one three" {
		t.Errorf("after a crash: %s", got)
	}
	// Where it can, there is no other error.
	files.fail = func(op, _ string) error {
		if op == "sync" {
			return errShort
		}
		return nil
	}
	if err := l.Append(t.Context(), Record{Payload: []byte("four")}); !errors.Is(err, errShort) || strings.Contains(err.Error(), "cut") {
		t.Errorf("%v, want %v alone", err, errShort)
	}
}

// Numbers are missing between files, not before the first: those files are done.
func TestMissingNumbersAreCounted(t *testing.T) {
	files := newMemFS()
	l, _ := open(t, files, Options{SegmentBytes: 10}) // a file for each
	for i := range 5 {
		add(t, l, 0, fmt.Sprint(i))
	}
	done(t, l, 0, 2)
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := files.crash(nil)
	if _, recovered := open(t, after, Options{}); recovered != (Recovered{Records: 3}) {
		t.Errorf("after a crash: %+v", recovered)
	}
	after = files.crash(nil)
	delete(after.files, filepath.Join("q", segmentName(4)))
	if _, recovered := open(t, after, Options{}); recovered != (Recovered{Records: 2, Missing: 1}) {
		t.Errorf("without a file: %+v", recovered)
	}
}

// Of a segment without a record, what is not its head is cut.
func TestABegunSegmentIsCutBehindItsHead(t *testing.T) {
	files := newMemFS()
	name := filepath.Join("q", segmentName(1))
	files.files[name] = &memFile{fs: files, name: name, bytes: slices.Concat([]byte(magic), []byte("torn"))}
	if _, recovered := open(t, files, Options{}); recovered != (Recovered{CutBytes: 4}) {
		t.Errorf("%+v", recovered)
	}
}
