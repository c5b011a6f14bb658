package edgefault

import (
	"context"
	"net"
	"sync"
	"sync/atomic"

	"github.com/tributary-io/tributary/test/kafkadist"
)

// proxy stands between the edge and one broker. Each way can be held: then bytes
// wait, as they do in a network that is cut in two, where TCP sends them again
// until it is whole. A connection that is begun meanwhile hangs too.
type proxy struct {
	listener net.Listener
	target   string // is set before the first connection
	up, down gate   // to the broker, to the edge

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	ended bool
	wait  sync.WaitGroup
}

func newProxy() (*proxy, error) {
	listener, err := kafkadist.ListenLow()
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: listener, conns: map[net.Conn]struct{}{}}
	p.up.init()
	p.down.init()
	return p, nil
}

// serve forwards to target until close.
func (p *proxy) serve(ctx context.Context, target string) {
	p.target = target
	p.wait.Go(func() {
		for {
			client, err := p.listener.Accept()
			if err != nil {
				return
			}
			p.wait.Go(func() { p.forward(ctx, client) })
		}
	})
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) forward(ctx context.Context, client net.Conn) {
	var dialer net.Dialer
	broker, err := dialer.DialContext(ctx, "tcp", p.target)
	if err != nil {
		reset(client)
		return
	}
	over := make(chan struct{}) // one of the two ways has ended
	if !p.keep(client, broker) {
		reset(client)
		reset(broker)
		return
	}
	var ways sync.WaitGroup
	var once sync.Once
	end := func() {
		once.Do(func() {
			close(over)
			_ = client.Close()
			_ = broker.Close()
		})
	}
	ways.Go(func() { defer end(); copyWhole(broker, client, &p.up, over) })
	ways.Go(func() { defer end(); copyWhole(client, broker, &p.down, over) })
	ways.Wait()
	p.forget(client, broker)
}

// copyWhole copies from one connection to another while the gate is open.
func copyWhole(to, from net.Conn, through *gate, over <-chan struct{}) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if !through.pass(over) {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.conns[c] = struct{}{}
	}
	return !p.ended
}

func (p *proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.conns, c)
	}
}

// sever resets all connections: what they hold is gone.
func (p *proxy) sever() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		reset(c)
	}
	// A way that waits at a gate ends too.
	p.up.wake()
	p.down.wake()
}

func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// close ends all connections and returns once nothing is forwarded any more.
func (p *proxy) close() {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	_ = p.listener.Close()
	p.sever()
	p.wait.Wait()
}

// gate lets bytes pass or holds them.
type gate struct {
	mu      sync.Mutex
	open    chan struct{} // closed while bytes may pass
	severed chan struct{} // closed when what waits must go
	held    atomic.Int64  // how often something had to wait
}

func (g *gate) init() {
	g.open, g.severed = make(chan struct{}), make(chan struct{})
	close(g.open)
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = make(chan struct{})
}

func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
	default:
		close(g.open)
	}
}

// wake ends every pass that waits.
func (g *gate) wake() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.severed)
	g.severed = make(chan struct{})
}

// pass returns true once bytes may pass, and false when their connection is over.
func (g *gate) pass(over <-chan struct{}) bool {
	g.mu.Lock()
	open, severed := g.open, g.severed
	g.mu.Unlock()
	select {
	case <-open:
		return true
	default:
	}
	g.held.Add(1)
	select {
	case <-open:
		return true
	case <-severed:
		return false
	case <-over:
		return false
	}
}
