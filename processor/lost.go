package processor

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// ComputeAgain is for companies of which records of commerce.v1 are lost that were not read. These may have told of changed
// rules, of erasures and of statements, which the store has. So it queues all orders of the companies, and lets erasures begin whose
// records are lost: lost has when the first record that is left of a company's partition was written. Others begin when theirs is
// applied, and so all orders before it. The owner of the partition goes on once it takes it over again. It may be called again.
func ComputeAgain(ctx context.Context, store Store, lost map[string]time.Time) error {
	companies := slices.Sorted(maps.Keys(lost))
	revisions, err := store.Revisions(ctx, companies)
	if err != nil {
		return err
	}
	settings := wire.Rule{Type: wire.RuleSettings}
	all, err := new(attribution.Index).ConcernedByChange(facts.Change{Rule: settings})
	if err != nil {
		return err
	}
	for _, company := range companies {
		err := store.Transact(ctx, func(tx Tx) error {
			cause := facts.Cause{Kind: facts.CauseRule, Rev: revisions[company], Rule: settings.Type}
			if _, err := tx.Queue.QueueCreated(ctx, company, all.From, all.To, cause, maxOrders); err != nil {
				return err
			}
			return tx.Erased.BeginErasuresBefore(ctx, company, lost[company].Add(clocksDiffer))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// clocksDiffer is by how much the clocks of two admins may differ. An erasure that begins too early by as much takes the credit of an
// order of its person that comes in between; one that waited for a lost record would never begin.
const clocksDiffer = time.Minute
