package dashboard

import (
	"net/http"

	"github.com/tributary-io/tributary/internal/lang"
)

const (
	languageCookie = "trb_lang"
	languagePath   = "/dashboard/language"
)

// langOf returns the language of a request: the one that was chosen, else the one
// that the browser asks for.
func (s *Site) langOf(r *http.Request) *lang.Printer {
	if c, err := r.Cookie(languageCookie); err == nil {
		if l := s.Languages.Of(c.Value); l != nil {
			return l
		}
	}
	return s.Languages.Match(r.Header.Get("Accept-Language"))
}

// chooseLanguage keeps the language that was chosen, and leads back.
func (s *Site) chooseLanguage(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		s.problem(w, r, http.StatusBadRequest, "bad_form")
		return
	}
	if tag := r.PostForm.Get("lang"); s.Languages.Of(tag) != nil {
		s.setCookie(w, r, languageCookie, cookiePath, tag, deviceFor)
	}
	next := r.PostForm.Get("next")
	if next != loginPath { // localPath leads away from the log-in
		next = localPath(next)
	}
	http.Redirect(w, r, next, http.StatusSeeOther) //nolint:gosec // localPath leads to our pages alone
}
