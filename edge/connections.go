package edge

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// connections knows the server's open connections and the requests under way,
// so that the end of Serve need not wait for clients: fasthttp closes an unused
// connection after five seconds at the earliest, and one that sends its request
// slowly not at all.
type connections struct {
	handling atomic.Int64 // requests between their last byte and their answer

	mu   sync.Mutex
	open map[net.Conn]fasthttp.ConnState
}

// track is fasthttp.Server's ConnState.
func (c *connections) track(conn net.Conn, state fasthttp.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state == fasthttp.StateClosed || state == fasthttp.StateHijacked {
		delete(c.open, conn)
		return
	}
	c.open[conn] = state
}

// closeUnused closes the connections between requests, or all of them.
func (c *connections) closeUnused(all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn, state := range c.open {
		if all || state != fasthttp.StateActive {
			_ = conn.Close() // its goroutine then calls track with StateClosed
		}
	}
}

// drainGrace is the time, once no request is under way, in which a request that
// has begun to arrive may arrive in whole, and an answer may be sent.
const drainGrace = time.Second

// drain closes connections as they fall idle, until ctx ends.
func (c *connections) drain(ctx context.Context) {
	idleSince := time.Now()
	for ctx.Err() == nil {
		if c.handling.Load() > 0 {
			idleSince = time.Now()
		}
		c.closeUnused(time.Since(idleSince) > drainGrace)
		pause(ctx, 20*time.Millisecond)
	}
}

// clientNetwork is an address as one client may have it: of an IPv6 address the
// /64, since one customer has all of it.
func clientNetwork(address netip.Addr) netip.Addr {
	address = address.Unmap().WithZone("")
	if address.Is6() {
		network, _ := address.Prefix(64) // 64 bits are always there
		return network.Addr()
	}
	return address
}
