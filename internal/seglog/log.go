package seglog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Options bound a log. Zero values are defaults.
type Options struct {
	MaxBytes     int64 // of all segments together; 1 GiB. What says that lanes are done, 32 bytes a lane, may exceed it
	SegmentBytes int64 // of a segment before the next is begun; 16 MiB
	FS           FS    // the operating system's

	// Owner tells whose share of MaxBytes a record takes; nil: there are no shares.
	Owner func(payload []byte) Owner
}

func (o Options) withDefaults() Options {
	if o.MaxBytes == 0 {
		o.MaxBytes = 1 << 30
	}
	if o.SegmentBytes == 0 {
		o.SegmentBytes = 16 << 20
	}
	if o.FS == nil {
		o.FS = OS{}
	}
	return o
}

// Errors of Enqueue and Append.
var (
	// ErrFull: the record would exceed MaxBytes. It may fit once others are done.
	ErrFull = errors.New("seglog: full")
	// ErrTooLarge: no log takes the record.
	ErrTooLarge = errors.New("seglog: record too large")
	ErrClosed   = errors.New("seglog: closed")
)

// Record is one entry of the queue.
type Record struct {
	Lane    uint32 // at most MaxLane; records of a lane are read in their order
	Seq     uint64 // given by the log
	Payload []byte
}

// Log is a durable queue in one directory; safe for concurrent use. Open makes
// it; Close it when done.
type Log struct {
	dir     string
	options Options
	lock    io.Closer

	mu       sync.Mutex
	segments []*segment // oldest first
	lanes    map[uint32]*lane
	nextSeq  uint64
	bytes    int64 // of all segments
	shares   shares
	pending  *commit
	writing  bool  // the committer has a commit in hand
	inHand   int64 // … of so many bytes, which are not counted in bytes yet
	closed   bool
	removed  bool // a file, since the directory was synced

	wake      chan struct{} // the committer's: something is pending
	committer sync.WaitGroup
}

// lane is the part of the queue that is read in order.
type lane struct {
	entries []entry // not done, oldest first
	done    uint64  // all up to this sequence number are done
	marked  uint64  // … and the files say so up to this one
}

// entry is where a record lies.
type entry struct {
	seq     uint64
	segment *segment
	offset  int64 // of its payload
	length  int32
}

// Append puts a record behind those of its lane. It returns once the record is
// durable; ErrFull, ErrShare, ErrTooLarge and ErrClosed where nothing was done. After any
// other error, or when ctx ends first, the record may be in the queue or not.
func (l *Log) Append(ctx context.Context, r Record) error {
	done := make(chan error, 1)
	err := l.Enqueue(r, func(_ uint64, err error) { done <- err })
	if err != nil {
		return err
	}
	return wait(ctx, done)
}

// Flush makes durable which records are done. Without it, and without another
// append, a crash brings them once more.
func (l *Log) Flush(ctx context.Context) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	done := make(chan error, 1)
	c := l.nextCommit()
	c.flushed = append(c.flushed, func(err error) { done <- err })
	l.mu.Unlock()
	return wait(ctx, done)
}

func wait(ctx context.Context, done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Enqueue puts a record behind those of its lane, in the order of its calls. It
// does not wait: settled is called once, from another goroutine, when the record
// is durable, with its sequence number, or with the error after which it may be
// in the queue or not. settled must not block. The payload must not change until
// then. After ErrFull, ErrShare, ErrTooLarge and ErrClosed nothing was done.
func (l *Log) Enqueue(r Record, settled func(seq uint64, err error)) error {
	if r.Lane > MaxLane || len(r.Payload) > MaxRecord {
		return ErrTooLarge
	}
	var owner Owner
	if l.options.Owner != nil {
		owner = l.options.Owner(r.Payload)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	waiting := int64(0)
	if l.pending != nil {
		waiting = l.pending.bytes
	}
	size := recordHeader + int64(len(r.Payload))
	free := l.options.MaxBytes - (l.bytes + l.inHand + waiting + int64(len(magic)))
	if size > free {
		return ErrFull
	}
	if l.options.Owner != nil {
		if err := l.takeShare(owner, size, free); err != nil {
			return err
		}
	}
	c := l.nextCommit()
	c.owners = append(c.owners, owner)
	c.records, c.settled, c.bytes = append(c.records, r), append(c.settled, settled), c.bytes+size
	return nil
}

// Close ends the log: what waits is made durable first, and which records are
// done. The others are there when the directory is opened again.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	var marks error
	if len(l.unmarked()) > 0 && len(l.segments) > 0 {
		c := l.nextCommit()
		c.flushed = append(c.flushed, func(err error) { marks = err })
	}
	close(l.wake) // nothing is enqueued any more
	l.mu.Unlock()
	l.committer.Wait()
	removals := l.syncRemovals()
	l.mu.Lock()
	defer l.mu.Unlock()
	failures := []error{marks, removals}
	for _, s := range l.segments {
		failures = append(failures, s.file.Close())
	}
	return errors.Join(append(failures, l.lock.Close())...)
}

func (l *Log) laneOf(n uint32) *lane {
	if l.lanes[n] == nil {
		l.lanes[n] = &lane{}
	}
	return l.lanes[n]
}

// Next reads a lane's oldest records that are not done: up to limit of them,
// and up to maxBytes of payload, but the first in any case. The same are read
// again until Done.
func (l *Log) Next(n uint32, limit int, maxBytes int64) ([]Record, error) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, ErrClosed
	}
	var entries []entry
	if lane := l.lanes[n]; lane != nil {
		size := int64(0)
		for _, e := range lane.entries[:min(limit, len(lane.entries))] {
			if size += int64(e.length); size > maxBytes && len(entries) > 0 {
				break
			}
			entries = append(entries, e)
		}
	}
	l.mu.Unlock()
	// A file with records that are not done stays open, so appends need not wait.
	records := make([]Record, len(entries))
	for i, e := range entries {
		payload := make([]byte, e.length)
		if _, err := e.segment.file.ReadAt(payload, e.offset); err != nil {
			return nil, fmt.Errorf("seglog: read %s at %d: %w", segmentName(e.segment.first), e.offset, err)
		}
		records[i] = Record{Lane: n, Seq: e.seq, Payload: payload}
	}
	return records, nil
}

// Done says that a lane's records up to a sequence number need not be kept. It
// removes the files that nobody needs any more.
func (l *Log) Done(n uint32, seq uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	lane := l.lanes[n]
	if lane == nil || l.closed {
		return nil
	}
	lane.forget(min(seq, lane.newest()))
	return l.trim()
}

// newest is the sequence number of a lane's newest record.
func (n *lane) newest() uint64 {
	if len(n.entries) == 0 {
		return n.done
	}
	return n.entries[len(n.entries)-1].seq
}

// forget drops a lane's records up to a sequence number.
func (n *lane) forget(seq uint64) {
	kept := 0
	for kept < len(n.entries) && n.entries[kept].seq <= seq {
		n.entries[kept].segment.open--
		kept++
	}
	clear(n.entries[:kept]) // so that their segments can go
	n.entries = n.entries[kept:]
	if len(n.entries) == 0 {
		n.entries = nil
	}
	n.done = max(n.done, seq)
}

// Bytes is how much the segments hold.
func (l *Log) Bytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes
}

// Lanes lists the lanes that have records which are not done.
func (l *Log) Lanes() []uint32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []uint32
	for n, lane := range l.lanes {
		if len(lane.entries) > 0 {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list
}

// Len is how many records of a lane are not done.
func (l *Log) Len(n uint32) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lanes[n] == nil {
		return 0
	}
	return len(l.lanes[n].entries)
}
