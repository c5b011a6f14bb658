package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"
)

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

// service is something that runs until its context ends.
type service struct {
	name string
	run  func(ctx context.Context) error
}

// running is a service that was started; stop it to have its error.
type running struct {
	name   string
	cancel context.CancelFunc
	done   chan struct{}
	err    error // read it after done
}

// start runs a service until stop, whatever becomes of ctx: services are
// stopped in an order of their own.
func start(ctx context.Context, s service, log *slog.Logger) *running {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &running{name: s.name, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		if r.err = s.run(ctx); r.err != nil {
			log.Error("service ended", "service", s.name, "error", r.err)
		}
	}()
	return r
}

func (r *running) stop() error {
	r.cancel()
	<-r.done
	return r.err
}
