package seglog

import (
	"bufio"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Recovered says what Open found.
type Recovered struct {
	Records  int   // that are not done
	CutBytes int64 // behind the last whole record of a segment: a write that was cut off
	Missing  int64 // sequence numbers that no file has: records never acknowledged, or lost with a file
}

// errForeign: removing what another version wrote would lose it. Rubbish is not
// foreign: after a loss of power it may stand where a segment was begun, of which
// nothing was acknowledged.
var errForeign = errors.New("not a segment of this version")

// Open opens the log in a directory, which it makes where there is none. A
// directory that a dead process left behind is taken over with its records:
// what is torn at a segment's end is cut off and counted. ErrLocked where
// another process uses it.
func Open(dir string, options Options) (*Log, Recovered, error) {
	l := &Log{dir: dir, options: options.withDefaults(), lanes: map[uint32]*lane{}, nextSeq: 1, shares: shares{owners: map[Owner]int64{}},
		wake: make(chan struct{}, 1)}
	if err := l.makeDir(); err != nil {
		return nil, Recovered{}, fmt.Errorf("seglog: open %s: %w", dir, err)
	}
	var err error
	if l.lock, err = l.options.FS.Lock(filepath.Join(dir, "lock")); err != nil {
		return nil, Recovered{}, fmt.Errorf("seglog: open %s: %w", dir, err)
	}
	recovered, err := l.recover()
	if err != nil {
		for _, s := range l.segments {
			err = errors.Join(err, s.file.Close())
		}
		return nil, Recovered{}, errors.Join(fmt.Errorf("seglog: open %s: %w", dir, err), l.lock.Close())
	}
	l.committer.Go(l.commitAll)
	return l, recovered, nil
}

// makeDir makes the directory, durably: a record in a directory that is lost is
// lost. That the parent itself is durable is the caller's.
func (l *Log) makeDir() error {
	if err := l.options.FS.MkdirAll(l.dir); err != nil {
		return err
	}
	return l.options.FS.SyncDir(filepath.Dir(l.dir))
}

// recover reads all segments, oldest first, and keeps what is not done.
func (l *Log) recover() (Recovered, error) {
	names, err := l.options.FS.ReadDir(l.dir)
	if err != nil {
		return Recovered{}, err
	}
	var firsts []uint64
	for _, name := range names {
		if first, ok := segmentFirst(name); ok {
			firsts = append(firsts, first)
		}
	}
	slices.Sort(firsts)
	var recovered Recovered
	for i, first := range firsts {
		if i > 0 {
			if first < l.nextSeq {
				return recovered, fmt.Errorf("%s begins before the end of the segment before it", segmentName(first))
			}
			recovered.Missing += int64(first - l.nextSeq)
		}
		l.nextSeq = first
		cut, err := l.recoverSegment(first)
		if err != nil {
			return recovered, err
		}
		recovered.CutBytes += cut
	}
	for _, lane := range l.lanes {
		lane.forget(lane.done)
		lane.marked = lane.done
		recovered.Records += len(lane.entries)
	}
	// The old segments take no new record: one may follow a cut.
	for _, s := range l.segments {
		s.last = true
	}
	return recovered, l.trim()
}

// recoverSegment reads one segment and cuts off what is torn at its end.
func (l *Log) recoverSegment(first uint64) (cut int64, err error) {
	file, err := l.options.FS.Open(filepath.Join(l.dir, segmentName(first)))
	if err != nil {
		return 0, err
	}
	s := &segment{first: first, file: file}
	l.segments = append(l.segments, s)
	size, err := file.Size()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", segmentName(first), err)
	}
	if s.size, err = l.readSegment(s, size); err != nil {
		return 0, fmt.Errorf("%s: %w", segmentName(first), err)
	}
	if s.size <= int64(len(magic)) { // no record: the next segment may need its name
		l.segments = l.segments[:len(l.segments)-1]
		return size - s.size, l.remove(s)
	}
	if s.size < size {
		if err := errors.Join(file.Truncate(s.size), file.Sync()); err != nil {
			return 0, fmt.Errorf("cut %s: %w", segmentName(first), err)
		}
	}
	l.bytes += s.size
	return size - s.size, nil
}

// readSegment notes the records of a segment, and returns where the last whole
// one ends.
func (l *Log) readSegment(s *segment, size int64) (whole int64, err error) {
	file := bufio.NewReaderSize(io.NewSectionReader(s.file, 0, size), int(min(size, 256<<10)))
	reader := &recordReader{in: file, left: size, seq: s.first}
	begun, err := reader.readMagic()
	if err != nil {
		return 0, tornIsEnd(err)
	}
	for at := int64(len(magic)); ; {
		n, payload, err := reader.read()
		if err != nil && !begun && at == int64(len(magic)) {
			return 0, tornIsEnd(err)
		}
		if err != nil {
			return at, tornIsEnd(err)
		}
		seq := reader.seq - 1
		if n == laneMarks {
			done, upTo, ok := readMark(payload)
			if !ok || upTo >= seq { // no lane is done up to a record that comes later
				return at, nil
			}
			lane := l.laneOf(done)
			lane.done = max(lane.done, upTo)
		} else {
			lane := l.laneOf(n)
			lane.entries = append(lane.entries, entry{seq, s, at + recordHeader, int32(len(payload))})
			s.open++
			if l.options.Owner != nil {
				owner := l.options.Owner(payload)
				s.ownedBy(owner, recordHeader+int64(len(payload)))
				l.shares.add(owner, recordHeader+int64(len(payload)))
			}
		}
		l.nextSeq = reader.seq
		at += recordHeader + int64(len(payload))
	}
}

func tornIsEnd(err error) error {
	if errors.Is(err, errTorn) {
		return nil
	}
	return err
}

// recordReader reads a segment from its beginning.
type recordReader struct {
	in      io.Reader
	left    int64  // bytes of the file that are not read
	seq     uint64 // the next record's
	payload []byte // the last one's
}

// readMagic reads a segment's first bytes. begun: they are what they should be.
// Where they are not, what follows may still be whole records: their own CRCs
// tell.
func (r *recordReader) readMagic() (begun bool, err error) {
	head := make([]byte, len(magic))
	if err := r.fill(head); err != nil {
		return false, err
	}
	if isForeign(string(head)) {
		return false, errForeign
	}
	return string(head) == magic, nil
}

// isForeign tells whether a head is another version's.
func isForeign(head string) bool {
	version, ours := strings.CutPrefix(head, magic[:len(magic)-2])
	_, err := strconv.ParseUint(version, 10, 8)
	return ours && err == nil && head != magic
}

// read reads a record; errTorn where there is no whole one with the expected
// number. The payload is good until the next call.
func (r *recordReader) read() (lane uint32, payload []byte, err error) {
	var header [recordHeader]byte
	if err := r.fill(header[:]); err != nil {
		return 0, nil, err
	}
	sum, length, lane, seq := readHeader(header[:])
	if length > MaxRecord || seq != r.seq {
		return 0, nil, errTorn
	}
	if int64(length) > r.left {
		return 0, nil, errTorn
	}
	r.payload = slices.Grow(r.payload[:0], int(length))[:length]
	if err := r.fill(r.payload); err != nil {
		return 0, nil, err
	}
	if crc32.Update(crc32.Checksum(header[4:], castagnoli), castagnoli, r.payload) != sum {
		return 0, nil, errTorn
	}
	r.seq++
	return lane, r.payload, nil
}

func (r *recordReader) fill(b []byte) error {
	if int64(len(b)) > r.left {
		return errTorn
	}
	n, err := io.ReadFull(r.in, b)
	r.left -= int64(n)
	return err
}
