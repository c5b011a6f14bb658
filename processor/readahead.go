package processor

import (
	"context"
	"sync"
)

// readAhead bounds the bytes of the records that wait in memory, of all partitions
// together. Beyond the bound each partition may have one record, so that a
// partition whose records cannot be applied now never stops another one. Safe for
// concurrent use.
type readAhead struct {
	mu    sync.Mutex
	free  int64         // bytes; negative while records are beyond the bound
	freed chan struct{} // closed, and replaced, when bytes are freed
}

// share is the part of the read-ahead that one partition holds.
type share struct {
	all  *readAhead
	held int64 // bytes; guarded by all.mu
}

func newReadAhead(bytes int) *readAhead {
	return &readAhead{free: int64(bytes), freed: make(chan struct{})}
}

// take waits until the partition may hold so many bytes more. It returns ctx's
// error where ctx ends first.
func (s *share) take(ctx context.Context, bytes int64) error {
	for {
		freed, taken := s.tryTake(bytes)
		if taken {
			return nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tryTake takes the bytes, or returns a channel that is closed when others are freed.
func (s *share) tryTake(bytes int64) (freed <-chan struct{}, taken bool) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	if bytes > s.all.free && s.held > 0 {
		return s.all.freed, false
	}
	s.all.free -= bytes
	s.held += bytes
	return nil, true
}

// free frees bytes that were taken.
func (s *share) free(bytes int64) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.all.free += bytes
	s.held -= bytes
	close(s.all.freed)
	s.all.freed = make(chan struct{})
}

// freeAll frees all bytes that the partition holds.
func (s *share) freeAll() {
	s.all.mu.Lock()
	held := s.held
	s.all.mu.Unlock()
	s.free(held)
}
