package postgres_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/ledger"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/factstore"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/postgres/upkeep"
	"github.com/tributary-io/tributary/internal/rollup"
	"github.com/tributary-io/tributary/internal/upkeep/delivery"
	"github.com/tributary-io/tributary/internal/upkeep/erasure"
	"github.com/tributary-io/tributary/internal/upkeep/nonconverting"
	closing "github.com/tributary-io/tributary/internal/upkeep/statements"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/statements"
)

var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// factstoreStatements sends each verb of a transaction of the processor once,
// and the reads beside it.
func factstoreStatements(t *testing.T, recorder *statements.Recorder) {
	must := mustOf(t)
	db, err := postgres.Open(t.Context(), devtest.Postgres(t), postgres.WithTracer(recorder))
	must(err)
	defer db.Close()
	_, err = db.ServerState(t.Context())
	if _, failed := db.Schema(t.Context()); failed != nil {
		t.Error(failed)
	}
	if failed := errors.Join(db.Privileges(t.Context()), db.Grant(t.Context(), "pg_read_all_data")); failed != nil {
		t.Error(failed)
	}
	must(err)
	stores, err := merchant.New(db).CreateStore(t.Context(),
		commerce.NewStore{Name: "Loja", Actor: "test", Random: rand.Reader, KeyCheck: func(string) string { return "" }})
	must(err)
	store, ctx, company := factstore.New(db), t.Context(), stores.Live.CompanyID
	author := commerce.Author{CompanyID: company, Actor: "test", At: noon}
	_, err = merchant.New(db).RegisterInfluencer(ctx, author, commerce.Registration{Name: "Ana",
		Costs: []commerce.CostTerms{{ValueMinor: 1, Frequency: commerce.Daily, StartDate: "2026-03-01"}}}, rand.Reader)
	must(err)
	before, err := store.TakeOver(ctx, wire.TopicEvents, 0, "cluster", "log", 0)
	must(err)
	taken, err := store.TakeOver(ctx, wire.TopicEvents, 0, "cluster", "log", 0)
	must(err)
	_, err = store.Offsets(ctx)
	must(err)
	must(store.MarkReplaced(ctx, wire.TopicEvents, 0, taken.Epoch))
	_, err = store.Revisions(ctx, []string{company})
	must(err)
	_, err = store.Rules(ctx, company)
	must(err)
	must(store.MakeMonths(ctx, noon, []time.Time{noon}))
	must(store.Transact(ctx, func(tx *factstore.Tx) error {
		move := facts.Move{Topic: wire.TopicEvents, Epoch: before.Epoch, From: 0, To: 1}
		must(tx.MoveOffsets(ctx, "cluster", []facts.Move{move}), facts.ErrFenced)
		move.Epoch = taken.Epoch
		must(tx.MoveOffsets(ctx, "cluster", []facts.Move{move}))
		must(tx.MoveOffsets(ctx, "cluster", []facts.Move{move}), facts.ErrFenced)
		must(storeFacts(ctx, tx, company))
		must(findOrders(ctx, tx, company))
		must(decideOrders(ctx, tx, company))
		must(countPaths(ctx, tx, tx.NonConvertingPaths(), company))
		must(closeStatement(ctx, tx.Statements(), company))
		must(erasePerson(ctx, tx, company))
		return removeOld(ctx, tx, company)
	}))
	must(store.ResetOffset(ctx, facts.LogReset{Topic: wire.TopicEvents, ClusterID: "cluster", LogID: "other"}))
	must(store.MakeMonths(ctx, noon, []time.Time{noon.AddDate(-1, 0, 0)}))
	_, err = store.Retentions(ctx)
	must(err)
	_, err = store.AgreementsDue(ctx, noon)
	must(err)
	_, err = store.Retention(ctx, company)
	must(err)
	dropped, err := store.DropEmptyMonths(ctx, noon)
	must(err)
	if len(dropped) != 1 || dropped[0] != "event_fact_2025_03" {
		t.Errorf("partitions dropped: %v", dropped)
	}
	_, err = upkeep.NewBooks(db).Imbalances(ctx, company, []string{"2026-03-10"}, 10)
	must(err)
	_, err = upkeep.NewBooks(db).SoldDays(ctx, company, "infinity", 10)
	must(err)
	_, err = store.CompaniesAfter(ctx, "", 10)
	must(err)
	companies, err := store.QueuedCompanies(ctx)
	must(err)
	_, err = store.Unfinished(ctx, company)
	must(err)
	_, err = store.WaitingForExports(ctx, company)
	must(err)
	if len(companies) > 1 {
		t.Errorf("queued: %v", companies)
	}
}

func storeFacts(ctx context.Context, tx *factstore.Tx, company string) error {
	raw, err := json.Marshal(wire.Event{CompanyID: company, EventID: "019cd7a4-2e00-7000-8000-000000000001", Event: "PAGE_VIEW",
		Timestamp: noon, ReceivedAt: noon, VisitorID: "v", Bot: wire.BotNone})
	if err != nil {
		return err
	}
	e, err := facts.ParseEvent(raw)
	if err != nil {
		return err
	}
	events, day := []facts.Event{e}, facts.VisitorDay{Visitor: "v", Day: facts.DayOf(noon)}
	version := facts.OrderVersion{OrderID: "o1", VersionAt: noon, AcceptedAt: noon, ContentHash: []byte("h"),
		Order: wire.Order{OrderID: "o1", CreatedAt: noon, Currency: "BRL", TotalMinor: 100, CartKey: wire.Some("k1:a")}, Personal: []byte(`{}`),
		PersonalDigest: []byte("d")}
	product := facts.Product{Product: wire.Product{ProductID: "p", Variants: []wire.Variant{{VariantID: "v"}}},
		UpdatedAt: noon, AcceptedAt: noon, Digest: []byte("d"), Body: []byte(`{}`)}
	older := version
	older.VersionAt = noon.Add(-time.Hour)
	order := facts.FoldedOrder{Order: wire.Order{OrderID: "o1", CreatedAt: noon, Currency: "BRL", TotalMinor: 100}, Day: "2026-03-10"}
	order.Order.VisitorID, order.Order.Former = wire.Some("v"), []wire.Former{{UserKey: "w"}} // of a rotation of the hashing secret
	key := facts.OrderKey{Key: facts.Key{Kind: facts.KeyEmail, Value: "k1:e"}, OrderID: "o1", CreatedAt: noon}
	marked, yes := key, true
	marked.Hub = facts.HubOfOrders
	return errors.Join(
		second(tx.InsertEvents(ctx, company, events)),
		second(tx.InsertEvents(ctx, company, many(e))),
		second(tx.StoredCopies(ctx, company, events)),
		tx.ReplaceEvents(ctx, company, events),
		tx.WidenObservations(ctx, company, facts.Observations(events)),
		second(tx.EventsOfDay(ctx, company, day, 10)),
		second(tx.DeleteObservations(ctx, company, day)),
		tx.WidenObservations(ctx, company, facts.Observations(events)), // again: the visitor's event is read below
		tx.Delivery().Count(ctx, company, []delivery.Count{{Day: day.Day, Outcome: delivery.Stored, Events: 1}}),
		tx.Delivery().CountSources(ctx, company, []delivery.SourceCount{{Day: day.Day, Agent: "chrome", Outcome: delivery.Stored, Events: 1}}),
		second(tx.Delivery().Days(ctx, company, []delivery.StoredDay{{Day: day.Day}})),
		tx.Delivery().PutDays(ctx, company, []delivery.StoredDay{{Day: day.Day, Streams: 1, Seen: 1}}),
		second(tx.Delivery().KnownSeen(ctx, company, []delivery.Seen{{ID: []byte("s"), Day: day.Day}})),
		tx.Delivery().InsertSeen(ctx, company, []delivery.Seen{{ID: []byte("s"), Day: day.Day}}),
		second(tx.Delivery().Streams(ctx, company, []delivery.StoredStream{{ID: []byte("s")}})),
		tx.Delivery().PutStreams(ctx, company, []delivery.StoredStream{{ID: []byte("s"), Day: day.Day, Stream: delivery.Stream{Top: 1}}}),
		tx.Delivery().AddRefused(ctx, company, []delivery.RefusedOrigin{{Origin: "https://x.example", Events: 1, At: noon}}),
		tx.Delivery().Forget(ctx, company, day.Day, day.Day, 10),
		tx.PutProducts(ctx, company, []facts.Product{product}),
		tx.PutVersions(ctx, company, map[string][]facts.StoredVersion{"o1": facts.AddVersions(nil, []facts.OrderVersion{version, older})}),
		tx.UpsertPersonal(ctx, company, []facts.OrderVersion{version}),
		second(tx.UpsertOrders(ctx, company, noon, []facts.FoldedOrder{order})),
		second(tx.Versions(ctx, company, []string{"o1"})),
		second(tx.ReplaceKeys(ctx, company, []string{"o1"}, facts.JoinKinds, []facts.OrderKey{key})),
		second(tx.ReplaceKeys(ctx, company, []string{"o1"}, facts.JoinKinds, nil)),
		second(tx.ReplaceKeys(ctx, company, []string{"o1"}, facts.JoinKinds, []facts.OrderKey{key})),
		tx.MarkHubs(ctx, company, []string{"o1"}, facts.JoinKinds, []facts.OrderKey{marked}),
		tx.MarkHubs(ctx, company, []string{"o1"}, facts.JoinKinds, nil),
		second(tx.InsertDecisions(ctx, company,
			[]facts.Decision{{OrderID: "o1", InfluencerID: "019cd7a4-2e00-7000-8000-000000000002", Decision: commerce.EvidenceAccept, Rev: 1,
				AcceptedAt: noon, Actor: "cli", Touches: e.EventID}})),
		tx.KeepTouches(ctx, company,
			[]facts.Decision{{OrderID: "o1", InfluencerID: "019cd7a4-2e00-7000-8000-000000000002", Decision: commerce.EvidenceAccept, Rev: 1,
				AcceptedAt: noon, Actor: "cli", Touches: e.EventID}}),
		second(tx.FirstOrderCandidates(ctx, company, slices.Repeat([]string{"o1"}, 100), []facts.KeyKind{facts.KeyEmail},
			facts.Limits{Window: time.Hour, Orders: 200})),
		tx.SetFirstOrders(ctx, company, noon, []facts.FirstOrder{{OrderID: "o1", First: &yes}}),
		tx.AuditUnpaid(ctx, company, noon,
			[]facts.UnpaidOrder{{OrderID: "o1", InfluencerID: "019cd7a4-2e00-7000-8000-000000000002", Actor: "key/k1",
				Reason: facts.ReasonPaidByHand}}),
	)
}

func findOrders(ctx context.Context, tx *factstore.Tx, company string) error {
	key := facts.Key{Kind: facts.KeyEmail, Value: "k1:e"}
	spans := []facts.KeySpan{{Key: key, From: noon, To: noon}, {Key: facts.RuleKey(facts.KeyUTM, "ana"), From: noon, To: noon}}
	changed := []facts.ChangedKey{{Key: key, From: noon, To: noon, Least: 0, Most: 9}}
	cause := facts.Cause{Kind: facts.CauseEvent}
	return errors.Join(
		second(tx.OrdersFollowing(ctx, company, []facts.OrderKey{{Key: key, CreatedAt: noon}}, 10)),
		second(tx.QueueFollowing(ctx, company, []facts.OrderKey{{Key: key, CreatedAt: noon}}, cause)),
		second(tx.OrdersByKeys(ctx, company, spans, false, 10)),
		second(tx.OrdersByKeys(ctx, company, spans, true, 10)),
		second(tx.OrdersOfChangedKeys(ctx, company, []string{"o2"}, changed, time.Hour, time.Hour, 10)),
		second(tx.QueueOrders(ctx, company, []facts.Concerned{{OrderID: "o1", Cause: cause}})),
		second(tx.QueueByKeys(ctx, company, spans, false, cause)),
		second(tx.QueueByKeys(ctx, company, spans, true, cause)),
		second(tx.QueueOfChangedKeys(ctx, company, []string{"o2"}, changed, time.Hour, time.Hour, cause)),
		second(tx.QueueCreated(ctx, company, noon, noon, cause, 1)),
		tx.Quarantine(ctx, company, facts.Concerned{OrderID: "o1", Cause: cause}, "why"),
		third(tx.TakeQueued(ctx, company, facts.QueuePlace{First: []string{"o3"}}, 10)),
		third(tx.TakeQueued(ctx, company, facts.QueuePlace{After: "z"}, 10)),
		second(tx.Unqueue(ctx, company, []string{"o2"})),
	)
}

func decideOrders(ctx context.Context, tx *factstore.Tx, company string) error {
	limits := facts.Limits{Window: 24 * time.Hour, WindowAt: func(time.Time) time.Duration {
		return 24 * time.Hour
	}, ObservationsAfter: time.Hour, Visitors: 20, Orders: 200, Identities: 20, Carts: 200, Events: 0}
	list, err := tx.Cases(ctx, company, limits, []string{"o1"})
	if err != nil {
		return err
	}
	list[0].Visitors = []facts.Visitor{{ID: "v", Proof: true}}
	const influencer, cost = "019cd7a4-2e00-7000-8000-000000000002", "019cd7a4-2e00-7000-8000-000000000003"
	outcome := facts.StoredOutcome{Hash: []byte("h"), Outcome: facts.Outcome{
		OrderID: "o1", Currency: "BRL", Day: "2026-03-10", Payout: facts.Payout{State: facts.PayoutNone},
		Credits: []facts.Credit{{Channel: "Direct", Parts: [facts.ModelCount]facts.Part{{Given: true, Minor: 100}}}},
		FoundBy: []facts.OrderKey{{Key: facts.Key{Kind: facts.KeyReached, Value: "v"}, OrderID: "o1", CreatedAt: noon}},
	}}
	shopper := []facts.Shopper{{ShopperKey: facts.ShopperKey{Day: "2026-03-10", Visitor: "w"}, Stages: facts.StageVisited}}
	entry := ledger.Entry{Line: facts.Line{InfluencerID: influencer, CostID: cost, AmountMinor: 1, Currency: "BRL", PayableOn: "2026-04-09"},
		Number: 1, Kind: ledger.Earned}
	return errors.Join(
		third(tx.Visitors(ctx, company, limits, list, 10)),
		second(tx.Proven(ctx, company, limits, list[0])),
		second(tx.OutcomeHashes(ctx, company, []string{"o1"})),
		tx.WriteOutcomes(ctx, company, noon, []facts.StoredOutcome{outcome}),
		second(tx.StoredOutcomes(ctx, company, []string{"o1"})),
		tx.MarkProcessed(ctx, company, noon, []string{"o1"}),
		tx.Tell(ctx, company, func() ([]commerce.Event, error) { return nil, nil }),
		second(tx.CountedOrders(ctx, company, []string{"o1"})),
		tx.AddSums(ctx, company, sumsOf(outcome.Outcome)),
		second(tx.ItemsBeyond(ctx, company, []facts.ShopperKey{{Day: "2026-03-10", Subject: facts.OfItem("p")}}, 0)),
		second(tx.InsertShoppers(ctx, company, shopper)),
		second(tx.InsertShoppers(ctx, company, shopper)), // is stored already
		tx.PutShoppers(ctx, company, shopper),
		tx.AddTraffic(ctx, company, []facts.Traffic{{Day: "2026-03-10"}}),
		tx.AddClicks(ctx, company, []facts.Clicks{{Day: "2026-03-10", Code: "abc", Clicks: 1}}),
		tx.WriteOutcomes(ctx, company, noon,
			[]facts.StoredOutcome{{Outcome: facts.Outcome{OrderID: "o1", Currency: "BRL", Day: "2026-03-10",
				Payout: facts.Payout{State: facts.PayoutNone}}, Hash: []byte("i"), Before: &outcome.Outcome}}),
		second(tx.Ledgers(ctx, company, []string{"o1"})),
		tx.AppendLedger(ctx, company, noon, 1, []ledger.Posting{{Entry: entry, OrderID: "o1", Cause: facts.Cause{Kind: facts.CauseEvent}}}),
	)
}

// countPaths counts non-converting paths of a day.
func countPaths(ctx context.Context, tx *factstore.Tx, store nonconverting.Store, company string) error {
	day := "2026-03-10"
	rounds := facts.CountRounds{Last: [facts.FinalCount + 1]string{"", day, day}, Again: noon}
	count := &nonconverting.Count{Day: day, BeganAt: noon, After: []byte{1}, Steps: rollup.Steps{}}
	_, _, err := store.VisitorsOfDay(ctx, company, day, nil, 10)
	return errors.Join(err,
		store.Mark(ctx, company, []facts.DaySpan{{From: day, To: day}}),
		tx.AddTraffic(ctx, company, []facts.Traffic{{Day: day, Visitors: [5]int64{1}}}),
		second(store.Due(ctx, company, rounds)),
		store.Begin(ctx, company, &nonconverting.Count{Day: day, Round: facts.FirstCount}, noon),
		second(store.Count(ctx, company)),
		second(store.EventsBetween(ctx, company, []string{"v"}, noon, noon, 0)),
		second(store.Bought(ctx, company, []facts.NonConvertingPath{{Visitor: "v", From: noon, To: noon}})),
		store.GoOn(ctx, company, count),
		store.End(ctx, company, count),
	)
}

// removeOld snapshots the order and removes the event.
func removeOld(ctx context.Context, tx *factstore.Tx, company string) error {
	old := tx.Retention()
	spans, after := []facts.Span{{To: noon.AddDate(0, 1, 0)}}, facts.SnapshotCandidate{}
	return errors.Join(
		tx.LockPartition(ctx, factstore.AllPartitions),
		second(old.WithoutSnapshot(ctx, company, spans, after, 10)),
		second(old.WithoutSnapshotSince(ctx, company, spans, noon, 10)),
		second(old.CountWithoutSnapshot(ctx, company, spans)),
		tx.InsertSnapshots(ctx, company, []facts.EvidenceSnapshot{{OrderID: "o1", SnapshotAt: noon}}),
		second(tx.Cases(ctx, company, facts.Limits{}, []string{"o1"})),
		old.BeginRemoval(ctx, company, noon, "2026-03-10"),
		second(old.CountOld(ctx, company, noon, "2026-03-10")),
		second(old.RemoveObservations(ctx, company, []string{"v"}, noon)),
		second(old.RemoveShoppers(ctx, company, "2026-03-12", 10)),
		old.EndRemoval(ctx, company, noon, noon),
		func() error {
			_, _, _, _, err := old.RemoveEvents(ctx, company, uuid.Nil, noon.AddDate(0, 0, 1), noon.AddDate(0, 0, 1), 10)
			return err
		}(),
	)
}

// erasePerson sends the statements of every phase of an erasure.
func erasePerson(ctx context.Context, tx *factstore.Tx, company string) error {
	steps, known := tx.Erasure(), tx.Erased()
	e := &erasure.Erasure{ErasureID: "019cd7a4-2e00-7000-8000-000000000009", AskedAt: noon, Salt: []byte("s")}
	visitor := erasure.Visitor{ID: "v", Wholly: true}
	version := facts.StoredVersion{At: noon, AcceptedAt: noon, ContentHash: []byte("h")}
	_, _, errVersions := steps.FindErasedVersions(ctx, company, e, []facts.Key{{Kind: facts.KeyEmail, Value: "k1:e"}}, 10)
	_, _, errVisitor := steps.NextErasedVisitor(ctx, company, e)
	_, _, _, errUnread := steps.UnreadEvents(ctx, company, uuid.Nil, 10)
	return errors.Join(
		known.BeginErasures(ctx, company, []string{"00000000-0000-4000-8000-000000000000"}),
		known.BeginErasuresBefore(ctx, company, time.Now()),
		second(steps.NextErasure(ctx, company)),
		steps.MoveErasure(ctx, company, e, 0, 0),
		second(steps.FindErasedOrders(ctx, company, e, 10)), errVersions,
		steps.AddKeysOfOrders(ctx, company, e),
		second(steps.ErasureKeys(ctx, company, e)),
		second(steps.FindErasedVisitors(ctx, company, e, 10)),
		steps.AddErasedVisitors(ctx, company, e, []erasure.Visitor{visitor}),
		steps.AddErasedKeys(ctx, company, noon, []facts.Key{{Kind: facts.KeyEmail, Value: "k1:x"}}),
		second(known.ErasedUntil(ctx, company, [][]byte{{1}})),
		second(steps.OrdersToSnapshot(ctx, company, e, 10)),
		second(steps.QueueAround(ctx, company, e, facts.Cause{Kind: facts.CauseSnapshot})), errVisitor,
		second(steps.QueueHubs(ctx, company, "v", facts.Cause{Kind: facts.CauseSnapshot})),
		second(steps.EventsUntil(ctx, company, "v", erasure.Cursor{}, noon, 10)), errUnread,
		steps.DeleteEvents(ctx, company, []facts.Event{{ID: uuid.Nil}}),
		steps.EraseObservations(ctx, company, e, visitor),
		steps.EraseObservations(ctx, company, e, erasure.Visitor{ID: "w"}),
		steps.EraseShopper(ctx, company, "v", "w"),
		steps.VisitorErased(ctx, company, e, "v"),
		second(steps.OrdersToErase(ctx, company, e, 10)),
		steps.KeepFirsts(ctx, company, []string{"o1"}),
		steps.KeepSelfPurchases(ctx, company, []string{"o1"}),
		second(known.SnapshotFirsts(ctx, company, []string{"o1"})),
		steps.EraseVersions(ctx, company, map[string][]facts.StoredVersion{"o1": {version, version}}),
		steps.OrderErased(ctx, company, "o1", facts.Surrogates{}),
		second(known.ErasedOrders(ctx, company, []string{"o1"})),
		known.EraseLate(ctx, company, []erasure.LateOrder{{OrderID: "o2", ErasedAt: noon}}),
		steps.EndErasure(ctx, company, e, noon),
	)
}

// agreements takes what waits.
func agreements(ctx context.Context, store closing.Store, company string) error {
	list, closed, _, err := store.TakeAgreements(ctx, company, 10)
	if err == nil && (len(list) == 0 || closed == "") {
		err = errors.New("no agreement waited")
	}
	return err
}

func closeStatement(ctx context.Context, store closing.Store, company string) error {
	statement := closing.Statement{StatementID: "019cd7a4-2e00-7000-8000-000000000004", InfluencerID: "019cd7a4-2e00-7000-8000-000000000002",
		Currency: "BRL", EndDate: "2026-04-30", Rev: 1, AskedAt: noon, Actor: "cli"}
	if err := errors.Join(
		store.Insert(ctx, company, []closing.Statement{statement}),
		store.InsertPayments(ctx, company,
			[]closing.Payment{{StatementID: statement.StatementID, PaidAt: noon, Reference: "1", Rev: 1, RecordedAt: noon, Actor: "cli"},
				{StatementID: statement.StatementID, Undoes: 1, Reason: "1", Rev: 2, RecordedAt: noon, Actor: "cli"}}),
		store.InsertWithholdings(ctx, company, []closing.Withholding{{Withholding: commerce.Withholding{StatementID: statement.StatementID},
			Rev: 3, At: noon, Actor: "cli"}}),
		second(store.InsertEntries(ctx, company, []closing.Entry{{Entry: wire.Entry{EntryID: statement.StatementID,
			InfluencerID: statement.InfluencerID, Kind: commerce.EntryBonus, AmountMinor: 1, Currency: "BRL", Day: "2026-03-10"},
			AcceptedAt: noon}})),
		store.CloseDay(ctx, company, "2199-12-31"),
		agreements(ctx, store, company),
		second(store.Next(ctx, company)),
		second(store.Freeze(ctx, company, statement, 10)),
		second(store.ClosedBefore(ctx, company, statement)),
	); err != nil {
		return err
	}
	sum := &closing.Sum{}
	return errors.Join(
		second(store.Sum(ctx, company, statement.StatementID, sum, 10)),
		store.KeepSum(ctx, company, statement.StatementID, sum),
		second(store.Parties(ctx, company, statement.InfluencerID)),
		store.Close(ctx, company, noon, closing.Close(statement, nil, sum, commerce.Parties{})),
	)
}

func second[T any](_ T, err error) error { return err }

func third[T, U any](_ T, _ U, err error) error { return err }

// sumsOf are what reports count of an order, in rows of every table of sums.
func sumsOf(o facts.Outcome) *rollup.Sums {
	o.Credits[0].Parts = [facts.ModelCount]facts.Part{}
	for i := range o.Credits[0].Parts {
		o.Credits[0].Parts[i] = facts.Part{Given: true, Minor: 100}
	}
	o.TotalMinor = 100
	var s rollup.Sums
	s.Add(rollup.Order{Outcome: &o, Counted: rollup.Counted{Items: []wire.Item{{ProductID: "p1", Quantity: 1}}}}, 1)
	return &s
}

// many are so many copies of an event, each with an id of its own, that they are copied.
func many(e facts.Event) []facts.Event {
	list := slices.Repeat([]facts.Event{e}, 100)
	for i := range list {
		list[i].ID[15] = byte(i) + 100
		list[i].EventID = list[i].ID.String()
	}
	return list
}
