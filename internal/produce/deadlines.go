package produce

import (
	"sync"
	"time"
)

// deadlineTick is how much later than its deadline a wait may end.
const deadlineTick = 50 * time.Millisecond

// deadlines ends the waits whose deadlines pass. One timer serves all of them: one
// of its own would cost each request more than its place in the queue does.
type deadlines struct {
	now func() time.Time

	mu    sync.Mutex
	first *Parcel // of those that wait
	timer *time.Timer
	ticks bool // the timer will fire
}

func (d *deadlines) add(p *Parcel) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p.before, p.after = nil, d.first
	if d.first != nil {
		d.first.before = p
	}
	d.first = p
	if !d.ticks {
		d.tickLater()
	}
}

func (d *deadlines) remove(p *Parcel) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.before == nil {
		d.first = p.after
	} else {
		p.before.after = p.after
	}
	if p.after != nil {
		p.after.before = p.before
	}
	p.before, p.after = nil, nil
}

// tickLater is called with d.mu held.
func (d *deadlines) tickLater() {
	d.ticks = true
	if d.timer == nil {
		d.timer = time.AfterFunc(deadlineTick, d.tick)
		return
	}
	d.timer.Reset(deadlineTick)
}

func (d *deadlines) tick() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	for p := d.first; p != nil; p = p.after {
		if !now.Before(p.deadline) {
			p.tell(true)
		}
	}
	if d.ticks = d.first != nil; d.ticks {
		d.tickLater()
	}
}
