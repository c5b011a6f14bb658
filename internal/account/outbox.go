package account

import "context"

// OutboxRecord is a Kafka record that waits in Postgres, written in the same
// transaction as the change that it announces.
type OutboxRecord struct {
	ID    int64
	Topic string
	Key   string
	Value []byte // nil: a tombstone. A wire.Company in the outbox may lack its KeyCheck: who publishes it adds it
}

// OutboxRelay publishes the outbox. One process at a time has it. It is not safe
// for concurrent use.
type OutboxRelay interface {
	// Pending reads the oldest records not yet published, at most limit, in
	// the order in which they must be published.
	Pending(ctx context.Context, limit int) ([]OutboxRecord, error)

	// Published deletes records that are on Kafka.
	Published(ctx context.Context, ids []int64) error

	// Directory calls f with pages of every record of directory.v1 as it
	// stands now, tombstones of what is there no more included. keyCheck is identity.Hasher.Check,
	// shortBase is for wire.Installation.
	Directory(ctx context.Context, shortBase string, keyCheck func(companyID string) string, f func(page []OutboxRecord) error) error

	// Company is the record of directory.v1 of a company as it stands now. ErrNotFound: there is none.
	Company(ctx context.Context, companyID string, keyCheck func(companyID string) string) (OutboxRecord, error)

	// Close lets another process have it.
	Close()
}
