package edge

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net"
	"regexp"
	"sync"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/edge/guard"
	"github.com/tributary-io/tributary/internal/agent"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/produce"
	"github.com/tributary-io/tributary/internal/scrub"
	"github.com/tributary-io/tributary/internal/throttle"
)

// Server is one edge. Make it with New and run it with Serve, once.
type Server struct {
	config                  Config
	deps                    Deps
	directory               *directory
	batcher                 *produce.Batcher
	duplicates              *duplicates
	inflater                *guard.Inflater
	pools                   *pools
	bots                    *bots
	agents                  agent.Known
	known                   *knownNetworks
	signer                  *identity.Signer
	seed                    maphash.Seed    // of the keys in the tables below
	networks                *throttle.Table // what comes without an API key, by its network
	repeats                 *throttle.Table // clicks by who makes them: one of a kind holds for a while
	clicks                  *throttle.Table // clicks by network and link
	openBodies, keyedBodies *guard.Memory   // what comes without an API key, and with one
	assets                  map[string]*asset
	schema                  *asset
	metrics                 *metrics
	http                    *fasthttp.Server
	open                    *guard.Connections
	draining                atomic.Bool
	failureLog              guard.LogLimiter
	refused                 refusedOrigins
}

// New makes an edge and reads its snapshot; nothing is dialled or listened to yet.
func New(config Config, deps Deps) (*Server, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	if deps, err = deps.withDefaults(); err != nil {
		return nil, err
	}
	assets, err := loadAssets(deps.Assets)
	if err != nil {
		return nil, err
	}
	s := &Server{
		config: config, deps: deps, assets: assets, schema: newSchema(),
		directory:  newDirectory(deps.Hasher, config, deps.Logger, deps.Now),
		duplicates: newDuplicates(config.RememberedIDs),
		inflater:   guard.NewInflater(config.MaxBody),
		pools:      newPools(),
		bots:       newBots(),
		known:      &knownNetworks{known: map[networkOf]network{}},
		refused:    refusedOrigins{companies: map[string]*refusedOf{}},
		signer:     identity.NewSigner(deps.Hasher, deps.Previous),
		seed:       maphash.MakeSeed(),
		networks:   throttle.NewTable(config.NetworkPerSecond, float64(config.NetworkBurst), false),
		repeats:    throttle.NewTable(1/config.ClickRepeat.Seconds(), 1, true),
		clicks:     throttle.NewTable(config.ClicksPerSecond, float64(config.ClickBurst), false),
		openBodies: guard.NewMemory(config.MaxBodies, config.MaxBody), keyedBodies: guard.NewMemory(config.MaxBodies, config.MaxBody),
	}
	if err := s.directory.loadSnapshot(); err != nil {
		deps.Logger.Error("the directory's snapshot is left aside", "error", err)
	}
	s.metrics = newMetrics(deps.Registry, s.directory)
	s.open = guard.NewConnections(guard.Limits{Open: config.MaxConnections, PerAddress: config.MaxConnsPerIP, Trusted: config.TrustedProxies,
		Timeout: min(config.ReadTimeout, config.WriteTimeout, config.IdleTimeout), Refused: s.metrics.refusedConnections})
	s.batcher = produce.NewBatcher(deps.Producer, s.withSpool(produce.Config{
		Linger: config.Linger, MaxBatchBytes: config.MaxBatchBytes, MaxQueuedBytes: config.MaxQueuedBytes,
		MaxPartitionBytes: config.MaxPartitionBytes, AwayAfter: config.AwayAfter,
		Log: deps.Logger, Now: deps.Now, Produced: s.metrics.produced, Queued: func(bytes int) {
			s.metrics.queuedBytes.Add(float64(bytes))
		},
	}))
	s.http = &fasthttp.Server{
		Handler:        s.handle,
		ErrorHandler:   s.refuseUnreadable,
		HeaderReceived: s.beforeBody,
		ExpectHandler:  s.expectBody,
		ConnState:      guard.Track,
		Logger:         httpLog{deps.Logger},
		// connections has the bound: fasthttp would answer one too many before it accepts the next, with TLS as late as the client likes
		Concurrency:        2 * config.MaxConnections,
		StreamRequestBody:  true,           // readBody reads it: fasthttp would take the memory for all that is announced
		MaxRequestBodySize: guard.FreeBody, // what is read at once
		// bounds the headers: an edge on the shop's own domain gets the shop's cookies too
		ReadBufferSize:               16 << 10,
		ReadTimeout:                  config.ReadTimeout,
		WriteTimeout:                 config.WriteTimeout,
		IdleTimeout:                  config.IdleTimeout,
		CloseOnShutdown:              true,
		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		DisablePreParseMultipartForm: true,
		SecureErrorLogMessage:        true,
	}
	return s, nil
}

// Serve takes requests from the listener until ctx ends. Then it accepts no
// more, finishes those under way, sends or spools what is queued, writes the
// directory's snapshot and returns nil. If that takes longer than Config.DrainTimeout it
// returns an error; what was not acknowledged by then has been answered 503.
// Serve closes the listener and leaves no goroutine behind.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	background.Go(func() { s.directory.follow(following, s.deps.Directory) })
	background.Go(func() { s.directory.checkEnd(following, s.deps.Directory) })
	background.Go(func() { s.directory.saveSnapshots(following) })
	background.Go(func() { s.open.Watch(following) })
	background.Go(func() { s.tellRefused(following) })
	if s.deps.Spool != nil {
		s.batcher.Resume()
		background.Go(func() { s.learnPartitions(following) })
	}

	served := make(chan error, 1)
	go func() { served <- s.http.Serve(s.secured(s.open.Bounded(listener, s.deps.Logger))) }()
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
	}
	s.draining.Store(true)
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.DrainTimeout)
	defer cancel()
	closing, closed := context.WithCancel(drain)
	background.Go(func() { s.open.Drain(closing) })
	// fasthttp closes the listener too, but not if its Serve has not begun yet.
	_ = listener.Close()
	shutdown := s.http.ShutdownWithContext(drain)
	closed()
	s.tellRefusedNow() //nolint:contextcheck // a notice has a deadline of its own
	s.batcher.Close(drain)
	stop()
	background.Wait()
	if err == nil && ctx.Err() != nil {
		err = <-served
	}
	switch {
	case err != nil && ctx.Err() == nil:
		return fmt.Errorf("edge: serve: %w", err)
	case shutdown != nil && !errors.Is(shutdown, net.ErrClosed): // the listener's second close
		return fmt.Errorf("edge: connections were still open after %v: %w", s.config.DrainTimeout, shutdown)
	}
	return nil
}

// logFailure logs that Kafka does not take events, at most once a second: while
// it is down, every request fails.
func (s *Server) logFailure(requestID string, err error) {
	if leftOut, allowed := s.failureLog.Allow(s.deps.Now()); allowed {
		s.deps.Logger.Warn("events or clicks could not be stored", "request_id", requestID, "error", err,
			"more_since_the_last_line", leftOut)
	}
}

// httpLog logs what fasthttp says of connections, without what it quotes: the
// client's address and parts of its request.
type httpLog struct{ log *slog.Logger }

func (l httpLog) Printf(format string, args ...any) {
	l.log.Debug("http", "message", scrub.Strict(quotedPattern.ReplaceAllString(fmt.Sprintf(format, args...), "(left out)")))
}

// quotedPattern is a text as %q writes it, up to the end if it has none.
var quotedPattern = regexp.MustCompile(`"(?:[^"\\]|\\.)*(?:"|$)`)
