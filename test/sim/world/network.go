package main

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// network is between the senders and an edge's place.
type network struct {
	w      *world
	random *dice

	mu     sync.Mutex
	faults networkFaults
}

// networkFaults are what the network does wrong. Shares are of 1.
type networkFaults struct {
	refused  bool          // no connection is made
	requests float64       // share of writes that are cut
	answers  float64       // share of answers that are lost
	slow     time.Duration // more than usual, at most
}

func (n *network) set(change func(*networkFaults)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(&n.faults)
}

func (n *network) current() networkFaults {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.faults
}

func (n *network) delay() {
	f := n.current()
	d := n.random.between(100*time.Microsecond, 5*time.Millisecond)
	if f.slow > 0 {
		d += n.random.between(0, f.slow)
	}
	time.Sleep(d)
}

// listener accepts connections within the program.
type listener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}

	mu   sync.Mutex
	open map[net.Conn]bool
}

func newListener() *listener {
	return &listener{conns: make(chan net.Conn), closed: make(chan struct{}), open: map[net.Conn]bool{}}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return address(1, 80) }

// address is one of a network for documentation (RFC 5737).
func address(host byte, port uint16) net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, host}), port))
}

// cut closes all connections, as the end of the process does.
func (l *listener) cut() {
	_ = l.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		_ = c.Close()
	}
	clear(l.open)
}

// dial connects a sender to what listens at a place.
func (n *network) dial(ctx context.Context, to *machine) (net.Conn, error) {
	n.delay()
	l := to.listening()
	if l == nil || n.current().refused {
		return nil, syscall.ECONNREFUSED
	}
	client, server := net.Pipe()
	end := serverConn{Conn: server, l: l}
	l.mu.Lock()
	l.open[server] = true
	l.mu.Unlock()
	select {
	case l.conns <- end:
		return &clientConn{Conn: client, n: n}, nil
	case <-l.closed:
		return nil, syscall.ECONNREFUSED
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type serverConn struct {
	net.Conn
	l *listener
}

func (c serverConn) RemoteAddr() net.Addr { return address(2, 40000) }
func (c serverConn) LocalAddr() net.Addr  { return address(1, 80) }

func (c serverConn) Close() error {
	c.l.mu.Lock()
	delete(c.l.open, c.Conn)
	c.l.mu.Unlock()
	return c.Conn.Close()
}

type clientConn struct {
	net.Conn
	n *network
}

func (c *clientConn) Write(b []byte) (int, error) {
	c.n.delay()
	if share := c.n.current().requests; share > 0 && c.n.random.chance(share) {
		n, _ := c.Conn.Write(b[:c.n.random.intn(len(b)+1)])
		_ = c.Conn.Close()
		return n, syscall.ECONNRESET
	}
	return c.Conn.Write(b)
}

func (c *clientConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.n.delay()
		if share := c.n.current().answers; share > 0 && c.n.random.chance(share) {
			_ = c.Conn.Close()
			return 0, syscall.ECONNRESET
		}
	}
	return n, err
}
