package wire

import "time"

// Record is one Kafka record as services see it. A nil Value is a tombstone.
type Record struct {
	Key   []byte
	Value []byte
}

// Fetched is a record as it was read from a partition.
type Fetched struct {
	Record
	Offset int64
	Time   time.Time // when it was produced
	End    int64     // the offset behind the partition's last record, as known then
}
