package events

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/account"
)

// mostTokens bounds the API keys that are looked through.
const mostTokens = 500

// installPage is what templates/install.html shows.
type installPage struct {
	site.Head
	Form    *site.Form
	Origins []installOrigin
	Refused refusedView
	Script  string // where the pages' script is loaded from
	Tokens  []installToken
	Made    []installToken // those of before that work: Text is what the token ends with
	Keys    string         // path of the page that lists and revokes them
	Signals signalsView
	APIPath string
}

// installToken is an integration token that was made just now: it is shown once.
type installToken struct{ Name, Text string }

// installOrigin is an address whose pages may send events.
type installOrigin struct {
	Origin string // as it is stored
	Typed  string // as people write it, where that differs
}

// signalsView is what has come, as texts; assets/install.js puts newer ones into
// the page.
type signalsView struct {
	Event string `json:"event"` // empty: none has come
	Order string `json:"order"`

	Refused string `json:"refused,omitempty"` // HTML: the template "refused"
}

func (s *Pages) installRoutes() []site.Route {
	return []site.Route{
		{Pattern: "GET " + site.InstallPath, Owner: true, Handle: s.installPage},
		{Pattern: "GET " + site.InstallPath + "/signals", Owner: true, Handle: s.installSignals},
		{Pattern: "POST " + site.InstallPath + "/tokens", Owner: true, Handle: s.makeTokens},
		{Pattern: "POST " + site.InstallPath + "/origin", Owner: true, Handle: s.addOrigin},
		{Pattern: "POST " + site.InstallPath + "/origin/remove", Owner: true, Handle: s.removeOrigin},
	}
}

func (s *Pages) installPage(w http.ResponseWriter, r *http.Request, v site.Request) {
	page := installPage{Form: originForm(v, nil)}
	for i, text := range s.TakeMade(w, r, v, site.InstallPath, len(integrationTokens)) {
		page.Tokens = append(page.Tokens, installToken{v.Lang.T("install.token_" + integrationTokens[i].name), text})
	}
	s.showInstall(w, r, v, http.StatusOK, page)
}

func originForm(v site.Request, typed map[string][]string) *site.Form {
	f := site.NewForm(v.Lang, "install", typed)
	// Not of the type url: browsers refuse an address without https://, as people type it.
	f.Add(site.Field{Name: "origin", Required: true, Max: 300, Fill: "url"})
	return f
}

func (s *Pages) showInstall(w http.ResponseWriter, r *http.Request, v site.Request, status int, page installPage) {
	v.Here = v.Path(site.InstallPath)
	page.Head = v.Head(v.Lang.T("install.title"), "install")
	company, err := s.db.Company(r.Context(), v.Current.CompanyID)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	if page.Versions, err = s.VersionsOf(r.Context(), company.CompanyID, company.CompanyID); err != nil {
		s.Unavailable(w, r, err)
		return
	}
	for _, origin := range company.Origins {
		page.Origins = append(page.Origins, installOrigin{origin, typedOrigin(origin)})
	}
	if page.Refused, err = s.refused(r, v, company); err != nil {
		s.Unavailable(w, r, err)
		return
	}
	page.APIPath = s.OriginFor(r) + site.APIPath(v.Current.Environment, "")
	page.Script = "https://collect.your-shop.com/sdk/v1/tributary.js"
	if s.edgeURL != "" {
		page.Script = strings.TrimSuffix(s.edgeURL, "/") + "/sdk/v1/tributary.js"
	}
	if page.Signals, err = s.signals(r, v); err != nil {
		s.Unavailable(w, r, err)
		return
	}
	list, err := s.db.ListAPIKeys(r.Context(), v.Current.CompanyID, mostTokens)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	page.Keys = v.Path(site.KeysPath)
	for _, k := range list {
		if k.Type == account.Integration && k.ActiveAt(s.Now()) {
			page.Made = append(page.Made, installToken{k.Name, k.Hint})
		}
	}
	s.Render(w, r, status, "install.html", page)
}

func (s *Pages) signals(r *http.Request, v site.Request) (view signalsView, err error) {
	got, err := s.db.Signals(r.Context(), v.Current.CompanyID)
	if err != nil {
		return view, err
	}
	zone := v.Zone()
	if got.Event != "" {
		view.Event = v.Lang.T("install.event_came", site.EventWords(v.Lang, got.Event), v.Lang.Instant(got.EventAt.In(zone)))
	}
	if got.OrderID != "" {
		view.Order = v.Lang.T("install.order_came", cmp.Or(got.Order, got.OrderID), v.Lang.Instant(got.OrderAt.In(zone)))
	}
	return view, nil
}

// installSignals is what the page's script asks for every few seconds.
func (s *Pages) installSignals(w http.ResponseWriter, r *http.Request, v site.Request) {
	view, err := s.signals(r, v)
	if err == nil {
		view.Refused, err = s.refusedHTML(r, v)
	}
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	body, err := json.Marshal(view)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}

// integrationTokens are the two tokens of the platform "API" (docs/operations.md, "People and
// keys"), by the texts "install.token_<name>".
var integrationTokens = []struct {
	name  string
	scope account.Scope
}{{"orders", account.WriteOrders}, {"products", account.WriteProducts}}

// makeTokens makes the two integration tokens and shows them, once.
func (s *Pages) makeTokens(w http.ResponseWriter, r *http.Request, v site.Request) {
	page := installPage{Form: originForm(v, nil)}
	var made []string
	for _, token := range integrationTokens {
		name := v.Lang.T("install.token_" + token.name)
		_, text, err := s.db.CreateAPIKey(r.Context(), account.NewAPIKey{CompanyID: v.Current.CompanyID, Name: name,
			Type: account.Integration, Scopes: []account.Scope{token.scope}, Actor: v.Actor(), Random: s.Random})
		if errors.Is(err, account.ErrTooManyKeys) { // those made before are shown, once
			page.Form.Fail("", v.Lang.T("keys.too_many", account.MaxAPIKeys))
			s.showInstall(w, r, v, http.StatusConflict, page)
			return
		}
		if err != nil {
			s.Unavailable(w, r, err)
			return
		}
		page.Tokens = append(page.Tokens, installToken{name, text})
		made = append(made, text)
	}
	s.Made(w, r, v, site.InstallPath, nil, made...)
}
