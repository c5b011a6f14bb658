package processor

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/ledger"
)

// Tx is one transaction of the store: everything that a batch writes is written,
// or nothing. Each method but the first works on the rows of one company. None of
// them knows a rule of attribution. internal/postgres/factstore.Tx is one, and
// describes each method.
type Tx interface {
	// MoveOffsets returns facts.ErrFenced where another owner has moved an offset.
	MoveOffsets(ctx context.Context, clusterID string, moves []facts.Move) error

	// Store facts, each once however often it comes.
	InsertEvents(ctx context.Context, companyID string, events []facts.Event) (inserted map[string]bool, err error)
	StoredCopies(ctx context.Context, companyID string, events []facts.Event) (map[string]facts.Copy, error)
	ReplaceEvents(ctx context.Context, companyID string, events []facts.Event) error
	EventsOfDay(ctx context.Context, companyID string, d facts.VisitorDay, limit int) ([]facts.Event, error)
	WidenSightings(ctx context.Context, companyID string, sightings []facts.Sighting) error
	DeleteSightings(ctx context.Context, companyID string, d facts.VisitorDay) ([]facts.Key, error)
	CountDelivery(ctx context.Context, companyID string, counts []facts.DeliveryCount) error
	UpsertProducts(ctx context.Context, companyID string, products []facts.Product) (changed []string, err error)
	ReplaceVariants(ctx context.Context, companyID string, productIDs []string, variants []facts.Variant) error
	InsertVersions(ctx context.Context, companyID string, versions []facts.OrderVersion) error
	UpsertPersonal(ctx context.Context, companyID string, versions []facts.OrderVersion) error
	Versions(ctx context.Context, companyID string, orderIDs []string) (map[string][]facts.StoredVersion, error)
	UpsertOrders(ctx context.Context, companyID string, now time.Time, orders []facts.FoldedOrder) (changed []string, err error)
	ReplaceKeys(ctx context.Context, companyID string, orderIDs []string, kinds []facts.KeyKind, keys []facts.OrderKey) (was []facts.OrderKey, err error)
	OrdersFollowing(ctx context.Context, companyID string, keys []facts.OrderKey, limit int) ([]string, error)
	QueueFollowing(ctx context.Context, companyID string, keys []facts.OrderKey, cause facts.Cause) (int, error)
	InsertDecisions(ctx context.Context, companyID string, decisions []facts.Decision) (orderIDs []string, err error)
	FirstOrderCandidates(ctx context.Context, companyID string, orderIDs []string, kinds []facts.KeyKind, limits facts.Limits) ([]facts.FirstOrderCandidate, error)
	SetFirstOrders(ctx context.Context, companyID string, orders []facts.FirstOrder) error

	// Find the orders that a fact concerns. Queue them where they are too many.
	OrdersByKeys(ctx context.Context, companyID string, spans []facts.KeySpan, hubs bool, limit int) ([]string, error)
	OrdersOfChangedKeys(ctx context.Context, companyID string, changed []string, keys []facts.ChangedKey, before, after time.Duration, limit int) ([]string, error)
	Queue(ctx context.Context, companyID string, orders []facts.Concerned) (int, error)
	QueueByKeys(ctx context.Context, companyID string, spans []facts.KeySpan, hubs bool, cause facts.Cause) (int, error)
	QueueOfChangedKeys(ctx context.Context, companyID string, changed []string, keys []facts.ChangedKey, before, after time.Duration, cause facts.Cause) (int, error)
	QueueCreated(ctx context.Context, companyID string, from, to time.Time, cause facts.Cause) (int, error)
	TakeQueued(ctx context.Context, companyID string, limit int) ([]facts.Concerned, error)
	SetAside(ctx context.Context, companyID, orderID, failure string) error

	// Read what a decision needs.
	Cases(ctx context.Context, companyID string, limits facts.Limits, orderIDs []string) ([]*facts.Case, error)
	Visitors(ctx context.Context, companyID string, limits facts.Limits, list []*facts.Case) (events int, err error)

	// Write outcomes.
	OutcomeHashes(ctx context.Context, companyID string, orderIDs []string) (map[string][]byte, error)
	WriteOutcomes(ctx context.Context, companyID string, now time.Time, outcomes []facts.StoredOutcome) error
	Ledgers(ctx context.Context, companyID string, orderIDs []string) (map[string][]ledger.Entry, error)
	AppendLedger(ctx context.Context, companyID string, now time.Time, ruleRev int64, postings []ledger.Posting) error
}

// Bounds of one transaction. They keep its time and memory small beside
// Config.ApplyTimeout; the numbers were chosen, not measured.
const (
	// maxOrders is how many orders of other batches a transaction computes, and how
	// many are looked for by one fact. The others are queued.
	maxOrders = 1000
	// maxEvents is how many events of visitors a transaction reads until the orders
	// that are left are queued. The batch's own orders are always computed.
	maxEvents = 50_000
	// ordersPerStep is how many orders are read, computed and written together.
	ordersPerStep = 100
	// visitorsPerStep is of how many visitors the events are in memory together. One
	// order's visitors always are.
	visitorsPerStep = 200
	// maxEventsOfDay is how many events of one visitor and day are read to make its
	// sightings anew. A visitor with more is a machine: what was stored of that day stays.
	maxEventsOfDay = 5000
)

// batch is what one transaction applies.
type batch struct {
	clusterID string
	moves     []facts.Move
	companies []companyBatch
	now       time.Time
	factsOnly bool // store the facts and queue the orders; compute no outcome
}

// companyBatch is one company's part of a batch.
type companyBatch struct {
	index    *attribution.Index
	events   []facts.Event
	orders   []facts.OrderVersion
	products []facts.Product
	changes  []facts.Change

	decisions []facts.Decision
	rejected  map[deliveryDay]int64 // how many records were rejected
}

// applied is what a transaction did.
type applied struct {
	stored, duplicate int        // events
	late              int        // … of the stored ones
	computed          []orderRef // orders whose outcome was computed
	queued            int        // orders that were queued
}

// orderRef names an order.
type orderRef struct{ companyID, orderID string }

// apply applies one batch and moves its offsets, in one transaction.
func (p *Processor) apply(ctx context.Context, b batch) (applied, error) {
	done, err := p.transact(ctx, b, func(a *application) error { return a.run(ctx) })
	if err != nil {
		return applied{}, fmt.Errorf("apply a batch: %w", err)
	}
	return done, nil
}

// recompute computes at most limit queued orders of each company of the batch, in
// one transaction. It moves no offset, but fails with facts.ErrFenced where another
// owner has moved one.
func (p *Processor) recompute(ctx context.Context, b batch, limit int) (applied, error) {
	done, err := p.transact(ctx, b, func(a *application) error {
		queued, err := a.tx.TakeQueued(ctx, a.company, limit)
		if err != nil {
			return err
		}
		ids := make([]string, len(queued))
		for i, q := range queued {
			ids[i] = q.OrderID
			a.addConcerned(ids[i:i+1], q.Cause)
		}
		if err := a.inferFirstOrders(ctx, ids); err != nil {
			return err
		}
		return a.decide(ctx)
	})
	if err != nil {
		return applied{}, fmt.Errorf("compute queued orders: %w", err)
	}
	return done, nil
}

// transact moves the offsets of a batch and calls f for each of its companies, in
// one transaction. It returns what was done.
func (p *Processor) transact(ctx context.Context, b batch, f func(a *application) error) (done applied, err error) {
	err = p.Store.Transact(ctx, func(tx Tx) error {
		done = applied{}
		if err := tx.MoveOffsets(ctx, b.clusterID, b.moves); err != nil {
			return err
		}
		for _, c := range b.companies {
			a := newApplication(tx, b, c, &done)
			if err := f(a); err != nil {
				return fmt.Errorf("company %s: %w", a.company, err)
			}
		}
		return nil
	})
	return done, err
}

// setAsideNext marks the next order of a company's queue as failed, and returns
// its id.
func (p *Processor) setAsideNext(ctx context.Context, b batch, company string) (orderID string, err error) {
	err = p.Store.Transact(ctx, func(tx Tx) error {
		if err := tx.MoveOffsets(ctx, b.clusterID, b.moves); err != nil {
			return err
		}
		next, err := tx.TakeQueued(ctx, company, 1)
		if err != nil || len(next) == 0 {
			return err
		}
		orderID = next[0].OrderID
		if _, err := tx.Queue(ctx, company, next); err != nil {
			return err
		}
		return tx.SetAside(ctx, company, orderID, "its outcome cannot be stored")
	})
	return orderID, err
}

// application is the work of applying one company's part of a batch, within the
// batch's transaction.
type application struct {
	companyBatch
	tx        Tx
	company   string
	now       time.Time
	factsOnly bool
	done      *applied

	concerned  map[string]facts.Cause // by order id: the orders to compute, and why
	deliveries map[deliveryDay]int64
}

// deliveryDay names one count of facts.DeliveryCount.
type deliveryDay struct {
	day     time.Time // midnight UTC
	outcome string
}

func newApplication(tx Tx, b batch, c companyBatch, done *applied) *application {
	a := &application{
		companyBatch: c, tx: tx, company: c.index.CompanyID(), now: b.now, factsOnly: b.factsOnly, done: done,
		concerned: map[string]facts.Cause{}, deliveries: map[deliveryDay]int64{},
	}
	maps.Copy(a.deliveries, c.rejected)
	return a
}

// run stores the facts, finds the orders that they concern, and decides those.
func (a *application) run(ctx context.Context) error {
	if err := a.storeEvents(ctx); err != nil {
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
	for _, change := range a.changes {
		if err := a.concernByChange(ctx, change); err != nil {
			return err
		}
	}
	if err := a.decide(ctx); err != nil {
		return err
	}
	return a.countDelivery(ctx)
}

// storeEvents stores each event once by its id, stores with which keys the
// visitors were seen, and finds the orders that the events concern.
func (a *application) storeEvents(ctx context.Context) error {
	chosen, others := facts.ChooseCopies(a.events)
	for _, c := range others {
		a.countEvents(c.ReceivedAt, facts.DeliveryDuplicate, 1)
	}
	inserted, err := a.tx.InsertEvents(ctx, a.company, chosen)
	if err != nil {
		return err
	}
	var fresh, again []facts.Event
	for _, e := range chosen {
		if inserted[e.EventID] {
			a.countEvents(e.ReceivedAt, facts.DeliveryStored, 1)
			if e.Late() {
				a.countEvents(e.ReceivedAt, facts.DeliveryLate, 1)
				a.done.late++
			}
			fresh = append(fresh, e)
		} else {
			again = append(again, e)
		}
	}
	a.done.stored += len(fresh)
	a.done.duplicate += len(a.events) - len(fresh)
	if err := a.tx.WidenSightings(ctx, a.company, facts.Sightings(fresh)); err != nil {
		return err
	}
	replaced, err := a.storeCopies(ctx, again)
	if err != nil {
		return err
	}
	return a.concernByEvents(ctx, append(fresh, replaced...))
}

// storeCopies compares events with the stored copies of their ids. Where the new
// copy is the one that counts, it replaces the stored one, and the sightings of
// both copies' visitors and days are made anew. It returns the events that replaced
// a stored copy.
func (a *application) storeCopies(ctx context.Context, events []facts.Event) (replacing []facts.Event, err error) {
	stored, err := a.tx.StoredCopies(ctx, a.company, events)
	if err != nil {
		return nil, err
	}
	days := map[facts.VisitorDay]bool{}
	for _, e := range events {
		old := stored[e.EventID]
		if !e.Copy().Before(old) {
			a.countEvents(e.ReceivedAt, facts.DeliveryDuplicate, 1)
			continue
		}
		a.countEvents(old.ReceivedAt, facts.DeliveryStored, -1)
		a.countEvents(old.ReceivedAt, facts.DeliveryDuplicate, 1)
		a.countEvents(e.ReceivedAt, facts.DeliveryStored, 1)
		if old.Late {
			a.countEvents(old.ReceivedAt, facts.DeliveryLate, -1)
		}
		if e.Late() {
			a.countEvents(e.ReceivedAt, facts.DeliveryLate, 1)
		}
		replacing = append(replacing, e)
		for _, d := range append(old.Days(), e.Copy().Days()...) {
			days[d] = true
		}
	}
	if len(replacing) == 0 {
		return nil, nil
	}
	if err := a.tx.ReplaceEvents(ctx, a.company, replacing); err != nil {
		return nil, err
	}
	list := slices.SortedFunc(maps.Keys(days), func(x, y facts.VisitorDay) int {
		return cmp.Or(cmp.Compare(x.Visitor, y.Visitor), x.Day.Compare(y.Day), cmp.Compare(fmt.Sprint(x.Hour), fmt.Sprint(y.Hour)))
	})
	var lost []facts.Key
	for _, d := range list {
		keys, err := a.rebuildSightings(ctx, d)
		if err != nil {
			return nil, err
		}
		lost = append(lost, keys...)
	}
	// A day with more than maxEventsOfDay events is not made anew: it gets what the
	// new copies add.
	if err := a.tx.WidenSightings(ctx, a.company, facts.Sightings(replacing)); err != nil {
		return nil, err
	}
	return replacing, a.concernByKeys(ctx, a.index.ConcernedByReplacedCopies(list, lost), true, facts.Cause{Kind: facts.CauseCopy, EventID: replacing[0].EventID})
}

// rebuildSightings makes a visitor's sightings of a day anew from its stored
// events, and returns the keys that it was seen with before. Where there are more
// than maxEventsOfDay events, nothing is removed and no key is returned.
func (a *application) rebuildSightings(ctx context.Context, d facts.VisitorDay) (was []facts.Key, err error) {
	events, err := a.tx.EventsOfDay(ctx, a.company, d, maxEventsOfDay+1)
	if err != nil || len(events) > maxEventsOfDay {
		return nil, err
	}
	if was, err = a.tx.DeleteSightings(ctx, a.company, d); err != nil {
		return nil, err
	}
	of := slices.DeleteFunc(facts.Sightings(events), func(s facts.Sighting) bool { return !d.Has(s) })
	return was, a.tx.WidenSightings(ctx, a.company, of)
}

// concernByEvents finds the orders that new events may concern. The cause of all
// of them is the first event.
func (a *application) concernByEvents(ctx context.Context, events []facts.Event) error {
	spans := a.index.ConcernedByEvents(events)
	if len(spans) == 0 {
		return nil
	}
	return a.concernByKeys(ctx, spans, false, facts.Cause{Kind: facts.CauseEvent, EventID: events[0].EventID})
}

// concernByKeys adds the orders of keys to those concerned, or queues them where
// they are more than maxOrders. hubs: also the orders around which the key is a hub.
func (a *application) concernByKeys(ctx context.Context, spans []facts.KeySpan, hubs bool, cause facts.Cause) error {
	ids, err := a.tx.OrdersByKeys(ctx, a.company, spans, hubs, maxOrders+1)
	if err != nil {
		return err
	}
	if len(ids) > maxOrders {
		return a.addQueued(a.tx.QueueByKeys(ctx, a.company, spans, hubs, cause))
	}
	a.addConcerned(ids, cause)
	return nil
}

// concernByChange finds the orders that a changed rule or setting may concern.
func (a *application) concernByChange(ctx context.Context, change facts.Change) error {
	concern, err := a.index.ConcernedByChange(change)
	if err != nil {
		return err
	}
	cause := facts.Cause{Kind: facts.CauseRule, Rev: change.Rev, Rule: change.Type}
	if concern.All {
		return a.addQueued(a.tx.QueueCreated(ctx, a.company, concern.From, concern.To, cause))
	}
	return a.concernByKeys(ctx, concern.Keys, true, cause)
}

// addConcerned adds orders to those to compute. An order keeps its first cause.
func (a *application) addConcerned(orderIDs []string, cause facts.Cause) {
	for _, id := range orderIDs {
		if _, known := a.concerned[id]; !known {
			a.concerned[id] = cause
		}
	}
}

// addQueued counts orders that were queued. It takes what a queueing method
// returns, and returns its error.
func (a *application) addQueued(n int, err error) error {
	a.done.queued += n
	return err
}

// storeProducts stores each product's newest version, and its variants.
func (a *application) storeProducts(ctx context.Context) error {
	newest := facts.NewestProducts(a.products)
	if len(newest) == 0 {
		return nil
	}
	changed, err := a.tx.UpsertProducts(ctx, a.company, newest)
	if err != nil || len(changed) == 0 {
		return err
	}
	var variants []facts.Variant
	for i := range newest {
		if slices.Contains(changed, newest[i].ProductID) {
			variants = append(variants, facts.VariantsOf(&newest[i])...)
		}
	}
	return a.tx.ReplaceVariants(ctx, a.company, changed, variants)
}

// storeOrders stores versions of orders, and the fold of each order's versions: the
// current order. It finds the orders that this concerns: those that changed, and
// those around which one of their keys became a hub, or ceased to be one.
func (a *application) storeOrders(ctx context.Context) error {
	if len(a.orders) == 0 {
		return nil
	}
	if err := a.tx.InsertVersions(ctx, a.company, a.orders); err != nil {
		return err
	}
	if err := a.tx.UpsertPersonal(ctx, a.company, facts.NewestPersonal(a.orders)); err != nil {
		return err
	}
	versions, err := a.tx.Versions(ctx, a.company, a.ownOrders())
	if err != nil {
		return err
	}
	folded := make(map[string]facts.FoldedOrder, len(versions))
	for id, list := range versions {
		order := facts.Fold(list)
		folded[id] = facts.FoldedOrder{Order: order, Day: a.index.DayOf(order.CreatedAt), VersionAt: list[len(list)-1].At, ApprovedSince: facts.ApprovedSince(list)}
	}
	changed, err := a.tx.UpsertOrders(ctx, a.company, a.now, slices.Collect(maps.Values(folded)))
	if err != nil || len(changed) == 0 {
		return err
	}
	var keys []facts.OrderKey
	for _, id := range changed {
		order := folded[id]
		a.addConcerned([]string{id}, facts.Cause{Kind: facts.CauseOrder, At: order.VersionAt})
		keys = append(keys, attribution.KeysOfOrder(&order.Order)...)
	}
	was, err := a.tx.ReplaceKeys(ctx, a.company, changed, attribution.OrderKinds, keys)
	if err != nil {
		return err
	}
	around, err := a.concernByHubs(ctx, changed, a.index.HubCandidates(was, keys))
	if err != nil {
		return err
	}
	following, err := a.followingOrders(ctx, slices.Concat(was, keys))
	if err != nil {
		return err
	}
	return a.inferFirstOrders(ctx, slices.Concat(changed, around, following))
}

// ownOrders returns the ids of the orders in the batch, each once, sorted.
func (a *application) ownOrders() []string {
	ids := make([]string, len(a.orders))
	for i, v := range a.orders {
		ids[i] = v.OrderID
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// concernByHubs finds the orders around which a key may have become a hub, or ceased
// to be one, since orders with the key came or went. It returns those that it did not
// queue.
func (a *application) concernByHubs(ctx context.Context, changed []string, keys []facts.ChangedKey) (around []string, err error) {
	after := a.index.Limits().SightingsAfter
	cause := facts.Cause{Kind: facts.CauseOrder, At: a.now}
	for _, window := range a.index.Windows() { // of whatever settings an order's interval was made
		ids, err := a.tx.OrdersOfChangedKeys(ctx, a.company, changed, keys, window, after, maxOrders+1)
		if err != nil {
			return nil, err
		}
		if len(ids) <= maxOrders {
			a.addConcerned(ids, cause)
			around = append(around, ids...)
			continue
		}
		if err := a.addQueued(a.tx.QueueOfChangedKeys(ctx, a.company, changed, keys, window, after, cause)); err != nil {
			return nil, err
		}
	}
	return around, nil
}

// storeDecisions stores what the merchant decided about the evidence for orders. The
// orders that this concerns are those of the decisions.
func (a *application) storeDecisions(ctx context.Context) error {
	if len(a.decisions) == 0 {
		return nil
	}
	ids, err := a.tx.InsertDecisions(ctx, a.company, a.decisions)
	if err != nil {
		return err
	}
	for _, d := range a.decisions {
		if slices.Contains(ids, d.OrderID) {
			a.addConcerned([]string{d.OrderID}, facts.Cause{Kind: facts.CauseEvidence, Rev: d.Rev})
		}
	}
	return nil
}

// followingOrders returns the orders that may become their customer's first, or cease to
// be it, since orders that have or had the keys changed. Where these are more than
// maxOrders it queues them.
func (a *application) followingOrders(ctx context.Context, keys []facts.OrderKey) ([]string, error) {
	keys = slices.DeleteFunc(keys, func(k facts.OrderKey) bool { return !slices.Contains(attribution.FirstOrderKinds, k.Kind) })
	ids, err := a.tx.OrdersFollowing(ctx, a.company, keys, maxOrders+1)
	if err == nil && len(ids) > maxOrders {
		return nil, a.addQueued(a.tx.QueueFollowing(ctx, a.company, keys, facts.Cause{Kind: facts.CauseOrder, At: a.now}))
	}
	return ids, err
}

// inferFirstOrders stores which of the orders are their customer's first, where the
// merchant did not say so.
func (a *application) inferFirstOrders(ctx context.Context, ids []string) error {
	slices.Sort(ids)
	for chunk := range slices.Chunk(slices.Compact(ids), maxOrders) {
		candidates, err := a.tx.FirstOrderCandidates(ctx, a.company, chunk, attribution.FirstOrderKinds, a.index.Limits())
		if err != nil {
			return err
		}
		inferred := make([]facts.FirstOrder, len(candidates))
		for i, c := range candidates {
			inferred[i] = facts.FirstOrder{OrderID: c.OrderID, First: attribution.IsFirstOrder(c)}
		}
		if err := a.tx.SetFirstOrders(ctx, a.company, inferred); err != nil {
			return err
		}
	}
	return nil
}

// decide computes the outcome of every order concerned, and stores those that
// differ from what is stored. The batch's own orders come first and are always
// computed. Of the others, what is too much for one transaction is queued.
func (a *application) decide(ctx context.Context) error {
	own := a.ownOrders()
	rest := slices.DeleteFunc(slices.Sorted(maps.Keys(a.concerned)), func(id string) bool {
		_, isOwn := slices.BinarySearch(own, id)
		return isOwn
	})
	own = slices.DeleteFunc(own, func(id string) bool { _, concerned := a.concerned[id]; return !concerned })
	if a.factsOnly {
		own, rest = nil, append(own, rest...)
	}
	events := 0
	for chunk := range slices.Chunk(own, ordersPerStep) {
		read, err := a.decideOrders(ctx, chunk)
		if err != nil {
			return err
		}
		events += read
	}
	for !a.factsOnly && len(rest) > 0 && len(own) < maxOrders && events < maxEvents {
		chunk := rest[:min(len(rest), ordersPerStep, maxOrders-len(own))]
		read, err := a.decideOrders(ctx, chunk)
		if err != nil {
			return err
		}
		own, rest, events = append(own, chunk...), rest[len(chunk):], events+read
	}
	put := make([]facts.Concerned, len(rest))
	for i, id := range rest {
		put[i] = facts.Concerned{OrderID: id, Cause: a.concerned[id]}
	}
	return a.addQueued(a.tx.Queue(ctx, a.company, put))
}

// decideOrders computes and stores the outcomes of orders. It returns how many
// events of visitors it has read.
func (a *application) decideOrders(ctx context.Context, orderIDs []string) (events int, err error) {
	limits := a.index.Limits()
	list, err := a.tx.Cases(ctx, a.company, limits, orderIDs)
	if err != nil {
		return 0, err
	}
	outcomes := make([]facts.Outcome, 0, len(list))
	for group := range inGroups(list) {
		for _, c := range group {
			c.Visitors = attribution.ReachedVisitors(c)
		}
		read, err := a.tx.Visitors(ctx, a.company, limits, group)
		if err != nil {
			return 0, err
		}
		events += read
		for _, c := range group {
			outcomes = append(outcomes, a.index.Decide(*c))
			c.Visitors = nil // frees the memory of its events
		}
	}
	for _, o := range outcomes {
		a.done.computed = append(a.done.computed, orderRef{a.company, o.OrderID})
	}
	return events, a.storeOutcomes(ctx, outcomes)
}

// inGroups cuts cases into groups whose keys lead to at most visitorsPerStep
// visitors together. A case with more is a group of its own.
func inGroups(list []*facts.Case) iter.Seq[[]*facts.Case] {
	return func(yield func([]*facts.Case) bool) {
		first, visitors := 0, 0
		for i, c := range list {
			n := 0
			for _, k := range c.Keys {
				n += len(k.Visitors)
			}
			if i > first && visitors+n > visitorsPerStep {
				if !yield(list[first:i]) {
					return
				}
				first, visitors = i, 0
			}
			visitors += n
		}
		if first < len(list) {
			yield(list[first:])
		}
	}
}

// storeOutcomes stores the outcomes that differ from what is stored, and appends
// to each order's ledger the entries that make it equal the new lines.
func (a *application) storeOutcomes(ctx context.Context, outcomes []facts.Outcome) error {
	ids := make([]string, len(outcomes))
	for i, o := range outcomes {
		ids[i] = o.OrderID
	}
	stored, err := a.tx.OutcomeHashes(ctx, a.company, ids)
	if err != nil {
		return err
	}
	var changed []facts.StoredOutcome
	var changedIDs []string
	for _, o := range outcomes {
		hash, err := o.Hash()
		if err != nil {
			return err
		}
		if !bytes.Equal(hash, stored[o.OrderID]) {
			changed, changedIDs = append(changed, facts.StoredOutcome{Outcome: o, Hash: hash}), append(changedIDs, o.OrderID)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	if err := a.tx.WriteOutcomes(ctx, a.company, a.now, changed); err != nil {
		return err
	}
	ledgers, err := a.tx.Ledgers(ctx, a.company, changedIDs)
	if err != nil {
		return err
	}
	var postings []ledger.Posting
	for _, o := range changed {
		for _, e := range ledger.Post(ledgers[o.OrderID], o.Lines) {
			postings = append(postings, ledger.Posting{Entry: e, OrderID: o.OrderID, Cause: a.concerned[o.OrderID]})
		}
	}
	return a.tx.AppendLedger(ctx, a.company, a.now, a.index.Rev(), postings)
}

// countEvents adds n events to a count of the day on which they were received.
func (a *application) countEvents(at time.Time, outcome string, n int64) {
	a.deliveries[deliveryDay{facts.DayOf(at), outcome}] += n
}

func (a *application) countDelivery(ctx context.Context) error {
	var counts []facts.DeliveryCount
	for d, n := range a.deliveries {
		if n != 0 {
			counts = append(counts, facts.DeliveryCount{Day: d.day, Outcome: d.outcome, Events: n})
		}
	}
	return a.tx.CountDelivery(ctx, a.company, counts)
}
