package dashboard

import (
	"net/http"
	"slices"
)

// maxPageForm bounds the body of a form, in bytes: a registration with 100 links
// of the greatest length is refused, one of a merchant's is not.
const maxPageForm = 128 << 10

// route is a page or a form of those who are logged in. Each is asked for with
// "?company=".
type route struct {
	pattern string // of http.ServeMux
	owner   bool   // analysts may not
	handle  func(w http.ResponseWriter, r *http.Request, v pageRequest)
	always  bool // a form that may be sent of an archived company too: it concerns people, not the company
}

// memberRoutes is every page and form of those who are logged in, file by file.
func (s *Server) memberRoutes() []route {
	return slices.Concat(s.overviewRoutes(), s.productRoutes(), s.pathRoutes(), s.deliveryRoutes(), s.eventRoutes(), s.signRoutes(),
		s.salesRoutes(), s.orderRoutes(), s.influencerRoutes(),
		s.keyRoutes(), s.peopleRoutes(), s.accountRoutes(), s.auditRoutes(),
		s.settingsRoutes(), s.installRoutes(),
		s.payoutRoutes(), s.costRoutes(), s.listRoutes())
}
