package processor

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tributary-io/tributary/internal/facts"
)

type metrics struct {
	records      *prometheus.CounterVec
	rejected     *prometheus.CounterVec
	stored       prometheus.Counter
	duplicate    prometheus.Counter
	orders       prometheus.Counter
	fenced       prometheus.Counter
	retries      prometheus.Counter
	hintsDropped prometheus.Counter
	partitions   prometheus.Gauge
	seconds      prometheus.Histogram
}

func newMetrics(registry *prometheus.Registry) *metrics {
	name := func(n string) string { return "tributary_processor_" + n }
	m := &metrics{
		records:      prometheus.NewCounterVec(prometheus.CounterOpts{Name: name("records_total"), Help: "Records applied, by topic."}, []string{"topic"}),
		rejected:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: name("rejected_total"), Help: "Records written to rejected.v1, by code."}, []string{"code"}),
		stored:       prometheus.NewCounter(prometheus.CounterOpts{Name: name("events_stored_total"), Help: "Events stored."}),
		duplicate:    prometheus.NewCounter(prometheus.CounterOpts{Name: name("events_duplicate_total"), Help: "Copies of events already stored."}),
		orders:       prometheus.NewCounter(prometheus.CounterOpts{Name: name("orders_computed_total"), Help: "Outcomes of orders computed."}),
		fenced:       prometheus.NewCounter(prometheus.CounterOpts{Name: name("fenced_total"), Help: "Batches rolled back because another owner had moved the offset."}),
		retries:      prometheus.NewCounter(prometheus.CounterOpts{Name: name("retries_total"), Help: "Attempts repeated after a failure, such as a database outage."}),
		hintsDropped: prometheus.NewCounter(prometheus.CounterOpts{Name: name("hints_dropped_total"), Help: "Hints for live views that were not published."}),
		partitions:   prometheus.NewGauge(prometheus.GaugeOpts{Name: name("partitions"), Help: "Partitions owned now."}),
		seconds:      prometheus.NewHistogram(prometheus.HistogramOpts{Name: name("batch_seconds"), Help: "Time of a batch, reading to commit.", Buckets: prometheus.ExponentialBuckets(0.002, 2, 14)}),
	}
	registry.MustRegister(m.records, m.rejected, m.stored, m.duplicate, m.orders, m.fenced, m.retries, m.hintsDropped, m.partitions, m.seconds)
	return m
}

func (m *metrics) batch(took time.Duration, records []record, applied facts.Applied) {
	m.seconds.Observe(took.Seconds())
	for _, r := range records {
		m.records.WithLabelValues(r.topic).Inc()
	}
	m.stored.Add(float64(applied.Stored))
	m.duplicate.Add(float64(applied.Duplicate))
	m.orders.Add(float64(len(applied.Orders)))
}

// readyTimeout bounds one look at the dependencies.
const readyTimeout = 2 * time.Second

// Handler serves /healthz (alive), /readyz (Postgres and Kafka answer; details
// in JSON) and /metrics.
func (p *Processor) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("GET /readyz", p.ready)
	mux.Handle("GET /metrics", promhttp.HandlerFor(p.Registry, promhttp.HandlerOpts{}))
	return mux
}

func (p *Processor) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	said := func(err error) string {
		if err != nil {
			return "unavailable" // its text may name hosts: it is in the log
		}
		return "ok"
	}
	_, kafkaErr := p.Log.ClusterID(ctx)
	storeErr := p.Store.Ping(ctx)
	w.Header().Set("Content-Type", "application/json")
	if kafkaErr != nil || storeErr != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(map[string]string{"kafka": said(kafkaErr), "postgres": said(storeErr)})
}
