package demo

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/tributary-io/tributary/sdk/core"
)

// followersOfDay is how many open a short link on the day of the first start: about as many as there are visits on a day of the
// history, which has none of them, since short links alone make a click, and at once. No link has more than the edge takes from one
// network at a time (100, docs/edge.md).
const followersOfDay = 400

// followers opens the influencers' short links and looks at the page to which each leads: who has more visits has more clicks. A fill
// that is repeated has the same visitors, and more clicks.
func (s *Store) followers(ctx context.Context, links []Link) error {
	all := 0
	for _, p := range partners() {
		all += p.weight
	}
	var landed []any
	var mu sync.Mutex
	group, each := errgroup.WithContext(ctx)
	group.SetLimit(requestsAtOnce)
	for _, p := range partners() {
		for _, l := range links {
			for n := 0; l.Influencer == p.name && n < followersOfDay*p.weight/all; n++ {
				group.Go(func() error {
					page, err := s.follow(each, l.URL, fmt.Sprint(browser, " Follower/", n))
					if err != nil {
						return err
					}
					event, err := landing(fmt.Sprint("follower/", p.name, "/", n), page)
					mu.Lock()
					defer mu.Unlock()
					landed = append(landed, event)
					return err
				})
			}
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i := 0; i < len(landed); i += eventsOfRequest {
		if err := s.track(ctx, landed[i:min(len(landed), i+eventsOfRequest)]); err != nil {
			return err
		}
	}
	return nil
}

// landing is the page view of a follower, now.
func landing(follower, page string) (event map[string]any, err error) {
	id, err := uuid.NewV7()
	return map[string]any{"eventId": id.String(), "event": core.PageView, "visitorId": visitorID(follower),
		"timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		"context":   map[string]any{"page": map[string]any{"url": page, "referrer": "https://www.instagram.com/"}}}, err
}

// visitorID is a UUID, as the SDK's cookie is.
func visitorID(name string) string {
	return uuid.NewHash(sha256.New(), uuid.NameSpaceURL, []byte(name), 4).String()
}
