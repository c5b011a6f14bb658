package seglog

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// commit is what is written and made durable at once.
type commit struct {
	records []Record
	owners  []Owner // of the records
	bytes   int64
	settled []func(seq uint64, err error) // of the records, in order
	flushed []func(err error)             // of those who wait for the marks alone
}

// nextCommit is the commit that gathers, and wakes the committer for it. The
// caller holds l.mu, so the committer takes it with what the caller adds.
func (l *Log) nextCommit() *commit {
	if l.pending == nil {
		l.pending = &commit{}
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return l.pending
}

// commitAll writes and syncs what is pending until the log is closed.
func (l *Log) commitAll() {
	for range l.wake {
		l.mu.Lock()
		c := l.pending
		l.pending, l.writing = nil, c != nil
		if c != nil {
			l.inHand = c.bytes
		}
		l.mu.Unlock()
		if c == nil {
			continue // it was taken with the one before
		}
		first, err := l.write(c)
		l.mu.Lock()
		l.writing, l.inHand = false, 0
		if err != nil {
			l.giveShares(c)
		} else {
			_ = l.trim() // what was done meanwhile; a file that stays is read once more at the next Open
		}
		l.mu.Unlock()
		for i, settled := range c.settled {
			settled(first+uint64(i), err)
		}
		for _, flushed := range c.flushed {
			flushed(err)
		}
	}
}

// write appends a commit's records to the newest segment and makes them
// durable. It returns the first's sequence number.
func (l *Log) write(c *commit) (first uint64, err error) {
	l.mu.Lock()
	nothing := len(c.records) == 0 && (len(l.unmarked()) == 0 || len(l.segments) == 0)
	l.mu.Unlock()
	if nothing { // without a file, nothing can come once more
		return 0, l.syncRemovals()
	}
	s, err := l.writable()
	if err != nil {
		return 0, err
	}
	l.mu.Lock()
	seq, start := l.nextSeq, s.size
	marks := l.unmarked()
	l.mu.Unlock()
	first = seq
	buffer := make([]byte, 0, c.bytes+int64(len(marks))*(recordHeader+markBytes))
	entries := make([]entry, len(c.records))
	for i, r := range c.records {
		entries[i] = entry{seq, s, start + int64(len(buffer)) + recordHeader, int32(len(r.Payload))}
		buffer = appendRecord(buffer, r.Lane, seq, r.Payload)
		seq++
	}
	for _, m := range marks {
		buffer = appendRecord(buffer, laneMarks, seq, mark(m.lane, m.seq))
		seq++
	}
	if _, err := s.file.WriteAt(buffer, start); err != nil {
		return 0, l.fail(s, seq, fmt.Errorf("seglog: write %s: %w", segmentName(s.first), err))
	}
	if err := s.file.Sync(); err != nil {
		return 0, l.fail(s, seq, fmt.Errorf("seglog: sync %s: %w", segmentName(s.first), err))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nextSeq = seq
	s.size += int64(len(buffer))
	l.bytes, l.inHand = l.bytes+int64(len(buffer)), 0
	for i, r := range c.records {
		lane := l.laneOf(r.Lane)
		lane.entries = append(lane.entries, entries[i])
		s.open++
		if l.options.Owner != nil {
			s.ownedBy(c.owners[i], recordHeader+int64(len(r.Payload)))
		}
	}
	for _, m := range marks {
		l.lanes[m.lane].marked = m.seq
	}
	s.last = s.size >= l.options.SegmentBytes
	return first, nil
}

// fail ends a segment whose write or sync failed: what of it is on disk nobody
// knows. Its sequence numbers are spent: the next segment begins behind them,
// so that what may be left of them is never taken for others. What was not
// acknowledged is cut off where that is still possible: a full disk would
// otherwise hold the rest of each attempt.
func (l *Log) fail(s *segment, next uint64, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.last, l.nextSeq = true, next
	if s.size == int64(len(magic)) { // nothing of it was acknowledged
		l.segments = slices.DeleteFunc(l.segments, func(other *segment) bool { return other == s })
		l.bytes -= s.size
		return errors.Join(err, l.remove(s), l.trim())
	}
	if cutErr := s.file.Truncate(s.size); cutErr != nil {
		err = errors.Join(err, fmt.Errorf("seglog: cut %s: %w", segmentName(s.first), cutErr))
		if size, sizeErr := s.file.Size(); sizeErr == nil && size > s.size {
			l.bytes += size - s.size
			s.size = size
		}
	}
	return errors.Join(err, l.trim())
}

type laneMark struct {
	lane uint32
	seq  uint64
}

// unmarked are the lanes that are done further than the files say.
func (l *Log) unmarked() []laneMark {
	var marks []laneMark
	for n, lane := range l.lanes {
		if lane.done > lane.marked {
			marks = append(marks, laneMark{n, lane.done})
		}
	}
	slices.SortFunc(marks, func(a, b laneMark) int { return cmp.Compare(a.lane, b.lane) })
	return marks
}

// segment is one file.
type segment struct {
	first uint64
	file  File
	size  int64
	open  int  // records of it that are not done
	last  bool // no record is appended any more

	owners map[Owner]int64 // bytes of each owner's records
}

// writable is the newest segment, a new one where that takes no more.
func (l *Log) writable() (*segment, error) {
	l.mu.Lock()
	if n := len(l.segments); n > 0 && !l.segments[n-1].last {
		defer l.mu.Unlock()
		return l.segments[n-1], nil
	}
	first := l.nextSeq
	l.mu.Unlock()
	file, err := l.options.FS.Create(filepath.Join(l.dir, segmentName(first)))
	if err != nil {
		return nil, fmt.Errorf("seglog: create %s: %w", segmentName(first), err)
	}
	s := &segment{first: first, file: file, size: int64(len(magic))}
	_, err = file.WriteAt([]byte(magic), 0)
	if err == nil {
		err = l.options.FS.SyncDir(l.dir)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("seglog: create %s: %w", segmentName(first), err), l.remove(s))
	}
	l.segments, l.bytes, l.removed = append(l.segments, s), l.bytes+s.size, false
	return s, nil
}

// syncRemovals makes durable that files are gone: one that came back after a
// loss of power would bring its records once more.
func (l *Log) syncRemovals() error {
	l.mu.Lock()
	removed := l.removed
	l.removed = false
	l.mu.Unlock()
	if !removed {
		return nil
	}
	if err := l.options.FS.SyncDir(l.dir); err != nil {
		l.mu.Lock()
		l.removed = true
		l.mu.Unlock()
		return fmt.Errorf("seglog: sync %s: %w", l.dir, err)
	}
	return nil
}

// remove removes a segment's file. It is durable with the next segment, Flush or
// Close. The caller holds l.mu, or nobody else has the log yet.
func (l *Log) remove(s *segment) error {
	l.removed = true
	for owner, n := range s.owners {
		l.shares.add(owner, -n)
	}
	if err := errors.Join(s.file.Close(), l.options.FS.Remove(filepath.Join(l.dir, segmentName(s.first)))); err != nil {
		return fmt.Errorf("seglog: remove %s: %w", segmentName(s.first), err)
	}
	return nil
}

// trim removes the oldest segments of which no record is open: never one behind
// an open one, since it may hold the marks of that. The newest is kept for what
// comes, unless nothing at all is open.
func (l *Log) trim() error {
	var failures []error
	for len(l.segments) > 0 && l.segments[0].open == 0 && (l.segments[0].last || len(l.segments) > 1 || l.idle()) {
		s := l.segments[0]
		l.segments = l.segments[1:]
		l.bytes -= s.size
		failures = append(failures, l.remove(s))
	}
	return errors.Join(failures...)
}

// idle tells that nothing is about to be written.
func (l *Log) idle() bool { return l.pending == nil && !l.writing }
