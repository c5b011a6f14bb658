package edge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/produce"
)

// Server is one edge. Make it with New and run it with Serve, once.
type Server struct {
	config     Config
	deps       Deps
	directory  *directory
	batcher    *produce.Batcher
	duplicates *duplicates
	inflater   *inflater
	bots       *bots
	assets     map[string]*asset
	metrics    *metrics
	http       *fasthttp.Server
	open       connections
	draining   atomic.Bool
	failureLog logLimiter
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
		config: config, deps: deps, assets: assets,
		directory:  newDirectory(deps.Hasher, config, deps.Logger, deps.Now),
		duplicates: newDuplicates(config.RememberedIDs),
		inflater:   newInflater(config.MaxBody),
		bots:       newBots(),
		open:       connections{open: map[net.Conn]fasthttp.ConnState{}},
	}
	if err := s.directory.loadSnapshot(); err != nil {
		deps.Logger.Error("the directory's snapshot is left aside", "error", err)
	}
	s.metrics = newMetrics(deps.Registry, s.directory)
	s.batcher = produce.NewBatcher(deps.Producer, produce.Config{
		Linger: config.Linger, MaxBatchBytes: config.MaxBatchBytes, MaxQueuedBytes: config.MaxQueuedBytes, MaxPartitionBytes: config.MaxPartitionBytes,
		Log: deps.Logger, Now: deps.Now, Produced: s.metrics.produced, Queued: func(bytes int) { s.metrics.queuedBytes.Add(float64(bytes)) },
	})
	s.http = &fasthttp.Server{
		Handler:                      s.handle,
		ErrorHandler:                 s.refuseUnreadable,
		ConnState:                    s.open.track,
		Logger:                       httpLog{deps.Logger},
		Concurrency:                  config.MaxConnections,
		MaxConnsPerIP:                config.MaxConnsPerIP,
		MaxRequestBodySize:           config.MaxBody,
		ReadBufferSize:               16 << 10, // bounds the headers: an edge on the shop's own domain gets the shop's cookies too
		ReadTimeout:                  config.ReadTimeout,
		WriteTimeout:                 config.WriteTimeout,
		IdleTimeout:                  config.IdleTimeout,
		TCPKeepalive:                 true,
		CloseOnShutdown:              true,
		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		DisablePreParseMultipartForm: true,
		SecureErrorLogMessage:        true,
	}
	return s, nil
}

// Serve takes requests from the listener until ctx ends. Then it accepts no
// more, finishes those under way, sends what is queued, writes the directory's
// snapshot and returns nil. If that takes longer than Config.DrainTimeout it
// returns an error; what was not acknowledged by then has been answered 503.
// Serve closes the listener and leaves no goroutine behind.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	background.Go(func() { s.directory.follow(following, s.deps.Directory) })
	background.Go(func() { s.directory.checkEnd(following, s.deps.Directory) })
	background.Go(func() { s.directory.saveSnapshots(following) })

	served := make(chan error, 1)
	go func() { served <- s.http.Serve(listener) }()
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
	}
	s.draining.Store(true)
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.DrainTimeout)
	defer cancel()
	closing, closed := context.WithCancel(drain)
	background.Go(func() { s.open.drain(closing) })
	// fasthttp closes the listener too, but not if its Serve has not begun yet.
	_ = listener.Close()
	shutdown := s.http.ShutdownWithContext(drain)
	closed()
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

// handle serves one request, with an id, and counts it. A panic is answered 500
// and logged: it ends that request alone.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	s.open.handling.Add(1)
	defer s.open.handling.Add(-1)
	id := string(ctx.Request.Header.Peek("X-Request-Id"))
	if shortCode(id) == "" || identity.ScrubStrict(id) != id { // the log may hold it
		id = ""
	}
	route := "none"
	s.serveWithRecovery(ctx, id, func() { route = s.route(ctx) })
	s.metrics.requests.WithLabelValues(route, strconv.Itoa(ctx.Response.StatusCode())).Inc()
}

// guarded serves a request under its id, a new one if it is empty, and answers
// 500 if that panics.
func (s *Server) serveWithRecovery(ctx *fasthttp.RequestCtx, id string, serve func()) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		s.deps.Logger.Error("a request's handler panicked", "request_id", id, "method", string(ctx.Method()), "panic", fmt.Sprint(cause), "stack", string(debug.Stack()))
		ctx.Response.Reset()
		ctx.Response.Header.Set("X-Request-Id", id)
		s.allowOrigin(ctx)
		s.refuse(ctx, refusedPanic)
	}()
	if id == "" {
		id = s.deps.NewID()
	}
	ctx.SetUserValue(requestIDKey, id)
	ctx.Response.Header.Set("X-Request-Id", id)
	serve()
}

// route calls the handler of the request's path and returns the route's name
// for metrics. These are all routes of the edge. The fixed paths come first, so
// that a host for short links has them too.
func (s *Server) route(ctx *fasthttp.RequestCtx) string {
	path := string(ctx.Path())
	if s.config.Prefix != "" {
		if rest, found := strings.CutPrefix(path, s.config.Prefix); found && strings.HasPrefix(rest, "/") {
			path = rest
		}
	}
	switch {
	case path == "/v1/events":
		s.allowCrossOrigin(ctx, "POST", func() { s.collect(ctx) })
		return "events"
	case path == "/v1/pixel.gif":
		s.allowCrossOrigin(ctx, "GET", func() { s.pixel(ctx) })
		return "pixel"
	case strings.HasPrefix(path, "/sdk/v1/"):
		s.allowMethods(ctx, "GET, HEAD", func() { s.asset(ctx, strings.TrimPrefix(path, "/sdk/v1/")) })
		return "sdk"
	case path == "/healthz":
		s.allowMethods(ctx, "GET, HEAD", func() { s.healthz(ctx) })
		return "healthz"
	case path == "/readyz":
		s.allowMethods(ctx, "GET, HEAD", func() { s.readyz(ctx) })
		return "readyz"
	case path == "/metrics":
		s.allowMethods(ctx, "GET, HEAD", func() { s.metricsPage(ctx) })
		return "metrics"
	}
	if code := s.linkCode(ctx, path); code != "" {
		s.allowMethods(ctx, "GET, HEAD", func() { s.shortLink(ctx, code) })
		return "link"
	}
	if strings.HasPrefix(path, s.config.ShortPath+"/") {
		s.answerNoLink(ctx)
		return "link"
	}
	s.refuse(ctx, refusedNotFound)
	return "none"
}

// linkCode is the short code that the request names, "" for another route.
func (s *Server) linkCode(ctx *fasthttp.RequestCtx, path string) string {
	if rest, found := strings.CutPrefix(path, s.config.ShortPath+"/"); found {
		return shortCode(rest)
	}
	if s.config.ShortHost != "" && strings.ToLower(string(ctx.Host())) == s.config.ShortHost {
		return shortCode(strings.TrimPrefix(path, "/"))
	}
	return ""
}

// allowMethods calls serve if the request has one of the methods ("GET, HEAD"),
// and answers 405 otherwise.
func (s *Server) allowMethods(ctx *fasthttp.RequestCtx, methods string, serve func()) {
	method := string(ctx.Method())
	for allowed := range strings.SplitSeq(methods, ", ") {
		if method == allowed {
			serve()
			return
		}
	}
	ctx.Response.Header.Set("Allow", methods)
	s.refuse(ctx, refusedMethod(methods))
}

// allowCrossOrigin is allowMethods for a route that pages of other origins use.
func (s *Server) allowCrossOrigin(ctx *fasthttp.RequestCtx, methods string, serve func()) {
	if ctx.IsOptions() {
		s.preflight(ctx, methods)
		return
	}
	s.allowOrigin(ctx)
	s.allowMethods(ctx, methods, serve)
}

// badRequest answers what fasthttp could not read as a request.
func (s *Server) refuseUnreadable(ctx *fasthttp.RequestCtx, err error) {
	r := refusedUnreadable
	var small *fasthttp.ErrSmallBuffer
	var network net.Error
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		readRest(ctx.Conn(), s.config.MaxBody)
		r = refusedTooLarge
	case errors.As(err, &small):
		r = refusedHeaders
	case errors.As(err, &network) && network.Timeout():
		r = refusedTooSlow
	}
	s.serveWithRecovery(ctx, requestID(ctx), func() {
		s.allowOrigin(ctx)
		s.refuse(ctx, r)
	})
	s.metrics.requests.WithLabelValues("none", strconv.Itoa(ctx.Response.StatusCode())).Inc()
}

// Bounds of readRest. A client that pauses has written all, or waits.
const (
	restPause  = 50 * time.Millisecond
	restBodies = 4 // times the largest body
)

// readRest reads on after a body that was refused for its size, within bounds.
// A connection that is closed with unread data is reset, and a client that is
// still writing would see the reset instead of its answer.
func readRest(conn net.Conn, maxBody int) {
	buffer := make([]byte, 64<<10)
	for left := restBodies * maxBody; left > 0; {
		if conn.SetReadDeadline(time.Now().Add(restPause)) != nil {
			return
		}
		n, err := conn.Read(buffer)
		if err != nil {
			return
		}
		left -= n
	}
}

// logFailure logs that Kafka does not take events, at most once a second: while
// it is down, every request fails.
func (s *Server) logFailure(err error) {
	if leftOut, allowed := s.failureLog.allow(s.deps.Now()); allowed {
		s.deps.Logger.Warn("events or clicks could not be stored", "error", err, "more_since_the_last_line", leftOut)
	}
}

// logLimiter allows one line a second and counts those left out.
type logLimiter struct {
	mu      sync.Mutex
	last    time.Time
	leftOut int
}

// allow tells whether a line may be written now, and how many were left out
// since the last one.
func (l *logLimiter) allow(now time.Time) (leftOut int, allowed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.last) < time.Second {
		l.leftOut++
		return 0, false
	}
	leftOut, l.leftOut, l.last = l.leftOut, 0, now
	return leftOut, true
}

// httpLog logs what fasthttp says of connections.
type httpLog struct{ log *slog.Logger }

func (l httpLog) Printf(format string, args ...any) {
	l.log.Debug("http", "message", fmt.Sprintf(format, args...))
}
