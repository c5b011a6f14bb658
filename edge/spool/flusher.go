package spool

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/seglog"
)

const (
	// flushPause is how often it is made durable which records Kafka has: so much of
	// a drain is repeated after a crash.
	flushPause = time.Second

	// maxFlushPause is the longest wait before a failed flush is tried again. Each
	// wait is twice the one before, from flushPause on.
	maxFlushPause = 30 * time.Second

	// flushTimeout bounds the wait for a disk that hangs.
	flushTimeout = 10 * time.Second
)

// flusher makes durable which records Kafka has, beside the drain: a disk that
// hangs must not hold a lane, and one that fails is tried again, even when nothing
// else is written to it for hours. Stop it before its logs are closed.
type flusher struct {
	log     *slog.Logger
	wake    chan struct{}
	end     context.CancelFunc
	running sync.WaitGroup

	mu   sync.Mutex
	owed map[*seglog.Log]bool
}

func startFlusher(log *slog.Logger) *flusher {
	ctx, end := context.WithCancel(context.Background())
	f := &flusher{log: log, wake: make(chan struct{}, 1), end: end, owed: map[*seglog.Log]bool{}}
	f.running.Go(func() { f.run(ctx) })
	return f
}

// owe says that a log is to be flushed.
func (f *flusher) owe(l *seglog.Log) {
	f.mu.Lock()
	f.owed[l] = true
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// stop ends the flusher. What is owed is the logs' Close to write.
func (f *flusher) stop() {
	f.end()
	f.running.Wait()
}

func (f *flusher) run(ctx context.Context) {
	pause := flushPause
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		}
		err := f.flush(ctx)
		if err == nil {
			pause = flushPause
		} else if ctx.Err() == nil {
			f.log.Error("the spool cannot write which records Kafka has: after a crash they would be sent again", "error", err)
		}
		if !background.Sleep(ctx, pause) {
			return
		}
		if err != nil {
			pause = min(2*pause, maxFlushPause)
		}
	}
}

// flush flushes each log that is owed one. One that fails is owed still.
func (f *flusher) flush(ctx context.Context) error {
	f.mu.Lock()
	owed := f.owed
	f.owed = map[*seglog.Log]bool{}
	f.mu.Unlock()
	var failures []error
	for l := range owed {
		bounded, cancel := context.WithTimeout(ctx, flushTimeout)
		err := l.Flush(bounded)
		cancel()
		if err != nil && !errors.Is(err, seglog.ErrClosed) { // Close has flushed
			failures = append(failures, err)
			f.owe(l)
		}
	}
	return errors.Join(failures...)
}
