package connect

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/throttle"
)

// Server is one connect service. Make it with New and run it with Run, once; Handler takes notices meanwhile.
type Server struct {
	config Config
	Deps
	platforms map[string]platform.Platform
	api       *api
	metrics   *metrics
	sessions  *sessions
	known     *knownConnections
	strangers *throttle.Buckets // what a network may send that is forged, or to addresses that nobody has
	senders   *throttle.Buckets // valid notices, by connection
	receiving chan struct{}     // holds an element for each notice that is being read
	wake      chan struct{}     // something came: look now
	running   sync.Map          // ids of connections that are worked on
	lastLook  lastLook
}

// Intervals of what the service does beside working on connections.
const (
	offerEvery   = 20 * time.Second
	measureEvery = 15 * time.Second
	storeTime    = 10 * time.Second // of one statement
)

// New makes a service. Nothing is dialled yet.
func New(config Config, deps Deps) (*Server, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	if deps, err = deps.withDefaults(); err != nil {
		return nil, err
	}
	s := &Server{
		config: config, Deps: deps, platforms: map[string]platform.Platform{}, api: newAPI(config.AdminURL),
		sessions:  newSessions(),
		known:     newKnownConnections(),
		strangers: throttle.PerSecond(strangersPerSecond, strangersBurst),
		senders:   throttle.PerSecond(sendersPerSecond, sendersBurst),
		receiving: make(chan struct{}, maxReceiving),
		wake:      make(chan struct{}, 1),
	}
	for _, p := range deps.Platforms {
		name := p.Offer().Name
		if s.platforms[name] != nil {
			return nil, fmt.Errorf("connect: two platforms are named %s", name)
		}
		s.platforms[name] = p
	}
	if s.metrics, err = newMetrics(deps.Registry); err != nil {
		return nil, fmt.Errorf("connect: metrics: %w", err)
	}
	for name := range s.platforms {
		s.metrics.begin(name)
	}
	return s, nil
}

// Run works on connections until ctx ends. Then it stops, gives all of them back, and returns nil. It leaves no goroutine behind.
func (s *Server) Run(ctx context.Context) error {
	defer s.api.close()
	defer s.sessions.close()
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() { s.every(ctx, offerEvery, "what this service offers is not stored", s.offer) })
	beside.Go(func() { s.every(ctx, measureEvery, "connections are not counted", s.measure) })

	background.Turns(ctx, s.config.Workers, s.config.LookEvery, s.wake, func(limit int) (visits []func()) {
		// A lease of its own: so a goroutine whose lease was taken away never writes, or gives back, under the lease of the one that
		// follows it in this process.
		lease := commerce.ConnectLease{Holder: rand.Text(), For: s.config.Lease}
		limited, cancel := context.WithTimeout(ctx, storeTime)
		defer cancel()
		leased, err := s.Database.LeaseConnections(limited, lease, s.Now(), limit)
		s.lastLook.note(s.Now(), err)
		if err != nil && ctx.Err() == nil {
			s.Logger.Warn("connections cannot be leased", "error", err)
		}
		for _, c := range leased {
			if _, worked := s.running.LoadOrStore(c.ID, nil); worked {
				s.giveBack(ctx, lease, c, s.Now()) // its lease was taken from a goroutine that has not noticed yet
				continue
			}
			visits = append(visits, func() {
				s.visit(ctx, lease, c)
				s.running.Delete(c.ID)
			})
		}
		return visits
	})
	return nil
}

// every calls do at once and at each interval until ctx ends, and logs what fails.
func (s *Server) every(ctx context.Context, interval time.Duration, failure string, do func(ctx context.Context) error) {
	round := func() {
		limited, cancel := context.WithTimeout(ctx, storeTime)
		defer cancel()
		if err := do(limited); err != nil && ctx.Err() == nil {
			s.Logger.Warn("postgres: "+failure, "error", err)
		}
	}
	round()
	background.Every(ctx, interval, nil, round)
}

// offer stores which platforms may be connected, and to which key credentials are sealed. A platform that needs an app of the
// operator is offered where there is one.
func (s *Server) offer(ctx context.Context) error {
	id, public := s.Keys.Newest()
	o := commerce.ConnectOffer{KeyID: id, PublicKey: public, SeenAt: s.Now()}
	for _, p := range s.Deps.Platforms {
		offered := p.Offer()
		app, registered := s.config.Apps[offered.Name]
		if installer, ok := p.(platform.Installer); ok && registered {
			offered.Install = s.config.Options.Rewritten(installer.InstallURL(app.App, "{state}"))
		}
		if offered.Install != "" || len(offered.Fields) > 0 {
			o.Platforms = append(o.Platforms, offered)
		}
	}
	return s.Database.OfferConnect(ctx, o)
}

// visit works on one connection until nothing of it is due or its turn is over, and gives it back.
func (s *Server) visit(ctx context.Context, lease commerce.ConnectLease, c commerce.LeasedConnection) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var renewing sync.WaitGroup
	defer renewing.Wait()
	renewing.Go(func() { s.renew(ctx, lease, c, cancel) })

	v := &visit{Server: s, lease: lease, c: c, session: s.sessions.of(c.ID, s.Now())}
	next := v.run(ctx)
	lost := errors.Is(context.Cause(ctx), commerce.ErrLeaseLost)
	cancel(nil)
	renewing.Wait()
	if lost {
		s.Logger.Warn("another service works on a connection now", v.names()...)
		return
	}
	s.giveBack(ctx, lease, c, next)
}

// giveBack ends a lease, also where ctx has ended.
func (s *Server) giveBack(ctx context.Context, lease commerce.ConnectLease, c commerce.LeasedConnection, next time.Time) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.Drain)
	defer cancel()
	if err := s.Database.ReleaseConnection(ctx, lease, c, next); err != nil && !errors.Is(err, commerce.ErrLeaseLost) {
		s.Logger.Warn("a connection is not given back: it is free when its lease ends", append(namesOf(c), "error", err)...)
	}
}

// renew keeps the lease until ctx ends; where it cannot, it ends the visit before another service may begin.
func (s *Server) renew(ctx context.Context, lease commerce.ConnectLease, c commerce.LeasedConnection, end context.CancelCauseFunc) {
	ticker := time.NewTicker(lease.For / 4)
	defer ticker.Stop()
	held := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		limited, cancel := context.WithTimeout(ctx, lease.For/4)
		asked := time.Now()
		err := s.Database.RenewLease(limited, lease, c)
		cancel()
		switch {
		case err == nil:
			held = asked
		case errors.Is(err, commerce.ErrLeaseLost), time.Since(held) > lease.For/2:
			end(commerce.ErrLeaseLost)
			return
		}
	}
}
