package produce

import (
	"sync/atomic"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

// Durability says where a chunk is safe.
type Durability string

const (
	Kafka   Durability = "kafka" // on all in-sync replicas
	Spooled Durability = "spool" // on this machine's disk, to be sent to Kafka
)

// maxChunkBytes is what a large request is cut into, so that it shares produces
// with others and one produce never outgrows its bound by more than this.
const maxChunkBytes = 128 << 10

// Chunk is some records of one request, bound for one partition.
type Chunk struct {
	records  []wire.Record
	bytes    int
	deadline time.Time // after it nobody waits; a chunk that is not durable by then is dropped
	done     chan struct{}
	durable  Durability  // once done is closed
	err      error       // once done is closed
	settled  func(error) // if not nil, called once, before done is closed
	told     atomic.Bool // done is closed, or about to be
}

// chunksOf cuts records into chunks, in order.
func chunksOf(records []wire.Record, deadline time.Time, settled func(error)) []*Chunk {
	var chunks []*Chunk
	for len(records) > 0 {
		size, count := 0, 0
		for count < len(records) && (count == 0 || size+recordBytes(records[count]) <= maxChunkBytes) {
			size += recordBytes(records[count])
			count++
		}
		chunks = append(chunks, &Chunk{
			records: records[:count:count], bytes: size, deadline: deadline, done: make(chan struct{}), settled: settled,
		})
		records = records[count:]
	}
	return chunks
}

func recordBytes(r wire.Record) int {
	const overhead = 32 // lengths, deltas and the header of a record
	return len(r.Key) + len(r.Value) + overhead
}

func bytesOf(chunks []*Chunk) int {
	bytes := 0
	for _, c := range chunks {
		bytes += c.bytes
	}
	return bytes
}

// Done is closed once the chunk is durable, or will not be.
func (c *Chunk) Done() <-chan struct{} { return c.done }

// Await returns where the chunk is durable, or why it is not: ErrTimeout when
// timeout fires first.
func (c *Chunk) Await(timeout <-chan time.Time) (Durability, error) {
	select {
	case <-c.done:
		return c.durable, c.err
	case <-timeout:
		return "", ErrTimeout
	}
}

// settle tells those who wait. Only its first call counts: of a chunk that is
// spooled while it is sent, the spool or Kafka may be the first.
func (c *Chunk) settle(durable Durability, err error) {
	if !c.told.CompareAndSwap(false, true) {
		return
	}
	c.durable, c.err = durable, err
	if c.settled != nil {
		c.settled(err)
	}
	close(c.done)
}

// expired tells whether the chunk is not durable and nobody waits for it any more.
func (c *Chunk) expired(now time.Time) bool {
	select {
	case <-c.done:
		return false
	default:
		return !now.Before(c.deadline)
	}
}
