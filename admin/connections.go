package admin

import (
	"net"
	"net/netip"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributary-io/tributary/internal/identity"
)

// Bounds of open connections: those of an edge (edge.Config).
const (
	maxConnections     = 10_000
	addressConnections = 500 // of one address; of IPv6: one /64
	networkShare       = 4   // one network has so many times as many
)

// bounded is a listener that closes at once the connections beyond a bound: of all together,
// of one address and of one network. A trusted proxy has the bound of all alone.
type bounded struct {
	net.Listener
	all, ofAddress int
	trusted        []netip.Prefix
	refused        prometheus.Counter

	mu        sync.Mutex
	open      int
	addresses map[netip.Addr]int   // open connections of each, none of 0
	networks  map[netip.Prefix]int // likewise, of identity.Network
}

// Admitted is a listener with the bounds of open connections; TLS, if any, goes over it.
// Connections of trusted are a proxy's.
func (s *Server) Admitted(listener net.Listener, trusted []netip.Prefix) net.Listener {
	return newBounded(listener, maxConnections, addressConnections, trusted, s.metrics.refusedConnections)
}

func newBounded(listener net.Listener, all, ofAddress int, trusted []netip.Prefix, refused prometheus.Counter) *bounded {
	return &bounded{
		Listener: listener, all: all, ofAddress: ofAddress, trusted: trusted, refused: refused,
		addresses: map[netip.Addr]int{}, networks: map[netip.Prefix]int{},
	}
}

// Accept returns the next connection that is within the bounds.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		conn, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if made := b.admit(conn); made != nil {
			return made, nil
		}
		b.refused.Inc()
		_ = conn.Close()
	}
}

// admit counts a connection until it is closed, and returns nil for one too many.
func (b *bounded) admit(conn net.Conn) net.Conn {
	address := b.counted(conn)
	network, _ := identity.Network(address)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open >= b.all {
		return nil
	}
	if address.IsValid() {
		if b.addresses[address] >= b.ofAddress || b.networks[network] >= networkShare*b.ofAddress {
			return nil
		}
		b.addresses[address]++
		b.networks[network]++
	}
	b.open++
	return &admitted{Conn: conn, forget: sync.OnceFunc(func() { b.forget(address, network) })}
}

// counted is the address by which a connection is counted: of an IPv6 address the /64, since
// one customer has all of it. It is the zero one for a trusted proxy's.
func (b *bounded) counted(conn net.Conn) netip.Addr {
	remote, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	address := remote.AddrPort().Addr().Unmap().WithZone("")
	for _, p := range b.trusted {
		if p.Contains(address) {
			return netip.Addr{}
		}
	}
	if address.Is6() {
		network, _ := address.Prefix(64) // 64 bits are always there
		return network.Addr()
	}
	return address
}

func (b *bounded) forget(address netip.Addr, network netip.Prefix) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open--
	if address.IsValid() {
		oneLess(b.addresses, address)
		oneLess(b.networks, network)
	}
}

func oneLess[K comparable](counts map[K]int, of K) {
	if counts[of]--; counts[of] == 0 {
		delete(counts, of)
	}
}

// admitted is a connection that is counted until it is closed.
type admitted struct {
	net.Conn
	forget func()
}

// Close closes the connection and makes room for another one.
func (c *admitted) Close() error {
	c.forget()
	return c.Conn.Close()
}
