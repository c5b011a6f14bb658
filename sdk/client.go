package sdk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Client sends events. It is safe for concurrent use. Make one with New, and call
// Close at the end.
type Client struct {
	cfg    Config
	http   *http.Client
	own    *http.Transport // nil if Config.HTTPClient was given
	queue  queue
	stream string
	seq    atomic.Int64

	mu      sync.Mutex
	closed  bool
	stopped *Refused      // nothing more is sent
	failed  *Failed       // what Flush and Close have not told yet
	flushTo uint64        // entries up to this count are sent without waiting for a full batch
	changed chan struct{} // closed and replaced when entries are settled

	logged []string // reasons; the sending goroutine's

	wake   chan struct{} // capacity 1: an entry was pushed, or Flush was called
	cancel context.CancelFunc
	done   chan struct{} // closed when the sending goroutine has ended
}

// New starts a client with one goroutine, which Close ends.
func New(cfg Config) (*Client, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	c := &Client{
		cfg:     cfg,
		http:    cfg.HTTPClient,
		queue:   &memoryQueue{maxEvents: cfg.QueueSize, maxBytes: cfg.QueueBytes},
		stream:  cfg.uid(cfg.now()),
		changed: make(chan struct{}),
		wake:    make(chan struct{}, 1),
		done:    make(chan struct{}),
	}
	if c.http == nil {
		c.http = &http.Client{}
		// A program may have replaced http.DefaultTransport by another type. Then
		// that is used, and Close does not close its connections.
		if standard, ok := http.DefaultTransport.(*http.Transport); ok {
			c.own = standard.Clone()
			c.http.Transport = c.own
		}
	}
	if cfg.APIKey != "" {
		c.http = keepKey(c.http)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	go c.run(ctx)
	return c, nil
}

// Track puts an event into the queue and returns before it is sent. payload is a
// value that encodes to a JSON object, or nil. The error is an *Invalid if the
// edge would refuse the event, and ErrQueueFull if the queue is full, unless
// Config.WaitWhenFull is set. Once the edge has refused the client for good, it is a
// *Refused.
func (c *Client) Track(ctx context.Context, event string, payload any, identity Identity) error {
	return c.track(ctx, Event{Name: event, Identity: identity}, payload)
}

// TrackEvent is Track for an event with more fields: the visitor, the page, its
// time, or an id by which the edge recognizes a repeated event.
func (c *Client) TrackEvent(ctx context.Context, e Event) error {
	return c.track(ctx, e, nil)
}

func (c *Client) track(ctx context.Context, e Event, payload any) error {
	text, id, err := c.encode(e, payload)
	if err != nil {
		return err
	}
	for {
		c.mu.Lock()
		if c.closed {
			c.mu.Unlock()
			return ErrClosed
		}
		if stopped := c.stopped; stopped != nil {
			c.mu.Unlock()
			return fmt.Errorf("track %s: %w", e.Name, stopped)
		}
		pushed := c.queue.tryPush(entry{id: id, text: text})
		changed := c.changed
		c.mu.Unlock()
		if pushed {
			c.signal()
			return nil
		}
		if !c.cfg.WaitWhenFull {
			return ErrQueueFull
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("track %s: %w: %w", e.Name, ErrQueueFull, ctx.Err())
		}
	}
}

func (c *Client) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Flush sends the queue without waiting for more events. It returns when every
// event tracked before the call is acknowledged, refused or given up. The error is
// a *Failed if events were refused or given up since the last Flush; a *Refused if
// there were none since, but the edge has refused the client for good.
func (c *Client) Flush(ctx context.Context) error {
	target, _ := c.queue.counts()
	c.mu.Lock()
	c.flushTo = max(c.flushTo, target)
	c.mu.Unlock()
	c.signal()
	for {
		c.mu.Lock()
		changed := c.changed
		c.mu.Unlock()
		if _, settled := c.queue.counts(); settled >= target {
			return c.takeFailed()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("flush events: %w", ctx.Err())
		}
	}
}

// Close flushes the queue and ends the client. Its error is that of Flush. If ctx
// ends first, the events that are left are given up, and the error is ctx's too. It
// always waits for the goroutine. A second call returns ErrClosed.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	closed := c.closed
	c.closed = true
	close(c.changed) // wakes up calls of Track that wait for space
	c.changed = make(chan struct{})
	c.mu.Unlock()
	if closed {
		<-c.done
		return ErrClosed
	}
	err := c.Flush(ctx)
	c.cancel()
	<-c.done
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = errors.Join(err, c.takeFailed())
	}
	return err
}

// run sends one batch after the other until ctx ends, then gives up what is left.
func (c *Client) run(ctx context.Context) {
	defer close(c.done)
	for ctx.Err() == nil {
		batch := c.next(ctx)
		if len(batch) > 0 {
			c.deliver(ctx, batch)
		}
		if refused := c.refused(); refused != nil {
			c.drain(func(e entry) Result { return refused.result(e.id) })
		}
	}
	c.drain(func(e entry) Result { return Result{EventID: e.id, Status: GivenUp, Err: ErrClosed} })
}

// stop ends the sending for good: Track returns refused from now on. What waits is
// refused with the same words.
func (c *Client) stop(refused *Refused) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = refused
}

// refused is nil as long as the client may send.
func (c *Client) refused() *Refused {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopped
}

// drain settles all that waits.
func (c *Client) drain(result func(entry) Result) {
	for {
		left := c.queue.peek(c.cfg.BatchEvents, c.cfg.BatchBytes)
		if len(left) == 0 {
			return
		}
		c.settle(left, result)
	}
}

// next waits until a batch is full, or as old as FlushInterval, or to be flushed.
func (c *Client) next(ctx context.Context) []entry {
	var late <-chan time.Time
	for {
		batch := c.queue.peek(c.cfg.BatchEvents, c.cfg.BatchBytes)
		pushed, dropped := c.queue.counts()
		c.mu.Lock()
		hurry := c.flushTo > dropped
		c.mu.Unlock()
		if len(batch) > 0 && (hurry || uint64(len(batch)) < pushed-dropped || len(batch) == c.cfg.BatchEvents) {
			return batch
		}
		if len(batch) > 0 && late == nil {
			timer := time.NewTimer(c.cfg.FlushInterval)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-c.wake:
		case <-late:
			return c.queue.peek(c.cfg.BatchEvents, c.cfg.BatchBytes)
		case <-ctx.Done():
			return nil
		}
	}
}

// settle reports the oldest entries of the queue and removes them.
func (c *Client) settle(entries []entry, result func(entry) Result) {
	for _, e := range entries {
		r := result(e)
		c.note(r)
		c.cfg.OnResult(r)
	}
	c.queue.drop(len(entries))
	c.mu.Lock()
	close(c.changed)
	c.changed = make(chan struct{})
	c.mu.Unlock()
}
