package processor

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/upkeep/retention"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// metrics are the processor's own; partitionCollector has those of partitions.
type metrics struct {
	records      *prometheus.CounterVec
	rejected     *prometheus.CounterVec
	stored       prometheus.Counter
	duplicate    prometheus.Counter
	late         prometheus.Counter
	orders       prometheus.Counter
	fenced       prometheus.Counter
	retries      prometheus.Counter
	hintsDropped prometheus.Counter
	quarantined  prometheus.Counter
	dropped      *prometheus.CounterVec
	missing      prometheus.Counter
	missingCame  prometheus.Counter
	unfollowed   prometheus.Counter
	checks       prometheus.Counter
	checksFailed prometheus.Counter
	seconds      prometheus.Histogram

	removed        *prometheus.CounterVec
	retainFailures prometheus.Counter
	countedDays    prometheus.Counter
	countFailures  prometheus.Counter
	asked          unfinished
}

func newMetrics(registry *prometheus.Registry) *metrics {
	auto := promauto.With(registry)
	counter := func(name, help string) prometheus.Counter {
		return auto.NewCounter(prometheus.CounterOpts{Name: "tributary_processor_" + name, Help: help})
	}
	counters := func(name, help, label string) *prometheus.CounterVec {
		return auto.NewCounterVec(prometheus.CounterOpts{Name: "tributary_processor_" + name, Help: help}, []string{label})
	}
	m := &metrics{
		records:      counters("records_total", "Records applied, by topic.", "topic"),
		rejected:     counters("rejected_total", "Records written to rejected.v1, by code.", "code"),
		stored:       counter("events_stored_total", "Events stored."),
		duplicate:    counter("events_duplicate_total", "Copies of events already stored."),
		late:         counter("events_late_total", "Events stored that were received over seven days after their time, but imported ones."),
		orders:       counter("orders_computed_total", "Outcomes of orders computed."),
		fenced:       counter("fenced_total", "Batches rolled back because another owner had moved the offset."),
		retries:      counter("retries_total", "Attempts repeated after a failure, such as a database outage."),
		hintsDropped: counter("hints_dropped_total", "Hints for live views that were not published."),
		quarantined:  counter("orders_quarantined_total", "Queued orders whose outcome could not be stored."),
		dropped:      counters("events_dropped_total", "Events that senders gave up themselves, as they say, by reason.", "reason"),
		missing: counter("events_missing_total",
			"Numbers that senders left out: events that had not come when a later one of their sender did."),
		missingCame: counter("events_missing_came_total", "Of those: events that came later, or that their sender says it gave up."),
		unfollowed: counter("streams_unfollowed_total",
			"Senders' numberings that were not looked at, about: too many of a company's day, or not to be believed."),
		checks:       counter("books_checks_total", "Comparisons of credits with approved orders, each of a company's days."),
		checksFailed: counter("books_checks_failed_total", "Comparisons of credits with approved orders that could not be made."),
		seconds: auto.NewHistogram(prometheus.HistogramOpts{Name: "tributary_processor_batch_seconds",
			Help: "Time of a batch, reading to commit.", Buckets: prometheus.ExponentialBuckets(0.002, 2, 14)}),

		removed: counters("removed_total", "What was removed since it was older than its company's retention: events, observations, "+
			"visitors_days; orders_snapshotted before that.", "what"),
		retainFailures: counter("removal_failures_total", "Attempts to remove old events that failed."),
		countedDays:    counter("nonconverting_recounts_total", "Counts of a company's non-converting paths of a day."),
		countFailures:  counter("nonconverting_failures_total", "Attempts to count non-converting paths that failed."),
		asked:          newUnfinished(auto),
	}
	m.addRemoved(retention.Removed{})
	// A counter that first appears at 1 is no increase to Prometheus, so all are there from the start.
	for _, code := range []string{codeUnknownCompany, codeUnstorable, facts.ErrNotJSON.Error()} {
		m.rejected.WithLabelValues(code)
	}
	for _, fault := range knownFaults {
		m.rejected.WithLabelValues(fault.Error())
	}
	for _, reason := range core.DropReasons() {
		m.dropped.WithLabelValues(reason)
	}
	for _, topic := range wire.Processed {
		m.records.WithLabelValues(topic)
	}
	return m
}

// addRemoved counts what a removal of old events has done.
func (m *metrics) addRemoved(r retention.Removed) {
	for what, n := range map[string]int{"orders_snapshotted": r.Snapshots, "events": r.Events, "observations": r.Observations,
		"visitors_days": r.Shoppers} {
		m.removed.WithLabelValues(what).Add(float64(n))
	}
}

// addBatch counts a batch that was applied.
func (m *metrics) addBatch(took time.Duration, records []record, done applied) {
	m.seconds.Observe(took.Seconds())
	for _, r := range records {
		m.records.WithLabelValues(r.topic).Inc()
	}
	m.stored.Add(float64(done.stored))
	m.late.Add(float64(done.late))
	m.duplicate.Add(float64(done.duplicate))
	m.orders.Add(float64(len(done.computed)))
	for reason, n := range done.found.DroppedFor {
		m.dropped.WithLabelValues(reason).Add(float64(n))
	}
	m.missing.Add(float64(done.found.Missing))
	m.missingCame.Add(float64(done.found.Arrived))
	m.unfollowed.Add(float64(done.found.Unfollowed))
}

// readyTimeout bounds how long /readyz waits for Kafka and Postgres.
const readyTimeout = 2 * time.Second

// Handler serves /healthz (200 while the process runs), /readyz and /metrics.
// /readyz answers JSON: 200 where Kafka and Postgres answer, every owned partition is
// running and no day's credits differ from its approved orders, else 503.
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

// readiness is the body of /readyz.
type readiness struct {
	Kafka      string      `json:"kafka"`    // ok | unavailable
	Postgres   string      `json:"postgres"` // ok | unavailable | missing_privileges
	Partitions []Partition `json:"partitions"`
	Books      booksState  `json:"books"`
	Leaving    bool        `json:"leaving,omitempty"` // the process is about to stop
}

func (p *Processor) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	answer := readiness{Kafka: "ok", Postgres: "ok", Partitions: p.Partitions(), Books: booksStateOf(p.books)}
	status := http.StatusOK
	if p.Leaving != nil && p.Leaving() {
		answer.Leaving, status = true, http.StatusServiceUnavailable
	}
	if answer.Books.State == "error" {
		status = http.StatusServiceUnavailable
	}
	if _, err := p.Log.ClusterID(ctx); err != nil { // the error is not answered: it may contain host names
		answer.Kafka, status = "unavailable", http.StatusServiceUnavailable
	}
	if err := p.Store.Ping(ctx); err != nil {
		answer.Postgres, status = "unavailable", http.StatusServiceUnavailable
	}
	if p.Privileges != nil && answer.Postgres == "ok" {
		if err := p.Privileges(ctx); err != nil {
			p.Logger.Warn("not ready", "check", "privileges", "error", err)
			answer.Postgres, status = "missing_privileges", http.StatusServiceUnavailable
		}
	}
	for _, own := range answer.Partitions {
		if own.State != Running {
			status = http.StatusServiceUnavailable
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}
