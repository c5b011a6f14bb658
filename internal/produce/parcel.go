package produce

import (
	"sync/atomic"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

// Durability says where records are safe.
type Durability string

const (
	Kafka   Durability = "kafka" // on all in-sync replicas
	Spooled Durability = "spool" // on this machine's disk, to be sent to Kafka
)

// Parcel is what one request sends under one key, in memory that is used again:
// take one with Batcher.NewParcel, fill it, Enqueue it, Wait and Release it.
type Parcel struct {
	Records []wire.Record
	Buffer  []byte      // memory for the records' bytes
	Keyed   bool        // it came with an API key: the spool has a reserve for these
	Settled func(error) // if not nil, called once, before the wait ends, with the first error of all

	batcher  *Batcher
	deadline time.Time // after it nobody waits; what is not durable by then is dropped
	chunks   []chunk
	unsettled,
	holders atomic.Int32 // the caller, until Release, and of each chunk its lane
	told    atomic.Bool   // the token is there, or about to be
	ended   chan struct{} // gets one token: all chunks are settled, or the deadline has passed
	late    bool          // it has passed; good after the token
	awaited bool          // the token was taken

	before, after *Parcel // in deadlines
}

// Larger buffers are seldom needed, and not kept.
const (
	maxKeptBuffer  = 64 << 10
	maxKeptRecords = 64
)

// NewParcel returns an empty parcel.
func (b *Batcher) NewParcel() *Parcel {
	p, _ := b.parcels.Get().(*Parcel)
	if p == nil {
		p = &Parcel{batcher: b, ended: make(chan struct{}, 1)}
	}
	p.holders.Store(1)
	return p
}

// Release gives the parcel's memory back, once no produce reads it any more. Only a
// parcel whose wait has ended is used again: of another, somebody may still settle a
// chunk.
func (p *Parcel) Release() {
	if p.awaited && !p.late {
		p.leave()
	}
}

// leave is called by each holder when it is done with the parcel. A lane that has
// handed a chunk to the spool never is.
func (p *Parcel) leave() {
	if p.holders.Add(-1) > 0 || cap(p.Buffer) > maxKeptBuffer || cap(p.Records) > maxKeptRecords {
		return
	}
	clear(p.Records)
	clear(p.chunks)
	p.Records, p.Buffer, p.chunks, p.Settled = p.Records[:0], p.Buffer[:0], p.chunks[:0], nil
	p.Keyed = false
	p.awaited = false
	p.told.Store(false)
	p.batcher.parcels.Put(p)
}

// Wait returns where all records are durable, the spool if one of them is there
// alone, or why they are not: ErrTimeout soon after the deadline.
func (p *Parcel) Wait() (Durability, error) {
	p.batcher.deadlines.add(p)
	<-p.ended
	p.batcher.deadlines.remove(p)
	return p.outcome()
}

// Await is Wait that ends with ErrTimeout when timeout fires. The deadline alone
// does not end it.
func (p *Parcel) Await(timeout <-chan time.Time) (Durability, error) {
	select {
	case <-p.ended:
		return p.outcome()
	case <-timeout:
		return "", ErrTimeout
	}
}

// outcome is called once, with the token.
func (p *Parcel) outcome() (Durability, error) {
	p.awaited = true
	if p.late {
		return "", ErrTimeout
	}
	durable := Kafka
	for i := range p.chunks {
		if c := &p.chunks[i]; c.err != nil {
			return "", c.err
		} else if c.durable != Kafka {
			durable = c.durable
		}
	}
	return durable, nil
}

// tell ends the wait. Only its first call counts.
func (p *Parcel) tell(late bool) {
	if p.told.CompareAndSwap(false, true) {
		p.late = late
		p.ended <- struct{}{}
	}
}

// maxChunkBytes is what a large request is cut into, so that it shares produces
// with others and one produce never outgrows its bound by more than this.
const maxChunkBytes = 128 << 10

// chunk is some records of one parcel.
type chunk struct {
	parcel  *Parcel
	records []wire.Record
	bytes   int
	settled atomic.Bool // or about to be
	durable Durability  // once the parcel has been told
	err     error       // once the parcel has been told
}

// cut cuts the records into chunks, in order.
func (p *Parcel) cut(deadline time.Time) {
	p.deadline = deadline
	for records := p.Records; len(records) > 0; {
		size, count := 0, 0
		for count < len(records) && (count == 0 || size+recordBytes(records[count]) <= maxChunkBytes) {
			size += recordBytes(records[count])
			count++
		}
		p.chunks = append(p.chunks, chunk{})
		c := &p.chunks[len(p.chunks)-1]
		c.parcel, c.records, c.bytes = p, records[:count:count], size
		records = records[count:]
	}
	p.unsettled.Store(int32(len(p.chunks)))
	p.holders.Add(int32(len(p.chunks)))
}

func recordBytes(r wire.Record) int {
	const overhead = 32 // lengths, deltas and the header of a record
	size := len(r.Key) + len(r.Value) + overhead
	if r.Trace.IsRecorded() {
		size += len(wire.TraceHeader) + 2 + wire.TraceHeaderSize
	}
	return size
}

// bytes is the size of all chunks.
func (p *Parcel) bytes() int {
	bytes := 0
	for i := range p.chunks {
		bytes += p.chunks[i].bytes
	}
	return bytes
}

func bytesOf(chunks []*chunk) int {
	bytes := 0
	for _, c := range chunks {
		bytes += c.bytes
	}
	return bytes
}

// settle says what became of the chunk. Only its first call counts: of a chunk that is
// spooled while it is sent, the spool or Kafka may be the first.
func (c *chunk) settle(durable Durability, err error) {
	if !c.settled.CompareAndSwap(false, true) {
		return
	}
	c.durable, c.err = durable, err
	p := c.parcel
	if p.unsettled.Add(-1) > 0 {
		return
	}
	if p.Settled != nil {
		var first error
		for i := range p.chunks {
			if first = p.chunks[i].err; first != nil {
				break
			}
		}
		p.Settled(first)
	}
	p.tell(false)
}

// expired tells whether the chunk is not durable and nobody waits for it any more.
func (c *chunk) expired(now time.Time) bool {
	return !c.settled.Load() && !now.Before(c.parcel.deadline)
}
