package seglog

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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

// A loss of power may leave anything where a segment was begun. It must not keep
// the segments before it from being read.
func TestRubbishWhereASegmentWasBegunIsCut(t *testing.T) {
	for _, rubbish := range []string{"T", "TRB\x00\x00\x00\x00\x00", "TRBSEG", "TRBSEG\x00\x00", "TRBSEGxy and more",
		strings.Repeat("\x00", 40), strings.Repeat("x", 100)} {
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
