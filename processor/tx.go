package processor

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/caseload"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/ledger"
	"github.com/tributary-io/tributary/internal/rollup"
	"github.com/tributary-io/tributary/internal/upkeep/delivery"
	"github.com/tributary-io/tributary/internal/upkeep/erasure"
	"github.com/tributary-io/tributary/internal/upkeep/nonconverting"
	"github.com/tributary-io/tributary/internal/upkeep/retention"
	"github.com/tributary-io/tributary/internal/upkeep/statements"
)

// Tx is one transaction of the store, part by part: everything that a batch writes is
// written, or nothing. Each method of a part, but for those of Offsets, works on the rows of
// one company. None knows a rule of attribution. internal/postgres/factstore.Tx describes
// each method.
type Tx struct {
	Offsets  Offsets
	Events   Events
	Traffic  Traffic
	Products Products
	Orders   Orders
	Queue    Queue
	Cases    caseload.Reader
	Outcomes Outcomes
	Sums     Sums

	// The stores of what is done beside the batches (internal/upkeep).
	Delivery           delivery.Store
	NonConvertingPaths nonconverting.Store
	Statements         statements.Store
	Retention          retention.Store
	Erasure            erasure.Store
	Erased             erasure.Known
}

// Offsets are the partitions' places in their logs.
type Offsets interface {
	// MoveOffsets returns facts.ErrFenced where another owner has taken the partition
	// over, or has moved an offset.
	MoveOffsets(ctx context.Context, clusterID string, moves []facts.Move) error
	LockPartition(ctx context.Context, partition int) error
}

// Events are stored events, each once however often it comes, and with which keys their
// visitors were seen.
type Events interface {
	InsertEvents(ctx context.Context, companyID string, events []facts.Event) (inserted map[uuid.UUID]bool, err error)
	StoredCopies(ctx context.Context, companyID string, events []facts.Event) (map[string]facts.Copy, error)
	ReplaceEvents(ctx context.Context, companyID string, events []facts.Event) error
	EventsOfDay(ctx context.Context, companyID string, d facts.VisitorDay, limit int) ([]facts.Event, error)
	WidenObservations(ctx context.Context, companyID string, observations []facts.Observation) error
	DeleteObservations(ctx context.Context, companyID string, d facts.VisitorDay) ([]facts.Key, error)
}

// Traffic is what is counted of visitors and clicks by day.
type Traffic interface {
	InsertShoppers(ctx context.Context, companyID string, shoppers []facts.Shopper) (stored map[facts.ShopperKey]facts.Stage, err error)
	PutShoppers(ctx context.Context, companyID string, shoppers []facts.Shopper) error
	ItemsBeyond(ctx context.Context, companyID string, items []facts.ShopperKey, most int) (beyond []facts.ShopperKey, err error)
	AddTraffic(ctx context.Context, companyID string, traffic []facts.Traffic) error
	AddClicks(ctx context.Context, companyID string, clicks []facts.Clicks) error
}

// Products are the catalogue.
type Products interface {
	PutProducts(ctx context.Context, companyID string, products []facts.Product) error
}

// Orders are orders with their versions, the keys by which they are found, and what the
// merchant has decided about their evidence.
type Orders interface {
	Versions(ctx context.Context, companyID string, orderIDs []string) (map[string][]facts.StoredVersion, error)
	PutVersions(ctx context.Context, companyID string, versions map[string][]facts.StoredVersion) error
	UpsertPersonal(ctx context.Context, companyID string, versions []facts.OrderVersion) error
	UpsertOrders(ctx context.Context, companyID string, now time.Time, orders []facts.FoldedOrder) (changed []string, err error)
	ReplaceKeys(
		ctx context.Context, companyID string, orderIDs []string, kinds []facts.KeyKind, keys []facts.OrderKey,
	) (replaced []facts.OrderKey, err error)
	InsertDecisions(ctx context.Context, companyID string, decisions []facts.Decision) (orderIDs []string, err error)
	KeepTouches(ctx context.Context, companyID string, decisions []facts.Decision) error
	FirstOrderCandidates(
		ctx context.Context, companyID string, orderIDs []string, kinds []facts.KeyKind, limits facts.Limits,
	) ([]facts.FirstOrderCandidate, error)
	SetFirstOrders(ctx context.Context, companyID string, now time.Time, orders []facts.FirstOrder) error

	// Find the orders that a fact concerns.
	OrdersByKeys(ctx context.Context, companyID string, spans []facts.KeySpan, hubs bool, limit int) ([]string, error)
	OrdersFollowing(ctx context.Context, companyID string, keys []facts.OrderKey, limit int) ([]string, error)
	OrdersOfChangedKeys(
		ctx context.Context, companyID string, changed []string, keys []facts.ChangedKey, before, after time.Duration, limit int,
	) ([]string, error)
}

// Queue has the orders that are to be computed between two batches.
type Queue interface {
	QueueOrders(ctx context.Context, companyID string, orders []facts.Concerned) (int, error)
	QueueByKeys(ctx context.Context, companyID string, spans []facts.KeySpan, hubs bool, cause facts.Cause) (int, error)
	QueueFollowing(ctx context.Context, companyID string, keys []facts.OrderKey, cause facts.Cause) (int, error)
	QueueOfChangedKeys(
		ctx context.Context, companyID string, changed []string, keys []facts.ChangedKey, before, after time.Duration, cause facts.Cause,
	) (int, error)
	QueueCreated(ctx context.Context, companyID string, from, to time.Time, cause facts.Cause, limit int) (int, error)
	QueueCompany(ctx context.Context, companyID string) error
	TakeQueued(ctx context.Context, companyID string, from facts.QueuePlace, limit int) (list []facts.Concerned, round bool, err error)
	Unqueue(ctx context.Context, companyID string, orderIDs []string) (removed []string, err error)
	Quarantine(ctx context.Context, companyID string, order facts.Concerned, failure string) error
}

// Outcomes are what is computed of orders, and the ledger that follows from it.
type Outcomes interface {
	OutcomeHashes(ctx context.Context, companyID string, orderIDs []string) (map[string][]byte, error)
	StoredOutcomes(ctx context.Context, companyID string, orderIDs []string) (map[string]*facts.Outcome, error)
	WriteOutcomes(ctx context.Context, companyID string, now time.Time, outcomes []facts.StoredOutcome) error
	MarkProcessed(ctx context.Context, companyID string, now time.Time, orderIDs []string) error
	InsertSnapshots(ctx context.Context, companyID string, snapshots []facts.EvidenceSnapshot) error
	Ledgers(ctx context.Context, companyID string, orderIDs []string) (map[string][]ledger.Entry, error)
	AppendLedger(ctx context.Context, companyID string, now time.Time, ruleRev int64, postings []ledger.Posting) error
	AuditUnpaid(ctx context.Context, companyID string, now time.Time, orders []facts.UnpaidOrder) error
	Tell(ctx context.Context, companyID string, events func() ([]commerce.Event, error)) error
}

// Sums are what reports read by day, and what is counted of each order in them.
type Sums interface {
	CountedOrders(ctx context.Context, companyID string, orderIDs []string) (map[string]rollup.Counted, error)
	StoredOutcomes(ctx context.Context, companyID string, orderIDs []string) (map[string]*facts.Outcome, error)
	AddSums(ctx context.Context, companyID string, sums *rollup.Sums) error
}

// wholeTx is a type that has all parts of a Tx, as *factstore.Tx is. Only StoreOf names it.
type wholeTx interface {
	Offsets
	Events
	Traffic
	Products
	Orders
	Queue
	caseload.Reader
	Outcomes
	Sums
	Delivery() delivery.Store
	NonConvertingPaths() nonconverting.Store
	Statements() statements.Store
	Retention() retention.Store
	Erasure() erasure.Store
	Erased() erasure.Known
}

// partsOf returns the parts of a transaction.
func partsOf(tx wholeTx) Tx {
	return Tx{
		Offsets: tx, Events: tx, Traffic: tx, Products: tx, Orders: tx, Queue: tx, Cases: tx, Outcomes: tx, Sums: tx,
		Delivery: tx.Delivery(), NonConvertingPaths: tx.NonConvertingPaths(), Statements: tx.Statements(),
		Retention: tx.Retention(), Erasure: tx.Erasure(), Erased: tx.Erased(),
	}
}
