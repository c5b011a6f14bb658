package facts

import "errors"

// Errors of a store.
var (
	// ErrFenced means that another owner has taken the partition over, or has moved its
	// offset. Nothing was written.
	ErrFenced = errors.New("the partition has another owner")
	// ErrOtherCluster means that the stored offset belongs to another Kafka cluster.
	ErrOtherCluster = errors.New("the stored offset belongs to another Kafka cluster")
	// ErrData means that the store can never hold one of the values.
	ErrData = errors.New("a value cannot be stored")
)

// Move moves a partition's offset. It is written only where the offset is From, and where
// nobody has taken the partition over since the mover did.
type Move struct {
	Topic     string
	Partition int
	Epoch     int64 // the mover's, see Taken
	From, To  int64 // the next record to apply, before and after
}

// Taken is a partition of a topic that an owner has taken over.
type Taken struct {
	Next  int64 // the first record not yet applied
	Epoch int64 // how often the partition was taken over: moves of earlier epochs are fenced
}

// StoredOffset is the stored offset of one partition.
type StoredOffset struct {
	Topic     string `db:"topic"`
	Partition int    `db:"partition"`
	ClusterID string `db:"cluster_id"`
	Next      int64  `db:"next"` // the first record not yet applied
}
