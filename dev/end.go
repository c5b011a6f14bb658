package dev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
)

// ended returns an error if a part of dev has ended by itself.
func (p *program) ended() error {
	select {
	case <-p.postgres.Done():
		return fmt.Errorf("PostgreSQL ended by itself: see %s", p.postgresLog)
	default:
	}
	for _, t := range p.tasks {
		select {
		case <-t.Done():
			if err := t.Err(); err != nil {
				return fmt.Errorf("%s: %w", t.Name(), err)
			}
			return fmt.Errorf("%s ended by itself", t.Name())
		default:
		}
	}
	return nil
}

// wait waits for the end of ctx. If a part of dev ends before, it returns that
// part's error.
func (p *program) wait(ctx context.Context) error {
	watching, cancel := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	watch := func(done <-chan struct{}) {
		watchers.Go(func() {
			select {
			case <-done:
				cancel()
			case <-watching.Done():
			}
		})
	}
	watch(p.postgres.Done())
	for _, t := range p.tasks {
		watch(t.Done())
	}
	watchers.Wait()
	cancel()
	if ctx.Err() != nil {
		return nil
	}
	return p.ended()
}

// stop stops everything in the reverse order of its start. It returns err, or,
// if that is nil, the first error of stopping.
func (p *program) stop(ctx context.Context, err error) error {
	interrupted := ctx.Err() != nil
	if interrupted {
		fmt.Fprintln(p.Out, "\nStopping …")
	}
	// First: a program that finds dev.json takes it as a sign that dev runs. What
	// the next start needs is in secrets.json.
	if removeErr := os.Remove(p.infoFile()); removeErr != nil && !errors.Is(removeErr, os.ErrNotExist) && err == nil {
		err = removeErr
	}
	for i := len(p.tasks) - 1; i >= 0; i-- {
		// The error of a part that ended by itself is in err already.
		if stopErr := p.tasks[i].Stop(); stopErr != nil && err == nil {
			err = fmt.Errorf("%s: %w", p.tasks[i].Name(), stopErr)
		}
	}
	for _, l := range []net.Listener{p.listeners.edge, p.listeners.admin, p.listeners.storefront, p.listeners.connect} {
		if l != nil {
			_ = l.Close() // closed already where its service ran
		}
	}
	if p.broker != nil {
		p.broker.Stop()
	}
	if p.postgres != nil {
		p.postgres.Stop()
	}
	if interrupted && errors.Is(err, context.Canceled) {
		return nil // it was stopped while it started
	}
	return err
}
