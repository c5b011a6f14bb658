package processor

// This file seals orders whose evidence is about to be removed.

import (
	"context"
	"slices"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/caseload"
	"github.com/tributary-io/tributary/internal/facts"
)

// sealsPerStep is how many orders are sealed together: the evidence of one may be large.
const sealsPerStep = 10

// seal stores the seals of the first orders, and their outcomes by them, until the turn is
// over. It returns of how many.
func (a *application) seal(ctx context.Context, list []facts.SealCandidate) (sealed int, err error) {
	turn := a.newTurn(ownTime)
	for step := range slices.Chunk(list, sealsPerStep) {
		if sealed > 0 && turn.over() {
			break
		}
		ids := make([]string, len(step))
		for i, c := range step {
			ids[i] = c.OrderID
		}
		if err := a.sealOrders(ctx, ids); err != nil {
			return 0, err
		}
		sealed += len(step)
	}
	return sealed, nil
}

// sealAll stores the seals of orders, and their outcomes by them.
func (a *application) sealAll(ctx context.Context, orderIDs []string) error {
	for ids := range slices.Chunk(orderIDs, sealsPerStep) {
		if err := a.sealOrders(ctx, ids); err != nil {
			return err
		}
	}
	return nil
}

func (a *application) sealOrders(ctx context.Context, ids []string) error {
	var seals []facts.Seal
	for left := ids; len(left) > 0; {
		var err error
		if left, _, err = caseload.Each(ctx, a.tx.Cases, a.company, a.index.Limits(), left, attribution.ClaimedEvents, func(c *facts.Case) bool {
			seals = append(seals, a.index.Seal(*c, a.now))
			return true
		}); err != nil {
			return err
		}
	}
	if err := a.tx.Outcomes.InsertSeals(ctx, a.company, seals); err != nil {
		return err
	}
	a.addConcerned(ids, facts.Cause{Kind: facts.CauseSeal})
	for len(ids) > 0 {
		var err error
		if ids, err = a.decideOrders(ctx, ids, nil); err != nil {
			return err
		}
	}
	return nil
}
