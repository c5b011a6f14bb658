package rules

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

const (
	// mostKeys bounds the list of one environment.
	mostKeys = 500
)

// keyGraces are the hours for which a rotated key still works.
var keyGraces = []string{"0", "1", "24", "168"}

// keyLives are the days for which a key is valid; 0 is for ever.
var keyLives = []string{"0", "30", "90", "365"}

// keysPage is what templates/keys.html shows.
type keysPage struct {
	site.Head
	Form   *site.Form
	List   []keyRow
	Key    string // the text of a key that was made just now: it is shown once
	KeyOf  string // its name
	Graces []site.Option
}

type keyRow struct {
	ID, Name, Type, Hint  string
	Scopes                []string
	Created, Used, Ends   string
	State, StateText      string // active | ahead (ends) | over: also a class
	Environment, CompanyQ string
	Works                 bool
	Archived              bool // its company is: nothing of it is changed
}

func (s *Pages) keyRoutes() []site.Route {
	return []site.Route{
		{Pattern: "GET " + site.KeysPath, Owner: true, Handle: s.keysPage},
		{Pattern: "POST " + site.KeysPath, Owner: true, Handle: s.createKey},
		{Pattern: "POST " + site.KeysPath + "/rotate", Owner: true, Handle: s.rotateKey},
		{Pattern: "POST " + site.KeysPath + "/revoke", Owner: true, Handle: s.revokeKey},
	}
}

func (s *Pages) keysPage(w http.ResponseWriter, r *http.Request, v site.Request) {
	page := keysPage{Form: keyForm(v, nil)}
	if made := s.TakeMade(w, r, v, site.KeysPath, 2); made != nil {
		page.KeyOf, page.Key = made[0], made[1]
	}
	s.showKeys(w, r, v, http.StatusOK, page)
}

// showKeys shows the page with the keys of both environments.
func (s *Pages) showKeys(w http.ResponseWriter, r *http.Request, v site.Request, status int, page keysPage) {
	v.Here = v.Path(site.KeysPath)
	page.Head = v.Head(v.Lang.T("keys.title"), "keys")
	page.File, page.Versions = v.Path(site.KeysPath+site.CSVEnding), map[string]string{}
	for _, environment := range []string{commerce.Live, commerce.Sandbox} {
		company := v.CompanyOf(environment)
		if company == "" {
			continue
		}
		list, err := s.db.ListAPIKeys(r.Context(), company, mostKeys)
		if err != nil {
			s.Unavailable(w, r, err)
			return
		}
		slices.Reverse(list) // the newest first
		ids := make([]string, len(list))
		for i, k := range list {
			ids[i] = k.KeyID
		}
		versions, err := s.VersionsOf(r.Context(), company, ids...)
		if err != nil {
			s.Unavailable(w, r, err)
			return
		}
		maps.Copy(page.Versions, versions)
		for _, k := range list {
			row := s.viewKey(v, k)
			if row.Archived = v.IsArchived(company); row.Archived && row.Works {
				row.State, row.StateText = "over", v.Lang.T("keys.archived")
			}
			page.List = append(page.List, row)
		}
	}
	// Those that work come first.
	slices.SortStableFunc(page.List, func(a, b keyRow) int {
		switch {
		case a.Works == b.Works:
			return 0
		case a.Works:
			return -1
		}
		return 1
	})
	f := site.NewForm(v.Lang, "keys", nil)
	page.Graces = f.Options("grace", keyGraces...)
	page.Graces[2].Chosen = true
	s.Render(w, r, status, "keys.html", page)
}

func (s *Pages) viewKey(v site.Request, k account.APIKey) keyRow {
	l, zone, now := v.Lang, v.Zone(), s.Now()
	row := keyRow{
		ID: k.KeyID, Name: k.Name, Type: l.T("keys.type_" + k.Type), Hint: k.Hint, Created: l.Time(k.CreatedAt.In(zone)),
		Used: l.T("keys.never"), State: "active", Environment: l.T("nav." + k.Environment), CompanyQ: k.CompanyID, Works: k.ActiveAt(now),
	}
	for _, scope := range site.NewForm(l, "keys", nil).Options("scope", scopeNames(k.Scopes)...) {
		row.Scopes = append(row.Scopes, scope.Label)
	}
	if !k.LastUsedAt.IsZero() {
		row.Used = l.Time(k.LastUsedAt.In(zone))
	}
	ends := k.ExpiresAt
	if !k.RevokedAt.IsZero() && (ends.IsZero() || k.RevokedAt.Before(ends)) {
		ends = k.RevokedAt
	}
	switch {
	case !row.Works && !k.RevokedAt.IsZero() && !now.Before(k.RevokedAt):
		row.State, row.StateText = "over", l.T("keys.revoked", l.Time(ends.In(zone)))
	case !row.Works:
		row.State, row.StateText = "over", l.T("keys.expired", l.Time(ends.In(zone)))
	case !ends.IsZero():
		row.State, row.StateText = "ahead", l.T("keys.until", l.Time(ends.In(zone)))
	default:
		row.StateText = l.T("keys.active")
	}
	return row
}

func keyForm(v site.Request, values map[string][]string) *site.Form {
	f := site.NewForm(v.Lang, "keys", values)
	f.Add(site.Field{Name: "name", Required: true, Max: account.MaxKeyName})
	f.Add(site.Field{Name: "environment", Type: "select", Value: v.Current.Environment,
		Options: f.Options("environment", v.OpenEnvironments()...)})
	f.Add(site.Field{Name: "type", Type: "select", Value: account.OwnPlatform, Options: f.Options("type", account.KeyTypes...)})
	f.Add(site.Field{Name: "scopes", Type: "checks", Values: scopeNames(account.AdminScopes),
		Options: f.Options("scope", scopeNames(account.Scopes)...)})
	f.Add(site.Field{Name: "life", Type: "select", Value: "0", Options: f.Options("life", keyLives...)})
	return f
}

func scopeNames(scopes []account.Scope) []string {
	names := make([]string, len(scopes))
	for i, scope := range scopes {
		names[i] = string(scope)
	}
	return names
}

func (s *Pages) createKey(w http.ResponseWriter, r *http.Request, v site.Request) {
	f := keyForm(v, r.PostForm)
	key := account.NewAPIKey{CompanyID: v.CompanyOf(r.PostForm.Get("environment")), Name: strings.TrimSpace(r.PostForm.Get("name")),
		Type: r.PostForm.Get("type"), Actor: v.Actor(), Random: s.Random}
	for _, scope := range r.PostForm["scopes"] {
		key.Scopes = append(key.Scopes, account.Scope(scope))
	}
	if key.CompanyID == "" {
		f.Fail("environment", v.Lang.T("form.choose"))
	}
	if !slices.Contains(keyLives, r.PostForm.Get("life")) {
		f.Fail("life", v.Lang.T("form.choose"))
	}
	if !slices.Contains(account.KeyTypes, key.Type) {
		f.Fail("type", v.Lang.T("form.choose"))
	}
	f.Refuse(key.Check(), nil)
	if f.Failed() {
		s.showKeys(w, r, v, http.StatusUnprocessableEntity, keysPage{Form: f})
		return
	}
	if days, _ := strconv.Atoi(r.PostForm.Get("life")); days > 0 {
		key.ExpiresAt = s.Now().AddDate(0, 0, days)
	}
	_, text, err := s.db.CreateAPIKey(r.Context(), key)
	if errors.Is(err, account.ErrTooManyKeys) {
		s.tooManyKeys(w, r, v, f)
		return
	}
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	s.Made(w, r, v, site.KeysPath, nil, key.Name, text)
}

// tooManyKeys shows the page with why no more keys are made.
func (s *Pages) tooManyKeys(w http.ResponseWriter, r *http.Request, v site.Request, f *site.Form) {
	f.Fail("", v.Lang.T("keys.too_many", account.MaxAPIKeys))
	s.showKeys(w, r, v, http.StatusConflict, keysPage{Form: f})
}

func (s *Pages) rotateKey(w http.ResponseWriter, r *http.Request, v site.Request) {
	grace := r.PostForm.Get("grace")
	if !slices.Contains(keyGraces, grace) {
		s.ProblemOf(w, r, http.StatusBadRequest, "bad_form")
		return
	}
	hours, _ := strconv.Atoi(grace)
	key, text, err := s.db.RotateAPIKey(r.Context(), account.KeyRotation{CompanyID: v.Current.CompanyID, KeyID: idOf(r, "key"), At: s.Now(),
		Grace: time.Duration(hours) * time.Hour, Actor: v.Actor(), Random: s.Random})
	if errors.Is(err, account.ErrTooManyKeys) {
		s.tooManyKeys(w, r, v, keyForm(v, nil))
		return
	}
	if err != nil {
		s.NotFoundOr(w, r, err, "no_key")
		return
	}
	s.Made(w, r, v, site.KeysPath, nil, key.Name, text)
}

func (s *Pages) revokeKey(w http.ResponseWriter, r *http.Request, v site.Request) {
	if _, err := s.db.RevokeAPIKey(r.Context(), v.Current.CompanyID, idOf(r, "key"), s.Now(), v.Actor()); err != nil {
		s.NotFoundOr(w, r, err, "no_key")
		return
	}
	site.Done(w, r, v.Path(site.KeysPath), "key_revoked")
}

// idOf returns a form's id; empty where it can be none.
func idOf(r *http.Request, name string) string {
	if id := r.PostForm.Get(name); commerce.IsID(id) {
		return id
	}
	return ""
}
