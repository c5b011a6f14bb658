package facts

import "errors"

// Errors of a store.
var (
	// ErrFenced: the offset is not where this owner left it, so another owns
	// the partition now. Nothing was written.
	ErrFenced = errors.New("the partition's offset was moved by another owner")
	// ErrOtherCluster: the stored offset belongs to another Kafka cluster.
	ErrOtherCluster = errors.New("the stored offset belongs to another Kafka cluster")
	// ErrData: the store cannot hold some value, now or ever.
	ErrData = errors.New("a value cannot be stored")
)

// Move is a step of one partition's offset, written as compare-and-set.
type Move struct {
	Topic     string
	Partition int
	From, To  int64 // next record to apply, before and after
}

// StoredOffset is where one partition stands.
type StoredOffset struct {
	Topic     string `db:"topic"`
	Partition int    `db:"partition"`
	ClusterID string `db:"cluster_id"`
	Next      int64  `db:"next"` // the first record not yet applied
}
