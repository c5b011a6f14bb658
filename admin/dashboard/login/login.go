package login

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/alexedwards/argon2id"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
	"github.com/tributary-io/tributary/internal/throttle"
)

// loginPage is what templates/login.html shows.
type loginPage struct {
	Title   string
	Here    string // path of this page, to come back to
	Next    string
	Email   string
	Message string
}

func (s *Pages) loginForm(w http.ResponseWriter, r *http.Request) {
	next := site.LocalPath(r.URL.Query().Get("next"))
	if a, err := s.authenticate(w, r); err == nil && s.alive(w, r, a) {
		http.Redirect(w, r, next, http.StatusSeeOther) //nolint:gosec // site.LocalPath leads to our pages alone
		return
	}
	s.Render(w, r, http.StatusOK, "login.html", loginPage{Title: s.LangOf(r).T("login.title"), Here: r.URL.RequestURI(), Next: next})
}

func (s *Pages) login(w http.ResponseWriter, r *http.Request) {
	email := strings.ToLower(strings.TrimSpace(r.PostForm.Get("email")))
	l := s.LangOf(r)
	page := loginPage{Title: l.T("login.title"), Here: site.LoginPath, Next: site.LocalPath(r.PostForm.Get("next")), Email: email}
	if len(email) > account.MaxEmail || !commerce.IsID(email) { // nobody has such an e-mail
		email, page.Email = "", ""
	}
	network, device := throttle.Network(s.config.ClientIP(r)), s.deviceOf(r, email)
	if got := s.attempts.allow(email, network, device, s.Now()); !got.OK {
		if got.First {
			s.Log.Warn("dashboard: too many log-in attempts, refusing more for a while", "network", network, "known_device", device != "")
		}
		seconds := site.Seconds(got.Wait)
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		page.Message = l.T("login.too_many", waitText(l, seconds))
		s.Render(w, r, http.StatusTooManyRequests, "login.html", page)
		return
	}
	personID, err := s.check(r.Context(), email, r.PostForm.Get("password"))
	if errors.Is(err, errNotLoggedIn) {
		s.noteFailure(r.Context(), email, network)
		s.noteOwnFailure(w, r, email)
		// The same text after the same work, for a wrong e-mail and a wrong password.
		page.Message = l.T("login.wrong")
		s.Render(w, r, http.StatusUnauthorized, "login.html", page)
		return
	}
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	s.enter(w, r, personID, page.Next)
}

// noteFailure counts a failed attempt, so that the person learns of it. It
// takes as long for an e-mail that nobody has.
func (s *Pages) noteFailure(ctx context.Context, email, network string) {
	s.Log.Warn("dashboard: a log-in failed", "network", network)
	if err := s.db.LogInFailed(ctx, email, s.Now()); err != nil && ctx.Err() == nil {
		s.Log.Error("dashboard: a failed log-in could not be counted", "error", err)
	}
}

// check compares a password. It takes as long for unknown e-mails as for known ones.
func (s *Pages) check(ctx context.Context, email, password string) (personID string, err error) {
	if len(password) > MaxPasswordBytes {
		password = "" // compared all the same, so that it takes as long
	}
	person, err := s.db.PersonByEmail(ctx, email)
	known := err == nil
	if err != nil {
		if !errors.Is(err, commerce.ErrNotFound) {
			return "", err
		}
		person.PasswordHash = s.dummyHash
	}
	select {
	case s.hashing <- struct{}{}:
		defer func() { <-s.hashing }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	match, err := argon2id.ComparePasswordAndHash(password, person.PasswordHash)
	if err != nil {
		return "", err
	}
	if !match || !known {
		return "", errNotLoggedIn
	}
	return person.ID, nil
}

// logout ends the log-in on every device that shares its family of tokens, and
// takes the cookies back. A copied access token is valid until it expires.
func (s *Pages) logout(w http.ResponseWriter, r *http.Request) {
	var err error
	if token, ok := s.readRefresh(r); ok {
		err = s.db.EndSessionOf(r.Context(), hashToken(token))
	} else if signed, ok := s.Cookie(r, accessCookie); ok {
		if a, verifyErr := s.keys.verify(signed, s.Now()); verifyErr == nil {
			err = s.db.EndSession(r.Context(), a.Family)
		}
	}
	s.clearCookies(w, r)
	s.config.Recheck()
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	http.Redirect(w, r, site.LoginPath, http.StatusSeeOther)
}

func waitText(l *lang.Printer, seconds int) string {
	if seconds < 60 {
		return l.N("login.seconds", int64(seconds))
	}
	return l.N("login.minutes", int64((seconds+59)/60))
}
