package dashboard

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
