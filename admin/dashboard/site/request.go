package site

import (
	"net/http"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
)

// Author says who changes a company's rules.
func (s *Site) Author(v Request) commerce.Author {
	return commerce.Author{CompanyID: v.Current.CompanyID, Actor: v.Actor(), At: s.Now()}
}

// Access is what an access token says: who, in which log-in, until when.
type Access struct {
	PersonID string
	Family   string
	Until    time.Time
}

// Request is one request of somebody who is logged in.
type Request struct {
	Access   Access
	Accesses []account.Access // never empty
	Current  account.Access   // the company whose page it is
	Lang     *lang.Printer
	Here     string // path of the page, with its query
	Done     string // what the form before did; may be empty
	Notice   string // what every page says above its content; may be empty
	Failures string // what every page says of failed log-ins; may be empty
	Stale    string // why the form before was refused, where something was changed meanwhile; may be empty
}

// Zone is the company's time zone.
func (v Request) Zone() *time.Location { return ZoneOf(v.Current.Timezone) }

// Path is StorePath of the company.
func (v Request) Path(path string, more ...string) string {
	return StorePath(path, v.Current.CompanyID, more...)
}

// Archived reports whether the company is: it is shown, what is owed is closed and paid, and nothing else of it is changed.
func (v Request) Archived() bool { return !v.Current.ArchivedAt.IsZero() }

// MayChange reports whether the person may change the company: owners may, while it is not
// archived.
func (v Request) MayChange() bool {
	return v.Current.Role == account.RoleOwner && !v.Archived()
}

// MayPay reports whether the person may close and pay the company's statements: owners and
// finance may, also of one that is archived.
func (v Request) MayPay() bool {
	return v.Current.Role == account.RoleOwner || v.Current.Role == account.RoleFinance
}

// MayAsk reports whether the person's role may see the page, or send the form.
func (v Request) MayAsk(page Route) bool {
	return !page.Owner || v.Current.Role == account.RoleOwner || page.Pays && v.Current.Role == account.RoleFinance
}

// Actor names the person in the audit log.
func (v Request) Actor() string { return "user/" + v.Access.PersonID }

// LiveCompany is the live company of the store whose page it is: its audit log has
// what concerns the store as a whole.
func (v Request) LiveCompany() string { return v.CompanyOf(commerce.Live) }

// CompanyOf is the store's company of an environment; empty where there is none.
func (v Request) CompanyOf(environment string) string {
	for _, a := range v.Accesses {
		if a.StoreID == v.Current.StoreID && a.Environment == environment {
			return a.CompanyID
		}
	}
	return ""
}

// IsArchived reports whether one of the store's companies is.
func (v Request) IsArchived(companyID string) bool {
	return slices.ContainsFunc(v.Accesses, func(a account.Access) bool { return a.CompanyID == companyID && !a.ArchivedAt.IsZero() })
}

// OpenEnvironments are those of the store whose company may be changed.
func (v Request) OpenEnvironments() (list []string) {
	for _, environment := range []string{commerce.Live, commerce.Sandbox} {
		if company := v.CompanyOf(environment); company != "" && !v.IsArchived(company) {
			list = append(list, environment)
		}
	}
	return list
}

// DayOf is the day that it is now in the store's time zone.
func (s *Site) DayOf(v Request) string {
	return s.Now().In(v.Zone()).Format(time.DateOnly)
}

// ZoneOf returns a store's time zone, or UTC where this machine does not know it.
func ZoneOf(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	return zone
}

// Route is a page or a form of those who are logged in. Each is asked for with
// "?company=".
type Route struct {
	Pattern string // of http.ServeMux
	Owner   bool   // only owners may
	Pays    bool   // with Owner: finance may too, also of an archived company
	Handle  func(w http.ResponseWriter, r *http.Request, v Request)
	Upload  int64 // the form has a file: it is multipart/form-data of so many bytes at most; 0: a form without a file
	Always  bool  // a form that may be sent of an archived company too: it concerns people, not the company
}

// OpenRoute is a page or a form that needs no log-in.
type OpenRoute struct {
	Pattern string // of http.ServeMux
	Handle  http.HandlerFunc
}
