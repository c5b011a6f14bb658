package wire

// Record is one Kafka record as services see it. A nil Value is a tombstone.
type Record struct {
	Key   []byte
	Value []byte
}
