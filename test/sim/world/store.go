package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/ledger"
	"github.com/tributary-io/tributary/internal/upkeep/delivery"
	"github.com/tributary-io/tributary/internal/upkeep/nonconverting"
	"github.com/tributary-io/tributary/internal/upkeep/retention"
	"github.com/tributary-io/tributary/internal/upkeep/statements"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/processor"
)

// store is a model of Postgres as the processor uses it for events: what a
// transaction writes is there together, or not at all.
type store struct {
	w      *world
	random *dice

	mu     sync.Mutex
	tables tables
	away   bool
	slow   time.Duration
	lost   float64       // share of commits whose answer is lost
	row    chan struct{} // the lock of the offsets' rows: one token
}

type tables struct {
	events  map[string]facts.Copy // by company and id
	offsets map[string]int64      // by topic and partition
	epochs  map[string]int64      // by topic and partition
	counts  map[string]int64      // by outcome
}

var errAway = errors.New("store: connection refused")

func newStore(w *world, random *dice) *store {
	return &store{w: w, random: random, row: make(chan struct{}, 1),
		tables: tables{events: map[string]facts.Copy{}, offsets: map[string]int64{}, epochs: map[string]int64{}, counts: map[string]int64{}}}
}

// trip is the way to the store and back.
func (s *store) trip(ctx context.Context) error {
	s.mu.Lock()
	away, slow := s.away, s.slow
	s.mu.Unlock()
	if away {
		return errAway
	}
	d := s.random.between(100*time.Microsecond, 3*time.Millisecond)
	if slow > 0 {
		d += s.random.between(0, slow)
	}
	select {
	case <-time.After(d):
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// session is the store as one life of a processor sees it.
type session struct {
	*store
	by *process
}

func (s session) Ping(ctx context.Context) error { return s.trip(ctx) }

func (s session) TakeOver(ctx context.Context, topic string, partition int, _, _ string, first int64) (facts.Taken, error) {
	if err := s.trip(ctx); err != nil {
		return facts.Taken{}, err
	}
	select { // a transaction of the owner before ends first
	case s.row <- struct{}{}:
		defer func() { <-s.row }()
	case <-ctx.Done():
		return facts.Taken{}, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := offsetName(topic, partition)
	if _, known := s.tables.offsets[name]; !known {
		s.tables.offsets[name] = first
	}
	s.tables.epochs[name]++
	return facts.Taken{Next: s.tables.offsets[name], Epoch: s.tables.epochs[name]}, nil
}

// MarkReplaced is not called: no log of the simulation is replaced.
func (s session) MarkReplaced(ctx context.Context, _ string, _ int, _ int64) error {
	return s.trip(ctx)
}

func (s session) Offsets(ctx context.Context) (list []facts.StoredOffset, err error) {
	if err := s.trip(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, topic := range wire.Processed {
		for p := range partitions {
			if name := offsetName(topic, p); s.tables.epochs[name] > 0 {
				list = append(list, facts.StoredOffset{Topic: topic, Partition: p, Next: s.tables.offsets[name], Epoch: s.tables.epochs[name]})
			}
		}
	}
	return list, nil
}

func offsetName(topic string, partition int) string { return fmt.Sprintf("%s/%d", topic, partition) }

func (s session) Revisions(ctx context.Context, companyIDs []string) (map[string]int64, error) {
	revisions := map[string]int64{}
	for _, id := range companyIDs {
		revisions[id] = 1
	}
	return revisions, s.trip(ctx)
}

func (s session) Rules(ctx context.Context, companyID string) (*facts.Rules, error) {
	return &facts.Rules{CompanyID: companyID, Rev: 1, Location: time.UTC, Settings: facts.Settings{
		PayoutRule: facts.CouponFirst, Window: 30 * 24 * time.Hour, HalfLife: 7 * 24 * time.Hour,
	}}, s.trip(ctx)
}

func (s session) MakeMonths(ctx context.Context, _ time.Time, _ []time.Time) error {
	return s.trip(ctx)
}

// Retentions and DropEmptyMonths: nothing is removed here.
func (s session) Retentions(ctx context.Context) ([]retention.Progress, error) {
	return nil, s.trip(ctx)
}

func (s session) AgreementsDue(ctx context.Context, _ time.Time) ([]string, error) {
	return nil, s.trip(ctx)
}

func (s session) DropEmptyMonths(ctx context.Context, _ time.Time) ([]string, error) {
	return nil, s.trip(ctx)
}

// CompaniesAfter: non-converting paths are not the simulation's.
func (s session) CompaniesAfter(context.Context, string, int) ([]string, error) { return nil, nil }

// Unfinished: nothing is asked for here.
func (s session) Unfinished(ctx context.Context, _ string) (facts.Unfinished, error) {
	return facts.Unfinished{}, s.trip(ctx)
}

// WaitingForExports: nothing is exported here.
func (s session) WaitingForExports(context.Context, string) (facts.Waiting, error) {
	return facts.Waiting{}, nil
}

func (s session) QueuedCompanies(ctx context.Context) ([]string, error) { return nil, s.trip(ctx) }

// Transact runs f with what it writes held back until the commit.
func (s session) Transact(ctx context.Context, f func(tx processor.Tx) error) error {
	if err := s.trip(ctx); err != nil {
		return err
	}
	tx := &transaction{session: s, written: tables{events: map[string]facts.Copy{}, offsets: map[string]int64{}, counts: map[string]int64{}}}
	defer tx.release()
	if err := f(tx.parts()); err != nil {
		return err
	}
	if err := s.trip(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	if s.by.isDead() || s.away {
		s.mu.Unlock()
		return errAway
	}
	maps.Copy(s.tables.events, tx.written.events)
	maps.Copy(s.tables.offsets, tx.written.offsets)
	for outcome, n := range tx.written.counts {
		s.tables.counts[outcome] += n
	}
	lost := s.random.chance(s.lost)
	s.mu.Unlock()
	s.w.trace("commit %v", len(tx.written.events))
	if lost {
		return errAway
	}
	return nil
}

// transaction is a Tx for events alone: what it does not have would be called
// for orders, of which there are none.
type transaction struct {
	processor.Offsets
	processor.Orders
	processor.Queue
	session session
	written tables
	locked  bool
}

func (t *transaction) parts() processor.Tx {
	return processor.Tx{
		Offsets: t, Events: t, Traffic: t, Orders: t, Queue: t,
		Delivery: counted{t.written.counts}, NonConvertingPaths: noNonConvertingPaths{}, Statements: noStatements{},
	}
}

func (t *transaction) release() {
	if t.locked {
		<-t.session.row
	}
}

func (t *transaction) MoveOffsets(ctx context.Context, _ string, moves []facts.Move) error {
	select {
	case t.session.row <- struct{}{}:
		t.locked = true
	case <-ctx.Done():
		return ctx.Err()
	}
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	for _, m := range moves {
		name := offsetName(m.Topic, m.Partition)
		if t.session.tables.offsets[name] != m.From || t.session.tables.epochs[name] != m.Epoch {
			return fmt.Errorf("%s: %w", name, facts.ErrFenced)
		}
		t.written.offsets[name] = m.To
	}
	return t.trip(ctx)
}

// trip is a statement's way, without the lock on the tables.
func (t *transaction) trip(ctx context.Context) error {
	t.session.mu.Unlock()
	defer t.session.mu.Lock()
	return t.session.trip(ctx)
}

func eventName(companyID, id string) string { return companyID + " " + id }

func (t *transaction) InsertEvents(ctx context.Context, companyID string, events []facts.Event) (map[uuid.UUID]bool, error) {
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	inserted := map[uuid.UUID]bool{}
	for i := range events {
		name := eventName(companyID, events[i].EventID)
		if _, known := t.session.tables.events[name]; !known {
			t.written.events[name], inserted[events[i].ID] = events[i].Copy(), true
		}
	}
	return inserted, t.trip(ctx)
}

func (t *transaction) StoredCopies(ctx context.Context, companyID string, events []facts.Event) (map[string]facts.Copy, error) {
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	copies := map[string]facts.Copy{}
	for i := range events {
		if c, known := t.session.tables.events[eventName(companyID, events[i].EventID)]; known {
			copies[events[i].EventID] = c
		}
	}
	return copies, t.trip(ctx)
}

func (t *transaction) ReplaceEvents(_ context.Context, companyID string, events []facts.Event) error {
	for i := range events {
		t.written.events[eventName(companyID, events[i].EventID)] = events[i].Copy()
	}
	return nil
}

// counted counts what became of events. The rest of the delivery ledger is not the simulation's:
// nothing is remembered of any day.
type counted struct{ counts map[string]int64 }

func (c counted) Count(_ context.Context, _ string, counts []delivery.Count) error {
	for _, n := range counts {
		c.counts[n.Outcome] += n.Events
	}
	return nil
}

func (counted) CountSources(context.Context, string, []delivery.SourceCount) error { return nil }

func (counted) Days(context.Context, string, []delivery.StoredDay) ([]delivery.StoredDay, error) {
	return nil, nil
}

func (counted) PutDays(context.Context, string, []delivery.StoredDay) error { return nil }

func (counted) KnownSeen(context.Context, string, []delivery.Seen) (map[string]bool, error) {
	return map[string]bool{}, nil
}

func (counted) InsertSeen(context.Context, string, []delivery.Seen) error { return nil }

func (counted) Streams(context.Context, string, []delivery.StoredStream) ([]delivery.StoredStream, error) {
	return nil, nil
}

func (counted) PutStreams(context.Context, string, []delivery.StoredStream) error { return nil }

func (counted) AddRefused(context.Context, string, []delivery.RefusedOrigin) error { return nil }

func (counted) Forget(context.Context, string, time.Time, time.Time, int) error { return nil }

// What reports count of visitors is not the simulation's: nothing is known of any.
func (t *transaction) InsertShoppers(context.Context, string, []facts.Shopper) (map[facts.ShopperKey]facts.Stage, error) {
	return nil, nil
}

func (t *transaction) PutShoppers(context.Context, string, []facts.Shopper) error { return nil }

func (t *transaction) ItemsBeyond(context.Context, string, []facts.ShopperKey, int) ([]facts.ShopperKey, error) {
	return nil, nil
}

func (t *transaction) AddTraffic(context.Context, string, []facts.Traffic) error { return nil }

func (t *transaction) AddClicks(context.Context, string, []facts.Clicks) error { return nil }

// noNonConvertingPaths: non-converting paths are not the simulation's. No day of them was counted that facts could change.
type noNonConvertingPaths struct{ nonconverting.Store }

func (noNonConvertingPaths) Mark(context.Context, string, []facts.DaySpan) error { return nil }

// noStatements: statements are stored with none, and nobody closes one here.
type noStatements struct{ statements.Store }

func (noStatements) Insert(context.Context, string, []statements.Statement) error { return nil }

func (noStatements) CloseDay(context.Context, string, string) error { return nil }

func (noStatements) TakeAgreements(context.Context, string, int) ([]ledger.Agreement, string, bool, error) {
	return nil, "", false, nil
}

func (noStatements) InsertPayments(context.Context, string, []statements.Payment) error { return nil }

func (noStatements) InsertWithholdings(context.Context, string, []statements.Withholding) error {
	return nil
}

func (t *transaction) EventsOfDay(context.Context, string, facts.VisitorDay, int) ([]facts.Event, error) {
	return nil, nil
}

func (t *transaction) WidenObservations(context.Context, string, []facts.Observation) error {
	return nil
}

func (t *transaction) DeleteObservations(context.Context, string, facts.VisitorDay) ([]facts.Key, error) {
	return nil, nil
}

func (t *transaction) OrdersByKeys(context.Context, string, []facts.KeySpan, bool, int) ([]string, error) {
	return nil, nil
}

func (t *transaction) QueueOrders(context.Context, string, []facts.Concerned) (int, error) {
	return 0, nil
}
