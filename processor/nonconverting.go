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

// firstCount is the wait after the start: the partitions have owners by then.
const firstCount = 2 * time.Minute

// countPathsDue counts what is due of the companies of this member's partitions. A company that
// fails does not keep the others waiting.
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

// CountPaths counts the non-converting paths of all days of a company that are due, in many short
// transactions. Where it is stopped, the next call goes on. rest: after each transaction it
// waits as long as that took.
func (p *Processor) CountPaths(ctx context.Context, companyID string, partition int, rest bool) error {
	for more := true; more; {
		began := time.Now()
		var err error
		if more, err = p.countPathsStep(ctx, companyID, partition); err != nil {
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
	rules, err := p.rulesOf(ctx, []string{companyID})
	if err != nil || rules[companyID] == nil {
		return false, err
	}
	ended := false
	err = p.besideTx(ctx, rules[companyID], func(ctx context.Context, a *application) (err error) {
		lock := func(ctx context.Context) error { return a.tx.Offsets.LockPartition(ctx, partition) }
		more, ended, err = nonconverting.Step(ctx, a.tx.NonConvertingPaths, a.index, a.company, a.now, p.config.PathsChunk, lock)
		return err
	})
	if err == nil && ended {
		p.metrics.countedDays.Inc()
	}
	return more, err
}
