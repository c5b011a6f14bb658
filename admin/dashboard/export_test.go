package dashboard

import (
	"context"

	"github.com/tributary-io/tributary/admin/dashboard/events"
	"github.com/tributary-io/tributary/admin/dashboard/login"
	"github.com/tributary-io/tributary/admin/dashboard/money"
	"github.com/tributary-io/tributary/admin/dashboard/report"
	"github.com/tributary-io/tributary/admin/dashboard/rules"
	"github.com/tributary-io/tributary/admin/dashboard/shops"
	"github.com/tributary-io/tributary/admin/dashboard/site"
)

// Route is one page or form of those who are logged in, for the tests of who may.
type Route struct {
	Pattern string
	Owner   bool
	Pays    bool // finance may too
	Always  bool // of an archived company too
}

// MemberRoutes lists every page and form of those who are logged in.
func MemberRoutes() (list []Route) {
	shared := &site.Site{}
	s := &Server{login: &login.Pages{Site: shared}, rules: &rules.Pages{Site: shared}, money: &money.Pages{Site: shared},
		report: &report.Pages{Site: shared}, events: &events.Pages{Site: shared}, shops: &shops.Pages{Site: shared}}
	for _, r := range s.memberRoutes() {
		list = append(list, Route{r.Pattern, r.Owner, r.Pays, r.Always})
	}
	return list
}

// HoldStatements takes all turns that a person has at files of statements, until end is
// called. waiting is how many of their requests wait for one.
func (s *Server) HoldStatements(ctx context.Context, personID string) (end func(), waiting func() int, err error) {
	var ends []func()
	end = func() {
		for _, e := range ends {
			e()
		}
	}
	for range site.PersonsFiles {
		one, err := s.site.Streaming.Take(ctx, personID)
		if err != nil {
			end()
			return nil, nil, err
		}
		ends = append(ends, one)
	}
	return end, func() int { return s.site.Streaming.Requests(personID) - site.PersonsFiles }, nil
}
