package admin

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

const (
	// checkTimeout bounds each check of /readyz.
	checkTimeout = time.Second
	// readyFor is how long an answer of /readyz holds: anybody may ask, and each
	// answer takes a query.
	readyFor = time.Second
)

// ErrWrongHashingSecret means that this process has neither of the secrets that companies' keys are made with.
var ErrWrongHashingSecret = errors.New("wrong_hashing_secret")

// readiness is the last answer of /readyz.
type readiness struct {
	mu     sync.Mutex // held while checks run: whoever asks meanwhile gets their result
	at     time.Time
	state  map[string]string // by check; not changed afterwards
	failed bool
}

// ready serves /readyz; details says whether it names the dependencies.
func (s *Server) ready(details bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.config.Leaving() {
			p := unavailable()
			p.message = "this process is about to stop"
			s.writeProblem(w, r, p)
			return
		}
		state, failed := s.readiness(r.Context())
		var data any
		if details {
			data = state
		}
		if failed {
			p := unavailable()
			p.message, p.data = "not every dependency answers", data
			s.writeProblem(w, r, p)
			return
		}
		s.writeAnswer(w, r, answer{data: data})
	}
}

// readiness runs the checks, unless they ran just now.
func (s *Server) readiness(ctx context.Context) (state map[string]string, failed bool) {
	last := &s.lastReadiness
	last.mu.Lock()
	defer last.mu.Unlock()
	if age := s.now().Sub(last.at); last.state != nil && age >= 0 && age < readyFor {
		return last.state, last.failed
	}
	ctx = context.WithoutCancel(ctx) // the result is also for others
	state = map[string]string{}
	for name, check := range s.deps.Checks {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		err := check(ctx)
		cancel()
		state[name] = "ok"
		if err != nil {
			// The cause may name hosts and users, so it is only logged.
			s.log.WarnContext(ctx, "not ready", "check", name, "error", err)
			state[name], failed = "failing", true
			if errors.Is(err, ErrWrongHashingSecret) {
				state[name] = ErrWrongHashingSecret.Error()
			}
		}
	}
	last.at, last.state, last.failed = s.now(), state, failed
	return state, failed
}
