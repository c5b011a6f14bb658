package admin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/identity"
)

// Server is the API; New makes it. It is an http.Handler, and Run is its
// background work: a server whose Run does not run publishes no outbox.
type Server struct {
	observer      *observer
	config        Config
	deps          Deps
	log           *slog.Logger
	now           func() time.Time
	random        io.Reader
	mux           *http.ServeMux
	keys          *keyCache
	signer        *identity.Signer
	limits        *limits
	links         linkPolicy
	metrics       *metrics
	accepted      *acceptedOrders
	bulk          chan struct{} // has one for each request of POST /orders that is read now
	exports       chan struct{} // holds an element for each export that is under way
	lastReadiness readiness
	clock         *increasingClock

	reference map[string]*document // of the API, for people and machines, by path below a base

	wake chan struct{} // tells the relay that a change was committed

}

// New makes the API.
func New(config Config, deps Deps) (*Server, error) {
	config.defaults()
	switch {
	case deps.Database == nil, deps.Producer == nil, deps.Hasher == nil:
		return nil, errors.New("admin: Database, Producer and Hasher are needed")
	case config.ShortBase == "":
		return nil, errors.New("admin: ShortBase is needed: without it a short URL cannot be told")
	case min(config.RuleRate.PerSecond, config.RuleRate.Burst, config.IngestRate.PerSecond, config.IngestRate.Burst,
		config.BulkRate.PerSecond, config.BulkRate.Burst) < 1:
		return nil, errors.New("admin: a rate needs at least 1 a second and a burst of 1")
	}
	if deps.Reports == nil {
		deps.Reports = deps.Database
	}
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if deps.Secret == nil {
		deps.Secret = func(context.Context) error { return nil }
	}
	if deps.Random == nil {
		deps.Random = rand.Reader
	}
	if deps.Resolver == nil {
		deps.Resolver = net.DefaultResolver
	}
	metrics, err := newMetrics(deps.Metrics)
	if err != nil {
		return nil, fmt.Errorf("admin: metrics: %w", err)
	}
	reference, err := newReference()
	if err != nil {
		return nil, fmt.Errorf("admin: reference: %w", err)
	}
	s := &Server{
		reference: reference,
		config:    config, deps: deps, log: deps.Log, now: deps.Now, random: deps.Random,
		observer: &observer{log: deps.Log, now: deps.Now, random: deps.Random, metrics: metrics, leaving: config.Leaving,
			tracer: deps.Tracer},
		mux:      http.NewServeMux(),
		keys:     newKeyCache(deps.Database, deps.Hasher, deps.Now, config.DependencyTimeout),
		signer:   identity.NewSigner(deps.Hasher, deps.Previous),
		limits:   newLimits(config),
		links:    newLinkPolicy(deps.Resolver, config.AcceptUnresolved),
		metrics:  metrics,
		accepted: newAcceptedOrders(maxAccepted),
		bulk:     make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
		exports:  make(chan struct{}, exportsAtOnce),
		clock:    &increasingClock{now: deps.Now},
		wake:     make(chan struct{}, 1),
	}
	s.mount(s.mux)
	return s, nil
}

// Run does the background work until ctx ends: it publishes the outbox, renews
// the keys in use, stores when they were used, measures the outbox, removes
// expired answers, and hashes contacts again while the hashing secret is rotated. It returns when all of that has ended.
func (s *Server) Run(ctx context.Context) {
	bounded := func(do func(ctx context.Context) error) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, s.config.DependencyTimeout)
			defer cancel()
			return do(ctx)
		}
	}
	flush := bounded(s.keys.flush)
	var group sync.WaitGroup
	group.Go(func() { s.relay(ctx) })
	// One goroutine each: none waits for another's statement.
	group.Go(func() { s.every(ctx, keyRenew, nil, "the API keys in use are not renewed", bounded(s.keys.renew)) })
	group.Go(func() { s.every(ctx, usedFlush, nil, "the last use of API keys is not stored", flush) })
	group.Go(func() { s.every(ctx, outboxMeasure, nil, "the outbox is not measured", bounded(s.measureOutbox)) })
	group.Go(func() { s.every(ctx, forgetEvery, nil, "expired answers are not removed", s.forgetAnswers) }) // it bounds each of its steps
	group.Go(func() { s.keepHashed(ctx) })
	group.Go(func() {
		s.every(ctx, signsRenew, s.deps.Database.SignsWanted(), "reports of signs are not made anew", s.renewSigns)
	})
	group.Wait()
	// The uses since the last flush. ctx has ended.
	if err := flush(context.WithoutCancel(ctx)); err != nil {
		s.log.Warn("last use of API keys was not stored", "error", err)
	}
}

// every calls do at each interval, and when something comes from wake, until ctx ends. It logs what fails.
func (s *Server) every(ctx context.Context, interval time.Duration, wake <-chan struct{}, failure string,
	do func(ctx context.Context) error) {
	background.Every(ctx, interval, wake, func() {
		if err := do(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("postgres: "+failure, "error", err)
		}
	})
}

// Bounds of a connection, so that a slow client does not hold one for long.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = time.Minute // begins at the end of the headers, so it includes reading the body
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 32 << 10
)

// Serve serves on a listener, with the background work, until ctx ends; then it
// stops accepting, finishes the requests in flight within ShutdownTimeout, and
// stops the rest. A clean stop is nil. handler is the server itself, or a Mux
// with it.
func (s *Server) Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	beside, stop := context.WithCancel(context.WithoutCancel(ctx))
	var group sync.WaitGroup
	group.Go(func() { s.Run(beside) })
	defer group.Wait()
	defer stop()

	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	group.Go(func() { failed <- server.Serve(listener) })
	select {
	case err := <-failed:
		return fmt.Errorf("admin: serve: %w", err)
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.ShutdownTimeout)
	defer cancel()
	if err := server.Shutdown(limited); err != nil {
		return fmt.Errorf("admin: requests were still in flight at the end: %w", errors.Join(err, server.Close()))
	}
	return nil
}
