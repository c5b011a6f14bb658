package login

import (
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
func (s *Pages) tellFailures(w http.ResponseWriter, r *http.Request, login account.LogIn) {
	text := ""
	if login.Failures > 0 {
		text = strconv.FormatInt(login.Failures, 10) + "." + strconv.FormatInt(login.LastFailure.Unix(), 10)
	}
	s.SetCookie(w, r, failedCookie, site.CookiePath, text, failedShown)
}

// failureNotice returns what a page says about failed attempts, or "".
func failureNotice(l *lang.Printer, r *http.Request, zone *time.Location) string {
	cookie, err := r.Cookie(failedCookie)
	if err != nil {
		return ""
	}
	failures, latest, _ := strings.Cut(cookie.Value, ".")
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
