package processor

// This file has the books checked beside the batches (internal/upkeep/books), and says what
// was found.

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/upkeep/books"
)

// Bounds of the check: chosen, not measured.
const (
	restPerCheck    = 20 // the pause after a check, in times that the check took
	shownImbalances = 20 // in /readyz
	checkTimeout    = 5 * time.Minute
)

// keepBooks checks one part after the other until ctx ends.
func (p *Processor) keepBooks(ctx context.Context) {
	for background.Sleep(ctx, p.config.CheckEvery) {
		began := time.Now()
		if err := p.checkNext(ctx); err != nil && ctx.Err() == nil {
			p.metrics.checksFailed.Inc()
			p.Logger.Warn("credits and approved orders could not be compared", "error", err)
		}
		if !background.Sleep(ctx, restPerCheck*time.Since(began)) {
			return
		}
	}
}

// checkNext makes one check.
func (p *Processor) checkNext(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	mine, err := p.ownCompanies(ctx)
	if err != nil {
		return err
	}
	fresh, checked, err := p.books.Next(ctx, mine, p.Now())
	if err != nil {
		return err
	}
	for _, i := range fresh {
		p.Logger.Error("credits are not what the approved orders come to; see docs/operations.md", "imbalance", i.String())
	}
	if checked {
		p.metrics.checks.Inc()
	}
	return nil
}

// ownCompanies returns a function that tells whether a company is of a partition that is
// owned now.
func (p *Processor) ownCompanies(ctx context.Context) (mine func(companyID string) bool, err error) {
	owned := map[int]bool{}
	p.mu.Lock()
	for partition := range p.partitions {
		owned[partition] = true
	}
	p.mu.Unlock()
	if _, err := p.Log.PartitionOf(ctx, nil); err != nil { // Kafka has never answered
		return nil, err
	}
	return func(companyID string) bool {
		partition, err := p.Log.PartitionOf(ctx, []byte(companyID))
		return err == nil && owned[partition]
	}, nil
}

// booksState is what /readyz tells of the check.
type booksState struct {
	State      string            `json:"state"` // ok | error: something differs | unknown: nothing was checked yet
	CheckedAt  *time.Time        `json:"checked_at,omitempty"`
	Imbalances []books.Imbalance `json:"imbalances,omitempty"` // the first shownImbalances
	More       int               `json:"more,omitempty"`       // that are not shown
}

// booksStateOf is what the check has found.
func booksStateOf(check *books.Check) booksState {
	found, checked := check.Found()
	s := booksState{State: "unknown"}
	if !checked.IsZero() {
		at := checked.UTC().Truncate(time.Second)
		s.State, s.CheckedAt = "ok", &at
	}
	if len(found) > 0 {
		s.State, s.Imbalances = "error", found[:min(shownImbalances, len(found))]
		s.More = len(found) - len(s.Imbalances)
	}
	return s
}

// booksCollector is the check as metrics.
type booksCollector struct{ *books.Check }

var (
	imbalancesDesc = prometheus.NewDesc("tributary_processor_imbalances",
		"Sums of credits by company, day, currency and model that are not what the approved orders come to, as the last checks found.", nil, nil)
	checkedDesc = prometheus.NewDesc("tributary_processor_books_checked_timestamp_seconds",
		"When credits and approved orders were compared last; 0: not yet.", nil, nil)
)

// Describe implements prometheus.Collector.
func (c booksCollector) Describe(out chan<- *prometheus.Desc) {
	out <- imbalancesDesc
	out <- checkedDesc
}

// Collect implements prometheus.Collector.
func (c booksCollector) Collect(out chan<- prometheus.Metric) {
	found, checked := c.Found()
	at := 0.0
	if !checked.IsZero() {
		at = float64(checked.UnixMilli()) / 1000
	}
	out <- prometheus.MustNewConstMetric(imbalancesDesc, prometheus.GaugeValue, float64(len(found)))
	out <- prometheus.MustNewConstMetric(checkedDesc, prometheus.GaugeValue, at)
}
