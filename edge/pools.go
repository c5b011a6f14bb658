package edge

import (
	"sync"

	"github.com/tributary-io/tributary/sdk/core"
)

// pools keep memory for the next request.
type pools struct {
	requests sync.Pool // of *request
}

func newPools() *pools {
	return &pools{requests: sync.Pool{New: func() any { return new(request) }}}
}

// A request that needed more than this is not kept: few need as much.
const (
	maxKeptBody  = 64 << 10
	maxKeptItems = core.MaxBatchEvents * 5 / 4 // 256 KiB, which many small events would take anew each time; append takes some more
)

func (p *pools) put(r *request) {
	if max(cap(r.body.bytes), r.inflated.Cap()) > maxKeptBody || cap(r.delivery.batch.Items) > maxKeptItems {
		return
	}
	r.headers, r.span = headers{}, nil
	r.inflated.Reset()
	r.delivery.reset()
	p.requests.Put(r)
}
