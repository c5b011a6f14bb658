package dashboard

import (
	"net/http"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
)

// author says who changes a company's rules.
func (s *Site) author(v pageRequest) commerce.Author {
	return commerce.Author{CompanyID: v.current.CompanyID, Actor: v.actor(), At: s.Now()}
}

// access is what an access token says: who, in which log-in, until when.
type access struct {
	personID string
	family   string
	until    time.Time
}

// pageRequest is one request of somebody who is logged in.
type pageRequest struct {
	access   access
	accesses []account.Access // never empty
	current  account.Access   // the company whose page it is
	lang     *lang.Printer
	here     string // path of the page, with its query
	done     string // what the form before did; may be empty
	notice   string // what every page says above its content; may be empty
}

// archived reports whether the company is: it is shown, and nothing of it is changed.
func (v pageRequest) archived() bool { return !v.current.ArchivedAt.IsZero() }

// mayChange reports whether the person may change the company: owners may, while it is not
// archived.
func (v pageRequest) mayChange() bool {
	return v.current.Role == account.RoleOwner && !v.archived()
}

// actor names the person in the audit log.
func (v pageRequest) actor() string { return "user/" + v.access.personID }

// liveCompany is the live company of the store whose page it is: its audit log has
// what concerns the store as a whole.
func (v pageRequest) liveCompany() string { return v.companyOf(commerce.Live) }

// companyOf is the store's company of an environment; empty where there is none.
func (v pageRequest) companyOf(environment string) string {
	for _, a := range v.accesses {
		if a.StoreID == v.current.StoreID && a.Environment == environment {
			return a.CompanyID
		}
	}
	return ""
}

// isArchived reports whether one of the store's companies is.
func (v pageRequest) isArchived(companyID string) bool {
	return slices.ContainsFunc(v.accesses, func(a account.Access) bool { return a.CompanyID == companyID && !a.ArchivedAt.IsZero() })
}

// openEnvironments are those of the store whose company may be changed.
func (v pageRequest) openEnvironments() (list []string) {
	for _, environment := range []string{commerce.Live, commerce.Sandbox} {
		if company := v.companyOf(environment); company != "" && !v.isArchived(company) {
			list = append(list, environment)
		}
	}
	return list
}

func (s *Site) dayOf(v pageRequest) string {
	return s.Now().In(zoneOf(v.current.Timezone)).Format(time.DateOnly)
}

// zoneOf returns a store's time zone, or UTC where this machine does not know it.
func zoneOf(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	return zone
}

// route is a page or a form of those who are logged in. Each is asked for with
// "?company=".
type route struct {
	pattern string // of http.ServeMux
	owner   bool   // analysts may not
	handle  func(w http.ResponseWriter, r *http.Request, v pageRequest)
	always  bool // a form that may be sent of an archived company too: it concerns people, not the company
}

// openRoute is a page or a form that needs no log-in.
type openRoute struct {
	pattern string // of http.ServeMux
	handle  http.HandlerFunc
}
