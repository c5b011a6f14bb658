package shops

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
)

// connectPage is what templates/shopconnect.html shows: platforms to choose from, or one of them.
type connectPage struct {
	site.Head
	Form      *site.Form
	Runs      bool
	Platforms []site.Link
	Platform  string // the name of the chosen one; empty: none is chosen
	PlatformIs,
	All string // path of the page where another is chosen
	Steps, Brings []string
	Installs      bool
	Again         string // id of the draft whose keys are given anew; may be empty
}

// installPage is what templates/shopinstall.html shows.
type installPage struct {
	site.Head
	PlatformIs, Address, All string
}

// mostField bounds a value that is pasted, in characters.
const mostField = 2000

func (s *Pages) connectRoutes() []site.Route {
	return []site.Route{
		{Pattern: "GET " + site.ConnectPath, Owner: true, Handle: s.connect},
		{Pattern: "POST " + site.ConnectPath, Owner: true, Handle: s.addKeys},
		{Pattern: "POST " + installPath, Owner: true, Handle: s.install},
		{Pattern: "GET " + installPath, Owner: true, Handle: s.goOn},
		// The platform leads here without a company: the state has it, and installed looks whether an owner of it asks.
		{Pattern: "GET " + site.ShopsPath + "/installed", Handle: s.installed},
	}
}

const installPath = site.ShopsPath + "/install"

func (s *Pages) connect(w http.ResponseWriter, r *http.Request, v site.Request) {
	s.showConnect(w, r, v, http.StatusOK, r.URL.Query().Get("platform"), r.URL.Query().Get("again"), nil)
}

// showConnect shows the platforms, or how a shop of one is connected.
func (s *Pages) showConnect(w http.ResponseWriter, r *http.Request, v site.Request, status int, platform, again string, f *site.Form) {
	offer, err := s.db.ConnectOffer(r.Context())
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	v.Here = v.Path(site.ConnectPath, "platform", platform)
	page := connectPage{Head: v.Head(v.Lang.T("shops.connect"), "shops"), Form: f, Runs: s.runs(offer)}
	page.All = v.Path(site.ConnectPath)
	if platform == "" {
		for _, p := range offer.Platforms {
			page.Platforms = append(page.Platforms, site.Link{Name: p.Title, Path: v.Path(site.ConnectPath, "platform", p.Name)})
		}
		s.Render(w, r, status, "shopconnect.html", page)
		return
	}
	p, ok := offered(offer, platform)
	if !ok || again != "" && !isID(again) {
		s.ProblemOf(w, r, http.StatusNotFound, "no_platform")
		return
	}
	if again != "" {
		if page.Versions, err = s.VersionsOf(r.Context(), v.Current.CompanyID, again); err != nil {
			s.Unavailable(w, r, err)
			return
		}
	}
	if page.Form == nil {
		page.Form = keysForm(v, p, nil)
	}
	page.Title = v.Lang.T("shops.connect_of", p.Title)
	page.Platform, page.PlatformIs, page.Installs, page.Again = p.Name, p.Title, p.Install != "", again
	page.Steps, page.Brings = of(v.Lang, p.Steps), of(v.Lang, p.Brings)
	s.Render(w, r, status, "shopconnect.html", page)
}

// of is what the offer says in the language of the page, else in English.
func of[T any](l *lang.Printer, texts map[string]T) T {
	if text, ok := texts[l.Tag]; ok {
		return text
	}
	return texts["en"]
}

// keysForm asks for what the platform gave the merchant. Secrets are never shown again.
func keysForm(v site.Request, p commerce.OfferedPlatform, typed map[string][]string) *site.Form {
	f := site.NewForm(v.Lang, "shops", typed)
	for _, field := range p.Fields {
		kind, fill := "text", ""
		if field.Secret {
			kind, fill = "password", "new-password"
		}
		f.Add(site.Field{Name: field.Name, Label: of(v.Lang, field.Label), Type: kind, Fill: fill,
			Required: !takes(field, ""), Max: mostField})
		help := of(v.Lang, field.Help)
		if field.Example != "" {
			help = strings.TrimSpace(help + " " + v.Lang.T("shops.example", field.Example))
		}
		f.Fields[len(f.Fields)-1].Help = help
	}
	return f
}

// takes reports whether a field of credentials takes a value. One that takes an empty text may be left out.
func takes(field commerce.CredentialField, value string) bool {
	pattern, err := regexp.Compile("^(?:" + field.Pattern + ")$")
	return err == nil && pattern.MatchString(value)
}

// readKeys reads the form. What does not have the field's pattern fails at it.
func readKeys(v site.Request, p commerce.OfferedPlatform, f *site.Form, typed url.Values) map[string]string {
	keys := map[string]string{}
	for _, field := range p.Fields {
		value := strings.TrimSpace(typed.Get(field.Name))
		if len(value) > mostField || !takes(field, value) {
			f.Fail(field.Name, badField(v, field))
		}
		keys[field.Name] = value
	}
	return keys
}

// badField says what to type into a field, where the platform gives an example of it.
func badField(v site.Request, field commerce.CredentialField) string {
	if field.Example == "" {
		return v.Lang.T("shops.bad_field")
	}
	return v.Lang.T("shops.bad_field_as", field.Example)
}

// addKeys stores what was pasted, sealed, and asks the service to test it. Nothing comes before the shop is connected.
func (s *Pages) addKeys(w http.ResponseWriter, r *http.Request, v site.Request) {
	offer, p, ok := s.chosen(w, r, v)
	if !ok {
		return
	}
	f := keysForm(v, p, r.PostForm)
	keys := readKeys(v, p, f, r.PostForm)
	plain, err := json.Marshal(keys)
	if err == nil && len(plain) > commerce.MaxCredentialBytes {
		f.Fail("", v.Lang.T("shops.too_long"))
	}
	id, again := "", r.PostForm.Get("again")
	if err == nil && !f.Failed() {
		id, err = s.storeKeys(r, v, p.Name, again, offer, plain)
	}
	switch {
	case errors.Is(err, commerce.ErrTooManyConnections):
		f.Fail("", v.Lang.T("shops.too_many", commerce.MaxConnections))
	case errors.Is(err, commerce.ErrConnectionState):
		f.Fail("", v.Lang.T("shops.not_now"))
	case err != nil:
		s.NotFoundOr(w, r, err, "no_connection")
		return
	}
	if f.Failed() {
		s.showConnect(w, r, v, http.StatusUnprocessableEntity, p.Name, again, f)
		return
	}
	s.addTask(w, r, v, commerce.ConnectTask{ConnectionID: id, Kind: commerce.TaskTest})
}

// storeKeys seals keys and stores them as those of the connection again, or of a new one where that is empty.
func (s *Pages) storeKeys(r *http.Request, v site.Request, platform, again string, offer commerce.ConnectOffer,
	plain []byte) (id string, err error) {
	if again != "" {
		c, err := s.db.Connection(r.Context(), v.Current.CompanyID, again)
		if err == nil && c.Platform != platform {
			err = commerce.ErrConnectionState
		}
		if err != nil {
			return "", err
		}
		id = c.ID
	} else if id, err = s.newID(); err != nil {
		return "", err
	}
	sealed, err := account.Seal(offer.PublicKey, offer.KeyID,
		account.SealedFor{CompanyID: v.Current.CompanyID, ConnectionID: id, Purpose: account.SealCredentials}, plain)
	if err != nil {
		return "", err
	}
	if again != "" {
		return id, s.db.ReplaceCredentials(r.Context(), s.Author(v), id, sealed, offer.KeyID)
	}
	return id, s.db.AddConnection(r.Context(), s.Author(v),
		commerce.NewConnection{ID: id, Platform: platform, Sealed: sealed, KeyID: offer.KeyID})
}

// chosen is the platform of a form, where a service runs that offers it. Else the request is answered.
func (s *Pages) chosen(w http.ResponseWriter, r *http.Request, v site.Request) (commerce.ConnectOffer, commerce.OfferedPlatform, bool) {
	offer, err := s.db.ConnectOffer(r.Context())
	if err != nil {
		s.Unavailable(w, r, err)
		return offer, commerce.OfferedPlatform{}, false
	}
	p, ok := offered(offer, r.PostForm.Get("platform"))
	switch {
	case !ok:
		s.ProblemOf(w, r, http.StatusNotFound, "no_platform")
	case !s.runs(offer):
		s.showConnect(w, r, v, http.StatusConflict, p.Name, "", nil)
		ok = false
	}
	return offer, p, ok
}

// newID is the id of a connection: 128 random bits.
func (s *Pages) newID() (string, error) {
	var b [16]byte
	_, err := io.ReadFull(s.Random, b[:])
	return commerce.LowerBase32.EncodeToString(b[:]), err
}

// install begins an installation at the platform. The next page leads there: browsers follow no form to another site.
func (s *Pages) install(w http.ResponseWriter, r *http.Request, v site.Request) {
	_, p, ok := s.chosen(w, r, v)
	if !ok {
		return
	}
	if p.Install == "" {
		s.ProblemOf(w, r, http.StatusNotFound, "no_platform")
		return
	}
	id, err := s.newID()
	var b [32]byte
	if err == nil {
		_, err = io.ReadFull(s.Random, b[:])
	}
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	state := v.Current.CompanyID + "." + id + "." + base64.RawURLEncoding.EncodeToString(b[:])
	err = s.db.AddConnection(r.Context(), s.Author(v), commerce.NewConnection{ID: id, Platform: p.Name, InstallState: stateHash(v, state)})
	switch {
	case errors.Is(err, commerce.ErrTooManyConnections):
		f := site.NewForm(v.Lang, "shops", nil)
		f.Fail("", v.Lang.T("shops.too_many", commerce.MaxConnections))
		s.showConnect(w, r, v, http.StatusConflict, p.Name, "", f)
	case err != nil:
		s.Unavailable(w, r, err)
	default:
		s.Made(w, r, v, installPath, nil, p.Name, state)
	}
}

// stateHash is what is stored of an installation's state. It names the log-in: the state is worth nothing in another one.
func stateHash(v site.Request, state string) [32]byte {
	return sha256.Sum256([]byte("tributary install\n" + v.Access.Family + "\n" + state))
}

// goOn leads to the platform.
func (s *Pages) goOn(w http.ResponseWriter, r *http.Request, v site.Request) {
	made := s.TakeMade(w, r, v, installPath, 2)
	offer, err := s.db.ConnectOffer(r.Context())
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	if made == nil { // it was shown once: a reload, or the way back from the platform
		s.ProblemOf(w, r, http.StatusNotFound, "no_install")
		return
	}
	p, _ := offered(offer, made[0])
	address := strings.NewReplacer("{state}", made[1], "%7Bstate%7D", made[1]).Replace(p.Install) // it needs no escapes
	if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		s.ProblemOf(w, r, http.StatusNotFound, "no_platform")
		return
	}
	page := installPage{Head: v.Head(v.Lang.T("shops.connect_of", p.Title), "shops"), PlatformIs: p.Title, Address: address,
		All: v.Path(site.ConnectPath)}
	w.Header().Set("Refresh", "0;url="+address)
	s.Render(w, r, http.StatusOK, "shopinstall.html", page)
}

const (
	// mostParameters bounds what of a platform's answer is kept beside the code.
	mostParameters = 20
	// mostState bounds a state, in bytes.
	mostState = 200
)

// installed is where the platform leads back to. The state is of this log-in and of a company whose owner asks, and works once.
func (s *Pages) installed(w http.ResponseWriter, r *http.Request, v site.Request) {
	query := r.URL.Query()
	state, code := query.Get("state"), query.Get("code")
	parts := strings.Split(state, ".") // the company, the connection, what nobody guesses
	i := slices.IndexFunc(v.Accesses, func(a account.Access) bool { return a.CompanyID == parts[0] })
	if len(parts) != 3 || parts[1] == "" || i < 0 || len(state) > mostState {
		s.ProblemOf(w, r, http.StatusNotFound, "no_install")
		return
	}
	v.Current = v.Accesses[i]
	if !v.MayChange() {
		s.ProblemOf(w, r, http.StatusForbidden, "owners_only")
		return
	}
	if code == "" || len(code) > mostField { // the merchant refused it at the platform
		s.ProblemOf(w, r, http.StatusNotFound, "no_install")
		return
	}
	given := commerce.InstallCode{Code: code, Extra: map[string]string{}}
	for name := range query {
		if name != "code" && name != "state" && len(given.Extra) < mostParameters {
			given.Extra[name] = query.Get(name)
		}
	}
	offer, err := s.db.ConnectOffer(r.Context())
	var plain []byte
	if err == nil {
		plain, err = json.Marshal(given)
	}
	if len(plain) > commerce.MaxCredentialBytes {
		s.ProblemOf(w, r, http.StatusNotFound, "no_install")
		return
	}
	back := commerce.InstallBack{CompanyID: v.Current.CompanyID, StateHash: stateHash(v, state), KeyID: offer.KeyID}
	if err == nil {
		back.SealedCode, err = account.Seal(offer.PublicKey, offer.KeyID,
			account.SealedFor{CompanyID: v.Current.CompanyID, ConnectionID: parts[1], Purpose: account.SealInstall}, plain)
	}
	var id, task string
	if err == nil {
		id, task, err = s.db.InstallBack(r.Context(), s.Author(v), back)
	}
	switch {
	case errors.Is(err, commerce.ErrInstallState), errors.Is(err, commerce.ErrNotFound):
		s.ProblemOf(w, r, http.StatusNotFound, "no_install")
	case err != nil:
		s.Unavailable(w, r, err)
	default:
		http.Redirect(w, r, shopPath(v.Current.CompanyID, id, "task", task), http.StatusSeeOther)
	}
}
