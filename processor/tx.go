package processor

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/ledger"
	"github.com/tributary-io/tributary/internal/rollup"
	"github.com/tributary-io/tributary/internal/upkeep/delivery"
	"github.com/tributary-io/tributary/internal/upkeep/erasure"
	"github.com/tributary-io/tributary/internal/upkeep/nonconverting"
	"github.com/tributary-io/tributary/internal/upkeep/retention"
	"github.com/tributary-io/tributary/internal/upkeep/statements"
)

// Tx is one transaction of the store: everything that a batch writes is written,
// or nothing. Each method but the first works on the rows of one company. None of
// them knows a rule of attribution. internal/postgres/factstore.Tx is one, and
// describes each method.
type Tx interface {
	// MoveOffsets returns facts.ErrFenced where another owner has taken the partition
	// over, or has moved an offset.
	MoveOffsets(ctx context.Context, clusterID string, moves []facts.Move) error

	// Store facts, each once however often it comes.
	InsertEvents(ctx context.Context, companyID string, events []facts.Event) (inserted map[uuid.UUID]bool, err error)
	StoredCopies(ctx context.Context, companyID string, events []facts.Event) (map[string]facts.Copy, error)
	ReplaceEvents(ctx context.Context, companyID string, events []facts.Event) error
	EventsOfDay(ctx context.Context, companyID string, d facts.VisitorDay, limit int) ([]facts.Event, error)
	WidenSightings(ctx context.Context, companyID string, sightings []facts.Sighting) error
	DeleteSightings(ctx context.Context, companyID string, d facts.VisitorDay) ([]facts.Key, error)
	InsertShoppers(ctx context.Context, companyID string, shoppers []facts.Shopper) (others []facts.Shopper, err error)
	Shoppers(ctx context.Context, companyID string, shoppers []facts.Shopper) (map[facts.ShopperKey]facts.Stage, error)
	PutShoppers(ctx context.Context, companyID string, shoppers []facts.Shopper) error
	ItemsBeyond(ctx context.Context, companyID string, items []facts.ShopperKey, most int) (beyond []facts.ShopperKey, err error)
	AddTraffic(ctx context.Context, companyID string, traffic []facts.Traffic) error
	AddClicks(ctx context.Context, companyID string, clicks []facts.Clicks) error
	UpsertProducts(ctx context.Context, companyID string, products []facts.Product) (changed []string, err error)
	ReplaceVariants(ctx context.Context, companyID string, productIDs []string, variants []facts.Variant) error
	PutVersions(ctx context.Context, companyID string, versions map[string][]facts.StoredVersion) error
	UpsertPersonal(ctx context.Context, companyID string, versions []facts.OrderVersion) error
	Versions(ctx context.Context, companyID string, orderIDs []string) (map[string][]facts.StoredVersion, error)
	UpsertOrders(ctx context.Context, companyID string, now time.Time, orders []facts.FoldedOrder) (changed []string, err error)
	ReplaceKeys(ctx context.Context, companyID string, orderIDs []string, kinds []facts.KeyKind,
		keys []facts.OrderKey) (was []facts.OrderKey, err error)
	OrdersFollowing(ctx context.Context, companyID string, keys []facts.OrderKey, limit int) ([]string, error)
	QueueFollowing(ctx context.Context, companyID string, keys []facts.OrderKey, cause facts.Cause) (int, error)
	InsertDecisions(ctx context.Context, companyID string, decisions []facts.Decision) (orderIDs []string, err error)
	KeepTouches(ctx context.Context, companyID string, decisions []facts.Decision) error
	FirstOrderCandidates(ctx context.Context, companyID string, orderIDs []string, kinds []facts.KeyKind,
		limits facts.Limits) ([]facts.FirstOrderCandidate, error)
	SetFirstOrders(ctx context.Context, companyID string, now time.Time, orders []facts.FirstOrder) error
	AuditTests(ctx context.Context, companyID string, now time.Time, orders []facts.TestOrder) error

	// Find the orders that a fact concerns. Queue them where they are too many.
	OrdersByKeys(ctx context.Context, companyID string, spans []facts.KeySpan, hubs bool, limit int) ([]string, error)
	OrdersOfChangedKeys(ctx context.Context, companyID string, changed []string, keys []facts.ChangedKey, before, after time.Duration,
		limit int) ([]string, error)
	Queue(ctx context.Context, companyID string, orders []facts.Concerned) (int, error)
	QueueByKeys(ctx context.Context, companyID string, spans []facts.KeySpan, hubs bool, cause facts.Cause) (int, error)
	QueueOfChangedKeys(ctx context.Context, companyID string, changed []string, keys []facts.ChangedKey, before, after time.Duration,
		cause facts.Cause) (int, error)
	QueueCreated(ctx context.Context, companyID string, from, to time.Time, cause facts.Cause, limit int) (int, error)
	TakeQueued(ctx context.Context, companyID string, from facts.QueuePlace, limit int) (list []facts.Concerned, round bool, err error)
	Unqueue(ctx context.Context, companyID string, orderIDs []string) (removed []string, err error)
	SetAside(ctx context.Context, companyID, orderID, failure string) error

	// Read what a decision needs.
	Cases(ctx context.Context, companyID string, limits facts.Limits, orderIDs []string) ([]*facts.Case, error)
	Visitors(ctx context.Context, companyID string, limits facts.Limits, list []*facts.Case, budget int) (cases int,
		read facts.Read, err error)
	Proven(ctx context.Context, companyID string, limits facts.Limits, c *facts.Case) (read int, err error)

	// Count what became of events.
	Delivery() delivery.Store

	// Count null journeys.
	NullJourneys() nonconverting.Store

	// Remove old events, and seal the orders that read them first.
	LockPartition(ctx context.Context, partition int) error
	InsertSeals(ctx context.Context, companyID string, seals []facts.Seal) error
	Retention() retention.Store

	// Erase persons.
	Erasure() erasure.Store
	Erased() erasure.Known

	// Write outcomes.
	OutcomeHashes(ctx context.Context, companyID string, orderIDs []string) (map[string][]byte, error)
	Outcomes(ctx context.Context, companyID string, orderIDs []string) (map[string]*facts.Outcome, error)
	WriteOutcomes(ctx context.Context, companyID string, now time.Time, outcomes []facts.StoredOutcome) error
	MarkProcessed(ctx context.Context, companyID string, now time.Time, orderIDs []string) error
	Ledgers(ctx context.Context, companyID string, orderIDs []string) (map[string][]ledger.Entry, error)
	CountedOrders(ctx context.Context, companyID string, orderIDs []string) (map[string]rollup.Counted, error)
	AddSums(ctx context.Context, companyID string, sums *rollup.Sums) error
	AppendLedger(ctx context.Context, companyID string, now time.Time, ruleRev int64, postings []ledger.Posting) error

	Statements() statements.Store

	// Have a company's queue looked at, though none of its orders is queued.
	QueueCompany(ctx context.Context, companyID string) error
}
