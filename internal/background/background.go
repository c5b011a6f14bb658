// Package background runs functions beside their caller, who stops each and
// learns how it ended.
//
// What may enter: starting, stopping and waiting. No restart: a service that
// ends by itself is its caller's decision.
package background

import (
	"context"
	"log/slog"
)

// Task is a function that was started. Stop it.
type Task struct {
	name   string
	cancel context.CancelFunc
	done   chan struct{}
	err    error // written before done is closed
}

// Start runs a function in a goroutine until Stop, also after the end of ctx:
// the caller stops its tasks in an order of its own. An error is logged at once.
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

// Name is the name given to Start.
func (t *Task) Name() string { return t.name }

// Done is closed when the function has returned.
func (t *Task) Done() <-chan struct{} { return t.done }

// Err is what the function returned. Call it after Done is closed.
func (t *Task) Err() error {
	<-t.done
	return t.err
}

// Cancel ends the function's context and does not wait.
func (t *Task) Cancel() { t.cancel() }

// Stop ends the function's context, waits, and returns the function's error.
// It may be called again.
func (t *Task) Stop() error {
	t.cancel()
	return t.Err()
}
