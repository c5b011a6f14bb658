package sdk

import (
	"sync"

	"github.com/tributary-io/tributary/sdk/core"
)

// dropped counts the events that the client gave up, until the edge knows of them. Safe
// for concurrent use.
type dropped struct {
	mu      sync.Mutex
	counts  core.Dropped // that the edge does not know of
	telling core.Dropped // … of which a request tells that has no answer yet
}

// Places in core.Dropped.
const (
	dropQueueFull = iota
	dropRefused
	dropGivenUp
)

func (d *dropped) add(reason int, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts[reason] += int64(n)
}

// tell returns what the next request tells of. Until an answer it stays the same: the edge
// knows a batch that is sent again by that, and by its first event.
func (d *dropped) tell() core.Dropped {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.telling == (core.Dropped{}) {
		for i, n := range d.counts {
			d.telling[i] = min(n, core.MaxDropped)
		}
	}
	return d.telling
}

// told is called once the edge has taken a request.
func (d *dropped) told() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, n := range d.telling {
		d.counts[i] -= n
	}
	d.telling = core.Dropped{}
}
