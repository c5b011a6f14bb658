package processor

// This file measures what merchants have asked for and is not done yet.

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/tributary-io/tributary/internal/facts"
)

const (
	// measureEvery is how often what is not done is measured.
	measureEvery = 30 * time.Second
	// mostMeasured bounds the companies that are asked for it each time.
	mostMeasured = 1000
	// measureExportsEvery is how often it is measured what waits for exports: that is days, so it is no matter of seconds.
	measureExportsEvery = time.Hour
	// exportsLate is how old an erasure that waits for exports is when the log names its company.
	exportsLate = 24 * time.Hour
)

// Kinds of what merchants ask for, as a label.
const (
	askedErasures   = "erasures"
	askedStatements = "statements"
	askedExports    = "exports" // erasures of which exported files alone may still have the person
)

// unfinished are the metrics of what merchants have asked for.
type unfinished struct {
	waiting *prometheus.GaugeVec // of this member's partitions
	oldest  *prometheus.GaugeVec // seconds
	done    *prometheus.CounterVec
}

func newUnfinished(auto promauto.Factory) unfinished {
	what := []string{"what"}
	u := unfinished{
		waiting: auto.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_processor_asked_waiting",
			Help: "Erasures and statements that were asked for, have begun and are not done, of this processor's partitions; exports: " +
				"erasures that wait for these alone, measured each hour."}, what),
		oldest: auto.NewGaugeVec(prometheus.GaugeOpts{Name: "tributary_processor_asked_oldest_seconds",
			Help: "How long ago the oldest of those was asked for; 0 while none waits."}, what),
		done: auto.NewCounterVec(prometheus.CounterOpts{Name: "tributary_processor_asked_done_total",
			Help: "Erasures and statements that were done."}, what),
	}
	for _, kind := range []string{askedErasures, askedStatements} {
		u.waiting.WithLabelValues(kind)
		u.oldest.WithLabelValues(kind)
		u.done.WithLabelValues(kind)
	}
	u.set(time.Time{}, askedExports, facts.Waiting{})
	return u
}

// set shows what waits at an instant.
func (u unfinished) set(now time.Time, kind string, of facts.Waiting) {
	u.waiting.WithLabelValues(kind).Set(float64(of.Count))
	age := 0.0
	if !of.Since.IsZero() {
		age = max(0, now.Sub(of.Since).Seconds())
	}
	u.oldest.WithLabelValues(kind).Set(age)
}

// addDone counts what a transaction has done.
func (u unfinished) addDone(done applied) {
	u.done.WithLabelValues(askedErasures).Add(float64(done.erasures))
	u.done.WithLabelValues(askedStatements).Add(float64(done.closed))
}

// measureUnfinished measures what is not done of the companies of this member's
// partitions. A company that has something to do is in the queue of companies.
func (p *Processor) measureUnfinished(ctx context.Context) error {
	companies, err := p.Store.QueuedCompanies(ctx)
	if err != nil {
		return err
	}
	var sum facts.Unfinished
	measured := 0
	err = p.eachOf(ctx, companies, func(company string, partition int) error {
		if _, owned := p.partitionNow(partition); measured == mostMeasured || !owned {
			return nil
		}
		measured++
		found, err := p.Store.Unfinished(ctx, company)
		sum.Add(found)
		return err
	})
	if err != nil {
		return err
	}
	p.metrics.asked.set(p.Now(), askedErasures, sum.Erasures)
	p.metrics.asked.set(p.Now(), askedStatements, sum.Statements)
	return nil
}

// measureExports measures which erasures of the companies of this member's partitions wait for exports, and logs the company of the oldest.
func (p *Processor) measureExports(ctx context.Context) error {
	var sum facts.Waiting
	oldest := ""
	err := p.eachCompany(ctx, func(company string, partition int) error {
		if _, owned := p.partitionNow(partition); !owned {
			return nil
		}
		found, err := p.Store.WaitingForExports(ctx, company)
		if before := sum.Since; err == nil {
			if sum.Add(found); !sum.Since.Equal(before) {
				oldest = company
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	p.metrics.asked.set(p.Now(), askedExports, sum)
	if oldest != "" && p.Now().Sub(sum.Since) > exportsLate {
		p.Logger.Warn("an erasure waits for exports: run them again", "company", oldest, "since", sum.Since)
	}
	return nil
}
