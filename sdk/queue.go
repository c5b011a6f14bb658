package sdk

import "sync"

// entry is one event in the queue.
type entry struct {
	id   string
	text []byte // canonical JSON
}

// queue keeps entries until they are settled. It is an interface so that a queue
// on disk can be added. Implementations are safe for concurrent use.
type queue interface {
	// tryPush appends an entry. It returns false if the queue is full.
	tryPush(entry) bool
	// peek returns the oldest entries, bounded by count and bytes, but at least one
	// if there is one. They stay in the queue until drop.
	peek(events, bytes int) []entry
	// drop removes the n oldest entries, which are settled.
	drop(n int)
	// counts returns how many entries were pushed and dropped since the start.
	counts() (pushed, dropped uint64)
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

func (q *memoryQueue) tryPush(e entry) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.entries) >= q.maxEvents || q.bytes+len(e.text) > q.maxBytes {
		return false
	}
	q.entries = append(q.entries, e)
	q.bytes += len(e.text)
	return true
}

func (q *memoryQueue) peek(events, bytes int) []entry {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for n < len(q.entries) && n < events {
		if bytes -= len(q.entries[n].text) + 1; bytes < 0 && n > 0 {
			break
		}
		n++
	}
	return append([]entry(nil), q.entries[:n]...)
}

func (q *memoryQueue) drop(n int) {
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
}

func (q *memoryQueue) counts() (pushed, dropped uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped + uint64(len(q.entries)), q.dropped
}
