package background_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/tributary-io/tributary/internal/background"
)

func TestATaskRunsUntilItIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan struct{})
	task := background.Start(ctx, slog.New(slog.DiscardHandler), "one", func(ctx context.Context) error {
		close(started)
		<-ctx.Done()
		return errors.New("ended")
	})
	<-started
	cancel() // the caller's context does not end it
	select {
	case <-task.Done():
		t.Error("it ended with the caller's context")
	default:
	}
	for range 2 {
		if err := task.Stop(); err == nil || err.Error() != "ended" {
			t.Errorf("Stop returned %v, want the function's error", err)
		}
	}
	if task.Name() != "one" {
		t.Errorf("name %q", task.Name())
	}
}
