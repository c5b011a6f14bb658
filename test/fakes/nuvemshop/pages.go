package nuvemshop

import (
	"crypto/subtle"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/test/fakes/shop"
)

// codeLife: "an authorization code, which expires in 30 seconds".
const codeLife = 30 * time.Second

var consent = template.Must(template.New("").Parse(`<!doctype html><html lang="pt"><meta charset="utf-8">
<title>Instalar aplicativo</title><h1>{{.Shop}}</h1>
<p>O aplicativo {{.App}} pede: {{.Scope}}</p>
<form method="post"><input type="hidden" name="state" value="{{.State}}">
<button id="install">Instalar aplicativo</button></form></html>`))

// Pages adds the page of consent and the exchange of a code for a token. The platform has them on www.nuvemshop.com.br and
// www.tiendanube.com.
func (p *Platform) Pages(s *shop.Shop, mux *http.ServeMux) {
	mux.HandleFunc("GET /apps/{app}/authorize", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("app") != strconv.FormatInt(p.appID, 10) {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = consent.Execute(w, map[string]any{"Shop": s.Options().Shop, "App": p.appID, "Scope": p.scope, "State": r.URL.Query().Get("state")})
	})
	mux.HandleFunc("POST /apps/{app}/authorize", func(w http.ResponseWriter, r *http.Request) {
		to, err := url.Parse(s.Redirect())
		if r.PathValue("app") != strconv.FormatInt(p.appID, 10) || err != nil || to.Host == "" {
			http.Error(w, "the app has no redirection URL: shop.Options.Redirect", http.StatusNotFound)
			return
		}
		query := to.Query()
		query.Set("code", p.Code(s))
		if state := r.FormValue("state"); state != "" {
			query.Set("state", state)
		}
		to.RawQuery = query.Encode()
		http.Redirect(w, r, to.String(), http.StatusFound)
	})
	mux.HandleFunc("POST /apps/authorize/token", func(w http.ResponseWriter, r *http.Request) { p.exchange(s, w, r) })
}

// Code is what the merchant's click on "install" sends to the app: it lives 30 s and once.
func (p *Platform) Code(s *shop.Shop) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	code := p.options.Secret(fmt.Sprint("code", len(p.codes)), 40)
	p.codes[code] = s.Now().Add(codeLife)
	return code
}

func (p *Platform) exchange(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	var body struct {
		ClientID     any    `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		GrantType    string `json:"grant_type"`
		Code         string `json:"code"`
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") && r.FormValue("code") != "" {
		body.ClientID, body.ClientSecret = r.FormValue("client_id"), r.FormValue("client_secret")
		body.GrantType, body.Code = r.FormValue("grant_type"), r.FormValue("code")
	} else if err := shop.ReadJSON(r, &body); err != nil {
		answer(w, http.StatusBadRequest, shop.O("error", "invalid_request", "error_description", "Problems parsing JSON"))
		return
	}
	id := fmt.Sprint(body.ClientID)
	if number, ok := body.ClientID.(float64); ok {
		id = strconv.FormatInt(int64(number), 10)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	until, known := p.codes[body.Code]
	switch {
	case id != strconv.FormatInt(p.appID, 10) || subtle.ConstantTimeCompare([]byte(body.ClientSecret), []byte(p.clientSecret)) != 1:
		answer(w, http.StatusUnauthorized, shop.O("error", "invalid_client", "error_description", "The client credentials are invalid"))
	case body.GrantType != "authorization_code":
		answer(w, http.StatusBadRequest, shop.O("error", "unsupported_grant_type", "error_description", "Grant type is not supported"))
	case !known || s.Now().After(until):
		answer(w, http.StatusBadRequest, shop.O("error", "invalid_grant", "error_description", "The authorization code has expired"))
	default:
		p.codes[body.Code] = time.Time{}
		p.token = p.newToken()
		answer(w, http.StatusOK, shop.O("access_token", p.token, "token_type", bearer[:len(bearer)-1], "scope", p.scope,
			"user_id", strconv.FormatInt(p.storeID, 10)))
	}
}

// ThankYou is the page after the purchase: LS of the checkout and LS.order as the documentation of scripts shows them. The buyer
// is not logged in. Whether LS.order.hash is the
// order's token, no documentation says: here it is.
func (p *Platform) ThankYou(_ *shop.Shop, o shop.Order) (path, script string) {
	codes := o.Codes()
	if codes == nil {
		codes = []string{}
	}
	data := shop.JSON(shop.O("id", o.ID, "number", o.Number, "hash", o.Token, "created_at", stamp(o.CreatedAt), "coupon", codes,
		"discount", int64(o.Discount()), "total", int64(o.Total()), "total_in_usd", int64(o.Total()/5), "gateway", "nuvempago"))
	items := make([]shop.Object, 0, len(o.Lines))
	for _, line := range o.Lines {
		items = append(items, shop.O("id", line.Product.Variant, "name", line.Product.Name, "unit_price", int64(line.Product.Price),
			"quantity", line.Quantity))
	}
	store := shop.JSON(shop.O("store", shop.O("id", p.storeID), "cart", shop.O("subtotal", int64(o.Subtotal()), "items", items),
		"customer", nil, "lang", "pt_BR", "currency", o.Currency))
	return fmt.Sprintf("/checkout/v3/success/%d/%s", o.ID, o.Token), fmt.Sprintf("var LS = %s;\nLS.order = %s;", store, data)
}

// Scripts lists the addresses of the scripts that the app put on a place: "store" or "checkout".
func (p *Platform) Scripts(place string) (sources []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, script := range p.scripts {
		if slices.Contains(strings.Split(script.where, ","), place) {
			sources = append(sources, script.src)
		}
	}
	return sources
}

func (s script) object() shop.Object {
	return shop.O("created_at", stamp(s.created), "event", s.event, "id", s.id, "src", s.src, "updated_at", stamp(s.updated), "where", s.where)
}

func (p *Platform) listScripts(_ *shop.Shop, w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := []shop.Object{}
	for _, script := range p.scripts {
		list = append(list, script.object())
	}
	answer(w, http.StatusOK, list)
}

func (p *Platform) newScript(s *shop.Shop, w http.ResponseWriter, r *http.Request) {
	var body struct{ Src, Event, Where string }
	if err := shop.ReadJSON(r, &body); err != nil {
		answer(w, http.StatusBadRequest, shop.O("error", "Problems parsing JSON"))
		return
	}
	problems := shop.Object{}
	if body.Event == "" {
		body.Event = "onload"
	}
	if !slices.Contains([]string{"onload", "onfirstinteraction"}, body.Event) {
		problems = append(problems, shop.O("event", []string{"is not included in the list"})...)
	}
	if !p.goodURL(body.Src) {
		problems = append(problems, shop.O("src", []string{"can't be blank"})...)
	}
	if body.Where == "" {
		body.Where = "store"
	}
	for place := range strings.SplitSeq(body.Where, ",") {
		if place != "store" && place != "checkout" {
			problems = append(problems, shop.O("where", []string{"is not included in the list"})...)
			break
		}
	}
	if len(problems) > 0 {
		answer(w, http.StatusUnprocessableEntity, problems)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := s.Now()
	added := script{id: int64(100 + len(p.scripts)), src: body.Src, event: body.Event, where: body.Where, created: now, updated: now}
	p.scripts = append(p.scripts, added)
	answer(w, http.StatusCreated, added.object())
}

func (p *Platform) deleteScript(_ *shop.Shop, w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := len(p.scripts)
	p.scripts = slices.DeleteFunc(p.scripts, func(s script) bool { return strconv.FormatInt(s.id, 10) == r.PathValue("id") })
	if len(p.scripts) == before {
		refuse(w, http.StatusNotFound, "Script not found")
		return
	}
	answer(w, http.StatusOK, shop.Object{})
}
