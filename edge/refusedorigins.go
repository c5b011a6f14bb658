package edge

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/publichost"
	"github.com/tributary-io/tributary/internal/wire"
)

// Bounds of what is counted between two notices. Anybody can send any origin for a company.
const (
	mostRefusedCompanies = 1000
	mostForeignOrigins   = wire.MaxRefused / 2 // of other domains than the company's: the rest is kept for its own
)

// refusedOrigins counts the events of pages whose origins their companies do not list, until
// the processor is told.
type refusedOrigins struct {
	mu        sync.Mutex
	companies map[string]*refusedOf // by id; mu guards it
}

// refusedOf is what was counted of one company.
type refusedOf struct {
	company *company
	events  map[string]int64 // by origin, of at most wire.MaxRefused; "" has all others
	foreign int              // how many of them are of other domains than the company's
}

// add counts events of a page of an origin as it was sent.
func (r *refusedOrigins) add(c *company, sent string, events int) {
	origin := normalOrigin(sent)
	host, is := publichost.OfOrigin(origin)
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.companies[c.CompanyID]
	if of == nil {
		if len(r.companies) == mostRefusedCompanies {
			return
		}
		of = &refusedOf{company: c, events: map[string]int64{}}
		r.companies[c.CompanyID] = of
	}
	if _, known := of.events[origin]; !known && !of.takes(host, is, origin) {
		origin = ""
	}
	of.events[origin] += int64(events)
}

// takes reports whether an origin that is not counted yet is counted apart.
func (of *refusedOf) takes(host string, is bool, origin string) bool {
	if !is && origin != noOrigin {
		return false
	}
	_, others := of.events[""]
	apart := len(of.events)
	if others {
		apart--
	}
	if is && of.company.ownSite(host) {
		return apart < wire.MaxRefused
	}
	if apart == wire.MaxRefused || of.foreign == mostForeignOrigins {
		return false
	}
	of.foreign++
	return true
}

// ownSite tells whether a host has the registrable domain of one of the company's origins.
func (c *company) ownSite(host string) bool {
	for origin := range c.origins {
		if own, _ := publichost.OfOrigin(origin); publichost.SameSite(host, own) {
			return true
		}
	}
	return false
}

// take returns what was counted, by company, and counts from 0 again.
func (r *refusedOrigins) take() map[string]*refusedOf {
	r.mu.Lock()
	defer r.mu.Unlock()
	counted := r.companies
	r.companies = map[string]*refusedOf{}
	return counted
}

// tellRefused tells of refused origins now and then, until ctx ends.
func (s *Server) tellRefused(ctx context.Context) {
	background.Every(ctx, s.config.TellRefusedEvery, nil, s.tellRefusedNow)
}

// tellRefusedNow makes known which origins were refused, as well as can be: no request waits for it.
func (s *Server) tellRefusedNow() {
	now := s.deps.Now()
	for id, of := range s.refused.take() {
		notice := wire.Notice{V: 1, ID: digest(s.deps.NewID()), CompanyID: id, ReceivedAt: now.UTC().Truncate(time.Millisecond)}
		for _, origin := range slices.Sorted(maps.Keys(of.events)) {
			notice.Refused = append(notice.Refused, wire.NoticeRefused{Origin: origin, Events: of.events[origin]})
		}
		value, err := json.Marshal(&notice)
		if err == nil {
			p := s.batcher.NewParcel()
			p.Records = append(p.Records, wire.Record{Key: of.company.key, Value: value})
			p.Settled = func(err error) {
				if err != nil {
					s.metrics.untold.Inc()
				}
			}
			err = s.batcher.Enqueue(wire.TopicEvents, id, p, now.Add(s.config.ProduceTimeout))
		}
		if err != nil {
			s.metrics.untold.Inc()
		}
	}
}
