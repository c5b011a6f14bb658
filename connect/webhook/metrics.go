package webhook

import (
	"cmp"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributary-io/tributary/internal/outgoing"
)

// metrics are the sender's own. The label is a fixed word.
type metrics struct{ attempts *prometheus.CounterVec }

func newMetrics(registry *prometheus.Registry) (*metrics, error) {
	m := &metrics{prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_connect_webhooks_total",
		Help: "Attempts to deliver messages to webhook endpoints, by what became of them."}, []string{"outcome"})}
	m.attempts.WithLabelValues("delivered")
	return m, registry.Register(m.attempts)
}

func (m *metrics) sent(r outgoing.Result) {
	m.attempts.WithLabelValues(cmp.Or(r.Try.Failure, "delivered")).Inc()
}
