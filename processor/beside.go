package processor

// This file has how work is done beside the batches: now and then, company by company, in transactions of its own.

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/background"
)

// companiesPerPage is how many companies are listed together: chosen, not measured.
const companiesPerPage = 1000

// repeat calls do, for the first time after first or every, whichever is less, and then after every, until ctx ends. An error of do is
// logged as failed with attributes, and counted where failures is not nil.
func (p *Processor) repeat(ctx context.Context, first, every time.Duration, do func(ctx context.Context) error,
	failures prometheus.Counter, level slog.Level, failed string, attributes ...any) {
	for wait := min(first, every); background.Sleep(ctx, wait); wait = every {
		err := do(ctx)
		if err == nil || ctx.Err() != nil {
			continue
		}
		if failures != nil {
			failures.Inc()
		}
		p.Logger.Log(ctx, level, failed, append([]any{"error", err}, attributes...)...)
	}
}

// eachOf calls do with each of the companies and its partition, which another member may own, until one of the calls fails.
func (p *Processor) eachOf(ctx context.Context, companies []string, do func(companyID string, partition int) error) error {
	for _, company := range companies {
		partition, err := p.Log.PartitionOf(ctx, []byte(company))
		if err == nil {
			err = do(company, partition)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// eachCompany is eachOf with all companies.
func (p *Processor) eachCompany(ctx context.Context, do func(companyID string, partition int) error) error {
	for after := ""; ; {
		page, err := p.Store.CompaniesAfter(ctx, after, companiesPerPage)
		if err != nil {
			return err
		}
		if err := p.eachOf(ctx, page, do); err != nil {
			return err
		}
		if len(page) < companiesPerPage {
			return nil
		}
		after = page[len(page)-1]
	}
}

// besideTx runs one transaction of a company. The context of f ends after Config.ApplyTimeout.
func (p *Processor) besideTx(ctx context.Context, index *attribution.Index, f func(ctx context.Context, a *application) error) error {
	return p.limitTransactions(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, p.config.ApplyTimeout)
		defer cancel()
		b := batch{now: p.Now().UTC(), companies: []companyBatch{{index: index}}}
		_, err := p.transact(ctx, b, func(a *application) error { return f(ctx, a) })
		return err
	})
}
