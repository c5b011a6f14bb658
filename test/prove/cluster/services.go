package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/tributary-io/tributary/dev/child"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/prove/balance"
)

// service is one process of the product. It comes back to the same address and files.
type service struct {
	name   string // edge1
	binary string
	args   []string
	env    []string
	addr   string // host:port
	log    string // file

	mu      sync.Mutex
	process *child.Process // nil: it is ended by us
}

// start starts it and returns once it is ready.
func (s *service) start(ctx context.Context) error {
	output, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer output.Close()
	cmd := exec.Command(s.binary, s.args...) //nolint:gosec,noctx // the program to prove; package child ends it
	cmd.Env, cmd.Stdout, cmd.Stderr = s.env, output, output
	process, err := child.Start(cmd, syscall.SIGKILL)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	s.set(process)
	return until(ctx, s.name+" is ready", patience, func() (bool, error) {
		is, _ := balance.Ready(ctx, s.addr)
		return is, s.alive()
	})
}

func (s *service) set(p *child.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = p
}

// take returns the process, which is ended by us from now on.
func (s *service) take() *child.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.process
	s.process = nil
	return p
}

// alive is an error if it ended by itself.
func (s *service) alive() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return nil
	}
	select {
	case <-s.process.Done():
		return fmt.Errorf("%s ended by itself: %w (%s)", s.name, errors.Join(errEnded, s.process.Err()), s.log)
	default:
		return nil
	}
}

var errEnded = errors.New("unexpected end")

// kill ends it by SIGKILL.
func (s *service) kill() error {
	if err := s.alive(); err != nil {
		return err
	}
	if p := s.take(); p != nil {
		p.Stop(patience, syscall.SIGKILL)
	}
	return nil
}

// terminate ends it by SIGTERM, as a deployment does; it must end by itself, with status 0.
func (s *service) terminate() error {
	if err := s.alive(); err != nil {
		return err
	}
	p := s.take()
	if p == nil {
		return nil
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.Done():
		if err := p.Err(); err != nil {
			return fmt.Errorf("%s ended at SIGTERM with %w, want exit status 0", s.name, err)
		}
		return nil
	case <-time.After(endsWithin):
		p.Stop(patience, syscall.SIGABRT, syscall.SIGKILL) // its goroutines are in its log
		return fmt.Errorf("%s did not end within %v of SIGTERM (%s)", s.name, endsWithin, s.log)
	}
}

// endsWithin is how long a service may take to end: as long as systemd waits by default.
const endsWithin = 90 * time.Second

// complaints are what no service may write, whatever happens to it.
func (s *service) complaints() (found []string, err error) {
	text, err := os.ReadFile(s.log)
	for _, word := range []string{"DATA RACE", "panic:", "fatal error:", "goroutine 1 ["} {
		if bytes.Contains(text, []byte(word)) {
			found = append(found, s.name+"'s output has "+word)
		}
	}
	return found, err
}

// until asks again and again until ok, for patience at most. An error of ok ends it.
func until(ctx context.Context, what string, patience time.Duration, ok func() (bool, error)) error {
	return await.Poll(ctx, what, 100*time.Millisecond, patience, ok)
}
