package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/certificate"
	"github.com/tributary-io/tributary/internal/kafka"
)

// service is what edge, admin, processor and connect all need, alone or in dev.
type service struct {
	kafka    kafka.Config
	listener net.Listener
	// certificate serves HTTPS on listener; nil: plain HTTP.
	certificate *certificate.Pair
	internal    net.Listener // of /metrics and the details of /readyz; nil: they are on listener
	log         *slog.Logger
	// shutdownDelay is how long it goes on after it was told to stop, with /readyz at 503.
	shutdownDelay time.Duration
	tracing       traceSettings
}

// serviceFlags are the flags that the services share.
type serviceFlags struct {
	name    string
	addr    string
	broker  kafkaFlags
	logging logFlags
	tracing traceFlags
	delay   time.Duration

	withoutKafka bool // set before register
}

func (f *serviceFlags) register(flags *pflag.FlagSet, name, addr string) {
	f.name = name
	flags.StringVar(&f.addr, "addr", addr, "address to listen on; /healthz, /readyz and /metrics are there too")
	f.delay = shutdownDelay[name]
	flags.Var((*duration)(&f.delay), "shutdown-delay", delayUsage(name)+"; such as 10s or 2m")
	if !f.withoutKafka {
		f.broker.register(flags)
	}
	f.logging.register(flags, "info")
	f.tracing.register(flags)
}

// read reads the flags and opens nothing.
func (f *serviceFlags) read(cmd *cobra.Command) (s service, err error) {
	var wrong problems
	s.log, err = f.logging.logger(cmd)
	wrong.add(err)
	if !f.withoutKafka {
		s.kafka, err = f.broker.config("tributary-" + f.name)
		s.kafka.SASL.Log = s.log
		wrong.add(err)
	}
	s.tracing, err = f.tracing.settings("tributary-" + f.name)
	wrong.add(err)
	if s.shutdownDelay = f.delay; f.delay < 0 {
		wrong.add(fmt.Errorf("--shutdown-delay %v is below 0", f.delay))
	}
	return s, wrong.err()
}

// shutdownDelay is --shutdown-delay's default by service: two checks of a load balancer that asks every two seconds, and one
// second to spare. No balancer leads to a processor.
var shutdownDelay = map[string]time.Duration{"edge": 5 * time.Second, "admin": 5 * time.Second, "connect": 5 * time.Second}

// delayUsage is --shutdown-delay's help.
func delayUsage(name string) string {
	if shutdownDelay[name] == 0 {
		return "how long it keeps its partitions after SIGTERM, while /readyz is 503; 0, the default: it hands them over at once, since no " +
			"load balancer leads to it"
	}
	return "how long it goes on as ever after SIGTERM, while /readyz is 503: as long as load balancers need to notice; 0: not at all"
}

// leave returns a context that ends a service's delay after ctx, and a function that tells that ctx has ended.
// release ends it at once.
func (s *service) leave(ctx context.Context, name string) (serving context.Context, leaving func() bool, release func()) {
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() {
		if s.shutdownDelay <= 0 {
			end()
			return
		}
		s.log.Info(name+" is about to stop: /readyz answers 503, and it goes on meanwhile", "delay_ms", s.shutdownDelay.Milliseconds())
		time.AfterFunc(s.shutdownDelay, end)
	})
	return serving, func() bool { return ctx.Err() != nil }, func() { unhook(); end() }
}

// listen opens the port. Call it last: a missing flag is reported first.
func (f *serviceFlags) listen(s *service) (err error) {
	if s.listener, err = listen("addr", f.addr); err != nil {
		return err
	}
	s.log.Info(f.name+" listens", "addr", s.listener.Addr().String())
	return nil
}

// publicFlags are the flags of the services that the internet reaches: edge,
// admin and, without the hashing secret, connect.
type publicFlags struct {
	hashing  hashingFlags
	proxies  proxyFlag
	tls      certificateFlags
	internal string // address
}

func (f *publicFlags) register(flags *pflag.FlagSet, drain *time.Duration) {
	f.hashing.register(flags)
	f.registerPort(flags, drain)
}

// registerPort registers all but the hashing secret.
func (f *publicFlags) registerPort(flags *pflag.FlagSet, drain *time.Duration) {
	durationVar(flags, drain, "drain", 10*time.Second, "longest wait for requests in flight at the end")
	f.proxies.register(flags)
	f.tls.register(flags)
	flags.StringVar(&f.internal, "internal-addr", "",
		"address for /metrics and the details of /readyz, which the internet should not reach (default none: both are at --addr)")
}

// listen opens the ports. Call it last.
func (f *publicFlags) listen(common *serviceFlags, s *service) (err error) {
	if f.internal != "" {
		if s.internal, err = listen("internal-addr", f.internal); err != nil {
			return err
		}
		s.log.Info(common.name+" listens for metrics and health", "addr", s.internal.Addr().String())
	}
	if err = common.listen(s); err != nil && s.internal != nil {
		err = errors.Join(err, s.internal.Close())
	}
	return err
}

// closeListeners closes what is open, also where a service ends before it serves.
// Whoever serves on a listener closes it too, which is no fault.
func (s *service) closeListeners() {
	for _, l := range []net.Listener{s.listener, s.internal} {
		if l != nil {
			_ = l.Close()
		}
	}
}

// startInternal serves a service's internal routes until the returned function is
// called, which gives the error that ended them before. Without an internal port
// it does nothing.
func (s *service) startInternal(ctx context.Context, routes http.Handler) (stop func() error) {
	if s.internal == nil {
		return func() error { return nil }
	}
	return background.Start(ctx, s.log, "internal", func(ctx context.Context) error {
		return serveInternal(ctx, routes, s.internal)
	}).Stop
}

// listen is net.Listen on TCP, with an error that names the flag.
func listen(flag, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use: stop what listens there, or give another --%s", addr, flag)
	}
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return l, nil
}

// noSniff tells browsers to take no answer of a handler for anything but what its Content-Type says.
func noSniff(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		handler.ServeHTTP(w, r)
	})
}

// serveInternal serves /healthz, /readyz and /metrics until ctx ends.
func serveInternal(ctx context.Context, handler http.Handler, listener net.Listener) error {
	server := &http.Server{Handler: noSniff(handler), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		IdleTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	var closed error
	select {
	case <-ctx.Done():
		closed = server.Close()
	case err := <-served:
		return fmt.Errorf("health: serve: %w", err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return errors.Join(closed, fmt.Errorf("health: serve: %w", err))
	}
	return closed
}
