// Package retention removes old events of a company (docs/operations.md, "Retention"), and has the
// orders that read them sealed first. It knows no SQL, and not when a company's turn is: processor
// calls it, and gives it one transaction for each step.
package retention

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/facts"
)

// Store is what a removal reads and writes, in one transaction. internal/postgres/upkeep.Retention is
// one, and describes each method.
type Store interface {
	Unsealed(ctx context.Context, companyID string, spans []facts.Span, after facts.SealCandidate, limit int) ([]facts.SealCandidate, error)
	UnsealedSince(ctx context.Context, companyID string, spans []facts.Span, since time.Time, limit int) ([]facts.SealCandidate, error)
	CountUnsealed(ctx context.Context, companyID string, spans []facts.Span) (int, error)
	BeginRemoval(ctx context.Context, companyID string, until time.Time, nullsFrom string) error
	RemoveEvents(
		ctx context.Context, companyID string, after uuid.UUID, end, bound time.Time, limit int,
	) (last uuid.UUID, visitors []string, looked, removed int, err error)
	RemoveSightings(ctx context.Context, companyID string, visitors []string, before time.Time) (int, error)
	RemoveShoppers(ctx context.Context, companyID, day string, limit int) (int, error)
	CountOld(ctx context.Context, companyID string, bound time.Time, day string) (Removed, error)
	EndRemoval(ctx context.Context, companyID string, until, since time.Time) error
}

// Turn is one transaction of a removal, in which the partition's owner waits.
type Turn struct {
	Store
	Index *attribution.Index // of the company's rules as they are now

	// Seal stores the seals of the first orders, and their outcomes by them. It returns of how many.
	Seal func(ctx context.Context, list []facts.SealCandidate) (sealed int, err error)
}

// Progress is how far the removal of a company's old events has come.
type Progress struct {
	CompanyID string
	Until     time.Time // all events before it are removed; zero: none was yet
	DoneAt    time.Time // when that was done
}

// Removed counts what was removed of a company, or would be.
type Removed struct {
	Sealed    int // orders
	Events    int
	Sightings int
	Shoppers  int // visitors' days of the table shopper_day
}

// Add adds other counts.
func (r *Removed) Add(other Removed) {
	r.Sealed, r.Events = r.Sealed+other.Sealed, r.Events+other.Events
	r.Sightings, r.Shoppers = r.Sightings+other.Sightings, r.Shoppers+other.Shoppers
}
