package processor

import (
	"context"
	"fmt"

	"github.com/tributary-io/tributary/internal/upkeep/delivery"
)

// apply applies one batch and moves its offsets, in one transaction. It is the whole algorithm:
// facts are stored (facts.go), the orders that they concern are found (concern.go), and these
// are computed (decide.go). eventsStored is called once the events of a company are stored:
// the rest waits for the store, and the processor is free.
func (p *Processor) apply(ctx context.Context, b batch, eventsStored func()) (applied, error) {
	done, err := p.transact(ctx, b, func(a *application) error {
		events, err := a.storeEvents(ctx)
		if err != nil {
			return err
		}
		eventsStored()
		if err := a.concernByEvents(ctx, events); err != nil {
			return err
		}
		if err := a.storeProducts(ctx); err != nil {
			return err
		}
		if err := a.storeOrders(ctx); err != nil {
			return err
		}
		if err := a.storeDecisions(ctx); err != nil {
			return err
		}
		if err := a.storeAsked(ctx); err != nil {
			return err
		}
		for _, change := range a.changes {
			if err := a.concernByChange(ctx, change); err != nil {
				return err
			}
		}
		if err := a.marked.Store(ctx, a.tx.NonConvertingPaths, a.company); err != nil {
			return err
		}
		if err := a.decide(ctx); err != nil {
			return err
		}
		return a.countDelivery(ctx)
	})
	if err != nil {
		return applied{}, fmt.Errorf("apply a batch: %w", err)
	}
	return done, nil
}

// transact moves the offsets of a batch and calls f for each of its companies, in
// one transaction. It returns what was done.
func (p *Processor) transact(ctx context.Context, b batch, f func(a *application) error) (done applied, err error) {
	err = p.Store.Transact(ctx, func(tx Tx) error {
		done = applied{observed: b.observed.again()}
		if err := tx.Offsets.MoveOffsets(ctx, b.clusterID, b.moves); err != nil {
			return err
		}
		for _, c := range b.companies {
			a := newApplication(tx, b, c, p, &done)
			if err := f(a); err != nil {
				return fmt.Errorf("company %s: %w", a.company, err)
			}
			if a.steps != nil {
				a.steps.decided = p.Now()
			}
			days, err := a.summed.write(ctx)
			if err != nil {
				return fmt.Errorf("company %s: %w", a.company, err)
			}
			done.days = append(done.days, days...)
		}
		return nil
	})
	if err == nil && p.Books != nil {
		p.books.Note(done.days)
	}
	return done, err
}

// countDelivery counts what edges tell, and writes what the transaction adds to the delivery ledger.
func (a *application) countDelivery(ctx context.Context) error {
	for i := range a.notices {
		n := &a.notices[i]
		a.deliveries.AddRefused(n, a.index.OwnSite)
		a.deliveries.AddNotice(n, delivery.Source{Origin: a.index.OriginOf(n.Origin), Agent: n.Agent})
	}
	found, err := a.deliveries.Write(ctx, a.tx.Delivery, a.company)
	a.done.found.Add(found)
	return err
}
