package edge

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// from is a client whose connections come from an address of this machine.
func from(t *testing.T, address string) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	transport := &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: testClient.Timeout}
}

func TestTheSocketsOfOneAddressShutNobodyOut(t *testing.T) {
	s := newStand(t, func(c *Config, _ *Deps) { c.MaxConnections, c.MaxConnsPerIP = 10, 6 })
	testClient.CloseIdleConnections() // of other tests too: they open new ones
	addr := strings.TrimPrefix(s.url, "http://")
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.3")}}
	const sockets = 40
	var open []net.Conn
	for range sockets {
		conn, err := dialer.DialContext(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		open = append(open, conn)
	}
	s.eventually("the edge has seen all sockets", func() bool {
		return s.metric("connections_refused_total") == sockets-6
	})
	response, err := from(t, "127.0.0.2").Post(s.url+"/v1/events", "application/json", strings.NewReader(batchOf(pageView(newID()))))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != 200 {
		t.Errorf("another address: %d", response.StatusCode)
	}
	// Sockets that are closed make room for others of the address.
	for _, conn := range open {
		conn.Close()
	}
	s.eventually("the address has room again", func() bool {
		response, err := from(t, "127.0.0.3").Get(s.url + "/healthz")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == 200
	})
}

// addressed is a connection that only has an address.
type addressed struct {
	net.Conn
	of string
}

func (a addressed) Close() error { return nil }

func (a addressed) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(a.of), 1))
}

func TestConnectionsAreCountedByClient(t *testing.T) {
	config, err := Config{MaxConnsPerIP: 2, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	c := newConnections(config, benchServer(t).metrics)
	f := func(address string, may bool) *connection {
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
	config, err := Config{MaxConnections: 40, MaxConnsPerIP: 5,
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	c := newConnections(config, benchServer(t).metrics)
	open := func(network, address int) *connection {
		return c.admit(addressed{of: fmt.Sprintf("203.0.%d.%d", network, address)})
	}
	var greedy []*connection
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
	f := func(what string, conn *connection, may bool, total int) {
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

// The same with sockets.
func TestTheSocketsOfManyNetworksShutNobodyOut(t *testing.T) {
	s := newStand(t, func(c *Config, _ *Deps) { c.MaxConnections, c.MaxConnsPerIP = 12, 2 })
	testClient.CloseIdleConnections()
	addr := strings.TrimPrefix(s.url, "http://")
	for i := range 30 { // of three networks
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, byte(1+i%3), byte(1+i/6))}}
		conn, err := dialer.DialContext(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("POST /v1/events HTTP/1.1\r\n")); err != nil {
			t.Fatal(err)
		}
	}
	s.eventually("the edge is full", func() bool { return s.metric("connections_refused_total") >= 18 })
	response, err := from(t, "127.0.7.1").Post(s.url+"/v1/events", "application/json", strings.NewReader(batchOf(pageView(newID()))))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != 200 {
		t.Errorf("another network: %d", response.StatusCode)
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
		read := readRest(client, most, began.Add(left), func() time.Time { return client.now })
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

// A refused body that drips in must not hold its connection: its client sees the
// end, whatever it goes on to send.
func TestARefusedBodyThatDripsInIsCutOff(t *testing.T) {
	s := newStand(t, func(c *Config, _ *Deps) { c.ReadTimeout = 300 * time.Millisecond })
	conn := s.dial()
	if err := conn.SetDeadline(time.Now().Add(testClient.Timeout)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	ticks := time.NewTicker(10 * time.Millisecond)
	defer ticks.Stop()
	for range ticks.C {
		if _, err := conn.Write([]byte("x")); err != nil {
			if os.IsTimeout(err) {
				t.Error("the connection was still open at the test's end")
			}
			return
		}
	}
}

// A deadline that has passed is forgotten when a new one is set: what comes then is read.
func TestANewDeadlineReplacesOneThatHasPassed(t *testing.T) {
	config, err := Config{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	c := newConnections(config, benchServer(t).metrics)
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

// A connection without requests is closed after its time.
func TestAnIdleConnectionIsClosed(t *testing.T) {
	s := newStand(t, func(c *Config, _ *Deps) { c.IdleTimeout = 100 * time.Millisecond })
	conn := s.dial()
	if err := conn.SetDeadline(time.Now().Add(testClient.Timeout)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200") {
		t.Errorf("%q %v", answer, err)
	}
}
