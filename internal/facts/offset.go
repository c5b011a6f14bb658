package facts

import "errors"

// Errors of a store.
var (
	// ErrFenced means that the offset is not where this owner left it: another one
	// owns the partition now. Nothing was written.
	ErrFenced = errors.New("the partition's offset was moved by another owner")
	// ErrOtherCluster means that the stored offset belongs to another Kafka cluster.
	ErrOtherCluster = errors.New("the stored offset belongs to another Kafka cluster")
	// ErrData means that the store can never hold one of the values.
	ErrData = errors.New("a value cannot be stored")
)

// Move moves a partition's offset. It is written only where the offset is From.
type Move struct {
	Topic     string
	Partition int
	From, To  int64 // the next record to apply, before and after
}

// StoredOffset is the stored offset of one partition.
type StoredOffset struct {
	Topic     string `db:"topic"`
	Partition int    `db:"partition"`
	ClusterID string `db:"cluster_id"`
	Next      int64  `db:"next"` // the first record not yet applied
}
