// Package erasure erases persons (docs/security.md, "Erasure of a person"), step by step, and leaves
// out of facts that come later what an erased person's are. It knows no SQL, and not when a company's
// turn is: processor calls it between two batches, and gives it one transaction for each step.
package erasure

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/facts"
)

// Store is what the steps of an erasure read and write, in one transaction.
// internal/postgres/upkeep.Erasure is one, and describes each method.
type Store interface {
	NextErasure(ctx context.Context, companyID string) (*Erasure, error)
	MoveErasure(ctx context.Context, companyID string, e *Erasure, orders, events int) error
	EndErasure(ctx context.Context, companyID string, e *Erasure, now time.Time) error

	// Find what is the person's.
	FindErasedOrders(ctx context.Context, companyID string, e *Erasure, limit int) (int, error)
	FindErasedVersions(ctx context.Context, companyID string, e *Erasure, keys []facts.Key, limit int) (last string, looked int, err error)
	AddKeysOfOrders(ctx context.Context, companyID string, e *Erasure) error
	ErasureKeys(ctx context.Context, companyID string, e *Erasure) ([]facts.Key, error)
	FindErasedVisitors(ctx context.Context, companyID string, e *Erasure, limit int) ([]Visitor, error)
	AddErasedVisitors(ctx context.Context, companyID string, e *Erasure, visitors []Visitor) error
	AddErasedKeys(ctx context.Context, companyID string, until time.Time, keys []facts.Key) error

	// Keep what follows from it for others' orders.
	OrdersToSnapshot(ctx context.Context, companyID string, e *Erasure, limit int) ([]facts.SnapshotCandidate, error)
	QueueAround(ctx context.Context, companyID string, e *Erasure, cause facts.Cause) (int, error)
	QueueHubs(ctx context.Context, companyID, visitor string, cause facts.Cause) (int, error)
	KeepFirsts(ctx context.Context, companyID string, orderIDs []string) error
	KeepSelfPurchases(ctx context.Context, companyID string, orderIDs []string) error

	// Remove it.
	NextErasedVisitor(ctx context.Context, companyID string, e *Erasure) (v Visitor, found bool, err error)
	EventsUntil(ctx context.Context, companyID, visitor string, after Cursor, until time.Time, limit int) ([]facts.Event, error)
	UnreadEvents(
		ctx context.Context, companyID string, after uuid.UUID, limit int,
	) (events []facts.Event, last uuid.UUID, looked int, err error)
	DeleteEvents(ctx context.Context, companyID string, events []facts.Event) error
	EraseObservations(ctx context.Context, companyID string, e *Erasure, v Visitor) error
	EraseShopper(ctx context.Context, companyID, visitor, surrogate string) error
	VisitorErased(ctx context.Context, companyID string, e *Erasure, visitor string) error
	OrdersToErase(ctx context.Context, companyID string, e *Erasure, limit int) ([]string, error)
	EraseVersions(ctx context.Context, companyID string, versions map[string][]facts.StoredVersion) error
	OrderErased(ctx context.Context, companyID, orderID string, s facts.Surrogates) error
}

// Known is what a batch asks of the erasures of its company, in its transaction.
// internal/postgres/upkeep.Erasure is one, and describes each method.
type Known interface {
	BeginErasures(ctx context.Context, companyID string, erasureIDs []string) error
	BeginErasuresBefore(ctx context.Context, companyID string, before time.Time) error
	ErasedUntil(ctx context.Context, companyID string, digests [][]byte) (map[string]time.Time, error)
	ErasedOrders(ctx context.Context, companyID string, orderIDs []string) (map[string]*facts.Surrogates, error)
	EraseLate(ctx context.Context, companyID string, orders []LateOrder) error
	SnapshotFirsts(ctx context.Context, companyID string, orderIDs []string) (map[string]*bool, error)
}

// Orders are the orders of the processor's transaction. internal/postgres/factstore.Tx describes
// each method.
type Orders interface {
	Versions(ctx context.Context, companyID string, orderIDs []string) (map[string][]facts.StoredVersion, error)
	UpsertOrders(ctx context.Context, companyID string, now time.Time, orders []facts.FoldedOrder) (changed []string, err error)
	ReplaceKeys(
		ctx context.Context, companyID string, orderIDs []string, kinds []facts.KeyKind, keys []facts.OrderKey,
	) (was []facts.OrderKey, err error)
	OrdersFollowing(ctx context.Context, companyID string, keys []facts.OrderKey, limit int) ([]string, error)
	OrdersOfChangedKeys(
		ctx context.Context, companyID string, changed []string, keys []facts.ChangedKey, before, after time.Duration, limit int,
	) ([]string, error)
}

// Turn is one transaction, in which one step of an erasure is done.
type Turn struct {
	Store
	Known   Known
	Orders  Orders
	Index   *attribution.Index // of the company's rules
	Company string
	Now     time.Time

	// What processor does for an erasure. Snapshot stores the snapshots of the first orders, and their
	// outcomes by them, and returns of how many; SnapshotAll those of all.
	Snapshot            func(ctx context.Context, list []facts.SnapshotCandidate) (snapshotted int, err error)
	SnapshotAll         func(ctx context.Context, orderIDs []string) error
	ComputeWaiting      func(ctx context.Context, orderIDs []string) error // those of the orders that wait in the queue
	Remember            func(ctx context.Context, orderIDs []string) error // what reports count of orders, before they change
	RebuildObservations func(ctx context.Context, d facts.VisitorDay) (was []facts.Key, err error)
}

// Erasure asks to remove a person.
type Erasure struct {
	ErasureID string // UUID
	AskedAt   time.Time
	Salt      facts.Salt // of the surrogates; it is thrown away when the erasure is done
	Phase     facts.ErasurePhase
	After     Cursor // how far the phase has come
	OrderID   string // likewise, of facts.EraseFindVersions
	// LaterLooks tells that it is a shop's, and that another erasure comes after it, which looks at all events that no visitor has,
	// too: by the keys of all erased persons.
	LaterLooks bool
}

// next moves an erasure to a phase.
func (e *Erasure) next(phase facts.ErasurePhase) { e.Phase, e.After = phase, Cursor{} }

// Cursor names an event of a visitor, or of a company.
type Cursor struct {
	At time.Time
	ID uuid.UUID
}

// Visitor is a visitor that was seen with a key of an erased person.
type Visitor struct {
	ID         string
	Identities int  // customers, e-mails or phones, of the kind of which it has most; counted up to a limit
	Wholly     bool // it is the person: all of its events go, not only those that name the person
}

// LateOrder is an order that was accepted before its person was erased, and came after it.
type LateOrder struct {
	OrderID  string
	ErasedAt time.Time // when the erasure was asked for
}
