package seglog

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
)

// FuzzOpen holds that whatever lies in the files, opening reads whole records
// only, what it keeps can be read again and appended to, and a second opening
// finds the same.
func FuzzOpen(f *testing.F) {
	segment := []byte(magic)
	for i, payload := range []string{"one", "", "three"} {
		segment = appendRecord(segment, uint32(i%2), uint64(i+1), []byte(payload))
	}
	f.Add(segment, []byte(nil))
	f.Add(segment[:len(segment)-2], appendRecord([]byte(magic), 0, 9, []byte("later")))
	f.Add(appendRecord(slices.Clone(segment), laneMarks, 4, mark(0, 3)), appendRecord([]byte(magic), laneMarks, 9, mark(1, 1<<63)))
	f.Add(append([]byte(magic), 0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0), []byte("TRBSEG02"))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		files := newMemFS()
		for seq, content := range map[uint64][]byte{1: first, 9: second} {
			name := filepath.Join("q", segmentName(seq))
			files.files[name] = &memFile{fs: files, name: name, bytes: slices.Clone(content)}
		}
		l, recovered, err := Open("q", Options{FS: files})
		if errors.Is(err, errForeign) {
			return
		}
		if err != nil {
			if records, _ := wholeRecords(first); records < 9 {
				t.Fatalf("%d records before number 9: %v", records, err)
			}
			return
		}
		said := contents(t, l)
		if n := bytes.Count(said, []byte("\n")); n != recovered.Records || recovered.CutBytes < 0 || recovered.Missing < 0 {
			t.Fatalf("%d records, recovered %+v", n, recovered)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		again, found, err := Open("q", Options{FS: files})
		if err != nil || found.CutBytes != 0 || found.Records != recovered.Records || !bytes.Equal(contents(t, again), said) {
			t.Fatalf("opened again: %+v, %v; first %+v", found, err, recovered)
		}
		add(t, again, 5, "new")
		if last := payloads(t, again, 5); last[len(last)-3:] != "new" {
			t.Fatalf("appended: %q", last)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// contents are all records that are not done, one a line.
func contents(t *testing.T, l *Log) []byte {
	t.Helper()
	var out []byte
	for _, lane := range l.Lanes() {
		records, err := l.Next(lane, 1<<20, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			out = fmt.Appendf(out, "%d %d %x\n", r.Lane, r.Seq, r.Payload)
		}
	}
	return out
}

// wholeRecords counts the records at a segment's beginning.
func wholeRecords(content []byte) (n int, err error) {
	r := &recordReader{in: bytes.NewReader(content), left: int64(len(content)), seq: 1}
	for _, err = r.readMagic(); err == nil; {
		if _, _, err = r.read(); err == nil {
			n++
		}
	}
	return n, err
}
