package produce

import "sync"

// queue holds one partition's chunks from the request until they are settled,
// oldest first. Its lane calls it under its own lock.
type queue interface {
	// put takes all of the parcel's chunks or, with ErrQueueFull, none.
	put(p *Parcel) error
	// take appends the oldest chunks, of maxBytes together or a single one.
	take(dst []*chunk, maxBytes int) []*chunk
	// free stops counting the bytes of chunks that were taken and are settled.
	free(chunks []*chunk)
	// waiting is how many chunks can be taken, and how many bytes they and
	// those taken but not yet freed have.
	waiting() (chunks, bytes int)
}

// budget bounds the bytes of all queues of a batcher together. Safe for
// concurrent use.
type budget struct {
	mu      sync.Mutex
	used    int
	limit   int
	changed func(bytes int) // is called with each change
}

func (b *budget) reserve(bytes int) bool {
	b.mu.Lock()
	fits := b.used+bytes <= b.limit
	if fits {
		b.used += bytes
	}
	b.mu.Unlock()
	if fits {
		b.changed(bytes)
	}
	return fits
}

func (b *budget) release(bytes int) {
	b.mu.Lock()
	b.used -= bytes
	b.mu.Unlock()
	b.changed(-bytes)
}

// memoryQueue is a queue in memory. What it holds is lost when the process ends,
// and no request has been answered "ok" for it.
type memoryQueue struct {
	shared *budget
	limit  int // of this queue alone, in bytes
	bytes  int
	chunks []*chunk
}

func (q *memoryQueue) put(p *Parcel) error {
	bytes := p.bytes()
	if q.bytes+bytes > q.limit || !q.shared.reserve(bytes) {
		return ErrQueueFull
	}
	for i := range p.chunks {
		q.chunks = append(q.chunks, &p.chunks[i])
	}
	q.bytes += bytes
	return nil
}

func (q *memoryQueue) take(dst []*chunk, maxBytes int) []*chunk {
	size, n := 0, 0
	for n < len(q.chunks) && (n == 0 || size+q.chunks[n].bytes <= maxBytes) {
		size += q.chunks[n].bytes
		n++
	}
	dst = append(dst, q.chunks[:n]...)
	rest := copy(q.chunks, q.chunks[n:])
	clear(q.chunks[rest:])
	q.chunks = q.chunks[:rest]
	return dst
}

func (q *memoryQueue) free(chunks []*chunk) {
	bytes := bytesOf(chunks)
	q.bytes -= bytes
	q.shared.release(bytes)
}

func (q *memoryQueue) waiting() (chunks, bytes int) { return len(q.chunks), q.bytes }
