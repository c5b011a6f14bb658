package login

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
)

const (
	failedCookie = "trb_failed"
	// failedShown is how long after a log-in pages show the failed attempts.
	failedShown = 5 * time.Minute
)

// tellFailures makes the next pages show how many attempts failed since the last
// log-in. The cookie is "<count>.<Unix seconds of the latest>".
func (s *Pages) tellFailures(w http.ResponseWriter, r *http.Request, email string, login account.LogIn) {
	text := ""
	others := login.Failures - s.ownFailures(r, email)
	s.SetCookie(w, r, ownCookie, devicePath, "", -time.Second)
	if others > 0 {
		text = strconv.FormatInt(others, 10) + "." + strconv.FormatInt(login.LastFailure.Unix(), 10)
	}
	s.SetCookie(w, r, failedCookie, site.CookiePath, text, failedShown)
}

// ownCookie has how often this browser failed to log in by an e-mail lately: "<count>.<mark of the e-mail>". What
// somebody mistyped themselves a moment before is no news. Who changes it hides failures from their own pages alone.
const (
	ownCookie = "trb_mistyped"
	ownShown  = 5 * time.Minute
)

// noteOwnFailure counts a failed attempt of this browser.
func (s *Pages) noteOwnFailure(w http.ResponseWriter, r *http.Request, email string) {
	s.SetCookie(w, r, ownCookie, devicePath, strconv.FormatInt(s.ownFailures(r, email)+1, 10)+"."+markOf(email), ownShown)
}

// ownFailures is how often this browser failed lately by an e-mail.
func (s *Pages) ownFailures(r *http.Request, email string) int64 {
	cookie, _ := s.Cookie(r, ownCookie)
	text, mark, _ := strings.Cut(cookie, ".")
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 || mark != markOf(email) {
		return 0
	}
	return n
}

func markOf(email string) string {
	sum := sha256.Sum256([]byte(email))
	return hex.EncodeToString(sum[:8])
}

// closeFailures shows the failed attempts no more. Those that fail from now on are told after the next log-in.
func (s *Pages) closeFailures(w http.ResponseWriter, r *http.Request, _ site.Request) {
	s.SetCookie(w, r, failedCookie, site.CookiePath, "", -time.Second)
	next := site.LocalPath(r.PostForm.Get("next"))
	http.Redirect(w, r, next, http.StatusSeeOther) //nolint:gosec // site.LocalPath leads to our pages alone
}

// failureNotice returns what a page says about failed attempts, or "".
func (s *Pages) failureNotice(l *lang.Printer, r *http.Request, zone *time.Location) string {
	cookie, _ := s.Cookie(r, failedCookie)
	failures, latest, _ := strings.Cut(cookie, ".")
	n, err := strconv.ParseInt(failures, 10, 64)
	if err != nil || n < 1 {
		return ""
	}
	seconds, err := strconv.ParseInt(latest, 10, 64)
	at := time.Unix(seconds, 0)
	if err != nil || !commerce.Recordable(at) {
		return ""
	}
	return l.N("login.failed", n, l.Time(at.In(zone)))
}
