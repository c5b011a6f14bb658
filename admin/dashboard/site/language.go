package site

import (
	"net/http"

	"github.com/tributary-io/tributary/internal/lang"
)

const (
	languageCookie = "trb_lang"
	LanguagePath   = "/dashboard/language"
)

// LangOf returns the language of a request: the one that was chosen, else the one
// that the browser asks for.
func (s *Site) LangOf(r *http.Request) *lang.Printer {
	if chosen, ok := s.Cookie(r, languageCookie); ok {
		if l := s.Languages.Of(chosen); l != nil {
			return l
		}
	}
	return s.Languages.Match(r.Header.Get("Accept-Language"))
}

// ChooseLanguage keeps the language that was chosen, and leads back.
func (s *Site) ChooseLanguage(w http.ResponseWriter, r *http.Request) {
	if tag := r.PostForm.Get("lang"); s.Languages.Of(tag) != nil {
		s.SetCookie(w, r, languageCookie, CookiePath, tag, LongestCookie)
	}
	next := r.PostForm.Get("next")
	if next != LoginPath { // LocalPath leads away from the log-in
		next = LocalPath(next)
	}
	http.Redirect(w, r, next, http.StatusSeeOther) //nolint:gosec // LocalPath leads to our pages alone
}
