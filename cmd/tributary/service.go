package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tributary-io/tributary/internal/kafka"
)

// service is what edge, admin and processor all need, alone or in dev.
type service struct {
	kafka    kafka.Config
	listener net.Listener
	log      *slog.Logger
}

// serviceFlags are the flags that edge, admin and processor share.
type serviceFlags struct {
	name    string
	addr    string
	broker  kafkaFlags
	logging logFlags
}

func (f *serviceFlags) register(flags *pflag.FlagSet, name, addr string) {
	f.name = name
	flags.StringVar(&f.addr, "addr", addr, "address to listen on; /healthz, /readyz and /metrics are there too")
	f.broker.register(flags)
	f.logging.register(flags, "info")
}

// read reads the flags and opens nothing.
func (f *serviceFlags) read(cmd *cobra.Command) (s service, err error) {
	var wrong problems
	s.log, err = f.logging.logger(cmd)
	wrong.add(err)
	s.kafka, err = f.broker.config("tributary-" + f.name)
	wrong.add(err)
	return s, wrong.err()
}

// listen opens the port. Call it last: a missing flag is reported first.
func (f *serviceFlags) listen(s *service) (err error) {
	if s.listener, err = listen("addr", f.addr); err != nil {
		return err
	}
	s.log.Info(f.name+" listens", "addr", s.listener.Addr().String())
	return nil
}

// publicFlags are the flags of the services that the internet reaches: edge
// and admin.
type publicFlags struct {
	hashing hashingFlags
	proxies proxyFlag
}

func (f *publicFlags) register(flags *pflag.FlagSet, drain *time.Duration) {
	flags.DurationVar(drain, "drain", 10*time.Second, "longest wait for requests in flight at the end")
	f.hashing.register(flags)
	f.proxies.register(flags)
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
