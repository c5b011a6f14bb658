package dashboard

import (
	"context"
	"errors"
	"net/http"

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
	head
	Email    string
	Form     *form
	Sessions []sessionRow
	Others   bool // there is another session than this
}

type sessionRow struct {
	Family, Browser, Started, Seen string
	This                           bool
}

func (s *loginPages) accountRoutes() []route {
	return []route{
		{pattern: "GET " + accountPath, handle: s.accountPage},
		{pattern: "POST " + accountPath + "/password", handle: s.changePassword, always: true},
		{pattern: "POST " + accountPath + "/sessions", handle: s.endSessions, always: true},
	}
}

func (s *loginPages) accountPage(w http.ResponseWriter, r *http.Request, v pageRequest) {
	s.showAccount(w, r, v, http.StatusOK, ownPasswordForm(v))
}

func ownPasswordForm(v pageRequest) *form {
	f := newForm(v.lang, "account", nil)
	f.add(field{Name: "current", Type: "password", Required: true, Max: MaxPasswordBytes, Fill: "current-password"})
	f.add(field{Name: "new", Type: "password", Required: true, Max: MaxPasswordBytes, Fill: "new-password"})
	return f
}

func (s *loginPages) showAccount(w http.ResponseWriter, r *http.Request, v pageRequest, status int, f *form) {
	v.here = storePath(accountPath, v.current.CompanyID)
	page := accountPage{head: v.head(v.lang.T("account.title"), "account"), Form: f}
	person, err := s.db.PersonByID(r.Context(), v.access.personID)
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	page.Email = person.Email
	open, err := s.db.OpenSessions(r.Context(), v.access.personID, s.Now(), mostSessions)
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	zone := zoneOf(v.current.Timezone)
	for _, o := range open {
		row := sessionRow{Family: o.Family, Browser: o.Browser, Started: v.lang.Time(o.Started.In(zone)), Seen: v.lang.Time(o.LastSeen.In(zone)),
			This: o.Family == v.access.family}
		if row.Browser == "" {
			row.Browser = v.lang.T("account.unknown_browser")
		}
		page.Others = page.Others || !row.This
		page.Sessions = append(page.Sessions, row)
	}
	s.render(w, r, status, "account.html", page)
}

// changePassword changes the person's own password. All other sessions end, and
// this browser gets a new one.
func (s *loginPages) changePassword(w http.ResponseWriter, r *http.Request, v pageRequest) {
	f, l := ownPasswordForm(v), v.lang
	person, err := s.db.PersonByID(r.Context(), v.access.personID)
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	network := throttle.Network(s.config.ClientIP(r))
	// A limit of its own: whoever found an unlocked computer guesses no faster.
	if got := s.attempts.allow(person.Email, network, "session "+v.access.family, s.Now()); !got.OK {
		f.fail("current", l.T("login.too_many", waitText(l, secondsOf(got.Wait))))
		s.showAccount(w, r, v, http.StatusTooManyRequests, f)
		return
	}
	_, err = s.check(r.Context(), person.Email, r.PostForm.Get("current"))
	if errors.Is(err, errNotLoggedIn) {
		s.noteFailure(r.Context(), person.Email, network)
		f.fail("current", l.T("account.wrong"))
		s.showAccount(w, r, v, http.StatusUnprocessableEntity, f)
		return
	}
	hash := ""
	if err == nil {
		hash, err = s.hash(r.Context(), r.PostForm.Get("new"))
	}
	if errors.Is(err, ErrPasswordLength) {
		f.fail("new", l.T("join.length", MinPasswordBytes, MaxPasswordBytes))
		s.showAccount(w, r, v, http.StatusUnprocessableEntity, f)
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
		s.unavailable(w, r, err)
		return
	}
	s.Log.Info("dashboard: a password was changed", "person", person.ID)
	done(w, r, storePath(accountPath, v.current.CompanyID), "password_changed")
}

// endSessions ends one of the person's sessions, or all but this one.
func (s *loginPages) endSessions(w http.ResponseWriter, r *http.Request, v pageRequest) {
	family := r.PostForm.Get("session")
	others := family == "others"
	if others {
		family = v.access.family
	}
	if !uuidtext.Is(family) {
		s.problemOf(w, r, http.StatusBadRequest, "bad_form")
		return
	}
	if err := s.db.EndSessions(r.Context(), v.access.personID, family, others); err != nil {
		s.unavailable(w, r, err)
		return
	}
	s.config.Recheck()
	done(w, r, storePath(accountPath, v.current.CompanyID), "sessions_ended")
}

// hash makes a password's hash, in turn with the checks of passwords.
func (s *loginPages) hash(ctx context.Context, password string) (string, error) {
	select {
	case s.hashing <- struct{}{}:
		defer func() { <-s.hashing }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	return HashPassword(password)
}
