package processor

// This file has persons erased between two batches (internal/upkeep/erasure), and leaves out of a batch
// what is an erased person's.

import (
	"context"
	"slices"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/upkeep/delivery"
	"github.com/tributary-io/tributary/internal/upkeep/erasure"
)

// eraseNext goes on with the company's first erasure that is not done, and reports whether
// there is one. Where something is left to do, the company stays queued.
func (a *application) eraseNext(ctx context.Context) (found bool, err error) {
	t := erasure.Turn{
		Store: a.tx.Erasure, Known: a.tx.Erased, Orders: a.tx.Orders, Index: a.index, Company: a.company, Now: a.now,
		Snapshot: a.snapshot, SnapshotAll: a.snapshotAll, ComputeWaiting: a.computeWaiting, Remember: a.summed.remember,
		RebuildObservations: a.rebuildObservations,
	}
	done, err := t.Next(ctx)
	if err != nil || !done.Found {
		return false, err
	}
	a.done.queued += done.Queued
	if done.Ended {
		a.done.erasures++
	}
	return true, a.tx.Queue.QueueCompany(ctx, a.company)
}

// leaveErased leaves out events that an erasure has removed or would have: they come again
// from Kafka, from an edge's spool or from an import.
func (a *application) leaveErased(ctx context.Context) error {
	if !a.index.HasErasures() {
		return nil
	}
	gone, err := erasure.EventsOf(ctx, a.tx.Erased, a.company, a.events)
	if err != nil || len(gone) == 0 {
		return err
	}
	a.prepared = nil // it has events that are left out
	left := map[string]bool{}
	for i := range gone {
		left[gone[i].EventID] = true
		a.deliveries.AddOnce(delivery.RejectedEvent("erased", &gone[i], codeErased))
	}
	a.events = slices.DeleteFunc(slices.Clone(a.events), func(e facts.Event) bool { return left[e.EventID] })
	return nil
}

// withoutPerson replaces the keys of versions of erased orders, which come again or come late.
func (a *application) withoutPerson(ctx context.Context) error {
	if !a.index.HasErasures() {
		return nil
	}
	orders, err := erasure.WithoutPerson(ctx, a.tx.Erased, a.company, a.orders)
	if err == nil {
		a.orders = orders
	}
	return err
}
