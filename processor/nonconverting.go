package processor

// This file says when non-converting paths (docs/reports.md, "Non-converting paths") are counted: beside the
// batches, in short transactions. internal/upkeep/nonconverting counts them.

import (
	"context"
	"errors"
	"time"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/upkeep/nonconverting"
)

// companiesPerPage is how many companies are listed together: chosen, not measured.
const companiesPerPage = 1000

// firstCount is the wait after the start: the partitions have owners by then.
const firstCount = 2 * time.Minute

// countPathsDaily counts what is due of the companies of this member's partitions, until
// ctx ends.
func (p *Processor) countPathsDaily(ctx context.Context) {
	for wait := min(firstCount, p.config.CountPathsEvery); background.Sleep(ctx, wait); wait = p.config.CountPathsEvery {
		if err := p.countPathsDue(ctx); err != nil && ctx.Err() == nil {
			p.metrics.countFailures.Inc()
			p.Logger.Warn("non-converting paths could not be counted: it is tried again", "error", err, "in", p.config.CountPathsEvery)
		}
	}
}

// countPathsDue counts what is due of all companies. A company that fails does not keep the
// others waiting.
func (p *Processor) countPathsDue(ctx context.Context) error {
	var failed []error
	err := p.eachCompany(ctx, func(company string, partition int) error {
		if !p.keepsUp(partition) {
			return nil
		}
		if err := p.CountPaths(ctx, company, partition, true); err != nil {
			failed = append(failed, err)
		}
		return ctx.Err()
	})
	return errors.Join(append(failed, err)...)
}

// eachCompany calls do with each company and its partition, which another member may own, until one of the calls fails.
func (p *Processor) eachCompany(ctx context.Context, do func(companyID string, partition int) error) error {
	for after := ""; ; {
		page, err := p.Store.CompaniesAfter(ctx, after, companiesPerPage)
		if err != nil {
			return err
		}
		for _, company := range page {
			partition, err := p.Log.PartitionOf(ctx, []byte(company))
			if err == nil {
				err = do(company, partition)
			}
			if err != nil {
				return err
			}
		}
		if len(page) < companiesPerPage {
			return nil
		}
		after = page[len(page)-1]
	}
}

// CountPaths counts the non-converting paths of all days of a company that are due, in many short
// transactions. Where it is stopped, the next call goes on. rest: after each transaction it
// waits as long as that took.
func (p *Processor) CountPaths(ctx context.Context, companyID string, partition int, rest bool) error {
	for more := true; more; {
		began := time.Now()
		err := p.limitTransactions(ctx, func() (err error) {
			more, err = p.countPathsStep(ctx, companyID, partition)
			return err
		})
		if err != nil {
			return err
		}
		if more && rest && !background.Sleep(ctx, time.Since(began)) {
			return ctx.Err()
		}
	}
	return nil
}

// countPathsStep begins the count of the next day, or looks at the day's next visitors. more
// is false where nothing is due.
func (p *Processor) countPathsStep(ctx context.Context, companyID string, partition int) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.config.ApplyTimeout)
	defer cancel()
	rules, err := p.rulesOf(ctx, []string{companyID})
	if err != nil || rules[companyID] == nil {
		return false, err
	}
	b := batch{now: p.Now().UTC(), companies: []companyBatch{{index: rules[companyID]}}}
	ended := false
	_, err = p.transact(ctx, b, func(a *application) error {
		lock := func(ctx context.Context) error { return a.tx.Offsets.LockPartition(ctx, partition) }
		more, ended, err = nonconverting.Step(ctx, a.tx.NonConvertingPaths, a.index, a.company, a.now, p.config.PathsChunk, lock)
		return err
	})
	if err == nil && ended {
		p.metrics.countedDays.Inc()
	}
	return more, err
}
