package live

import (
	"context"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/background"
)

// Recheck makes the hub look at once for sockets whose session has ended, or whose
// person has left the store.
func (h *Hub) Recheck() { background.Wake(h.ended) }

// closeEnded closes the sockets of those who may not look any more, until ctx ends.
func (h *Hub) closeEnded(ctx context.Context) {
	if h.deps.Still == nil {
		return
	}
	background.Every(ctx, h.config.Check, h.ended, func() {
		if err := h.closeThoseWhoMayNot(ctx); err != nil && ctx.Err() == nil {
			h.deps.Log.Warn("live: cannot find out whose sessions have ended, will try again", "error", err)
		}
	})
}

func (h *Hub) closeThoseWhoMayNot(ctx context.Context) error {
	asked := map[account.Watch]bool{}
	h.mu.Lock()
	for _, t := range h.topics {
		for s := range t.sockets {
			asked[s.viewer.watch()] = true
		}
	}
	h.mu.Unlock()
	if len(asked) == 0 {
		return nil
	}
	list := make([]account.Watch, 0, len(asked))
	for watch := range asked {
		list = append(list, watch)
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	still, err := h.deps.Still(ctx, list)
	if err != nil {
		return err
	}
	for _, watch := range still {
		delete(asked, watch)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.topics {
		for s := range t.sockets {
			if asked[s.viewer.watch()] { // not one that came meanwhile
				s.close(closeExpired)
			}
		}
	}
	return nil
}

func (v Viewer) watch() account.Watch {
	return account.Watch{PersonID: v.PersonID, Family: v.Family, CompanyID: v.Company.CompanyID}
}
