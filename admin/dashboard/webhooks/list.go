package webhooks

import (
	"errors"
	"net/http"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
)

// listPage is what templates/webhooks.html shows.
type listPage struct {
	site.Head
	words
	Runs bool
	Form *site.Form
	List []row
}

// row is an endpoint as one line of the list.
type row struct {
	Name, URL, Href      string
	State, StateIs       string
	Said                 []string // since when, and why
	Waiting, Parked, Got string
}

func (s kindPages) listPage(w http.ResponseWriter, r *http.Request, v site.Request) {
	s.showList(w, r, v, http.StatusOK, s.form(v, nil, commerce.Endpoint{Types: commerce.EventTypes}))
}

func (s kindPages) showList(w http.ResponseWriter, r *http.Request, v site.Request, status int, f *site.Form) {
	v.Here = v.Path(s.kind.list)
	offer, err := s.db.ConnectOffer(r.Context())
	var list []commerce.Endpoint
	if err == nil {
		list, err = s.stored(r.Context(), s.db, v.Current.CompanyID)
	}
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	page := listPage{Head: v.Head(s.text(v.Lang, "title"), s.texts), words: words{v.Lang, s.kind}, Runs: offer.Runs(s.Now()), Form: f}
	for _, e := range list {
		page.List = append(page.List, s.viewRow(v, e))
	}
	s.Render(w, r, status, "webhooks.html", page)
}

func (k kind) viewRow(v site.Request, e commerce.Endpoint) row {
	l, zone := v.Lang, v.Zone()
	line := row{Name: e.Name, URL: k.address(l, e), Href: k.path(e.CompanyID, e.ID), Waiting: counted(l, e.Waiting),
		Parked: counted(l, e.Parked), Got: k.delivered(l, zone, e)}
	line.State, line.StateIs, line.Said = k.stateWords(l, zone, e)
	return line
}

// delivered is when an endpoint took a message last, or that it never did.
func (k kind) delivered(l *lang.Printer, zone *time.Location, e commerce.Endpoint) string {
	if e.DeliveredAt.IsZero() {
		return k.text(l, "never")
	}
	return l.Time(e.DeliveredAt.In(zone))
}

// counted is a count; a dash for none.
func counted(l *lang.Printer, n int64) string {
	if n == 0 {
		return "–"
	}
	return l.Count(n)
}

// stateWords is what an endpoint does, the class by which it is shown, and since when and why it does so.
func (k kind) stateWords(l *lang.Printer, zone *time.Location, e commerce.Endpoint) (text, class string, said []string) {
	state := e.State()
	switch state {
	case commerce.EndpointActive:
		return k.text(l, "state_active"), "approved", nil
	case commerce.EndpointFailing:
		class, said = "cancelled", []string{k.text(l, "since", l.Time(e.FailingSince.In(zone)))}
	case commerce.EndpointDisabled:
		class, said = "over", []string{k.text(l, "since", l.Time(e.Since.In(zone))), k.reason(l, e.Reason)}
	}
	return site.TextOf(l, k.key(l, "state_"+state), state), class, said
}

// addForm adds one. A secret that was made is shown once, on its page.
func (s kindPages) addForm(w http.ResponseWriter, r *http.Request, v site.Request) {
	f, e := s.form(v, r.PostForm, commerce.Endpoint{}), commerce.Endpoint{Active: true}
	if s.read(r, f, &e); s.readSecret != nil {
		s.readSecret(r, f, e)
	}
	if f.Failed() {
		s.showList(w, r, v, f.Status(), f)
		return
	}
	var err error
	if e.ID, err = commerce.NewID(s.Random, s.prefix); err != nil {
		s.Unavailable(w, r, err)
		return
	}
	runs, err := s.withSecret(w, r, v, e.ID, "network_added", func(sealed commerce.SealedSecret) error {
		return s.add(r.Context(), s.db, s.Author(v), e, sealed)
	})
	switch {
	case errors.Is(err, commerce.ErrTooManyEndpoints), errors.Is(err, commerce.ErrTooManyNetworks):
		f.Fail("", s.text(v.Lang, "too_many", s.most))
		s.showList(w, r, v, http.StatusConflict, f)
	case errors.Is(err, commerce.ErrNetworkThere):
		f.Fail("account_id", v.Lang.T("conversions.there"))
		s.showList(w, r, v, f.Status(), f)
	case errors.Is(err, commerce.ErrNetworkSandbox):
		f.Fail("test_code", v.Lang.T("conversions.sandbox"))
		s.showList(w, r, v, f.Status(), f)
	case err != nil:
		s.Unavailable(w, r, err)
	case !runs:
		f.Fail("", s.text(v.Lang, "no_service"))
		s.showList(w, r, v, http.StatusConflict, f)
	}
}
