package produce

import "sync"

// queue holds one partition's chunks from the request until they are settled,
// oldest first. Its lane calls it under its own lock.
type queue interface {
	// put takes all of the chunks or, with ErrQueueFull, none.
	put(chunks []*Chunk) error
	// take hands over the oldest chunks, of maxBytes together or a single one.
	take(maxBytes int) []*Chunk
	// free gives back the room of chunks that were taken and are settled.
	free(chunks []*Chunk)
	// waiting is how many chunks can be taken, and how many bytes they and
	// those taken but not yet freed have.
	waiting() (chunks, bytes int)
}

// room is a bound on the bytes of all queues of a batcher together. Safe for
// concurrent use.
type room struct {
	mu      sync.Mutex
	used    int
	limit   int
	changed func(bytes int) // hears of each change
}

func (r *room) reserve(bytes int) bool {
	r.mu.Lock()
	fits := r.used+bytes <= r.limit
	if fits {
		r.used += bytes
	}
	r.mu.Unlock()
	if fits {
		r.changed(bytes)
	}
	return fits
}

func (r *room) release(bytes int) {
	r.mu.Lock()
	r.used -= bytes
	r.mu.Unlock()
	r.changed(-bytes)
}

// memoryQueue is a queue in memory: what it holds is lost with the process, and
// nobody has been told otherwise.
type memoryQueue struct {
	all    *room
	limit  int // bytes of this queue alone
	bytes  int
	chunks []*Chunk
}

func (q *memoryQueue) put(chunks []*Chunk) error {
	bytes := bytesOf(chunks)
	if q.bytes+bytes > q.limit || !q.all.reserve(bytes) {
		return ErrQueueFull
	}
	q.chunks = append(q.chunks, chunks...)
	q.bytes += bytes
	return nil
}

func (q *memoryQueue) take(maxBytes int) []*Chunk {
	size, n := 0, 0
	for n < len(q.chunks) && (n == 0 || size+q.chunks[n].bytes <= maxBytes) {
		size += q.chunks[n].bytes
		n++
	}
	taken := append([]*Chunk(nil), q.chunks[:n]...)
	rest := copy(q.chunks, q.chunks[n:])
	clear(q.chunks[rest:])
	q.chunks = q.chunks[:rest]
	return taken
}

func (q *memoryQueue) free(chunks []*Chunk) {
	bytes := bytesOf(chunks)
	q.bytes -= bytes
	q.all.release(bytes)
}

func (q *memoryQueue) waiting() (chunks, bytes int) { return len(q.chunks), q.bytes }
