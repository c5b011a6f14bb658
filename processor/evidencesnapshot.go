package processor

// This file snapshots orders whose evidence is about to be removed.

import (
	"context"
	"slices"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/caseload"
	"github.com/tributary-io/tributary/internal/facts"
)

// snapshotsPerStep is how many orders are snapshotted together: the evidence of one may be large.
const snapshotsPerStep = 10

// snapshot stores the snapshots of the first orders, and their outcomes by them, until the turn is
// over. It returns of how many.
func (a *application) snapshot(ctx context.Context, list []facts.SnapshotCandidate) (snapshotted int, err error) {
	turn := a.newTurn(ownTime)
	for step := range slices.Chunk(list, snapshotsPerStep) {
		if snapshotted > 0 && turn.over() {
			break
		}
		ids := make([]string, len(step))
		for i, c := range step {
			ids[i] = c.OrderID
		}
		if err := a.snapshotOrders(ctx, ids); err != nil {
			return 0, err
		}
		snapshotted += len(step)
	}
	return snapshotted, nil
}

// snapshotAll stores the snapshots of orders, and their outcomes by them.
func (a *application) snapshotAll(ctx context.Context, orderIDs []string) error {
	for ids := range slices.Chunk(orderIDs, snapshotsPerStep) {
		if err := a.snapshotOrders(ctx, ids); err != nil {
			return err
		}
	}
	return nil
}

func (a *application) snapshotOrders(ctx context.Context, ids []string) error {
	var snapshots []facts.EvidenceSnapshot
	for left := ids; len(left) > 0; {
		var err error
		if left, _, err = caseload.Each(ctx, a.tx.Cases, a.company, a.index.Limits(), left, attribution.ClaimedEvents, func(c *facts.Case) bool {
			snapshots = append(snapshots, a.index.Snapshot(*c, a.now))
			return true
		}); err != nil {
			return err
		}
	}
	if err := a.tx.Outcomes.InsertSnapshots(ctx, a.company, snapshots); err != nil {
		return err
	}
	a.addConcerned(ids, facts.Cause{Kind: facts.CauseSnapshot})
	for len(ids) > 0 {
		var err error
		if ids, err = a.decideOrders(ctx, ids, nil); err != nil {
			return err
		}
	}
	return nil
}
