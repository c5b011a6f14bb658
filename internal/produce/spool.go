package produce

import "github.com/tributary-io/tributary/internal/wire"

// Partition names one partition of a topic.
type Partition struct {
	Topic  string
	Number int
}

// Position is where records lie in a spool.
type Position struct {
	Log int // which of the spool's logs
	Seq uint64
}

// Kept are a partition's oldest records of a spool.
type Kept struct {
	Records []wire.Record // none: the spool holds nothing of the partition
	Last    Position      // of the last of them
	All     bool          // the spool held no others of the partition
}

// Spool keeps records on disk, in order for each partition. Safe for concurrent
// use.
type Spool interface {
	// Partitions are those of which it holds records.
	Partitions() []Partition
	// Holds tells whether it holds any of the partition, also some that are not
	// durable yet.
	Holds(p Partition) bool
	// Keep puts records behind those of their partition, in the order of its
	// calls. It does not wait: settled is called once, from another goroutine,
	// when they are durable, or with the error after which they may be kept or
	// not. After an error of Keep itself nothing was done. The records may be
	// used again after Keep. keyed: they came with an API key.
	Keep(p Partition, records []wire.Record, keyed bool, settled func(at Position, err error)) error
	// Next reads the partition's oldest records, of about maxBytes together; 0
	// gives those of one Keep. The same are read again until Sent.
	Next(p Partition, maxBytes int64) (Kept, error)
	// Quarantine keeps records that Kafka refuses for good apart from the others,
	// and returns once they are durable there. They are still read by Next until
	// Sent.
	Quarantine(p Partition, records []wire.Record) error
	// Sent says that Kafka has the partition's records up to a position, as many
	// as given.
	Sent(p Partition, last Position, records int) error
}
