// Package background runs functions in goroutines. The caller stops each of them
// and gets its error.
//
// What may enter: starting, stopping and waiting, and turns of work that is looked for. No
// restart: the caller decides what to do when a function has ended by itself.
package background

import (
	"context"
	"log/slog"
)

// Task is a function that was started. Call Stop when it is no longer needed.
type Task struct {
	name   string
	cancel context.CancelFunc
	done   chan struct{}
	err    error // written before done is closed
}

// Start runs a function in a goroutine until Stop. The end of ctx does not end
// it, so that the caller can stop its tasks in order. The function's error is
// logged at once.
func Start(ctx context.Context, log *slog.Logger, name string, run func(ctx context.Context) error) *Task {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t := &Task{name: name, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(t.done)
		if t.err = run(ctx); t.err != nil {
			log.Error("service ended", "service", name, "error", t.err)
		}
	}()
	return t
}

// Name returns the name given to Start.
func (t *Task) Name() string { return t.name }

// Done is closed when the function has returned.
func (t *Task) Done() <-chan struct{} { return t.done }

// Err returns the function's error. It waits until the function has returned.
func (t *Task) Err() error {
	<-t.done
	return t.err
}

// Cancel ends the function's context without waiting for the function.
func (t *Task) Cancel() { t.cancel() }

// Stop ends the function's context, waits, and returns the function's error.
// It may be called again.
func (t *Task) Stop() error {
	t.cancel()
	return t.Err()
}
