package admin

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics of the service by route. They are not by company, of which there may be many.
type metrics struct {
	registry      *prometheus.Registry
	requests      *prometheus.CounterVec
	seconds       *prometheus.HistogramVec
	published     prometheus.Counter
	outboxWaiting prometheus.Gauge
	outboxAge     prometheus.Gauge // seconds
	relaying      prometheus.Gauge

	refusedConnections prometheus.Counter
}

func newMetrics(registry *prometheus.Registry) (*metrics, error) {
	if registry == nil {
		registry = prometheus.NewRegistry()
	}
	m := &metrics{
		registry: registry,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tributary_admin_requests_total", Help: "Requests answered."}, []string{"route", "method", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tributary_admin_request_seconds", Help: "Time to answer a request.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14)}, []string{"route"}),
		published: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tributary_admin_outbox_published_total", Help: "Outbox records published by this process."}),
		outboxWaiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tributary_admin_outbox_waiting", Help: "Outbox records not yet published by any admin."}),
		outboxAge: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tributary_admin_outbox_oldest_age_seconds", Help: "How long the oldest of those has been waiting; 0 while none waits."}),
		relaying: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tributary_admin_outbox_relaying", Help: "1 where this process publishes the outbox."}),
		refusedConnections: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tributary_admin_connections_refused_total",
			Help: "Connections closed at once: all together, or their address or network, had too many."}),
	}
	for _, c := range []prometheus.Collector{m.requests, m.seconds, m.published, m.outboxWaiting, m.outboxAge, m.relaying,
		m.refusedConnections} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

func (m *metrics) observe(route, method string, status int, took time.Duration) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodPatch:
	default:
		method = "other" // a client may send any word, and each would be a label
	}
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
}
