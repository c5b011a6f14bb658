package storefront

import (
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	sdkjs "github.com/tributary-io/tributary/sdk-js"
)

// open runs a shop whose admin API is the handler, and a browser's client.
func open(t *testing.T, admin http.HandlerFunc) (url string, browser *http.Client) {
	t.Helper()
	api := httptest.NewServer(admin)
	t.Cleanup(api.Close)
	shop, err := New(Config{EdgeURL: "http://edge.test", CompanyID: "c_1", AdminURL: api.URL + "/admin/v1", APIKey: "key",
		DashboardURL: "http://admin.test/dashboard", Coupons: map[string]int{"ANA10": 10}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(shop)
	t.Cleanup(server.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return server.URL, &http.Client{Jar: jar}
}

func body(t *testing.T, response *http.Response, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func field(t *testing.T, page, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("no %s in:\n%s", pattern, page)
	}
	return m[1]
}

func TestPurchaseBecomesOneOrderOfTheMerchantsAPI(t *testing.T) {
	var sent []map[string]any
	base, browser := open(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/admin/v1/order" || r.Header.Get("Authorization") != "Bearer key" {
			t.Errorf("%s %s with %q", r.Method, r.URL, r.Header.Get("Authorization"))
		}
		var o map[string]any
		d := json.NewDecoder(r.Body)
		d.UseNumber()
		if err := d.Decode(&o); err != nil {
			t.Error(err)
		}
		sent = append(sent, o)
	})
	site, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	browser.Jar.SetCookies(site, []*http.Cookie{{Name: "trb_vid", Value: "edge"}, {Name: "trb_id", Value: "sdk"}})
	for _, id := range []string{"vestido", "vestido", "camiseta"} {
		response, err := browser.PostForm(base+"/cart", url.Values{"product": {id}})
		body(t, response, err)
	}
	response, err := browser.Get(base + "/checkout")
	page := body(t, response, err)
	id := field(t, page, `name="order" value="([^"]+)"`)
	form := url.Values{"order": {id}, "name": {"Maria"}, "email": {"Maria@example.com"}, "coupon": {"ana10"}}
	response, err = browser.PostForm(base+"/checkout", form)
	page = body(t, response, err)
	if len(sent) != 1 {
		t.Fatalf("%d orders were sent; the page says:\n%s", len(sent), page)
	}
	o := sent[0]
	f := func(key string, want any) {
		t.Helper()
		if o[key] != want {
			t.Errorf("%s = %v, want %v", key, o[key], want)
		}
	}
	f("orderId", id)
	f("totalDiscounts", json.Number("45.97")) // 10 % of 459.70
	f("shippingPrice", json.Number("15.00"))
	f("totalPrice", json.Number("428.73"))
	f("discountCode", "ana10")
	f("userId", "sdk")
	f("currency", "BRL")
	if items := o["items"].([]any); len(items) != 2 || items[0].(map[string]any)["quantity"] != json.Number("2") {
		t.Errorf("items %v", items)
	}
	var track tracked
	if err := json.Unmarshal([]byte(field(t, page, `id="track">(.*?)</script>`)), &track); err != nil {
		t.Fatal(err)
	}
	if track.Identity["cart_token"] != o["cartToken"] || track.Identity["email"] != "Maria@example.com" || len(track.Items) != 2 {
		t.Errorf("the page tracks %+v", track)
	}
	if link := "http://admin.test/dashboard/order?company=c_1&amp;id=" + id; !strings.Contains(page, link) {
		t.Errorf("the page does not lead to %s", link)
	}
	if !strings.Contains(page, "R$\u00a0428.73") {
		t.Error("the total is not written as the shop writes money")
	}
	if !strings.Contains(page, `data-test="cart-count">0<`) {
		t.Error("the cart is not empty after the purchase")
	}
}

func TestCheckoutSaysWhatIsMissingAndKeepsTheForm(t *testing.T) {
	base, browser := open(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) })
	f := func(name, email, want string, status int) {
		t.Helper()
		response, err := browser.PostForm(base+"/checkout", url.Values{"order": {"loja-1"}, "name": {name}, "email": {email}})
		if page := body(t, response, err); !strings.Contains(page, want) || response.StatusCode != status {
			t.Errorf("%q, %q: %s without %q", name, email, response.Status, want)
		}
	}
	f("Maria", "m@example.com", "Your cart is empty.", 422)
	response, err := browser.PostForm(base+"/cart", url.Values{"product": {"bolsa"}})
	body(t, response, err)
	f("", "m@example.com", "your name", 422)
	f("Maria", "junk", "e-mail", 422)
	f("<b>Maria", "m@example.com", `value="&lt;b&gt;Maria"`, 502) // refused by the admin API
}

func TestBrokenCartCookieIsANewCart(t *testing.T) {
	f := func(value string, lines int) {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.AddCookie(&http.Cookie{Name: cartCookie, Value: value})
		if c := readCart(r); len(c.lines) != lines || c.token == "" {
			t.Errorf("%q: %+v", value, c)
		}
	}
	token := strings.Repeat("A", 26)
	f(token+"|vestido:2|nothing:1|bolsa:x|bolsa:-1", 1)
	f("short|vestido:2", 0)
	f("", 0)
}

func TestEveryPageCarriesTheSnippet(t *testing.T) {
	base, browser := open(t, func(http.ResponseWriter, *http.Request) {})
	for path, status := range map[string]int{"/": 200, "/p/vestido?utm_source=x": 200, "/cart": 200, "/nowhere": 404, "/p/nothing": 404} {
		response, err := browser.Get(base + path)
		page := body(t, response, err)
		if response.StatusCode != status || !strings.Contains(page, sdkjs.Snippet("http://edge.test", "c_1")) {
			t.Errorf("%s: %s", path, response.Status)
		}
	}
}

// The shop speaks the browser's language, and writes amounts as it does. Each text is
// there in each language, and each page uses texts that are there.
func TestTheShopSpeaksTheBrowsersLanguage(t *testing.T) {
	base, browser := open(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	get := func(path, language string) string {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept-Language", language)
		response, err := browser.Do(request)
		page := body(t, response, err)
		if vary := response.Header.Get("Vary"); vary != "Accept-Language" {
			t.Errorf("%s: Vary %q", path, vary)
		}
		return page
	}
	f := func(path, language string, want ...string) {
		t.Helper()
		page := get(path, language)
		for _, text := range want {
			if !strings.Contains(page, text) {
				t.Errorf("%s in %q is without %q", path, language, text)
			}
		}
	}
	f("/", "pt-BR,pt;q=0.9,en;q=0.8", `<html lang="pt-BR">`, "Feito para a praia", "R$\u00a0189,90", "Vestido de linho, verde-mar", "Carrinho")
	f("/", "en-US", `<html lang="en">`, "Made for the shore", "R$\u00a0189.90", "Linen dress, sea green")
	f("/", "de", `<html lang="en">`)
	response, err := browser.PostForm(base+"/cart", url.Values{"product": {"vestido"}})
	body(t, response, err)
	f("/cart", "pt", "Seu carrinho", "Frete", "R$\u00a0204,90", "Remover Vestido Brisa")
	f("/checkout", "pt", "Fazer o pedido", "R$\u00a0204,90")
	f("/nowhere", "pt", "Esta página não está aqui")

	languages, _, err := loadPages()
	if err != nil {
		t.Fatal(err)
	}
	keys := languages.All()[0].Keys()
	for _, l := range languages.All() {
		if got := l.Keys(); !slices.Equal(got, keys) {
			t.Errorf("%s has the texts %v, want %v", l.Tag, got, keys)
		}
		for _, p := range Products() {
			if !l.Has("line." + p.ID) {
				t.Errorf("%s has no line for %s", l.Tag, p.ID)
			}
		}
	}
	files, err := fs.Glob(templates, "templates/*.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := templates.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, used := range regexp.MustCompile(`\{\{t "([^"]+)"`).FindAllStringSubmatch(string(text), -1) {
			if !slices.Contains(keys, used[1]) {
				t.Errorf("%s uses the text %s, which is not there", file, used[1])
			}
		}
	}
}

func TestTitlesNameTheShopOnce(t *testing.T) {
	base, browser := open(t, func(http.ResponseWriter, *http.Request) {})
	f := func(path, want string) {
		t.Helper()
		response, err := browser.Get(base + path)
		if got := field(t, body(t, response, err), `<title>(.*?)</title>`); got != want {
			t.Errorf("%s is titled %q, want %q", path, got, want)
		}
	}
	f("/", "Loja Exemplo")
	f("/cart", "Your cart · Loja Exemplo")
	f("/p/vestido", "Vestido Brisa · Loja Exemplo")
}
