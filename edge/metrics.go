package edge

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/internal/kafka"
)

// metrics are the edge's own counters. Labels have few, fixed values: no company
// and nothing else that a client can choose.
type metrics struct {
	requests     *prometheus.CounterVec // by route and status
	events       *prometheus.CounterVec // by what became of them
	clicks       *prometheus.CounterVec // by what became of them
	refusals     *prometheus.CounterVec // by code
	produces     *prometheus.CounterVec // by outcome
	produceTime  prometheus.Histogram
	produceSize  prometheus.Histogram // records
	queuedBytes  prometheus.Gauge
	lastProduced *lastProduce

	redactedBytes prometheus.Counter // of rejected events

	refusedConnections prometheus.Counter
	refusedBodies      prometheus.Counter
	untold             prometheus.Counter // requests whose repeats could not be made known
	taken              prometheus.Counter // events that are ok, found once
	answeredEvents     prometheus.Counter // requests of the route events that are answered 200
}

// countEvents counts the results of a request that was answered.
func (m *metrics) countEvents(results []result) {
	var counts struct{ ok, duplicate, rejected int }
	for i := range results {
		switch results[i].status {
		case statusOK:
			counts.ok++
		case statusDuplicate:
			counts.duplicate++
		case statusRejected:
			counts.rejected++
		}
	}
	m.taken.Add(float64(counts.ok))
	if counts.duplicate > 0 {
		m.events.WithLabelValues(string(statusDuplicate)).Add(float64(counts.duplicate))
	}
	if counts.rejected > 0 {
		m.events.WithLabelValues(string(statusRejected)).Add(float64(counts.rejected))
	}
}

// countRequest counts an answer.
func (m *metrics) countRequest(route string, status int) {
	if route == routeEvents && status == fasthttp.StatusOK {
		m.answeredEvents.Inc()
		return
	}
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
}

func newMetrics(registry prometheus.Registerer, directory *directory) *metrics {
	auto := promauto.With(registry)
	opts := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "tributary", Subsystem: "edge", Name: name, Help: help}
	}
	counter := func(name, help string) prometheus.Counter {
		return auto.NewCounter(prometheus.CounterOpts(opts(name, help)))
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return auto.NewCounterVec(prometheus.CounterOpts(opts(name, help)), labels)
	}
	gauge := func(name, help string, value func() float64) {
		auto.NewGaugeFunc(prometheus.GaugeOpts(opts(name, help)), value)
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return auto.NewHistogram(prometheus.HistogramOpts{Namespace: "tributary", Subsystem: "edge", Name: name, Help: help, Buckets: buckets})
	}
	m := &metrics{
		requests: counters("requests_total", "Answers by route and HTTP status.", "route", "status"),
		events:   counters("events_total", "Events by status: ok, duplicate, rejected, failed.", "status"),
		clicks: counters("clicks_total",
			"Short-link openings: counted, bot, prefetch, head, embedded (not opened as a document), late (redirected before Kafka "+
				"acknowledged), lost (not durable), repeated (the same visitor has just opened the link), limited (too many of one network).",
			"outcome"),
		refusals:    counters("refusals_total", "Requests refused, by code.", "code"),
		produces:    counters("produces_total", "Produce calls by outcome: ok, temporary, permanent.", "outcome"),
		produceTime: histogram("produce_seconds", "Time of one produce call with acks=all.", prometheus.ExponentialBuckets(0.0005, 2, 14)),
		produceSize: histogram("produce_records", "Records of one produce call.", prometheus.ExponentialBuckets(1, 2, 13)),
		queuedBytes: auto.NewGauge(prometheus.GaugeOpts(opts("queued_bytes", "Bytes on their way to Kafka, not acknowledged yet."))),
		refusedConnections: counter("connections_refused_total",
			"Connections closed at once, since the edge, their address or their network had too many; or later, for one of a network that "+
				"had fewer."),
		refusedBodies: counter("bodies_refused_total",
			"Requests refused while their bodies arrived, since those of all, of their network or of their API key's company had too "+
				"much memory."),
		untold: counter("notices_lost_total",
			"Notices of repeats alone, or of refused origins, whose events are in no count, since Kafka did not answer."),
		redactedBytes: counter("redacted_bytes_total", "Bytes of rejected events that were redacted for dead letters."),
		lastProduced:  &lastProduce{},
	}
	// A counter that first appears at 1 is no increase to Prometheus, so all are there from the start.
	for _, s := range []status{statusDuplicate, statusRejected, statusFailed} {
		m.events.WithLabelValues(string(s))
	}
	for _, outcome := range []clickOutcome{clickCounted, clickBot, clickPrefetch, clickHead, clickEmbedded, clickLate, clickLost,
		clickRepeated, clickLimited, clickArchived} {
		m.clicks.WithLabelValues(string(outcome))
	}
	for _, outcome := range []produceOutcome{produceOK, produceTemporary, producePermanent} {
		m.produces.WithLabelValues(string(outcome))
	}
	for _, code := range Codes() {
		m.refusals.WithLabelValues(string(code))
	}
	m.taken = m.events.WithLabelValues(string(statusOK))
	m.answeredEvents = m.requests.WithLabelValues(routeEvents, strconv.Itoa(fasthttp.StatusOK))
	gauge("directory_age_seconds", "Since Kafka last said that the directory is complete; -1 before that.", func() float64 {
		age := directory.state().AgeMs
		if age < 0 {
			return -1
		}
		return float64(age) / 1000
	})
	gauge("directory_companies", "Companies in the directory.", func() float64 { return float64(directory.state().Companies) })
	gauge("wrong_secret_companies", "Companies whose keys are made with another hashing secret than this edge's: their events are refused.",
		func() float64 { return float64(directory.wrongKeys()) })
	return m
}

// produceOutcome is what became of one produce call.
type produceOutcome string

const (
	produceOK        produceOutcome = "ok"
	produceTemporary produceOutcome = "temporary" // tried again
	producePermanent produceOutcome = "permanent"
)

// clickOutcome is what became of one opening of a short link.
type clickOutcome string

const (
	clickCounted  clickOutcome = "counted"
	clickBot      clickOutcome = "bot"      // stored, as a program's
	clickPrefetch clickOutcome = "prefetch" // not stored
	clickHead     clickOutcome = "head"     // not stored
	clickEmbedded clickOutcome = "embedded" // not stored: a page fetched it as a picture, a frame or a script
	clickLate     clickOutcome = "late"     // redirected before it was stored; counted again as what then became of it
	clickLost     clickOutcome = "lost"     // not stored
	clickRepeated clickOutcome = "repeated" // not stored: the same visitor has just opened the link
	clickLimited  clickOutcome = "limited"  // not stored: too many of one network on one link
	clickArchived clickOutcome = "archived" // not stored: the company is archived
)

func (m *metrics) countClick(outcome clickOutcome) { m.clicks.WithLabelValues(string(outcome)).Inc() }

// produced counts one produce call.
func (m *metrics) produced(began, ended time.Time, records int, err error) {
	m.produceTime.Observe(ended.Sub(began).Seconds())
	m.produceSize.Observe(float64(records))
	outcome := produceOK
	switch {
	case err == nil:
	case kafka.IsTemporary(err):
		outcome = produceTemporary
	default:
		outcome = producePermanent
	}
	m.produces.WithLabelValues(string(outcome)).Inc()
	m.lastProduced.note(ended, outcome)
}
