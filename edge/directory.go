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

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
)

// entries are the companies, links and API keys of directory.v1.
type entries struct {
	companies map[string]*company
	links     map[string]*wire.Link   // written by putLink and deleteLink alone
	names     map[string]names        // of the links, by company
	keys      map[string]*wire.APIKey // by hash
	origins   map[string]int          // how many companies allow the origin: for preflights, which name no company
	hosts     map[string][]string     // companies by ownHost
	shortBase string                  // wire.Installation's, in lower case
}

func newEntries() *entries {
	return &entries{companies: map[string]*company{}, links: map[string]*wire.Link{}, names: map[string]names{},
		keys: map[string]*wire.APIKey{}, origins: map[string]int{}, hosts: map[string][]string{}}
}

// directory is the edge's view of directory.v1. Each time it begins to read the
// topic, it reads from the first record into a state of its own, rebuilt, which
// replaces the served one at the end: what was deleted and compacted away
// meanwhile is gone then. Until then both are looked at, the served one first.
//
// A topic that holds no company, or lacks one known before, may have been made
// anew and wait for the admin API to publish it again. Then the edge goes on
// with the companies it knew, and says of no other that it does not exist, until
// records have come and have stopped coming: an SDK throws away what is answered
// 401.
type directory struct {
	hasher *identity.Hasher
	config Config
	log    *slog.Logger
	now    func() time.Time

	mu         sync.RWMutex
	served     *entries
	rebuilt    *entries           // nil once it is served
	refilling  bool               // rebuilt lacked companies at the log's end: it waits for them
	topicID    string             // of the topic that is read
	next       int64              // offset after the last record handled
	lastRecord time.Time          // when that was
	readAgain  context.CancelFunc // ends the reading under way: another begins; nil: none began yet
	caughtUp   bool               // the topic was read to its end; else served is a snapshot only
	checked    time.Time          // when Kafka last said that next is the end
	contact    time.Time          // when Kafka last said anything
	changed    bool               // since the last snapshot
	partitions map[string]int     // of topics, as Kafka last said, for a start without it
	wrong      map[string]bool    // companies whose keys are made with another secret; true: it was logged
}

// refillPause is how long no record may have come before a topic that lacked
// companies counts as published in whole.
const refillPause = 2 * time.Second

func newDirectory(hasher *identity.Hasher, config Config, log *slog.Logger, now func() time.Time) *directory {
	return &directory{hasher: hasher, config: config, log: log, now: now, served: newEntries(), wrong: map[string]bool{}}
}

// company looks a company up. known is false both for a company that does not
// exist and for one that is not read yet: see fresh.
func (d *directory) company(id string) (c *company, known bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if c, known = d.served.companies[id]; !known && d.rebuilt != nil {
		c, known = d.rebuilt.companies[id]
	}
	return c, known
}

func (d *directory) link(code string) (l *wire.Link, known bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if l, known = d.served.links[code]; !known && d.rebuilt != nil {
		l, known = d.rebuilt.links[code]
	}
	return l, known
}

// allowsOrigin tells whether any company allows the origin.
func (d *directory) allowsOrigin(origin string) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.served.origins[origin] > 0 || d.rebuilt != nil && d.rebuilt.origins[origin] > 0
}

// fresh tells whether what is not in the directory does not exist.
func (d *directory) fresh() bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if !d.caughtUp || d.now().Sub(d.checked) > d.config.DirectoryFresh {
		return false
	}
	if d.refilling {
		return d.refilled()
	}
	return len(d.served.companies) > 0
}

// refilled tells whether a topic that lacked companies counts as published in whole.
func (d *directory) refilled() bool {
	return len(d.rebuilt.companies) > 0 && d.now().Sub(d.lastRecord) > refillPause
}

// apply takes one record into the rebuilt state, or the served one.
func (d *directory) apply(key string, value []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	state := d.served
	if d.rebuilt != nil {
		state = d.rebuilt
	}
	d.changed, d.lastRecord = true, d.now()
	switch {
	case strings.HasPrefix(key, wire.CompanyKeyPrefix):
		d.applyCompany(state, strings.TrimPrefix(key, wire.CompanyKeyPrefix), value)
	case strings.HasPrefix(key, wire.LinkKeyPrefix):
		d.applyLink(state, strings.TrimPrefix(key, wire.LinkKeyPrefix), value)
	case strings.HasPrefix(key, wire.APIKeyPrefix):
		d.applyAPIKey(state, strings.TrimPrefix(key, wire.APIKeyPrefix), value)
	case key == wire.InstallationKey:
		var i wire.Installation
		if json.Unmarshal(value, &i) == nil { // its id is for those who have a database to compare it with
			state.shortBase = strings.ToLower(i.ShortBase)
		}
	default:
		d.log.Warn("directory: a record with an unknown key was left out", "key", key)
	}
}

func (d *directory) applyCompany(state *entries, id string, value []byte) {
	old := state.companies[id]
	if len(value) == 0 {
		if old != nil {
			state.removeOrigins(old)
			state.removeHosts(old)
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
	if limited != nil {
		made.takeBuckets(limited)
	}
	if old != nil {
		state.removeOrigins(old)
		state.removeHosts(old)
	}
	state.addHosts(made)
	for origin := range made.origins {
		state.origins[origin]++
	}
	state.companies[id] = made
	if !made.wrongKey {
		delete(d.wrong, id)
		return
	}
	if _, known := d.wrong[id]; !known {
		d.wrong[id] = false
	}
	if d.rebuilt == nil { // else a newer record may follow
		d.tellWrongKey(id)
	}
}

// tellWrongKey logs a company's wrong key once, however often the topic is read anew.
func (d *directory) tellWrongKey(companyID string) {
	if d.wrong[companyID] {
		return
	}
	d.wrong[companyID] = true
	d.log.Error("directory: this edge's hashing secret is not the one the company's keys are made with: its events are refused until the "+
		"secrets agree", "company", companyID)
}

func (s *entries) removeOrigins(c *company) {
	for origin := range c.origins {
		if s.origins[origin]--; s.origins[origin] <= 0 {
			delete(s.origins, origin)
		}
	}
}

func (d *directory) applyLink(state *entries, code string, value []byte) {
	if len(value) == 0 {
		state.deleteLink(code)
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
	state.putLink(code, &l)
}

// wrongKeys counts the companies whose keys are made with another hashing secret.
func (d *directory) wrongKeys() int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return len(d.wrong)
}

// directoryState is what /readyz and /metrics say of the directory.
type directoryState struct {
	Companies int      `json:"companies"`
	Links     int      `json:"links"`
	CaughtUp  bool     `json:"caught_up"`
	Fresh     bool     `json:"fresh"`
	AgeMs     int64    `json:"age_ms"` // since Kafka last said that it is read to its end; -1: never
	WrongKey  []string `json:"wrong_hashing_secret,omitempty"`
}

func (d *directory) state() directoryState {
	fresh := d.fresh()
	d.mu.RLock()
	defer d.mu.RUnlock()
	companies, links := len(d.served.companies), len(d.served.links)
	if d.refilling {
		companies, links = max(companies, len(d.rebuilt.companies)), max(links, len(d.rebuilt.links))
	}
	s := directoryState{
		Companies: companies, Links: links,
		CaughtUp: d.caughtUp, Fresh: fresh, AgeMs: -1, WrongKey: slices.Sorted(maps.Keys(d.wrong)),
	}
	if !d.checked.IsZero() {
		s.AgeMs = d.now().Sub(d.checked).Milliseconds()
	}
	if len(s.WrongKey) > 20 {
		s.WrongKey = s.WrongKey[:20]
	}
	return s
}
