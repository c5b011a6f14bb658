package guard

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"
)

// addressed is a connection that only has an address.
type addressed struct {
	net.Conn
	of string
}

func (a addressed) Close() error { return nil }

func (a addressed) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(a.of), 1))
}

// known is a server's connections, with a network of proxies.
func known(limits Limits) *Connections {
	limits.Trusted = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	limits.Timeout, limits.Refused = time.Second, prometheus.NewCounter(prometheus.CounterOpts{Name: "refused"})
	return NewConnections(limits)
}

func TestConnectionsAreCountedByClient(t *testing.T) {
	c := known(Limits{Open: 100, PerAddress: 2})
	f := func(address string, may bool) *Connection {
		t.Helper()
		conn := c.admit(addressed{of: address})
		if (conn != nil) != may {
			t.Errorf("%s: may open: %v", address, !may)
		}
		return conn
	}
	first := f("203.0.113.7", true)
	f("203.0.113.7", true)
	f("203.0.113.7", false)
	f("::ffff:203.0.113.7", false)
	f("203.0.113.8", true)
	f("2001:db8:1:2::1", true)
	f("2001:db8:1:2::2", true)
	f("2001:db8:1:2:3::1", false) // the same /64
	f("2001:db8:1:3::1", true)
	for range 5 {
		f("10.0.0.1", true) // a proxy of ours
	}
	// A network has four times as many as an address.
	for i := range 5 {
		f(fmt.Sprintf("2001:db8:1:%d::1", 10+i), true)
	}
	f("2001:db8:1:20::1", false)
	f("2001:db8:2::1", true)
	first.Close()
	first.Close() // by fasthttp and by the drain
	f("203.0.113.7", true)
	f("203.0.113.7", false)
	if len(c.addresses) != 10 || len(c.networks) != 3 {
		t.Errorf("addresses %v, networks %v", c.addresses, c.networks)
	}
	c.closeUnused(true)
	if len(c.addresses)+len(c.networks)+len(c.open) != 0 {
		t.Errorf("after all have ended: %v, %d open", c.addresses, len(c.open))
	}
}

// Networks that hold all connections do not shut out one that has few.
func TestAFullServerMakesRoomForNetworksWithFew(t *testing.T) {
	c := known(Limits{Open: 40, PerAddress: 5})
	open := func(network, address int) *Connection {
		return c.admit(addressed{of: fmt.Sprintf("203.0.%d.%d", network, address)})
	}
	var greedy []*Connection
	for i := range 40 { // two networks, 20 each
		conn := open(i%2, i/2/5)
		if conn == nil {
			t.Fatalf("connection %d is refused", i)
		}
		conn.state.Store(int32(fasthttp.StateActive))
		greedy = append(greedy, conn)
	}
	idle := greedy[16]
	idle.state.Store(int32(fasthttp.StateIdle))
	closed := func() (n int) {
		for _, conn := range greedy {
			if conn.closed {
				n++
			}
		}
		return n
	}
	f := func(what string, conn *Connection, may bool, total int) {
		t.Helper()
		if (conn != nil) != may || closed() != total || len(c.open) != 40 {
			t.Errorf("%s: admitted %t, %d of the greedy are closed, want %t and %d; %d are open", what, conn != nil, closed(),
				may, total, len(c.open))
		}
	}
	f("the first of a network", open(2, 1), true, 1)
	if !idle.closed {
		t.Error("a connection with a request was closed before one without")
	}
	f("one more of a network that has all it may", open(1, 4), false, 1)
	f("one more of the other, which has one fewer", open(0, 1), false, 1)
	f("a proxy's", c.admit(addressed{of: "10.0.0.1"}), true, 2)
	for i := range 4 {
		f("more of the new network", open(2, 1), true, 3+i)
	}
	f("one more of its address, which has all it may", open(2, 1), false, 6) // nobody is displaced for it
	for i := range 20 {                                                      // its own share: a third of what is left
		open(3, i/5)
	}
	a, b := c.networks[netip.MustParsePrefix("203.0.0.0/24")], c.networks[netip.MustParsePrefix("203.0.3.0/24")]
	if a < b || a-b > 2 || b < 10 {
		t.Errorf("shares are %v", c.networks)
	}
}

// dripping is a client that has another byte every 10 ms, for ever.
type dripping struct {
	net.Conn
	now      time.Time
	deadline time.Time
	reads    int
}

func (d *dripping) SetReadDeadline(at time.Time) error {
	d.deadline = at
	return nil
}

func (d *dripping) Read(p []byte) (int, error) {
	d.reads++
	if d.now = d.now.Add(10 * time.Millisecond); d.now.After(d.deadline) {
		return 0, os.ErrDeadlineExceeded
	}
	p[0] = 'x'
	return 1, nil
}

func TestTheRestOfARefusedBodyHasItsRequestsDeadline(t *testing.T) {
	f := func(left time.Duration, most, want int) {
		t.Helper()
		began := time.Unix(1_700_000_000, 0)
		client := &dripping{now: began}
		read := ReadRest(client, most, began.Add(left), func() time.Time { return client.now })
		if read != want || client.reads > want+1 {
			t.Errorf("%v before the deadline: %d bytes in %d reads, want %d", left, read, client.reads, want)
		}
	}
	f(15*time.Second, 4<<20, 1500)
	f(time.Second, 4<<20, 100)
	f(0, 4<<20, 0)
	f(-time.Second, 4<<20, 0)
	f(time.Hour, 1000, 1000) // and a bound in bytes
}

// A deadline that has passed is forgotten when a new one is set: what comes then is read.
func TestANewDeadlineReplacesOneThatHasPassed(t *testing.T) {
	c := known(Limits{Open: 100})
	ours, theirs := net.Pipe()
	defer theirs.Close()
	conn := c.admit(ours)
	defer conn.Close()
	now := time.Now()
	if err := conn.SetDeadline(now.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	conn.enforce(now.Add(time.Second))
	go func() { _, _ = theirs.Write([]byte("in time")) }()
	text := make([]byte, 20)
	if n, err := conn.Read(text); string(text[:n]) != "in time" || err != nil {
		t.Errorf("before the deadline: %q %v", text[:n], err)
	}
	conn.enforce(now.Add(2 * time.Second))
	if _, err := conn.Read(text); !os.IsTimeout(err) {
		t.Errorf("after the deadline: %v", err)
	}
	if _, err := conn.Write(text); !os.IsTimeout(err) {
		t.Errorf("after the deadline: %v", err)
	}
	if err := conn.SetReadDeadline(now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	conn.enforce(now.Add(3 * time.Second))
	go func() { _, _ = theirs.Write([]byte("again")) }()
	if n, err := conn.Read(text); string(text[:n]) != "again" || err != nil {
		t.Errorf("with a new deadline: %q %v", text[:n], err)
	}
}
