package dev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
)

// ended tells whether a part of us has ended by itself.
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

// wait returns nil at ctx's end, or the error of a part that ended before.
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

// stop ends everything in the reverse order of its start: what takes requests
// first, then what it needs.
func (p *program) stop(ctx context.Context, err error) error {
	interrupted := ctx.Err() != nil
	if interrupted {
		fmt.Fprintln(p.Out, "\nStopping …")
	}
	// First of all: who waits for dev.json, or finds it, must not find a stopped one.
	// What the next start needs is in secrets.json.
	if removeErr := os.Remove(p.infoFile()); removeErr != nil && !errors.Is(removeErr, os.ErrNotExist) && err == nil {
		err = removeErr
	}
	for i := len(p.tasks) - 1; i >= 0; i-- {
		// A part that failed has been told already; one that stops badly is told now.
		if stopErr := p.tasks[i].Stop(); stopErr != nil && err == nil {
			err = fmt.Errorf("%s: %w", p.tasks[i].Name(), stopErr)
		}
	}
	for _, l := range []net.Listener{p.listeners.edge, p.listeners.admin, p.listeners.storefront} {
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
		return nil // stopped while starting: as asked
	}
	return err
}
