package seglog

import (
	"errors"
	"strings"
	"testing"
)

// What is in the files counts after a restart as before, and no more once it is done.
func TestAnOwnersShareIsCountedOverRestarts(t *testing.T) {
	dir := t.TempDir()
	open := func() *Log {
		l, _, err := Open(dir, Options{MaxBytes: 64 << 10, SegmentBytes: 8 << 10, Owner: func(payload []byte) Owner {
			return Owner{Name: string(payload[:1]), Reserved: payload[0] == 'K'}
		}})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	fill := func(l *Log, owner string) (n int) {
		for {
			err := l.Append(t.Context(), Record{Lane: 1, Payload: []byte(owner + strings.Repeat("x", 999))})
			if errors.Is(err, ErrShare) {
				return n
			}
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
	}
	l := open()
	a, b, k := fill(l, "a"), fill(l, "b"), fill(l, "K")
	if a < 30 || b < 6 || k < 10 {
		t.Errorf("a has %d records, b %d, one with the reserve %d", a, b, k)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = open()
	if n := fill(l, "a") + fill(l, "b") + fill(l, "K"); n != 0 {
		t.Errorf("after a restart there is room for %d more", n)
	}
	all, err := l.Next(1, 1000, 1<<20)
	if err != nil || len(all) != a+b+k {
		t.Fatalf("%d records, %v", len(all), err)
	}
	if err := l.Done(1, all[len(all)-1].Seq); err != nil {
		t.Fatal(err)
	}
	if len(l.shares.owners) != 0 || l.shares.open != 0 {
		t.Errorf("nothing is left, and counted are %v", l.shares)
	}
	if n := fill(l, "b"); n != a {
		t.Errorf("alone, b has %d records, a had %d", n, a)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// What could not be written takes no share.
func TestAFailedWriteGivesItsShareBack(t *testing.T) {
	files := newMemFS()
	l, _, err := Open("q", Options{FS: files, Owner: func([]byte) Owner { return Owner{Name: "a"} }})
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	for _, op := range []string{"create", "write", "sync"} {
		files.mu.Lock()
		files.fail = func(is, _ string) error {
			if is == op {
				return broken
			}
			return nil
		}
		files.mu.Unlock()
		if err := l.Append(t.Context(), Record{Payload: []byte("x")}); !errors.Is(err, broken) {
			t.Errorf("%s: %v", op, err)
		}
		if len(l.shares.owners) != 0 || l.shares.open != 0 {
			t.Errorf("%s failed, and counted are %v", op, l.shares)
		}
	}
	files.mu.Lock()
	files.fail = nil
	files.mu.Unlock()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
