package login

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/throttle"
)

const (
	accessCookie  = "trb_access"
	refreshCookie = "trb_refresh"
	// refreshLeeway is how long after its use a refresh token may be sent again:
	// by two tabs that reload together, or by a browser that got no answer.
	refreshLeeway = 10 * time.Second
)

// errNotLoggedIn says that a request comes from nobody who is logged in.
var errNotLoggedIn = errors.New("dashboard: not logged in")

// authenticate returns who is logged in. An expired access token is renewed with
// the refresh token, and new cookies are set on w.
func (s *Pages) authenticate(w http.ResponseWriter, r *http.Request) (site.Access, error) {
	now := s.Now()
	if signed, ok := s.Cookie(r, accessCookie); ok {
		if a, err := s.keys.verify(signed, now); err == nil {
			return a, nil
		}
	}
	token, ok := s.readRefresh(r)
	if !ok {
		return site.Access{}, errNotLoggedIn
	}
	network := throttle.Network(s.config.ClientIP(r))
	if !s.guesses.Begin(network, now).OK {
		return site.Access{}, site.ErrTooManyGuesses
	}
	next := s.keys.successor(token)
	session, err := s.db.RotateSession(r.Context(), account.SessionRotation{
		Token: hashToken(token), Next: hashToken(next),
		At: now, ExpiresAt: now.Add(s.config.RefreshFor), Leeway: refreshLeeway,
	})
	if !errors.Is(err, commerce.ErrNotFound) {
		s.guesses.Known(network)
	}
	switch {
	case errors.Is(err, commerce.ErrConflict):
		s.Log.Warn("dashboard: a refresh token was used twice; its session is ended", "network", network)
		s.clearCookies(w, r)
		return site.Access{}, errNotLoggedIn
	case errors.Is(err, commerce.ErrNotFound):
		s.clearCookies(w, r)
		return site.Access{}, errNotLoggedIn
	case err != nil:
		return site.Access{}, err
	}
	return s.grant(w, r, session, next)
}

// startSession logs a person in.
func (s *Pages) startSession(w http.ResponseWriter, r *http.Request, personID string) (account.LogIn, error) {
	var token [32]byte
	if _, err := io.ReadFull(s.Random, token[:]); err != nil {
		return account.LogIn{}, fmt.Errorf("dashboard: make a refresh token: %w", err)
	}
	now := s.Now()
	login, err := s.db.StartSession(r.Context(), personID, browserOf(r), hashToken(token), now, now.Add(s.config.RefreshFor))
	if err != nil {
		return account.LogIn{}, err
	}
	_, err = s.grant(w, r, login.Session, token)
	return login, err
}

// grant sets both cookies.
func (s *Pages) grant(w http.ResponseWriter, r *http.Request, session account.Session, refresh [32]byte) (site.Access, error) {
	now := s.Now()
	a := site.Access{PersonID: session.PersonID, Family: session.Family, Until: now.Add(s.config.AccessFor)}
	signed, err := s.keys.sign(a, now)
	if err != nil {
		return site.Access{}, err
	}
	s.SetCookie(w, r, accessCookie, site.CookiePath, signed, s.config.AccessFor)
	s.SetCookie(w, r, refreshCookie, site.CookiePath, base64.RawURLEncoding.EncodeToString(refresh[:]), s.config.RefreshFor)
	return a, nil
}

func (s *Pages) clearCookies(w http.ResponseWriter, r *http.Request) {
	for _, name := range []string{accessCookie, refreshCookie, failedCookie} {
		s.SetCookie(w, r, name, site.CookiePath, "", -time.Second)
	}
}

func (s *Pages) readRefresh(r *http.Request) (token [32]byte, ok bool) {
	text, ok := s.Cookie(r, refreshCookie)
	if !ok {
		return token, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) != len(token) {
		return token, false
	}
	return [32]byte(raw), true
}

// LoggedIn serves a page to those who are logged in and may see the company
// asked for (?company=, else their first).
//
// Forms that the person's role may not send are refused, and so are forms that cannot be
// read.
func (s *Pages) LoggedIn(page site.Route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a, err := s.authenticate(w, r)
		var v site.Request
		if err == nil {
			v, err = s.requestOf(r.Context(), a, r.URL.Query().Get("company"))
		}
		switch {
		case errors.Is(err, errNotLoggedIn):
			s.clearCookies(w, r)
			http.Redirect(w, r, loginFor(r), http.StatusSeeOther) //nolint:gosec // always our log-in
			return
		case errors.Is(err, errNoStore):
			s.ProblemOf(w, r, http.StatusForbidden, "no_store")
			return
		case errors.Is(err, commerce.ErrNotFound):
			s.ProblemOf(w, r, http.StatusNotFound, "not_your_store")
			return
		case err != nil:
			s.Unavailable(w, r, err)
			return
		}
		if !v.MayAsk(page) {
			s.ProblemOf(w, r, http.StatusForbidden, "owners_only")
			return
		}
		if r.Method == http.MethodPost && v.Archived() && !page.Always && !page.Pays {
			s.ProblemOf(w, r, http.StatusForbidden, "archived")
			return
		}
		if r.Method == http.MethodPost {
			if err := readForm(w, r, page.Upload); err != nil {
				s.ProblemOf(w, r, http.StatusBadRequest, "bad_form")
				return
			}
		}
		v.Lang, v.Here = s.LangOf(r), r.URL.RequestURI()
		if r, err = s.WithVersion(r, &v); err != nil {
			s.ProblemOf(w, r, http.StatusBadRequest, "bad_form")
			return
		}
		if key := "done." + r.URL.Query().Get("done"); v.Lang.Has(key) {
			v.Done = v.Lang.T(key)
		}
		zone := v.Zone()
		if v.Failures = s.failureNotice(v.Lang, r, zone); v.Archived() {
			v.Notice = v.Lang.T("problem.archived_notice", v.Lang.Time(v.Current.ArchivedAt.In(zone)))
		}
		if at := v.Current.RestoredAt; !at.IsZero() {
			v.Notice = strings.TrimSpace(v.Notice + " " + v.Lang.T("problem.restored_notice", v.Lang.Time(at.In(zone))))
		}
		page.Handle(w, r, v)
	}
}

// readForm reads a form's fields; upload is as of site.Route.
func readForm(w http.ResponseWriter, r *http.Request, upload int64) error {
	if upload == 0 {
		r.Body = http.MaxBytesReader(w, r.Body, maxPageForm)
		return r.ParseForm()
	}
	r.Body = http.MaxBytesReader(w, r.Body, upload)
	return r.ParseMultipartForm(upload) //nolint:gosec // all of it in memory: it is bounded
}

// maxPageForm bounds the body of a form, in bytes: a registration with 100 links
// of the greatest length is refused, one of a merchant's is not.
const maxPageForm = 128 << 10

// loginFor is the log-in that leads back to where a request went; a form's answer
// is not to be asked for, so it leads to the first page.
func loginFor(r *http.Request) string {
	next := r.URL.RequestURI()
	if next == "/dashboard/" || r.Method != http.MethodGet {
		return site.LoginPath
	}
	return site.LoginPath + "?next=" + url.QueryEscape(next)
}

var errNoStore = errors.New("dashboard: the person belongs to no store")

func (s *Pages) requestOf(ctx context.Context, a site.Access, companyID string) (site.Request, error) {
	accesses, err := s.db.SessionAccesses(ctx, a.PersonID, a.Family)
	if errors.Is(err, commerce.ErrNotFound) {
		return site.Request{}, errNotLoggedIn
	}
	if err != nil {
		return site.Request{}, err
	}
	if len(accesses) == 0 {
		return site.Request{}, errNoStore
	}
	if companyID == "" {
		return site.Request{Access: a, Accesses: accesses, Current: accesses[0]}, nil
	}
	for _, c := range accesses {
		if c.CompanyID == companyID {
			return site.Request{Access: a, Accesses: accesses, Current: c}, nil
		}
	}
	return site.Request{}, fmt.Errorf("dashboard: company: %w", commerce.ErrNotFound)
}

// sessionAlive lets the page's script find out whether it lost the connection or
// the log-in.
func (s *Pages) sessionAlive(w http.ResponseWriter, r *http.Request) {
	a, err := s.authenticate(w, r)
	if err == nil {
		_, err = s.requestOf(r.Context(), a, "")
	}
	switch {
	case err == nil || errors.Is(err, errNoStore):
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, errNotLoggedIn):
		w.WriteHeader(http.StatusUnauthorized)
	default:
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// alive reports whether a log-in has not been ended meanwhile. One that was is
// forgotten by the browser.
func (s *Pages) alive(w http.ResponseWriter, r *http.Request, a site.Access) bool {
	_, err := s.requestOf(r.Context(), a, "")
	if errors.Is(err, errNotLoggedIn) {
		s.clearCookies(w, r)
		return false
	}
	return true
}

// hashToken returns what is stored of a refresh token.
func hashToken(token [32]byte) [32]byte { return sha256.Sum256(token[:]) }
