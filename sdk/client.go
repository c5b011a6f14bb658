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
	lost   dropped

	mu      sync.Mutex
	closed  bool
	stopped error         // why nothing more is sent
	failed  *Failed       // what Flush and Close have not told yet
	flushTo uint64        // entries up to this count are sent without waiting for a full batch
	changed chan struct{} // closed and replaced when entries are settled

	logged []string  // reasons; the sending goroutine's
	warned []warning // without their messages; the sending goroutine's

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
		stream:  cfg.uid(cfg.now()),
		changed: make(chan struct{}),
		wake:    make(chan struct{}, 1),
		done:    make(chan struct{}),
	}
	if cfg.QueueDir == "" {
		c.queue = &memoryQueue{maxEvents: cfg.QueueSize, maxBytes: cfg.QueueBytes}
	} else {
		disk, err := openDiskQueue(&cfg, c.signal)
		if err != nil {
			return nil, err
		}
		c.queue = disk
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
		stored, err := c.queue.push(entry{id: id, text: text})
		changed := c.changed
		c.mu.Unlock()
		if err == nil {
			err = stored(ctx)
		}
		switch {
		case err == nil:
			c.signal()
			return nil
		case !errors.Is(err, ErrQueueFull):
			return fmt.Errorf("track %s: %w", e.Name, err)
		case !c.cfg.WaitWhenFull:
			c.lost.add(dropQueueFull, 1)
			return ErrQueueFull
		}
		select {
		case <-changed:
		case <-ctx.Done():
			c.lost.add(dropQueueFull, 1)
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
// there were none since, but the edge has refused the client for good. With
// Config.QueueDir nothing is given up: it returns ctx's error if the edge stays away.
func (c *Client) Flush(ctx context.Context) error {
	target, _, _ := c.queue.counts()
	c.mu.Lock()
	c.flushTo = max(c.flushTo, target)
	c.mu.Unlock()
	c.signal()
	for {
		c.mu.Lock()
		changed, stopped := c.changed, c.stopped
		c.mu.Unlock()
		if _, settled, _ := c.queue.counts(); settled >= target || stopped != nil && c.queue.durable() {
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
// ends first, the error is ctx's too, and the events that are left are given up;
// with Config.QueueDir they stay there for the next client. It always waits for the
// goroutine. A further call waits for that too, and has nothing to say: nil.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	closed := c.closed
	c.closed = true
	c.announce()
	c.mu.Unlock()
	if closed {
		<-c.done
		return nil
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
	if closeErr := c.queue.close(); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("sdk: close Config.QueueDir: %w", closeErr))
	}
	// Also what a call of Track put there while Close ran.
	if pushed, dropped, _ := c.queue.counts(); pushed > dropped {
		err = errors.Join(err, fmt.Errorf("sdk: %d events stay in Config.QueueDir", pushed-dropped))
	}
	return err
}

// run sends one batch after the other until ctx ends or the edge refuses the client
// for good, and settles what is left then. A disk queue keeps it.
func (c *Client) run(ctx context.Context) {
	defer close(c.done)
	for ctx.Err() == nil && c.whyStopped() == nil {
		batch := c.next(ctx)
		if len(batch) > 0 {
			c.deliver(ctx, batch)
		}
	}
	if c.queue.durable() {
		return
	}
	var refused *Refused
	if errors.As(c.whyStopped(), &refused) {
		c.drain(func(e entry) Result { return refused.result(e.id) })
	}
	c.drain(func(e entry) Result { return Result{EventID: e.id, Status: GivenUp, Err: ErrClosed} })
}

// stop ends the sending for good: Track returns err from now on.
func (c *Client) stop(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = err
	c.announce()
}

// whyStopped is nil as long as the client may send.
func (c *Client) whyStopped() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopped
}

// announce wakes Flush, and calls of Track that wait for space. The caller holds c.mu.
func (c *Client) announce() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// drain settles all that waits.
func (c *Client) drain(result func(entry) Result) {
	for {
		left := c.peek()
		if len(left) == 0 {
			return
		}
		c.settle(left, result)
	}
}

// peek returns the next batch. A disk that cannot be read ends the sending.
func (c *Client) peek() []entry {
	batch, err := c.queue.peek(c.cfg.BatchEvents, c.cfg.BatchBytes)
	if err != nil {
		err = fmt.Errorf("sdk: read Config.QueueDir: %w", err)
		c.logOnce("read", "sdk: the disk queue fails; nothing more is sent", "error", err)
		c.stop(err)
		return nil
	}
	return batch
}

// next waits until a batch is full, or as old as FlushInterval, or to be flushed.
func (c *Client) next(ctx context.Context) []entry {
	var late <-chan time.Time
	for {
		pushed, dropped, bytes := c.queue.counts()
		waiting := pushed - dropped
		c.mu.Lock()
		hurry := c.flushTo > dropped
		c.mu.Unlock()
		switch {
		case waiting == 0:
		case hurry, waiting >= uint64(c.cfg.BatchEvents), bytes >= c.cfg.BatchBytes:
			return c.peek()
		case late == nil:
			timer := time.NewTimer(c.cfg.FlushInterval)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-c.wake:
		case <-late:
			return c.peek()
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
	if err := c.queue.drop(len(entries)); err != nil {
		// They are done for this client; after a crash the next one may send them again.
		c.logOnce("write", "sdk: the disk queue cannot note what is sent", "error", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.announce()
}
