package edge

import (
	"bytes"
	"sync"

	"github.com/tributary-io/tributary/sdk/core"
)

// pools keep memory for the next request. Nothing that outlives its request may
// hold a part of it: records, which wait for Kafka, have memory of their own.
type pools struct {
	bodies  sync.Pool // of *bytes.Buffer: inflated bodies
	batches sync.Pool // of *core.Batch
	answers sync.Pool // of *[]byte
}

func newPools() *pools {
	return &pools{
		bodies:  sync.Pool{New: func() any { return new(bytes.Buffer) }},
		batches: sync.Pool{New: func() any { return new(core.Batch) }},
		answers: sync.Pool{New: func() any { return new([]byte) }},
	}
}

// Larger ones are seldom needed, and not kept.
const (
	maxKeptBody  = 64 << 10
	maxKeptItems = 64
)

func (p *pools) putBody(b *bytes.Buffer) {
	if b.Cap() <= maxKeptBody {
		b.Reset()
		p.bodies.Put(b)
	}
}

func (p *pools) putBatch(b *core.Batch) {
	if cap(b.Items) <= maxKeptItems {
		clear(b.Items) // they hold the request's body
		p.batches.Put(b)
	}
}
