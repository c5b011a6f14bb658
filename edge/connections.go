package edge

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"
)

// connections knows the server's open connections and the requests under way,
// so that the end of Serve need not wait for clients: fasthttp closes an unused
// connection after five seconds at the earliest, and one that sends its request
// slowly not at all. It also bounds how many one address has.
type connections struct {
	handling atomic.Int64 // requests between their last byte and their answer
	most     int          // of one address; 0: no bound
	trusted  []netip.Prefix

	mu        sync.Mutex
	open      map[net.Conn]*connection
	addresses map[netip.Addr]int // open connections of each, none of 0
	refused   prometheus.Counter
}

type connection struct {
	state   fasthttp.ConnState
	since   time.Time  // the beginning of its request, while one arrives
	address netip.Addr // by which it is counted; zero: it is not
}

func newConnections(config Config, metrics *metrics) *connections {
	return &connections{
		most: config.MaxConnsPerIP, trusted: config.TrustedProxies, refused: metrics.refusedConnections,
		open: map[net.Conn]*connection{}, addresses: map[netip.Addr]int{},
	}
}

// track is fasthttp.Server's ConnState.
func (c *connections) track(conn net.Conn, state fasthttp.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.open[conn]
	if state == fasthttp.StateClosed || state == fasthttp.StateHijacked {
		delete(c.open, conn)
		if known != nil && known.address.IsValid() {
			if c.addresses[known.address]--; c.addresses[known.address] == 0 {
				delete(c.addresses, known.address)
			}
		}
		return
	}
	if known == nil {
		known = &connection{address: c.counted(conn)}
		c.open[conn] = known
		if known.address.IsValid() {
			c.addresses[known.address]++
		}
	}
	known.state = state
	if state == fasthttp.StateActive {
		known.since = time.Now()
	}
}

// counted is the address by which a connection is counted, the zero one for a
// proxy's, which may have as many as it likes.
func (c *connections) counted(conn net.Conn) netip.Addr {
	remote, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok || c.most <= 0 {
		return netip.Addr{}
	}
	address := remote.AddrPort().Addr().Unmap()
	if within(c.trusted, address) {
		return netip.Addr{}
	}
	return clientNetwork(address)
}

// requestSince is when the request that the connection sends began to arrive.
func (c *connections) requestSince(conn net.Conn) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.open[conn]; known != nil {
		return known.since
	}
	return time.Time{}
}

// bounded is a listener that closes the connections of an address beyond its bound.
type bounded struct {
	net.Listener
	*connections
}

func (l bounded) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil || l.mayOpen(conn) {
			return conn, err
		}
		_ = conn.Close()
		l.refused.Inc()
	}
}

// mayOpen tells whether a connection's address has room for it. It is counted
// once fasthttp, which accepts one at a time, has called track.
func (c *connections) mayOpen(conn net.Conn) bool {
	address := c.counted(conn)
	c.mu.Lock()
	defer c.mu.Unlock()
	return !address.IsValid() || c.addresses[address] < c.most
}

// closeUnused closes the connections between requests, or all of them.
func (c *connections) closeUnused(all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn, of := range c.open {
		if all || of.state != fasthttp.StateActive {
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
