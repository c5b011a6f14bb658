package live

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/wire"
)

const (
	// refreshers bounds how many topics are read from Postgres at once.
	refreshers = 4
	// readTimeout bounds one refresh.
	readTimeout = 10 * time.Second
	// hintsPause is the wait before following results.v1 again after it failed.
	hintsPause = time.Second
)

// Run follows hints and refreshes topics until ctx ends; then it closes every
// socket and waits for all of its goroutines, sockets' included.
func (h *Hub) Run(ctx context.Context) error {
	var running sync.WaitGroup
	running.Go(func() { h.followHints(ctx) })
	running.Go(func() { h.refreshAll(ctx) })
	running.Go(func() { h.closeEnded(ctx) })
	<-ctx.Done()
	h.mu.Lock()
	h.stopped = true
	for _, t := range h.topics {
		for s := range t.sockets {
			s.close(closeGoingAway)
		}
	}
	h.mu.Unlock()
	h.serving.Wait()
	running.Wait()
	return nil
}

func (h *Hub) followHints(ctx context.Context) {
	for ctx.Err() == nil {
		err := h.deps.Hints(ctx, func(value []byte) error {
			h.hint(value)
			return nil
		})
		if ctx.Err() != nil {
			return
		}
		h.deps.Log.Warn("live: hints ended, following them again", "error", err)
		background.Sleep(ctx, hintsPause)
		h.markBehind()
	}
}

// hint marks the orders of one record of results.v1 as changed. A value that is
// no such record is dropped.
func (h *Hub) hint(value []byte) {
	var result wire.Result
	if json.Unmarshal(value, &result) != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, t := range h.topics {
		if key.companyID != result.CompanyID {
			continue
		}
		for _, id := range result.OrderIDs {
			t.hint(id)
		}
	}
	background.Wake(h.wake)
}

func (h *Hub) markBehind() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.topics {
		t.behind = true
	}
	background.Wake(h.wake)
}

// refreshAll starts a refresh of each topic that is due, and waits for them all
// when ctx ends.
func (h *Hub) refreshAll(ctx context.Context) {
	var group errgroup.Group
	group.SetLimit(refreshers)
	defer group.Wait()
	poll := time.NewTicker(h.config.Poll)
	defer poll.Stop()
	rest := time.NewTimer(time.Hour)
	defer rest.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
			h.markBehind()
		case <-h.wake:
		case <-rest.C:
		}
		due, wait := h.take(time.Now())
		for _, t := range due {
			group.Go(func() error {
				h.refresh(ctx, t)
				return nil
			})
		}
		rest.Reset(wait)
	}
}

// take marks the topics that are due as busy and returns them, and how long it is
// until the next one is due.
func (h *Hub) take(now time.Time) (due []*topic, wait time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	wait = time.Hour
	for _, t := range h.topics {
		if t.due(now) {
			t.busy = true
			due = append(due, t)
		} else if !t.busy && (t.behind || len(t.hinted) > 0) {
			wait = min(wait, t.restAt.Sub(now))
		}
	}
	return due, wait
}

// refresh reads one topic again and sends the changes to its sockets. Then the
// topic waits for four times as long as that took, so that a day with many orders
// does not keep Postgres busy.
func (h *Hub) refresh(ctx context.Context, t *topic) {
	started := time.Now()
	h.mu.Lock()
	ids := make([]string, 0, len(t.hinted))
	for id := range t.hinted {
		ids = append(ids, id)
	}
	behind := t.behind
	clear(t.hinted)
	t.behind = false
	h.mu.Unlock()

	update, err := h.read(ctx, t, ids, behind)

	h.mu.Lock()
	defer h.mu.Unlock()
	took := time.Since(started)
	t.restAt = time.Now().Add(max(h.config.Interval, 4*took))
	t.busy = false
	if err != nil {
		t.behind = true // the cursor has not moved, so nothing is lost
		t.restAt = time.Now().Add(h.config.Poll)
		if ctx.Err() == nil {
			h.deps.Log.Warn("live: cannot read sales, will try again", "company", t.key.companyID, "day", t.key.day, "error", err)
		}
	}
	if len(update.Body) > 0 {
		for s := range t.sockets {
			s.send(update.Body)
		}
	}
	background.Wake(h.wake)
}

// read returns the update for a topic, without a body where nothing is new.
func (h *Hub) read(ctx context.Context, t *topic, ids []string, behind bool) (Update, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	changed, err := h.deps.Feed.Changed(ctx, t.key.companyID, t.key.day, beforeOverlap(t.cursor))
	if err != nil {
		return Update{}, err
	}
	if behind || len(ids) > 0 {
		hinted := make(map[string]bool, len(ids))
		for _, id := range ids {
			hinted[id] = true
		}
		for _, id := range t.news(changed) {
			if !hinted[id] {
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		return Update{}, nil
	}
	update, err := h.deps.Feed.Update(ctx, t.company, t.key.day, t.key.lang, ids)
	if err != nil {
		return Update{}, err
	}
	t.sent(changed, update.Cursor)
	return update, nil
}
