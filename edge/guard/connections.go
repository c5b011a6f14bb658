package guard

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/identity"
)

// Connections knows the server's open connections and the requests under way,
// so that the end of Serve need not wait for clients: fasthttp closes an unused
// connection after five seconds at the earliest, and one that sends its request
// slowly not at all. It also bounds how many there are, and how many of them one
// address and one network have.
type Connections struct {
	handling atomic.Int64 // requests between their last byte and their answer
	mostOpen int          // of all addresses together
	most     int          // of one address; 0: no bound
	trusted  []netip.Prefix
	tick     time.Duration // how much later than its deadline a read or write may end

	mu        sync.Mutex
	open      map[*Connection]struct{}
	addresses map[netip.Addr]int   // open connections of each, none of 0
	networks  map[netip.Prefix]int // likewise, of identity.Network
	refused   prometheus.Counter
}

// Limits bound the connections of a server.
type Limits struct {
	Open       int                // of all addresses together
	PerAddress int                // of one address; 0: no bound
	Trusted    []netip.Prefix     // proxies of ours, which may have as many as they like
	Timeout    time.Duration      // the shortest one of a connection
	Refused    prometheus.Counter // connections that were closed at once, or displaced
}

// NewConnections knows none yet.
func NewConnections(limits Limits) *Connections {
	return &Connections{
		mostOpen: limits.Open, most: limits.PerAddress, trusted: limits.Trusted, refused: limits.Refused,
		tick: min(max(limits.Timeout/20, 10*time.Millisecond), 500*time.Millisecond),
		open: map[*Connection]struct{}{}, addresses: map[netip.Addr]int{}, networks: map[netip.Prefix]int{},
	}
}

// Begin notes that a request is under way, until End.
func (c *Connections) Begin() { c.handling.Add(1) }

// End notes the end of a request that Begin has noted.
func (c *Connections) End() { c.handling.Add(-1) }

// UnderWay is how many requests are between their last byte and their answer.
func (c *Connections) UnderWay() int64 { return c.handling.Load() }

// networkShare is how many times as many connections as one address one network has
// at most: whoever has a network of IPv6 has 65,536 addresses of ours.
const networkShare = 4

// counted is the address by which a connection is counted, the zero one for a
// proxy's, which may have as many as it likes.
func (c *Connections) counted(conn net.Conn) netip.Addr {
	remote, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok || c.most <= 0 {
		return netip.Addr{}
	}
	address := remote.AddrPort().Addr().Unmap()
	if Within(c.trusted, address) {
		return netip.Addr{}
	}
	return OneClient(address)
}

// bounded is a listener that closes the connections beyond a bound.
type bounded struct {
	net.Listener
	*Connections
	log     *slog.Logger
	limiter *LogLimiter
}

// Bounded is a listener with the bounds of open connections.
func (c *Connections) Bounded(listener net.Listener, log *slog.Logger) net.Listener {
	return bounded{listener, c, log, &LogLimiter{}}
}

func (l bounded) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if exhausting(err) { // fasthttp would end the server
			if leftOut, allowed := l.limiter.Allow(time.Now()); allowed {
				l.log.Error("a connection could not be accepted", "error", err, "more_since_the_last_line", leftOut)
			}
			time.Sleep(exhaustedPause)
			continue
		}
		if err != nil {
			return nil, err
		}
		if c := l.admit(conn); c != nil {
			return c, nil
		}
		_ = conn.Close()
		l.refused.Inc()
	}
}

// exhaustedPause is the wait before the next connection is accepted, where the last one
// could not be for want of something that others will give back.
const exhaustedPause = 50 * time.Millisecond

// exhausting tells whether there was no file descriptor or no memory for a connection.
func exhausting(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOBUFS) ||
		errors.Is(err, syscall.ENOMEM)
}

// admit counts a connection until it is closed, or returns nil if the server, its
// address or its network has as many as it may. Of a server that is full it closes
// another one for it, where that is fair.
func (c *Connections) admit(conn net.Conn) *Connection {
	made := &Connection{Conn: conn, of: c, address: c.counted(conn)}
	if other := c.displaced(made); other != nil {
		_ = other.Close()
		c.refused.Inc()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) >= c.mostOpen || !c.mayHaveOne(made.address) {
		return nil
	}
	if made.address.IsValid() {
		network, _ := identity.Network(made.address)
		c.addresses[made.address]++
		c.networks[network]++
	}
	c.open[made] = struct{}{}
	return made
}

// mayHaveOne tells whether an address and its network have fewer connections than they may. c.mu is held.
func (c *Connections) mayHaveOne(address netip.Addr) bool {
	network, _ := identity.Network(address)
	return !address.IsValid() || c.addresses[address] < c.most && c.networks[network] < networkShare*c.most
}

// displacedOf is how many open connections are looked at for one that may be displaced. Of
// those whose networks have a tenth of all, none is among 64 in one of 800 times.
const displacedOf = 64

// displaced is the connection that is closed for another one if the server is full: one of a network
// that has more than the other's will have, so that some networks cannot shut out the rest; of
// the same network first one without a request. A network never displaces its own, and none is
// closed for one that will be refused.
func (c *Connections) displaced(by *Connection) (found *Connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) < c.mostOpen || !c.mayHaveOne(by.address) {
		return nil
	}
	most, looked := 1, 0
	if by.address.IsValid() {
		network, _ := identity.Network(by.address)
		most = c.networks[network] + 1
	}
	for conn := range c.open { // in no order
		if looked++; looked > displacedOf {
			break
		}
		network, counted := identity.Network(conn.address)
		has := c.networks[network]
		if counted && (has > most || has == most && found != nil && found.active() && !conn.active()) {
			found, most = conn, has
		}
	}
	return found
}

// forget is called once for each connection, when it is closed.
func (c *Connections) forget(conn *Connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, conn)
	if conn.address.IsValid() {
		network, _ := identity.Network(conn.address)
		oneLess(c.addresses, conn.address)
		oneLess(c.networks, network)
	}
}

func oneLess[K comparable](counts map[K]int, of K) {
	if counts[of]--; counts[of] == 0 {
		delete(counts, of)
	}
}

// all are the open connections.
func (c *Connections) all() []*Connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.open))
}

// Late tells whether an answer to a client of this address has passed its deadline.
func (c *Connections) Late(client net.Addr) bool {
	return slices.ContainsFunc(c.all(), func(conn *Connection) bool {
		conn.mu.Lock()
		defer conn.mu.Unlock()
		return conn.write.over && conn.RemoteAddr().String() == client.String()
	})
}

// closeUnused closes the connections between requests, or all of them.
func (c *Connections) closeUnused(all bool) {
	for _, conn := range c.all() {
		if all || !conn.active() {
			_ = conn.Close() // its goroutine then ends
		}
	}
}

// drainGrace is the time, once no request is under way, in which a request that
// has begun to arrive may arrive in whole, and an answer may be sent.
const drainGrace = time.Second

// Drain closes connections as they fall idle, until ctx ends.
func (c *Connections) Drain(ctx context.Context) {
	idleSince := time.Now()
	for ctx.Err() == nil {
		if c.handling.Load() > 0 {
			idleSince = time.Now()
		}
		c.closeUnused(time.Since(idleSince) > drainGrace)
		background.Sleep(ctx, 20*time.Millisecond)
	}
}
