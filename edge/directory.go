package edge

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
)

// entries is a state of directory.v1.
type entries struct {
	companies map[string]*company
	links     map[string]*wire.Link
	origins   map[string]int // how many companies allow the origin: for preflights, which name no company
}

func newEntries() *entries {
	return &entries{companies: map[string]*company{}, links: map[string]*wire.Link{}, origins: map[string]int{}}
}

// directory is the edge's view of directory.v1. A pass reads the topic from
// its beginning into a state of its own, which replaces the served one at the
// end: what was deleted and compacted away meanwhile is gone then. During a
// pass the new one, which may still be in the past, only adds.
type directory struct {
	hasher *identity.Hasher
	config Config
	log    *slog.Logger
	now    func() time.Time

	mu       sync.RWMutex
	served   *entries
	pass     *entries  // nil between passes
	next     int64     // offset after the last record handled
	caughtUp bool      // served is a whole pass, not only a snapshot
	proved   time.Time // when Kafka last said that next is the end
	contact  time.Time // when Kafka last said anything
	changed  bool      // since the last snapshot
	wrong    map[string]bool
}

func newDirectory(hasher *identity.Hasher, config Config, log *slog.Logger, now func() time.Time) *directory {
	return &directory{hasher: hasher, config: config, log: log, now: now, served: newEntries(), wrong: map[string]bool{}}
}

// company looks a company up. known is false both for a company that does not
// exist and for one not heard of yet: see fresh.
func (d *directory) company(id string) (c *company, known bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if c, known = d.served.companies[id]; !known && d.pass != nil {
		c, known = d.pass.companies[id]
	}
	return c, known
}

func (d *directory) link(code string) (l *wire.Link, known bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if l, known = d.served.links[code]; !known && d.pass != nil {
		l, known = d.pass.links[code]
	}
	return l, known
}

// allowsOrigin tells whether any company allows the origin.
func (d *directory) allowsOrigin(origin string) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.served.origins[origin] > 0 || d.pass != nil && d.pass.origins[origin] > 0
}

// fresh tells whether what is not in the directory does not exist. An empty
// directory proves nothing: the topic may have been made anew and wait for the
// admin API to publish it, and an SDK throws away what is answered 401.
func (d *directory) fresh() bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.caughtUp && len(d.served.companies) > 0 && d.now().Sub(d.proved) <= d.config.DirectoryFresh
}

// apply takes one record into the state of the pass, or the served one.
func (d *directory) apply(key string, value []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	state := d.served
	if d.pass != nil {
		state = d.pass
	}
	d.changed = true
	switch {
	case strings.HasPrefix(key, wire.CompanyKeyPrefix):
		d.applyCompany(state, strings.TrimPrefix(key, wire.CompanyKeyPrefix), value)
	case strings.HasPrefix(key, wire.LinkKeyPrefix):
		d.applyLink(state, strings.TrimPrefix(key, wire.LinkKeyPrefix), value)
	default:
		d.log.Warn("directory: a record with an unknown key was left out", "key", key)
	}
}

func (d *directory) applyCompany(state *entries, id string, value []byte) {
	old := state.companies[id]
	if len(value) == 0 {
		if old != nil {
			state.forgetOrigins(old)
			delete(state.companies, id)
			delete(d.wrong, id)
		}
		return
	}
	var c wire.Company
	if err := json.Unmarshal(value, &c); err != nil || c.CompanyID != id {
		d.log.Error("directory: a company's record cannot be read", "company", id, "error", err)
		return
	}
	if old != nil && old.Rev > c.Rev {
		return
	}
	made := d.newCompany(c)
	limited := old
	if limited == nil {
		limited = d.served.companies[id]
	}
	if limited != nil { // the tokens spent stay spent
		made.limiter = limited.limiter
		made.limiter.SetLimit(rate.Limit(made.perSecond))
		made.limiter.SetBurst(made.burst)
	}
	if old != nil {
		state.forgetOrigins(old)
	}
	for origin := range made.origins {
		state.origins[origin]++
	}
	state.companies[id] = made
	if made.wrongKey && !d.wrong[id] {
		d.wrong[id] = true
		d.log.Error("directory: this edge's hashing secret is not the one the company's keys are made with: its events are refused until the secrets agree", "company", id)
	}
	if !made.wrongKey {
		delete(d.wrong, id)
	}
}

func (s *entries) forgetOrigins(c *company) {
	for origin := range c.origins {
		if s.origins[origin]--; s.origins[origin] <= 0 {
			delete(s.origins, origin)
		}
	}
}

func (d *directory) applyLink(state *entries, code string, value []byte) {
	if len(value) == 0 {
		delete(state.links, code)
		return
	}
	var l wire.Link
	if err := json.Unmarshal(value, &l); err != nil {
		d.log.Error("directory: a link's record cannot be read", "code", code, "error", err)
		return
	}
	if _, err := url.Parse(l.URL); err != nil || l.CompanyID == "" || l.URL == "" {
		d.log.Error("directory: a link's record has no usable URL or company", "code", code)
		return
	}
	if old := state.links[code]; old != nil && old.Rev > l.Rev {
		return
	}
	state.links[code] = &l
}

// refollowPause is the wait before the topic is read again after a failure.
const refollowPause = time.Second

// follow keeps the view up to date until ctx ends.
func (d *directory) follow(ctx context.Context, source Directory) {
	for ctx.Err() == nil {
		end, err := source.LogEnd(ctx, wire.TopicDirectory, 0)
		if err != nil {
			d.log.Warn("directory: Kafka cannot be read yet", "error", err)
			pause(ctx, refollowPause)
			continue
		}
		d.mu.Lock()
		d.pass, d.next = newEntries(), 0
		d.mu.Unlock()
		err = source.Follow(ctx, wire.TopicDirectory, 0, kafka.FromFirst, func(offset int64, r kafka.Record) error {
			d.apply(string(r.Key), r.Value)
			d.mu.Lock()
			d.next = offset + 1
			d.mu.Unlock()
			return nil
		}, func() { d.passDone(end) })
		if ctx.Err() != nil {
			return
		}
		d.log.Warn("directory: reading stopped, and begins again", "error", err)
		pause(ctx, refollowPause)
	}
}

// passDone ends a pass that began when end was the log's end. The last records
// before end may be compacted away, so next need not have come there itself.
func (d *directory) passDone(end int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next = max(d.next, end)
	if d.pass != nil {
		d.served, d.pass = d.pass, nil
		for id := range d.wrong {
			if d.served.companies[id] == nil {
				delete(d.wrong, id)
			}
		}
	}
	d.caughtUp, d.proved, d.contact, d.changed = true, d.now(), d.now(), true
}

// prove asks now and then whether the view has the topic's end. It is what
// tells a quiet directory from a lost connection.
func (d *directory) prove(ctx context.Context, source Directory) {
	interval := d.config.DirectoryFresh / 4
	for ctx.Err() == nil {
		asked, cancel := context.WithTimeout(ctx, interval)
		end, err := source.LogEnd(asked, wire.TopicDirectory, 0)
		cancel()
		if err == nil {
			d.mu.Lock()
			d.contact = d.now()
			if d.pass == nil && d.next >= end {
				d.proved = d.contact
			}
			d.mu.Unlock()
		}
		pause(ctx, interval)
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// directoryState is what /readyz and /metrics say of the view.
type directoryState struct {
	Companies int      `json:"companies"`
	Links     int      `json:"links"`
	CaughtUp  bool     `json:"caught_up"`
	Fresh     bool     `json:"fresh"`
	AgeMs     int64    `json:"age_ms"` // since Kafka last said that this is all; -1: never
	WrongKey  []string `json:"wrong_hashing_secret,omitempty"`
}

func (d *directory) state() directoryState {
	fresh := d.fresh()
	d.mu.RLock()
	defer d.mu.RUnlock()
	s := directoryState{
		Companies: len(d.served.companies), Links: len(d.served.links),
		CaughtUp: d.caughtUp, Fresh: fresh, AgeMs: -1, WrongKey: slices.Sorted(maps.Keys(d.wrong)),
	}
	if !d.proved.IsZero() {
		s.AgeMs = d.now().Sub(d.proved).Milliseconds()
	}
	if len(s.WrongKey) > 20 {
		s.WrongKey = s.WrongKey[:20]
	}
	return s
}
