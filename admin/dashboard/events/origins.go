package events

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/idna"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/publichost"
	"github.com/tributary-io/tributary/internal/upkeep/delivery"
	"github.com/tributary-io/tributary/internal/wire"
)

// addOrigin lets the pages of an address send events.
func (s *Pages) addOrigin(w http.ResponseWriter, r *http.Request, v site.Request) {
	f := originForm(v, r.PostForm)
	origin, host := site.ShopOrigin(r.PostForm.Get("origin"))
	_, _, err := s.db.ChangeSettings(r.Context(),
		commerce.SettingsChange{CompanyID: v.Current.CompanyID, Actor: v.Actor(), Change: func(now *commerce.Settings) {
			now.Origins = with(now.Origins, origin)
			if host != "" {
				now.Hosts = with(now.Hosts, host)
			}
		}})
	var refused *commerce.SettingsError
	switch {
	case errors.As(err, &refused):
		f.Fail("origin", v.Lang.T("install.bad_origin"))
		s.showInstall(w, r, v, http.StatusUnprocessableEntity, installPage{Form: f})
	case err != nil:
		s.Unavailable(w, r, err)
	default:
		site.Done(w, r, v.Path(site.InstallPath), "origin_added")
	}
}

// typedOrigin is an origin with its host as people write it; empty where that is the same. Only
// the company's own addresses are shown so: in another's, a letter may look like another one.
func typedOrigin(origin string) string {
	scheme, host, _ := strings.Cut(origin, "://")
	name, port, hasPort := strings.Cut(host, ":")
	typed, err := idna.Lookup.ToUnicode(name)
	if err != nil || typed == name {
		return ""
	}
	if hasPort {
		typed += ":" + port
	}
	return scheme + "://" + typed
}

// removeOrigin lets the pages of an address send no events any more. Its host stays one of the
// company's: whether a visit came from the shop itself depends on it, for earlier orders too.
func (s *Pages) removeOrigin(w http.ResponseWriter, r *http.Request, v site.Request) {
	origin := r.PostForm.Get("origin")
	_, _, err := s.db.ChangeSettings(r.Context(),
		commerce.SettingsChange{CompanyID: v.Current.CompanyID, Actor: v.Actor(), Change: func(now *commerce.Settings) {
			now.Origins = slices.DeleteFunc(now.Origins, func(known string) bool { return known == origin })
		}})
	if err != nil {
		s.Refuse(w, r, err)
		return
	}
	site.Done(w, r, v.Path(site.InstallPath), "origin_removed")
}

// refusedView is what the template "refused" shows: pages that tried to send events.
type refusedView struct {
	Company string
	List    []refusedRow
	Others  string // all others together; may be empty
	Owner   bool
}

// refusedRow is one origin. Anybody can send any: only one of the shop's own domain is offered.
type refusedRow struct {
	Origin string // in ASCII, as browsers send it
	Text   string // how often, and when last
	Own    bool
	Null   bool // a frame without an origin
}

// refused are the origins that tried lately, and that the company does not list.
func (s *Pages) refused(r *http.Request, v site.Request, company commerce.Company) (view refusedView, err error) {
	list, err := s.db.RefusedOrigins(r.Context(), company.CompanyID, s.Now().AddDate(0, 0, -delivery.KeepRefused))
	if err != nil {
		return view, err
	}
	view.Company, view.Owner = company.CompanyID, v.MayChange()
	zone := v.Zone()
	for _, o := range list {
		text := v.Lang.N("install.tried", o.Events, v.Lang.Instant(o.LastAt.In(zone)))
		switch {
		case o.Origin == "":
			view.Others = text
		case !slices.Contains(company.Origins, o.Origin):
			view.List = append(view.List, refusedRow{Origin: o.Origin, Text: text, Null: o.Origin == wire.NoOrigin, Own: ownSite(company, o.Origin)})
		}
	}
	return view, nil
}

// ownSite reports whether an origin has the registrable domain of one of the company's addresses.
func ownSite(company commerce.Company, origin string) bool {
	host, ok := publichost.OfOrigin(origin)
	return ok && slices.ContainsFunc(company.Origins, func(listed string) bool {
		own, _ := publichost.OfOrigin(listed)
		return publichost.SameSite(host, own)
	})
}

func (s *Pages) refusedHTML(r *http.Request, v site.Request) (string, error) {
	company, err := s.db.Company(r.Context(), v.Current.CompanyID)
	if err != nil {
		return "", err
	}
	view, err := s.refused(r, v, company)
	if err != nil {
		return "", err
	}
	return s.Fragment(v.Lang, "install.html", "refused", view)
}

// with returns a list with a text in it, once.
func with(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}
