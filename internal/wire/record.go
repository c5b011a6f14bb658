package wire

import "time"

// Record is one Kafka record as services see it. A nil Value is a tombstone.
type Record struct {
	Key   []byte
	Value []byte
	Trace Trace // of the span that produced it
}

// Fetched is a record as it was read from a partition.
type Fetched struct {
	Record
	Offset int64
	Time   time.Time // when it was produced
	End    int64     // the offset behind the partition's last record, as known then
}

// Tail is the end of a partition, as far as it is read at once.
type Tail struct {
	Values  [][]byte // of the records of one key, in order; tombstones are left out
	Next    int64    // the offset behind the last record: the next Tail begins there
	Skipped int64    // records, of any key, between the offset that was asked for and the first that was read
}
