package edge

import (
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/scrub"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// names counts, by fold.Name, how many links have an influencer or a campaign
// of a name. Only names that scrubbing might change are in it: there are few.
type names map[string]int

// has tells whether a UTM value is one of the names.
func (n names) has(value string) bool { return n[fold.Name(value)] > 0 }

// putLink adds a link, or replaces the one of that code.
func (s *entries) putLink(code string, l *wire.Link) {
	s.deleteLink(code)
	s.links[code] = l
	s.countNames(l, 1)
}

func (s *entries) deleteLink(code string) {
	if old := s.links[code]; old != nil {
		s.countNames(old, -1)
		delete(s.links, code)
	}
}

func (s *entries) countNames(l *wire.Link, n int) {
	for _, name := range append([]string{l.Influencer, l.Campaign}, l.Former...) {
		if scrub.Clean(name) {
			continue
		}
		of := s.names[l.CompanyID]
		if of == nil {
			of = names{}
			s.names[l.CompanyID] = of
		}
		folded := fold.Name(name)
		if of[folded] += n; of[folded] == 0 {
			delete(of, folded)
		}
		if len(of) == 0 {
			delete(s.names, l.CompanyID)
		}
	}
}

// isName tells whether a UTM value is the name of an influencer or a campaign of a
// company that has a link. Without a directory none is.
func (d *directory) isName(companyID, value string) bool {
	if d == nil {
		return false
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.served.names[companyID].has(value) || d.rebuilt != nil && d.rebuilt.names[companyID].has(value)
}

// hasNames tells whether a company has names that scrubbing might change. Without a
// directory it has none.
func (d *directory) hasNames(companyID string) bool {
	if d == nil {
		return false
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	return len(d.served.names[companyID]) > 0 || d.rebuilt != nil && len(d.rebuilt.names[companyID]) > 0
}

// sent are the texts of an event in which UTM values stand, as they were sent.
type sent struct {
	url      string
	campaign core.Campaign
}

// keepNames puts the UTM values that are names of the company's influencers and
// campaigns back into an event that was scrubbed.
func (s *Server) keepNames(e *core.Event, companyID string, was sent) {
	keep := func(value string) bool { return s.directory.isName(companyID, value) }
	if e.Context.Page.URL != was.url {
		e.Context.Page.URL = scrub.Keeping(was.url, keep, func(part string) string {
			scrubText(&part, maxURL-(len(was.url)-len(part)), scrub.Text)
			return part
		})
	}
	now, before := &e.Context.Campaign, &was.campaign
	for _, value := range [][2]*string{{&now.Source, &before.Source}, {&now.Medium, &before.Medium}, {&now.Name, &before.Name},
		{&now.Content, &before.Content}, {&now.Term, &before.Term}} {
		if *value[0] != *value[1] && keep(*value[1]) {
			*value[0] = *value[1]
		}
	}
}
