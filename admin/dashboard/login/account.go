package login

import (
	"context"
	"errors"
	"net/http"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/throttle"
	"github.com/tributary-io/tributary/internal/uuidtext"
)

const (
	accountPath = "/dashboard/account"
	// mostSessions bounds the list of a person's log-ins.
	mostSessions = 100
)

// accountPage is what templates/account.html shows.
type accountPage struct {
	site.Head
	Email    string
	Form     *site.Form
	Factor   factorPart
	Sessions []sessionRow
	Others   bool // there is another session than this
}

type sessionRow struct {
	Family, Browser, Started, Seen string
	This                           bool
}

func (s *Pages) accountRoutes() []site.Route {
	return []site.Route{
		{Pattern: "GET " + accountPath, Handle: s.accountPage},
		{Pattern: "POST " + accountPath + "/password", Handle: s.changePassword, Always: true},
		{Pattern: "POST " + factorPath, Handle: s.turnFactor, Always: true},
		{Pattern: "POST " + factorPath + "/new", Handle: s.beginFactor, Always: true},
		{Pattern: "POST " + accountPath + "/failures", Handle: s.closeFailures, Always: true},
		{Pattern: "POST " + accountPath + "/sessions", Handle: s.endSessions, Always: true},
	}
}

func (s *Pages) accountPage(w http.ResponseWriter, r *http.Request, v site.Request) {
	s.showAccount(w, r, v, http.StatusOK, ownPasswordForm(v), factorPart{})
}

func ownPasswordForm(v site.Request) *site.Form {
	f := site.NewForm(v.Lang, "account", nil)
	f.Add(site.Field{Name: "current", Type: "password", Required: true, Max: MaxPasswordBytes, Fill: "current-password"})
	f.Add(site.Field{Name: "new", Type: "password", Required: true, Max: MaxPasswordBytes, Fill: "new-password"})
	return f
}

func (s *Pages) showAccount(w http.ResponseWriter, r *http.Request, v site.Request, status int, f *site.Form, factor factorPart) {
	v.Here = v.Path(accountPath)
	page := accountPage{Head: v.Head(v.Lang.T("account.title"), "account"), Form: f}
	person, err := s.db.PersonByID(r.Context(), v.Access.PersonID)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	page.Email = person.Email
	if page.Factor = factor; factor.Form == nil {
		page.Factor.Form = factorForm(v)
	}
	s.fill(&page.Factor, person)
	open, err := s.db.OpenSessions(r.Context(), v.Access.PersonID, s.Now(), mostSessions)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	zone := v.Zone()
	for _, o := range open {
		row := sessionRow{Family: o.Family, Browser: o.Browser, Started: v.Lang.Time(o.Started.In(zone)), Seen: v.Lang.Time(o.LastSeen.In(zone)),
			This: o.Family == v.Access.Family}
		if row.Browser == "" {
			row.Browser = v.Lang.T("account.unknown_browser")
		}
		page.Others = page.Others || !row.This
		page.Sessions = append(page.Sessions, row)
	}
	s.Render(w, r, status, "account.html", page)
}

// changePassword changes the person's own password. All other sessions end, and
// this browser gets a new one.
func (s *Pages) changePassword(w http.ResponseWriter, r *http.Request, v site.Request) {
	f, l := ownPasswordForm(v), v.Lang
	person, err := s.db.PersonByID(r.Context(), v.Access.PersonID)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	network := throttle.Network(s.config.ClientIP(r))
	// A limit of its own: whoever found an unlocked computer guesses no faster.
	if got := s.attempts.allow(person.Email, network, "session "+v.Access.Family, s.Now()); !got.OK {
		f.Fail("current", l.T("login.too_many", waitText(l, site.Seconds(got.Wait))))
		s.showAccount(w, r, v, http.StatusTooManyRequests, f, factorPart{})
		return
	}
	_, err = s.check(r.Context(), person.Email, r.PostForm.Get("current"))
	if errors.Is(err, errNotLoggedIn) {
		s.noteFailure(r.Context(), person.Email, network)
		f.Fail("current", l.T("account.wrong"))
		s.showAccount(w, r, v, http.StatusUnprocessableEntity, f, factorPart{})
		return
	}
	hash := ""
	if err == nil {
		hash, err = s.hash(r.Context(), r.PostForm.Get("new"))
	}
	if why := passwordRefused(l, err); why != "" {
		f.Fail("new", why)
		s.showAccount(w, r, v, http.StatusUnprocessableEntity, f, factorPart{})
		return
	}
	if err == nil {
		err = s.db.SetPassword(r.Context(), person.ID, hash)
	}
	if err == nil {
		s.config.Recheck()
		_, err = s.startSession(w, r, person.ID)
	}
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	s.Log.Info("dashboard: a password was changed", "person", person.ID)
	site.Done(w, r, v.Path(accountPath), "password_changed")
}

// endSessions ends one of the person's sessions, or all but this one.
func (s *Pages) endSessions(w http.ResponseWriter, r *http.Request, v site.Request) {
	family := r.PostForm.Get("session")
	others := family == "others"
	if others {
		family = v.Access.Family
	}
	if !uuidtext.Is(family) {
		s.ProblemOf(w, r, http.StatusBadRequest, "bad_form")
		return
	}
	if err := s.db.EndSessions(r.Context(), v.Access.PersonID, family, others); err != nil {
		s.Unavailable(w, r, err)
		return
	}
	s.config.Recheck()
	site.Done(w, r, v.Path(accountPath), "sessions_ended")
}

// hash makes a password's hash, in turn with the checks of passwords.
func (s *Pages) hash(ctx context.Context, password string) (string, error) {
	select {
	case s.hashing <- struct{}{}:
		defer func() { <-s.hashing }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	return HashPassword(password)
}
