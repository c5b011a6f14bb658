package sdk

import (
	"context"
	"sync"
)

// entry is one event in the queue.
type entry struct {
	id   string
	text []byte // canonical JSON
}

// queue keeps entries until they are settled. Implementations are safe for
// concurrent use, but peek and drop are the sending goroutine's.
type queue interface {
	// push begins to append an entry and does not block; ErrQueueFull. stored waits
	// until the entry is in the queue.
	push(entry) (stored func(context.Context) error, err error)
	// peek returns the oldest entries, bounded by count and bytes, but at least one
	// if there is one. They stay in the queue until drop.
	peek(events, bytes int) ([]entry, error)
	// drop removes the n oldest entries, which are settled.
	drop(n int) error
	// counts returns how many entries were pushed and dropped since the start, and the
	// bytes of those that are left.
	counts() (pushed, dropped uint64, bytes int)
	// durable tells whether entries outlive the client.
	durable() bool
	close() error
}

// memoryQueue is a queue bounded by count and bytes.
type memoryQueue struct {
	mu        sync.Mutex
	entries   []entry
	bytes     int
	maxEvents int
	maxBytes  int
	dropped   uint64
}

func (q *memoryQueue) push(e entry) (stored func(context.Context) error, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.entries) >= q.maxEvents || q.bytes+len(e.text) > q.maxBytes {
		return nil, ErrQueueFull
	}
	q.entries = append(q.entries, e)
	q.bytes += len(e.text)
	return atOnce, nil
}

func atOnce(context.Context) error { return nil }

func (q *memoryQueue) peek(events, bytes int) ([]entry, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for n < len(q.entries) && n < events {
		if bytes -= len(q.entries[n].text) + 1; bytes < 0 && n > 0 {
			break
		}
		n++
	}
	return append([]entry(nil), q.entries[:n]...), nil
}

func (q *memoryQueue) drop(n int) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range n {
		q.bytes -= len(q.entries[i].text)
		q.entries[i] = entry{}
	}
	q.entries = q.entries[n:]
	if len(q.entries) == 0 {
		q.entries = nil
	}
	q.dropped += uint64(n)
	return nil
}

func (q *memoryQueue) counts() (pushed, dropped uint64, bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped + uint64(len(q.entries)), q.dropped, q.bytes
}

func (*memoryQueue) durable() bool { return false }

func (*memoryQueue) close() error { return nil }
