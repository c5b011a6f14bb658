package commerce

// OutboxRecord is a Kafka record that waits in Postgres, written in the same
// transaction as the change it tells of.
type OutboxRecord struct {
	ID    int64
	Topic string
	Key   string
	Value []byte // nil: a tombstone
}
