package admin

import (
	"net"
	"net/netip"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// from is a connection of an address.
type from struct {
	net.Conn
	address string
}

func (c from) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(c.address), 1))
}

func (c from) Close() error { return nil }

func TestConnectionsOfOneAddressAndOneNetworkAreBounded(t *testing.T) {
	b := newBounded(nil, 20, 2, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, nil)
	f := func(address string, want bool) net.Conn {
		t.Helper()
		made := b.admit(from{address: address})
		if (made != nil) != want {
			t.Errorf("%s: admitted %v, want %v", address, made != nil, want)
		}
		return made
	}
	first := f("192.0.2.1", true)
	f("192.0.2.1", true)
	f("192.0.2.1", false)
	f("::ffff:192.0.2.1", false) // the same address
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	_ = first.Close() // twice: it gives back one place
	f("192.0.2.1", true)
	f("192.0.2.1", false)

	f("2001:db8:0:1::1", true)
	f("2001:db8:0:1:ffff::", true)
	f("2001:db8:0:1::2", false) // one customer has the /64
	for _, other := range []string{"2001:db8:0:2::", "2001:db8:0:3::", "2001:db8:0:4::"} {
		f(other, true)
		f(other, true)
	}
	f("2001:db8:0:5::", false) // the /48 has eight
	f("2001:db8:1::", true)

	for range 9 { // there are 11
		f("10.1.2.3", true)
	}
	f("10.1.2.3", false) // all together
	f("198.51.100.1", false)
}

// What is beyond the bound is closed at once, and counted; what is closed makes room.
func TestAConnectionTooManyIsClosedAtOnce(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := prometheus.NewCounter(prometheus.CounterOpts{Name: "refused"})
	b := newBounded(listener, 10, 2, nil, refused)
	t.Cleanup(func() { _ = b.Close() })
	dial := func() net.Conn {
		t.Helper()
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	accepted := make(chan net.Conn)
	go func() {
		defer close(accepted)
		for {
			conn, err := b.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	dial()
	one := <-accepted
	dial()
	<-accepted
	third := dial()
	if n, err := third.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("the third: %d bytes, %v", n, err)
	}
	if n := testutil.ToFloat64(refused); n != 1 {
		t.Errorf("%v are counted as refused", n)
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	dial()
	<-accepted
}
