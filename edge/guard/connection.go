package guard

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/internal/background"
)

// Connection is a client's connection. fasthttp sets three deadlines for each
// request; they are kept here, and Connections.Watch enforces them. To set the
// runtime's own each time costs as much as reading a request's header does.
type Connection struct {
	net.Conn
	of      *Connections
	address netip.Addr   // by which it is counted; zero: it is not
	state   atomic.Int32 // fasthttp.ConnState

	mu          sync.Mutex
	read, write deadline
	closed      bool
}

// deadline is one of a connection's.
type deadline struct {
	at   time.Time // zero: none
	over bool      // it has passed, and the runtime has been told
}

// set keeps a new deadline. tell sets the runtime's own.
func (d *deadline) set(at time.Time, tell func(time.Time) error) error {
	d.at = at
	if !d.over {
		return nil
	}
	d.over = false
	return tell(time.Time{})
}

// enforce ends what waits, if the deadline has passed.
func (d *deadline) enforce(now time.Time, tell func(time.Time) error) {
	if !d.over && !d.at.IsZero() && now.After(d.at) {
		d.over = true
		_ = tell(d.at) // of a closed connection: it ends anyway
	}
}

// SetReadDeadline ends reads that take longer, up to a tick later.
func (c *Connection) SetReadDeadline(at time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read.set(at, c.Conn.SetReadDeadline)
}

// SetWriteDeadline ends writes that take longer, up to a tick later.
func (c *Connection) SetWriteDeadline(at time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.write.set(at, c.Conn.SetWriteDeadline)
}

// SetDeadline is both.
func (c *Connection) SetDeadline(at time.Time) error {
	if err := c.SetReadDeadline(at); err != nil {
		return err
	}
	return c.SetWriteDeadline(at)
}

// ReadDeadline is until when the request that arrives must have arrived.
func (c *Connection) ReadDeadline() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read.at
}

func (c *Connection) enforce(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read.enforce(now, c.Conn.SetReadDeadline)
	c.write.enforce(now, c.Conn.SetWriteDeadline)
}

// Close closes the connection and makes room for another of its address.
func (c *Connection) Close() error {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	c.mu.Unlock()
	if first {
		c.of.forget(c)
	}
	return c.Conn.Close()
}

// Track is fasthttp.Server's ConnState.
func Track(conn net.Conn, state fasthttp.ConnState) {
	if c := ConnectionOf(conn); c != nil {
		c.state.Store(int32(state))
	}
}

// active tells whether a request is being read or answered.
func (c *Connection) active() bool {
	return fasthttp.ConnState(c.state.Load()) == fasthttp.StateActive
}

// ConnectionOf is the connection that fasthttp reads from, below TLS where there is any;
// nil for one that no listener of ours has accepted.
func ConnectionOf(conn net.Conn) *Connection {
	if over, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = over.NetConn()
	}
	c, _ := conn.(*Connection)
	return c
}

// Watch enforces the deadlines of all connections until ctx ends.
func (c *Connections) Watch(ctx context.Context) {
	for background.Sleep(ctx, c.tick); ctx.Err() == nil; background.Sleep(ctx, c.tick) {
		now := time.Now()
		for _, conn := range c.all() {
			conn.enforce(now)
		}
	}
}
