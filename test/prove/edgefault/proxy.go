package edgefault

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tributary-io/tributary/test/kafkadist"
)

// Proxy stands between the edge and one broker. Each way can be held: then bytes
// wait, as they do in a network that is cut in two, where TCP sends them again
// until it is whole. A connection that is begun meanwhile hangs too.
type Proxy struct {
	listener net.Listener
	target   atomic.Pointer[string]
	Up, Down Gate // to the broker, to the edge

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	ended bool
	wait  sync.WaitGroup
}

// NewProxy listens on a port of its own; nothing is forwarded before Serve.
func NewProxy() (*Proxy, error) {
	listener, err := kafkadist.ListenLow()
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: listener, conns: map[net.Conn]struct{}{}}
	p.Up.init()
	p.Down.init()
	return p, nil
}

// Serve forwards to target until Close.
func (p *Proxy) Serve(ctx context.Context, target string) {
	p.Lead(target)
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

// Lead leads connections that come from now on to another target.
func (p *Proxy) Lead(target string) { p.target.Store(&target) }

// Addr is where it listens, host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

func (p *Proxy) forward(ctx context.Context, client net.Conn) {
	var dialer net.Dialer
	broker, err := dialer.DialContext(ctx, "tcp", *p.target.Load())
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
	ways.Go(func() { defer end(); copyWhole(broker, client, &p.Up, over) })
	ways.Go(func() { defer end(); copyWhole(client, broker, &p.Down, over) })
	ways.Wait()
	p.forget(client, broker)
}

// copyWhole copies from one connection to another while the gate is open.
func copyWhole(to, from net.Conn, through *Gate, over <-chan struct{}) {
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

func (p *Proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.conns[c] = struct{}{}
	}
	return !p.ended
}

func (p *Proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.conns, c)
	}
}

// Sever resets all connections: what they hold is gone.
func (p *Proxy) Sever() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		reset(c)
	}
	// A way that waits at a gate ends too.
	p.Up.wake()
	p.Down.wake()
}

func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// Close ends all connections and returns once nothing is forwarded any more.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	_ = p.listener.Close()
	p.Sever()
	p.wait.Wait()
}

// Gate lets bytes pass or holds them.
type Gate struct {
	mu      sync.Mutex
	open    chan struct{} // closed while bytes may pass
	severed chan struct{} // closed when what waits must go
	held    atomic.Int64  // how often something had to wait
	slow    atomic.Int64  // nanoseconds that whatever passes waits
}

// Slow makes all that passes wait so long; 0: not at all.
func (g *Gate) Slow(d time.Duration) { g.slow.Store(int64(d)) }

func (g *Gate) init() {
	g.open, g.severed = make(chan struct{}), make(chan struct{})
	close(g.open)
}

// Shut holds all bytes until Release.
func (g *Gate) Shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = make(chan struct{})
}

// Release lets bytes pass, those that wait first.
func (g *Gate) Release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
	default:
		close(g.open)
	}
}

// wake ends every pass that waits.
func (g *Gate) wake() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.severed)
	g.severed = make(chan struct{})
}

// pass returns true once bytes may pass, and false when their connection is over.
func (g *Gate) pass(over <-chan struct{}) bool {
	g.mu.Lock()
	open, severed := g.open, g.severed
	g.mu.Unlock()
	if d := g.slow.Load(); d > 0 {
		select {
		case <-time.After(time.Duration(d)):
		case <-severed:
			return false
		case <-over:
			return false
		}
	}
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
