package await

import (
	"bytes"
	"sync"
)

// Buffer keeps what a logger or a command writes, for a test that reads it
// meanwhile. The zero value is empty; safe for concurrent use.
type Buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String is all that was written.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
