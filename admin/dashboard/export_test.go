package dashboard

import "context"

// Route is one page or form of those who are logged in, for the tests of who may.
type Route struct {
	Pattern string
	Owner   bool
	Always  bool // of an archived company too
}

// MemberRoutes lists every page and form of those who are logged in.
func MemberRoutes() (list []Route) {
	for _, r := range (&Server{}).memberRoutes() {
		list = append(list, Route{r.pattern, r.owner, r.always})
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
	for range personsFiles {
		one, err := s.site.Streaming.take(ctx, personID)
		if err != nil {
			end()
			return nil, nil, err
		}
		ends = append(ends, one)
	}
	return end, func() int {
		s.site.Streaming.mu.Lock()
		defer s.site.Streaming.mu.Unlock()
		return s.site.Streaming.people[personID].requests - personsFiles
	}, nil
}
