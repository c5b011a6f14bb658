package site

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"time"
)

// Sealer encrypts a text for whom a label names, and opens it for the same label alone.
type Sealer interface {
	Seal(text []byte, label string, random io.Reader) ([]byte, error)
	Unseal(sealed []byte, label string) ([]byte, error)
}

const (
	// madeCookie has what a form made, sealed for the log-in, the company and the page that shows it.
	madeCookie = "trb_made"
	// madeLife is how long the page may take to come.
	madeLife = 2 * time.Minute
)

func madeFor(v Request, path string) string {
	return "made " + v.Access.Family + " " + v.Current.CompanyID + " " + path
}

// Made answers a form that made secrets: the page of a path shows them, once. A reload of that page sends no form again. They are
// in no address: browsers and servers keep those. kept are pairs of name and value of the page's address.
func (s *Site) Made(w http.ResponseWriter, r *http.Request, v Request, path string, kept []string, secrets ...string) {
	text, err := json.Marshal(secrets)
	if err == nil {
		text, err = s.Sealer.Seal(text, madeFor(v, path), s.Random)
	}
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	s.SetCookie(w, r, madeCookie, path, base64.RawURLEncoding.EncodeToString(text), madeLife)
	http.Redirect(w, r, v.Path(path, kept...), http.StatusSeeOther)
}

// TakeMade returns what the form before made, n texts, and forgets it; nil: it made nothing that this page shows.
func (s *Site) TakeMade(w http.ResponseWriter, r *http.Request, v Request, path string, n int) (secrets []string) {
	cookie, ok := s.Cookie(r, madeCookie)
	if !ok {
		return nil
	}
	sealed, err := base64.RawURLEncoding.DecodeString(cookie)
	if err == nil {
		sealed, err = s.Sealer.Unseal(sealed, madeFor(v, path))
	}
	if err != nil {
		return nil
	}
	s.SetCookie(w, r, madeCookie, path, "", -time.Second)
	if json.Unmarshal(sealed, &secrets) != nil || len(secrets) != n {
		return nil
	}
	return secrets
}
