package edge

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/valyala/fasthttp"
)

// lastProduce is when produces last succeeded and failed.
type lastProduce struct {
	mu      sync.Mutex
	ok      time.Time
	failed  time.Time
	failure produceOutcome
}

func (l *lastProduce) note(at time.Time, outcome produceOutcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if outcome == produceOK {
		l.ok = at
		return
	}
	l.failed, l.failure = at, outcome
}

// kafkaLately is how old Kafka's last answer may be for /readyz.
const kafkaLately = 30 * time.Second

type kafkaState struct {
	OK            bool  `json:"ok"`
	LastProduceMs int64 `json:"last_produce_ms"` // age; -1: never
	LastContactMs int64 `json:"last_contact_ms"` // age of the directory's last answer; -1: never
	// Failure is "temporary" or "permanent"; the error itself names brokers, and is in the log.
	Failure produceOutcome `json:"failure,omitempty"`
}

// kafkaState is ok when Kafka has answered lately and the last produce, if any,
// did not fail.
func (s *Server) kafkaState() kafkaState {
	now := s.deps.Now()
	s.directory.mu.RLock()
	contact := s.directory.contact
	s.directory.mu.RUnlock()
	last := s.metrics.lastProduced
	last.mu.Lock()
	defer last.mu.Unlock()
	state := kafkaState{LastProduceMs: age(now, last.ok), LastContactMs: age(now, contact)}
	lately := func(at time.Time) bool { return !at.IsZero() && now.Sub(at) <= kafkaLately }
	failing := last.failed.After(last.ok)
	if failing {
		state.Failure = last.failure
	}
	// A failed produce that nobody has tried again does not count once Kafka has answered.
	state.OK = lately(last.ok) && !failing || lately(contact) && (!failing || contact.After(last.failed))
	return state
}

func age(now, at time.Time) int64 {
	if at.IsZero() {
		return -1
	}
	return now.Sub(at).Milliseconds()
}

// readiness is the body of /readyz. What a stranger may see of it is in public.
type readiness struct {
	Status    string         `json:"status"` // statusReady | statusNotReady
	Reasons   []string       `json:"reasons,omitempty"`
	Kafka     kafkaState     `json:"kafka"`
	Spool     *spoolState    `json:"spool,omitempty"`
	Directory directoryState `json:"directory"`
}

// leaving tells that the process is about to stop (Config.Leaving).
func (s *Server) leaving() bool { return s.config.Leaving != nil && s.config.Leaving() }

const (
	statusReady    = "ready"
	statusNotReady = "not_ready"
)

func (s *Server) readiness() readiness {
	r := readiness{Status: statusReady, Kafka: s.kafkaState(), Spool: s.spoolState(), Directory: s.directory.state()}
	if !r.Kafka.OK && (r.Spool == nil || !r.Spool.Room) {
		r.Reasons = append(r.Reasons, "kafka_unavailable")
	}
	if !r.Directory.CaughtUp && r.Directory.Companies == 0 {
		r.Reasons = append(r.Reasons, "directory_not_read_yet")
	}
	if len(r.Directory.WrongKey) > 0 {
		r.Reasons = append(r.Reasons, "wrong_hashing_secret")
	}
	if s.draining.Load() || s.leaving() {
		r.Reasons = append(r.Reasons, "draining")
	}
	if len(r.Reasons) > 0 {
		r.Status = statusNotReady
	}
	return r
}

// public is what a stranger may see: without the companies' ids, and nothing but the
// status where Internal serves the rest.
func (r readiness) public(bare bool) any {
	if bare {
		return struct {
			Status string `json:"status"`
		}{r.Status}
	}
	r.Directory.WrongKey = nil // reasons has wrong_hashing_secret
	return r
}

const healthy = `{"status":"ok"}`

func (s *Server) healthz(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType("application/json")
	ctx.SetBodyString(healthy)
}

func (s *Server) readyz(ctx *fasthttp.RequestCtx) {
	r := s.readiness()
	body, err := json.Marshal(r.public(s.config.Internal))
	if err != nil {
		s.refuse(ctx, refusedPanic)
		return
	}
	ctx.SetStatusCode(r.code())
	ctx.SetContentType("application/json")
	ctx.SetBody(body)
}

// code is /readyz's HTTP status.
func (r readiness) code() int {
	if r.Status != statusReady {
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

// Internal serves what is for the installation's own people, on a port that the
// internet does not reach: /healthz, /readyz with all details, and /metrics. See
// Config.Internal.
func (s *Server) Internal() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(healthy))
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		r := s.readiness()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(r.code())
		_ = json.NewEncoder(w).Encode(r)
	})
	mux.Handle("GET /metrics", s.metricsHandler())
	return mux
}

// metricsHandler writes the metrics; those that cannot be gathered are left out.
func (s *Server) metricsHandler() http.Handler {
	return promhttp.HandlerFor(s.deps.Registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, ErrorLog: slog.NewLogLogger(s.deps.Logger.Handler(), slog.LevelError),
	})
}
