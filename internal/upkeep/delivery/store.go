package delivery

import (
	"context"
	"time"
)

// Store keeps the delivery ledger, and refused origins, in one transaction. Each method works on the rows of one company.
// internal/postgres/upkeep.Delivery is one, and describes each method.
type Store interface {
	Count(ctx context.Context, companyID string, counts []Count) error
	CountSources(ctx context.Context, companyID string, counts []SourceCount) error
	Days(ctx context.Context, companyID string, days []StoredDay) ([]StoredDay, error)
	PutDays(ctx context.Context, companyID string, days []StoredDay) error
	KnownSeen(ctx context.Context, companyID string, seen []Seen) (map[string]bool, error)
	InsertSeen(ctx context.Context, companyID string, seen []Seen) error
	Streams(ctx context.Context, companyID string, streams []StoredStream) ([]StoredStream, error)
	PutStreams(ctx context.Context, companyID string, streams []StoredStream) error
	AddRefused(ctx context.Context, companyID string, origins []RefusedOrigin) error
	Forget(ctx context.Context, companyID string, whole, rest time.Time, limit int) error
}

// Count is added to how many events of a UTC day had an outcome.
type Count struct {
	Day     time.Time // midnight UTC, of receivedAt; of a rejected record, when it was rejected
	Outcome string    // one of those below; of Rejected and Dropped, with a reason behind it
	Events  int64     // to add; negative where an event had another outcome until now
}

// Outcomes of Count.
const (
	Stored    = "stored"
	Late      = "late" // of the stored ones
	Duplicate = "duplicate"
	Rejected  = "rejected:" // and the code
	Dropped   = "dropped:"  // by the sender, which says so; and the reason
	Missing   = "missing"   // numbers that senders have used and that have not come

	// Unfollowed counts streams, and about: those whose numbers are not looked at.
	Unfollowed = "unfollowed"
)

// Seen is something that was counted and is remembered, so that it is counted once.
type Seen struct {
	ID  []byte    // a digest, of 32 bytes at most
	Day time.Time // midnight UTC, on which it was received
}

// StoredStream is a Stream as it is stored.
type StoredStream struct {
	Stream
	ID  []byte    // StreamID
	Day time.Time // midnight UTC, of its last event

	Origin, Agent string // from where its events come, as in SourceCount; Agent empty: it is not known
}

// StoredDay is how much is remembered of a day.
type StoredDay struct {
	Day           time.Time // midnight UTC
	Streams, Seen int64
	Unfollowed    []byte // a Sketch; nil: every stream of the day is followed
}

// SourceCount is a Count by where events come from.
type SourceCount struct {
	Day     time.Time
	Origin  string // of the page: one of the company's, facts.OtherOrigin, or "" for none
	Agent   string // a family of internal/agent
	Outcome string // of Count, without a reason
	Events  int64
}
