// Package retention removes old events of a company (docs/operations.md, "Retention"), and has the
// orders that read them snapshotted first. It knows no SQL, and not when a company's turn is: processor
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
	WithoutSnapshot(ctx context.Context, companyID string, spans []facts.Span, after facts.SnapshotCandidate,
		limit int) ([]facts.SnapshotCandidate, error)
	WithoutSnapshotSince(ctx context.Context, companyID string, spans []facts.Span, since time.Time,
		limit int) ([]facts.SnapshotCandidate, error)
	CountWithoutSnapshot(ctx context.Context, companyID string, spans []facts.Span) (int, error)
	BeginRemoval(ctx context.Context, companyID string, until time.Time, pathsFrom string) error
	RemoveEvents(
		ctx context.Context, companyID string, after uuid.UUID, end, bound time.Time, limit int,
	) (last uuid.UUID, visitors []string, looked, removed int, err error)
	RemoveObservations(ctx context.Context, companyID string, visitors []string, before time.Time) (int, error)
	RemoveShoppers(ctx context.Context, companyID, day string, limit int) (int, error)
	CountOld(ctx context.Context, companyID string, bound time.Time, day string) (Removed, error)
	EndRemoval(ctx context.Context, companyID string, until, since time.Time) error
}

// Turn is one transaction of a removal, in which the partition's owner waits.
type Turn struct {
	Store
	Index *attribution.Index // of the company's rules as they are now

	// Snapshot stores the snapshots of the first orders, and their outcomes by them. It returns of how many.
	Snapshot func(ctx context.Context, list []facts.SnapshotCandidate) (snapshotted int, err error)
}

// Progress is how far the removal of a company's old events has come.
type Progress struct {
	CompanyID string
	Until     time.Time // all events before it are removed; zero: none was yet
	DoneAt    time.Time // when that was done
}

// Removed counts what was removed of a company, or would be.
type Removed struct {
	Snapshots    int // orders
	Events       int
	Observations int
	Shoppers     int // visitors' days of the table shopper_day
}

// Add adds other counts.
func (r *Removed) Add(other Removed) {
	r.Snapshots, r.Events = r.Snapshots+other.Snapshots, r.Events+other.Events
	r.Observations, r.Shoppers = r.Observations+other.Observations, r.Shoppers+other.Shoppers
}
