package processor

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
)

// Replay applies stored facts to the processor's store, as if their records came from
// Kafka now, and computes all orders that this queues. Each part is one transaction;
// no offset is moved and nothing is published. The store must have the companies'
// rules. Of the Deps it needs Store alone. It returns the first error, also of parts:
// the store is then not complete.
func (p *Processor) Replay(ctx context.Context, parts iter.Seq2[facts.Stored, error]) error {
	for part, err := range parts {
		if err != nil {
			return err
		}
		if err := p.applyStored(ctx, part); err != nil {
			return fmt.Errorf("replay: %w", err)
		}
	}
	for {
		companies, err := p.Store.QueuedCompanies(ctx)
		if err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		if len(companies) == 0 {
			return nil
		}
		for _, company := range companies {
			b, err := p.batchOf(ctx, facts.Stored{CompanyID: company})
			if err != nil {
				return err
			}
			if _, err := p.recompute(ctx, b, p.config.RecomputeChunk); err != nil {
				return fmt.Errorf("replay: %w", err)
			}
		}
	}
}

// applyStored applies one part of a company's facts.
func (p *Processor) applyStored(ctx context.Context, part facts.Stored) error {
	b, err := p.batchOf(ctx, part)
	if err != nil {
		return err
	}
	var months []time.Time
	for _, e := range part.Events {
		months = append(months, e.IDTime)
	}
	if err := p.Store.MakeMonths(ctx, b.now, oneOfEachMonth(months)); err != nil {
		return err
	}
	_, err = p.apply(ctx, b, func() {})
	return err
}

// batchOf makes a batch of a part of a company's facts. It moves no offset.
func (p *Processor) batchOf(ctx context.Context, part facts.Stored) (batch, error) {
	rules, err := p.rulesOf(ctx, []string{part.CompanyID})
	if err != nil {
		return batch{}, err
	}
	index := rules[part.CompanyID]
	if index == nil {
		return batch{}, fmt.Errorf("replay: company %s: %w", part.CompanyID, errNoRules)
	}
	b := companyBatch{index: index, events: part.Events, orders: part.Orders, decisions: part.Decisions, closedDay: part.ClosedDay}
	for _, record := range part.Entries {
		if err := readCommerce(record, &b); err != nil {
			return batch{}, fmt.Errorf("replay: a stored manual entry: %w", err)
		}
	}
	return batch{now: p.Now().UTC(), replayed: true, companies: []companyBatch{b}}, nil
}

var errNoRules = errors.New("the store has no such company")
