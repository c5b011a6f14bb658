package login

import (
	"encoding/base64"
	"errors"
	"net/http"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/throttle"
)

// JoinPath is where a one-time link leads: JoinPath + "?token=" + base64url of the
// token.
const JoinPath = "/dashboard/join"

// joinPage is what templates/join.html shows.
type joinPage struct {
	Title  string
	Lead   string
	Here   string
	Token  string
	Email  string
	Form   *site.Form
	Button string
}

// join shows the page of a one-time link. It changes nothing: what previews links
// must not use them.
func (s *Pages) join(w http.ResponseWriter, r *http.Request) {
	i, _, ok := s.invitationBy(w, r, r.URL.Query().Get("token"))
	if ok {
		s.showJoin(w, r, http.StatusOK, i, r.URL.Query().Get("token"), s.passwordForm(r))
	}
}

func (s *Pages) passwordForm(r *http.Request) *site.Form {
	f := site.NewForm(s.LangOf(r), "join", nil)
	f.Add(site.Field{Name: "password", Type: "password", Required: true, Max: MaxPasswordBytes, Fill: "new-password"})
	return f
}

// invitationBy returns the link of a token, or answers that there is none. Guesses
// are limited as those at refresh tokens are.
func (s *Pages) invitationBy(w http.ResponseWriter, r *http.Request, text string) (i account.Invitation, token [32]byte, ok bool) {
	network := throttle.Network(s.config.ClientIP(r))
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) != len(token) {
		s.Problem(w, r, http.StatusNotFound, "no_link")
		return i, token, false
	}
	if !s.guesses.Begin(network, s.Now()).OK {
		s.Unavailable(w, r, site.ErrTooManyGuesses)
		return i, token, false
	}
	token = hashToken([32]byte(raw))
	i, err = s.db.InvitationOf(r.Context(), token, s.Now())
	if errors.Is(err, commerce.ErrNotFound) {
		s.Problem(w, r, http.StatusNotFound, "no_link")
		return i, token, false
	}
	s.guesses.Known(network)
	if err != nil {
		s.Unavailable(w, r, err)
		return i, token, false
	}
	return i, token, true
}

func (s *Pages) showJoin(w http.ResponseWriter, r *http.Request, status int, i account.Invitation, token string, f *site.Form) {
	l := s.LangOf(r)
	page := joinPage{Title: l.T("join.title", i.Store), Lead: l.T("join.lead", i.Email, l.T("role."+i.Role)),
		Here:  JoinPath + "?token=" + token,
		Token: token, Email: i.Email, Form: f, Button: l.T("join.enter")}
	if i.Reset() {
		page.Title, page.Lead, page.Button = l.T("join.reset"), l.T("join.reset_lead", i.Email), l.T("join.save")
	}
	s.Render(w, r, status, "join.html", page)
}

// useLink uses a one-time link with the password that was typed, and logs the
// person in. Somebody who has a log-in types its password, or a new one where the operator
// made the link.
func (s *Pages) useLink(w http.ResponseWriter, r *http.Request) {
	text, password := r.PostForm.Get("token"), r.PostForm.Get("password")
	i, token, ok := s.invitationBy(w, r, text)
	if !ok {
		return
	}
	f, l := s.passwordForm(r), s.LangOf(r)
	personID, hash := "", ""
	person, err := s.db.PersonByEmail(r.Context(), i.Email)
	switch known := err == nil; {
	case err != nil && !errors.Is(err, commerce.ErrNotFound):
		s.Unavailable(w, r, err)
		return
	case known && !i.ChoosesPassword():
		network := throttle.Network(s.config.ClientIP(r))
		if got := s.attempts.allow(i.Email, network, "", s.Now()); !got.OK {
			f.Fail("password", l.T("login.too_many", waitText(l, site.Seconds(got.Wait))))
			s.showJoin(w, r, http.StatusTooManyRequests, i, text, f)
			return
		}
		if personID, err = s.check(r.Context(), i.Email, password); errors.Is(err, errNotLoggedIn) {
			s.noteFailure(r.Context(), i.Email, network)
			f.Fail("password", l.T("join.wrong"))
			s.showJoin(w, r, http.StatusUnprocessableEntity, i, text, f)
			return
		}
	default:
		if known && !i.Reset() {
			personID = person.ID
		}
		hash, err = s.hash(r.Context(), password)
	}
	if why := passwordRefused(l, err); why != "" {
		f.Fail("password", why)
		s.showJoin(w, r, http.StatusUnprocessableEntity, i, text, f)
		return
	}
	if err == nil {
		personID, err = s.db.UseInvitation(r.Context(), token, s.Now(), personID, hash)
	}
	if errors.Is(err, commerce.ErrNotFound) || errors.Is(err, commerce.ErrConflict) || errors.Is(err, account.ErrElsewhere) {
		s.Problem(w, r, http.StatusNotFound, "no_link") // used or withdrawn meanwhile
		return
	}
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	s.config.Recheck() // a new password has ended the sessions
	s.Log.Info("dashboard: a one-time link was used", "person", personID, "reset", i.Reset())
	s.enter(w, r, personID, "/dashboard/") // a link keeps the second factor
}
