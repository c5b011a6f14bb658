package connect

import (
	"context"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tributary-io/tributary/internal/commerce"
)

// metrics are the service's own. Labels are platforms and fixed words: no company, and nothing that a stranger can choose.
type metrics struct {
	registry    *prometheus.Registry
	connections *prometheus.GaugeVec // by state, of the whole database
	lag         prometheus.Gauge
	backfilling prometheus.Gauge
	sent        *prometheus.CounterVec
	tests       *prometheus.CounterVec
	aside       *prometheus.CounterVec // by reason
	polls       *prometheus.HistogramVec
	requests    *prometheus.CounterVec // to shops' servers, by status; 0: no answer
	notices     *prometheus.CounterVec // by what became of them
	differ      *prometheus.CounterVec
	ownFailures prometheus.Counter
}

func newMetrics(registry *prometheus.Registry) (*metrics, error) {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_connect_" + name, Help: help}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "tributary_connect_" + name, Help: help})
	}
	m := &metrics{
		registry: registry,
		connections: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_connect_connections",
			Help: "Connections to shops, of all services."}, []string{"state"}),
		lag:         gauge("lag_seconds", "How long ago the changes of the live connection that waits longest were last read."),
		backfilling: gauge("backfills", "Connections whose earlier orders are being read."),
		sent:        counter("orders_total", "Versions of orders that the admin API took.", "platform"),
		tests:       counter("test_orders_total", "Test orders, which are not sent.", "platform"),
		aside:       counter("orders_aside_total", "Orders that were set aside.", "platform", "reason"),
		polls: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "tributary_connect_poll_seconds",
			Help: "Time to read and send what changed.", Buckets: prometheus.ExponentialBuckets(0.05, 2.5, 10)}, []string{"platform"}),
		requests: counter("requests_total", "Requests to shops, by the answer's status; 0: none came.", "platform", "status"),
		notices:  counter("notices_total", "Notices that came, by what became of them.", "platform", "outcome"),
		differ:   counter("orders_differ_total", "Orders that differed from the shop's after they were sent again.", "platform"),
		ownFailures: prometheus.NewCounter(prometheus.CounterOpts{Name: "tributary_connect_own_failures_total",
			Help: "Visits of connections that ended since the admin API or PostgreSQL did not answer."}),
	}
	for _, c := range []prometheus.Collector{m.connections, m.lag, m.backfilling, m.sent, m.tests, m.aside, m.polls, m.requests,
		m.notices, m.differ, m.ownFailures} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// begin has what is counted of a platform there from the start.
func (m *metrics) begin(platformName string) {
	for _, c := range []*prometheus.CounterVec{m.sent, m.tests, m.differ} {
		c.WithLabelValues(platformName)
	}
	m.polls.WithLabelValues(platformName)
	m.aside.WithLabelValues(platformName, commerce.ShopUnknownShape)
	m.requests.WithLabelValues(platformName, strconv.Itoa(http.StatusOK))
	m.notices.WithLabelValues(platformName, noticeTaken)
}

func (m *metrics) delivered(platformName string, page commerce.ConnectPage) {
	m.sent.WithLabelValues(platformName).Add(float64(page.Orders))
	m.tests.WithLabelValues(platformName).Add(float64(page.Tests))
	for _, order := range page.Aside {
		m.aside.WithLabelValues(platformName, order.Reason).Inc()
	}
}

func (m *metrics) polled(platformName string, took time.Duration) {
	m.polls.WithLabelValues(platformName).Observe(took.Seconds())
}

// states are those that a connection may have.
var states = []commerce.ConnectionState{commerce.ConnectionInstalling, commerce.ConnectionDraft, commerce.ConnectionConnecting,
	commerce.ConnectionBackfilling, commerce.ConnectionLive, commerce.ConnectionFailing, commerce.ConnectionPaused, commerce.ConnectionEnded}

// measure counts connections.
func (s *Server) measure(ctx context.Context) error {
	counts, err := s.Database.CountConnections(ctx)
	if err != nil {
		return err
	}
	for _, state := range states {
		s.metrics.connections.WithLabelValues(string(state)).Set(0)
	}
	lag, backfills := time.Duration(0), int64(0)
	for _, c := range counts {
		s.metrics.connections.WithLabelValues(string(c.State)).Set(float64(c.Connections))
		switch c.State {
		case commerce.ConnectionBackfilling:
			backfills = c.Connections
			fallthrough
		case commerce.ConnectionLive, commerce.ConnectionFailing:
			if !c.OldestPoll.IsZero() {
				lag = max(lag, s.Now().Sub(c.OldestPoll))
			}
		}
	}
	s.metrics.lag.Set(lag.Seconds())
	s.metrics.backfilling.Set(float64(backfills))
	return nil
}

// lastLook is when the database last answered.
type lastLook struct{ at atomic.Int64 }

func (l *lastLook) note(now time.Time, err error) {
	if err == nil {
		l.at.Store(now.UnixNano())
	}
}

// readyWithin is how long ago the database may have answered last.
const readyWithin = 30 * time.Second

// Handler takes notices of platforms. /healthz answers while the process runs, /readyz while it reaches the database.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/connect/{platform}/{connection}", s.receive)
	mux.HandleFunc("/connect/{platform}", s.receiveOfApp)
	s.health(mux)
	if !s.config.Internal {
		mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}))
	}
	return mux
}

// Internal is for the port that the internet does not reach: /metrics, /healthz and /readyz.
func (s *Server) Internal() http.Handler {
	mux := http.NewServeMux()
	s.health(mux)
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}))
	return mux
}

func (s *Server) health(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if s.config.Leaving != nil && s.config.Leaving() || s.Now().Sub(time.Unix(0, s.lastLook.at.Load())) > readyWithin {
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
}
