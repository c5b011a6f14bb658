package processor

// This file has old events removed once a day (internal/upkeep/retention).

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/upkeep/retention"
	"github.com/tributary-io/tributary/internal/wire"
)

// AnyPartition is Retain's, where it is not known to which one the company belongs: then
// all partitions wait while a transaction runs.
const AnyPartition = -1

// Retain snapshots the orders of a company that read events from before its retention, and
// removes these events, in many short transactions; report, which may be nil, is called
// after each with what it removed. Where it is stopped, the next call goes on; where there is
// nothing to remove, it changes nothing. Outcomes stay as they are.
func (p *Processor) Retain(
	ctx context.Context, was retention.Progress, partition int, report func(retention.Removed),
) (sum retention.Removed, err error) {
	index, err := p.indexOf(ctx, was.CompanyID)
	if err != nil {
		return sum, fmt.Errorf("company %s: %w", was.CompanyID, err)
	}
	r := retention.New(index, was, p.Now().UTC(), p.config.RetainChunk)
	if r == nil {
		return sum, nil
	}
	sum, err = r.Run(ctx, func(f func(ctx context.Context, t *retention.Turn) error) error {
		return p.removalTx(ctx, index, partition, f)
	}, report)
	if err != nil {
		return sum, fmt.Errorf("remove old events of company %s: %w", was.CompanyID, err)
	}
	return sum, nil
}

// PreviewRetain counts what Retain would remove of a company now, and changes nothing.
// Observations are not counted.
func (p *Processor) PreviewRetain(ctx context.Context, was retention.Progress) (from time.Time, counted retention.Removed, err error) {
	index, err := p.indexOf(ctx, was.CompanyID)
	if err != nil {
		return from, counted, fmt.Errorf("company %s: %w", was.CompanyID, err)
	}
	r := retention.New(index, was, p.Now().UTC(), p.config.RetainChunk)
	if r == nil {
		return from, counted, nil
	}
	err = p.Store.Transact(ctx, func(tx Tx) (err error) {
		counted, err = r.Count(ctx, tx.Retention)
		return err
	})
	if err != nil {
		return from, counted, fmt.Errorf("company %s: %w", was.CompanyID, err)
	}
	return r.From(), counted, nil
}

// indexOf returns a company's rules as they are now.
func (p *Processor) indexOf(ctx context.Context, companyID string) (*attribution.Index, error) {
	rules, err := p.rulesOf(ctx, []string{companyID})
	if err != nil {
		return nil, err
	}
	if rules[companyID] == nil {
		return nil, errNoRules
	}
	return rules[companyID], nil
}

// removalTx runs one transaction of a removal, while the partition's owner waits. The rules
// are read then: with those of before it would undo what the owner has computed by a rule
// that has changed meanwhile.
func (p *Processor) removalTx(
	ctx context.Context, index *attribution.Index, partition int, f func(ctx context.Context, t *retention.Turn) error,
) error {
	return p.besideTx(ctx, index, func(ctx context.Context, a *application) (err error) {
		if err := a.tx.Offsets.LockPartition(ctx, partition); err != nil {
			return err
		}
		if a.index, err = p.indexOf(ctx, a.company); err != nil {
			return err
		}
		return f(ctx, &retention.Turn{Store: a.tx.Retention, Index: a.index, Snapshot: a.snapshot})
	})
}

// firstRetain is the wait after the start: the partitions have owners by then.
const firstRetain = time.Minute

// mostBehind is how far behind the log an owner may be while old events are removed: what
// waits may still concern orders that a removal would snapshot (commerce.RetentionMargin).
const mostBehind = time.Hour

// retainDue removes the old events of the companies of this member's partitions that are due, once
// a day. A company whose removal fails does not keep the others waiting.
func (p *Processor) retainDue(ctx context.Context) error {
	list, err := p.Store.Retentions(ctx)
	if err != nil {
		return err
	}
	var failed []error
	var removed retention.Removed
	for _, company := range list {
		partition, err := p.Log.PartitionOf(ctx, []byte(company.CompanyID))
		if err != nil {
			return err
		}
		if !p.keepsUp(partition) || facts.DayOf(p.Now()).Before(company.DoneAt) {
			continue
		}
		sum, err := p.Retain(ctx, company, partition, p.metrics.addRemoved)
		removed.Add(sum)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			failed = append(failed, err)
		case sum != retention.Removed{}:
			p.Logger.Info("old events removed", "company", company.CompanyID, "events", sum.Events,
				"orders_snapshotted", sum.Snapshots, "observations", sum.Observations, "visitors_days", sum.Shoppers)
		}
	}
	if removed.Events > 0 {
		_, err := p.Store.DropEmptyMonths(ctx, p.Now())
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// keepsUp reports whether this member owns a partition now and applies its records in time.
func (p *Processor) keepsUp(partition int) bool {
	own, owned := p.partitionNow(partition)
	return owned && own.State == Running &&
		!slices.ContainsFunc(wire.Processed, func(topic string) bool { return own.Topics[topic].Seconds >= mostBehind.Seconds() })
}
