package login

import (
	"encoding/base64"
	"errors"
	"html/template"
	"io"
	"net/http"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/throttle"
)

const factorPath = accountPath + "/factor"

// factorPart is what the account page shows of the second factor.
type factorPart struct {
	On        bool
	CodesLeft int64
	Form      *site.Form // empty: a button begins
	Key, URI  string     // of a secret that is not stored yet
	QR        template.HTML
	Sealed    string   // the same, for the form
	Codes     []string // recovery codes that were made just now: they are shown once
}

// factorQR is the width of the key's QR code in CSS pixels: a phone's screen has room for it.
const factorQR = 240

func factorForm(v site.Request) *site.Form {
	f := site.NewForm(v.Lang, "factor", nil)
	f.IDs = "factor-"
	f.Add(site.Field{Name: "code", Required: true, Max: maxCode, Fill: "one-time-code"})
	f.Add(site.Field{Name: "password", Type: "password", Required: true, Max: MaxPasswordBytes, Fill: "current-password"})
	return f
}

// beginFactor makes a secret and shows it. Nothing is stored until a code shows that an app has it.
func (s *Pages) beginFactor(w http.ResponseWriter, r *http.Request, v site.Request) {
	secret := make([]byte, totpSecretBytes)
	if _, err := io.ReadFull(s.Random, secret); err != nil {
		s.Unavailable(w, r, err)
		return
	}
	sealed, err := s.keys.seal(secret, v.Access.PersonID, s.Random)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	s.showAccount(w, r, v, http.StatusOK, ownPasswordForm(v),
		factorPart{Form: factorForm(v), Sealed: base64.RawURLEncoding.EncodeToString(sealed)})
}

// turnFactor turns the second factor on or off, by a code and the password.
func (s *Pages) turnFactor(w http.ResponseWriter, r *http.Request, v site.Request) {
	p, err := s.db.PersonByID(r.Context(), v.Access.PersonID)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	part := factorPart{Form: factorForm(v), Sealed: r.PostForm.Get("sealed")}
	off := part.Sealed == ""
	if off == (len(p.SecondFactor) == 0) { // another tab was first
		http.Redirect(w, r, site.StorePath(accountPath, v.Current.CompanyID), http.StatusSeeOther)
		return
	}
	network := throttle.Network(s.config.ClientIP(r))
	if got := s.attempts.allow(p.Email, network, "session "+v.Access.Family, s.Now()); !got.OK {
		part.Form.Fail("password", v.Lang.T("login.too_many", waitText(v.Lang, site.Seconds(got.Wait))))
		s.showAccount(w, r, v, http.StatusTooManyRequests, ownPasswordForm(v), part)
		return
	}
	change := account.SecondFactorChange{PersonID: p.ID, Actor: v.Actor(), Before: p.SecondFactor}
	_, err = s.check(r.Context(), p.Email, r.PostForm.Get("password"))
	if errors.Is(err, errNotLoggedIn) {
		part.Form.Fail("password", v.Lang.T("account.wrong"))
	} else if err == nil && off {
		err = s.checkCode(r.Context(), p, r.PostForm.Get("code"))
	} else if err == nil {
		err = s.sealedCode(&change, part.Sealed, r.PostForm.Get("code"))
	}
	switch {
	case errors.Is(err, errSealed):
		s.ProblemOf(w, r, http.StatusBadRequest, "bad_form")
		return
	case errors.Is(err, errNotLoggedIn):
		if !part.Form.Failed() {
			part.Form.Fail("code", v.Lang.T("code.wrong"))
		}
		s.noteFailure(r.Context(), p.Email, network)
		s.showAccount(w, r, v, http.StatusUnprocessableEntity, ownPasswordForm(v), part)
		return
	case err != nil:
		s.Unavailable(w, r, err)
		return
	}
	s.storeFactor(w, r, v, change, off)
}

// sealedCode takes the secret of a form, and the code that shows that an app has it.
func (s *Pages) sealedCode(c *account.SecondFactorChange, sealed, code string) error {
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return errSealed
	}
	secret, _, err := s.keys.unseal(raw, c.PersonID)
	if err != nil {
		return err
	}
	step, ok := totpStepOf(secret, typedCode(code), s.Now())
	if !ok {
		return errNotLoggedIn
	}
	c.Sealed, c.Step = raw, step
	return nil
}

func (s *Pages) storeFactor(w http.ResponseWriter, r *http.Request, v site.Request, c account.SecondFactorChange, off bool) {
	var codes []string
	var err error
	if !off {
		codes, c.RecoveryCodes, err = newRecoveryCodes(s.Random)
	}
	if err == nil {
		err = s.db.SetSecondFactor(r.Context(), c)
	}
	if errors.Is(err, commerce.ErrConflict) {
		http.Redirect(w, r, site.StorePath(accountPath, v.Current.CompanyID), http.StatusSeeOther)
		return
	}
	if err == nil && !off { // whoever has another session has shown no code
		err = s.db.EndSessions(r.Context(), c.PersonID, v.Access.Family, true)
		s.config.Recheck()
	}
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	if off {
		site.Done(w, r, v.Path(accountPath), "factor_off")
		return
	}
	s.showAccount(w, r, v, http.StatusOK, ownPasswordForm(v), factorPart{Codes: codes})
}

// fill adds what is stored of the second factor, and the secret of a form as people read it.
func (s *Pages) fill(part *factorPart, p account.Person) {
	part.On, part.CodesLeft = len(p.SecondFactor) > 0, p.CodesLeft
	raw, err := base64.RawURLEncoding.DecodeString(part.Sealed)
	if err != nil || part.Sealed == "" {
		return
	}
	if secret, _, err := s.keys.unseal(raw, p.ID); err == nil {
		part.Key, part.URI = inGroups(base32Text.EncodeToString(secret)), totpURI(secret, p.Email)
		part.QR, _ = site.QR(part.URI, factorQR) // without it the key is typed
	}
}
