package login

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/throttle"
	"github.com/tributary-io/tributary/internal/uuidtext"
)

const (
	codePath = site.LoginPath + "/code"
	// secondStepFor is how long the second step may take after the password.
	secondStepFor = 5 * time.Minute
	maxCode       = 40 // characters of a code that is typed
)

// codePage is what templates/code.html shows.
type codePage struct {
	Title, Here, Next, Step, Message string
}

// signStep names who has shown the password: "<kid>.<person>.<Unix seconds>.<HMAC-SHA-256>". The password's hash is
// signed, so that it ends with the password.
func (k signingKeys) signStep(p account.Person, until time.Time) string {
	text := k.kid + "." + p.ID + "." + strconv.FormatInt(until.Unix(), 10)
	return text + "." + deviceText.EncodeToString(stepMAC(k.steps[k.kid], text, p))
}

func stepMAC(key []byte, text string, p account.Person) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text + "." + p.PasswordHash))
	return mac.Sum(nil)
}

// personOf returns who has shown the password, or errNotLoggedIn.
func (s *Pages) personOf(ctx context.Context, step string) (account.Person, error) {
	parts := strings.Split(step, ".")
	if len(step) > maxDeviceCookie || len(parts) != 4 || s.keys.steps[parts[0]] == nil || !uuidtext.Is(parts[1]) {
		return account.Person{}, errNotLoggedIn
	}
	until, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil || s.Now().Unix() >= until {
		return account.Person{}, errNotLoggedIn
	}
	sum, err := deviceText.DecodeString(parts[3])
	if err != nil {
		return account.Person{}, errNotLoggedIn
	}
	p, err := s.db.PersonByID(ctx, parts[1])
	if errors.Is(err, commerce.ErrNotFound) {
		return p, errNotLoggedIn
	}
	if err == nil && !hmac.Equal(sum, stepMAC(s.keys.steps[parts[0]], strings.Join(parts[:3], "."), p)) {
		err = errNotLoggedIn
	}
	return p, err
}

// enter logs in a person who has shown the password, or set it by a link: at once, or by a second step.
func (s *Pages) enter(w http.ResponseWriter, r *http.Request, personID, next string) {
	p, err := s.db.PersonByID(r.Context(), personID)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	if len(p.SecondFactor) > 0 {
		s.showCode(w, r, http.StatusOK, codePage{Next: next, Step: s.keys.signStep(p, s.Now().Add(secondStepFor))})
		return
	}
	s.begin(w, r, p, next)
}

// begin starts the session of a person who has shown all that is asked.
func (s *Pages) begin(w http.ResponseWriter, r *http.Request, p account.Person, next string) {
	network, device := throttle.Network(s.config.ClientIP(r)), s.deviceOf(r, p.Email)
	login, err := s.startSession(w, r, p.ID)
	if err == nil {
		err = s.rememberDevice(w, r, p.Email)
	}
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	s.attempts.succeeded(p.Email, network, device)
	s.attempts.byPerson.Forget(p.ID)
	s.tellFailures(w, r, p.Email, login)
	s.Log.Info("dashboard: logged in", "person", p.ID, "network", network, "second_factor", len(p.SecondFactor) > 0,
		"failed_since_last", login.Failures)
	http.Redirect(w, r, next, http.StatusSeeOther)
}

func (s *Pages) showCode(w http.ResponseWriter, r *http.Request, status int, page codePage) {
	page.Title, page.Here = s.LangOf(r).T("code.title"), site.LoginPath
	s.Render(w, r, status, "code.html", page)
}

// secondStep takes the code of the second step.
func (s *Pages) secondStep(w http.ResponseWriter, r *http.Request) {
	l := s.LangOf(r)
	page := codePage{Next: site.LocalPath(r.PostForm.Get("next")), Step: r.PostForm.Get("step")}
	p, err := s.personOf(r.Context(), page.Step)
	if errors.Is(err, errNotLoggedIn) {
		http.Redirect(w, r, site.LoginPath, http.StatusSeeOther)
		return
	}
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	network, device := throttle.Network(s.config.ClientIP(r)), s.deviceOf(r, p.Email)
	if got := s.attempts.allowCode(p.ID, network, device, s.Now()); !got.OK {
		seconds := site.Seconds(got.Wait)
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		page.Message = l.T("login.too_many", waitText(l, seconds))
		s.showCode(w, r, http.StatusTooManyRequests, page)
		return
	}
	err = s.checkCode(r.Context(), p, r.PostForm.Get("code"))
	if errors.Is(err, errNotLoggedIn) {
		s.noteFailure(r.Context(), p.Email, network)
		s.noteOwnFailure(w, r, p.Email)
		page.Message = l.T("code.wrong")
		s.showCode(w, r, http.StatusUnauthorized, page)
		return
	}
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	s.begin(w, r, p, page.Next)
}

// checkCode uses a code of the person's app, or a recovery code: each counts once. Any other is errNotLoggedIn.
func (s *Pages) checkCode(ctx context.Context, p account.Person, text string) error {
	if len(text) > maxCode || len(p.SecondFactor) == 0 {
		return errNotLoggedIn
	}
	code := typedCode(text)
	if len(code) == base32Text.EncodedLen(recoveryBytes) {
		return refusedCode(s.db.UseRecoveryCode(ctx, p.ID, hashRecovery(code)))
	}
	secret, stale, err := s.keys.unseal(p.SecondFactor, p.ID)
	if err != nil {
		return err
	}
	step, ok := totpStepOf(secret, code, s.Now())
	if !ok {
		return errNotLoggedIn
	}
	sealed := p.SecondFactor
	if stale { // so that it outlives the previous token secret
		if sealed, err = s.keys.seal(secret, p.ID, s.Random); err != nil {
			return err
		}
	}
	return refusedCode(s.db.UseCode(ctx, p.ID, step, p.SecondFactor, sealed))
}

func refusedCode(err error) error {
	if errors.Is(err, commerce.ErrNotFound) {
		return errNotLoggedIn
	}
	return err
}
