package edge

import (
	"bytes"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tributary-io/tributary/internal/wire"
)

func TestCORS(t *testing.T) {
	s := newStand(t, nil)
	s.publishCompany(wire.Company{CompanyID: "co_other", Origins: []string{"https://outra.example.com:443/"}})
	s.eventually("all companies are known", func() bool { return s.edge.directory.state().Companies == 2 })
	f := func(method, path, origin string, status int, credentials bool) {
		t.Helper()
		response, text := s.do(method, path, batchOf(pageView(newID())), "Origin: "+origin, "Access-Control-Request-Method: POST",
			"Sec-Fetch-Site: same-site")
		h := response.Header
		if response.StatusCode != status || status == 403 && !strings.Contains(string(text), `"code":"origin_not_allowed"`) {
			t.Errorf("%s %s from %s: %d %s", method, path, origin, response.StatusCode, text)
		}
		if got := h.Get("Access-Control-Allow-Origin"); got != origin {
			t.Errorf("%s %s from %s: allows %q", method, path, origin, got)
		}
		if !strings.Contains(strings.Join(h.Values("Vary"), ","), "Origin") {
			t.Errorf("%s %s from %s: Vary %q", method, path, origin, h.Values("Vary"))
		}
		if got := h.Get("Access-Control-Allow-Credentials"); got != map[bool]string{true: "true"}[credentials] {
			t.Errorf("%s %s from %s: credentials %q", method, path, origin, got)
		}
		if got := len(h.Values("Set-Cookie")) > 0; got != (status == 200) {
			t.Errorf("%s %s from %s: a cookie: %t", method, path, origin, got)
		}
		if method == "OPTIONS" {
			// An origin that is not listed may be listed a moment later.
			if age := h.Get("Access-Control-Max-Age"); age != map[bool]string{true: "7200", false: "0"}[credentials] ||
				h.Get("Access-Control-Allow-Methods") != "POST" ||
				h.Get("Access-Control-Allow-Headers") != "Content-Type, Content-Encoding, X-Request-Id" {
				t.Errorf("preflight from %s: %v", origin, h)
			}
		}
	}
	f("OPTIONS", "/v1/events", testOrigin, 204, true)
	f("OPTIONS", "/v1/events", "https://outra.example.com", 204, true)
	f("OPTIONS", "/v1/events?companyId=co_test", testOrigin, 204, true)
	f("OPTIONS", "/v1/events?companyId=co_other", testOrigin, 204, false)
	f("OPTIONS", "/v1/events?companyId=co_nobody", testOrigin, 204, false)
	f("OPTIONS", "/v1/events", "https://evil.example", 204, false)
	f("POST", "/v1/events", testOrigin, 200, true)
	f("POST", "/v1/events", "https://outra.example.com", 403, false) // another company's
	f("POST", "/v1/events", "https://evil.example", 403, false)
	f("POST", "/v1/events", "null", 403, false)
	f("POST", "/v1/events", "http://loja.example.com", 403, false)
	f("POST", "/v1/events", "https://loja.example.com:8443", 403, false)

	// The developer of the page is told what to do.
	if _, text := s.do("POST", "/v1/events", batchOf(pageView(newID())), "Origin: https://new.example"); !strings.Contains(string(text),
		`in the dashboard, page \"Prepare your shop\", or by `+"`tributary company set co_test --add-origin https://new.example`") {
		t.Errorf("%s", text)
	}
	// Refusals for other reasons can be read, too.
	if response, _ := s.do("POST", "/v1/events", "{", "Origin: https://evil.example"); response.StatusCode != 400 ||
		response.Header.Get("Access-Control-Allow-Origin") != "https://evil.example" {
		t.Errorf("a body that is no JSON: %d %v", response.StatusCode, response.Header)
	}
	for _, odd := range []string{"*", "https://a.example, https://b.example", "https://" + strings.Repeat("a", 300)} {
		if response, _ := s.do("POST", "/v1/events", batchOf(pageView(newID())), "Origin: "+odd); response.StatusCode != 403 ||
			response.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("the origin %.20s: %d %v", odd, response.StatusCode, response.Header)
		}
	}
	// A frame in a sandbox, as Shopify's pixels are, has the origin "null".
	if _, text := s.do("POST", "/v1/events", batchOf(pageView(newID())), "Origin: null"); !strings.Contains(string(text),
		"allow null by `tributary company set co_test --add-origin null`") {
		t.Errorf("%s", text)
	}
	response, _ := s.do("OPTIONS", "/v1/events", "")
	if h := response.Header; response.StatusCode != 204 || h.Get("Allow") != "POST" || h.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("OPTIONS without an origin: %d %v", response.StatusCode, h)
	}
	if events := s.events(); len(events) != 1 {
		t.Errorf("%d events", len(events))
	}
}

// A company may list the origin of frames in a sandbox. Any page can make one: what it sends never has
// credentials, and it gets no cookie.
func TestASandboxedFrameSendsWithoutCredentials(t *testing.T) {
	s := newStand(t, nil)
	s.publishCompany(wire.Company{CompanyID: "co_pixel", Origins: []string{"null"}})
	s.eventually("both companies are known", func() bool { return s.edge.directory.state().Companies == 2 })
	body := strings.Replace(batchOf(pageView(newID())), "co_test", "co_pixel", 1)
	response, text := s.do("POST", "/v1/events", body, "Origin: null", "Sec-Fetch-Site: cross-site")
	if h := response.Header; response.StatusCode != 200 || h.Get("Access-Control-Allow-Origin") != "null" ||
		h.Get("Access-Control-Allow-Credentials") != "" || len(h.Values("Set-Cookie")) > 0 {
		t.Errorf("%d %v %s", response.StatusCode, h, text)
	}
	response, _ = s.do("OPTIONS", "/v1/events?companyId=co_pixel", "", "Origin: null", "Access-Control-Request-Method: POST")
	if h := response.Header; response.StatusCode != 204 || h.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("preflight: %d %v", response.StatusCode, h)
	}
	if response, _ := s.do("POST", "/v1/events", batchOf(pageView(newID())), "Origin: null"); response.StatusCode != 403 {
		t.Errorf("of another company: %d", response.StatusCode)
	}
}

func TestSDKFiles(t *testing.T) {
	const plain, brotli, gzip = "plain plain plain", "brotli", "gzip"
	s := newStand(t, func(_ *Config, d *Deps) {
		d.Assets = fstest.MapFS{
			"tributary.js":             {Data: []byte(plain)},
			"tributary.js.br":          {Data: []byte(brotli)},
			"tributary.js.gz":          {Data: []byte(gzip)},
			"core.0a1b2c3d.wasm":       {Data: []byte(plain)},
			"worker-0a1b2c3d4e5f.js":   {Data: []byte(plain)},
			"worker-0a1b2c3d4e5f.d.ts": {Data: []byte(plain)},
		}
	})
	f := func(name, accept, want, coding, contentType, cache string) {
		t.Helper()
		response, text := s.do("GET", "/sdk/v1/"+name, "", "Accept-Encoding: "+accept)
		h := response.Header
		if response.StatusCode != 200 || string(text) != want || h.Get("Content-Encoding") != coding || h.Get("Content-Type") != contentType ||
			!strings.Contains(h.Get("Cache-Control"), cache) {
			t.Errorf("%s, %s: %d %q %v", name, accept, response.StatusCode, text, h)
		}
		if h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Cross-Origin-Resource-Policy") != "cross-origin" {
			t.Errorf("%s: other pages cannot load it: %v", name, h)
		}
		response, text = s.do("GET", "/sdk/v1/"+name, "", "Accept-Encoding: "+accept, "If-None-Match: "+h.Get("ETag"))
		if response.StatusCode != 304 || len(text) != 0 {
			t.Errorf("%s again: %d", name, response.StatusCode)
		}
	}
	const js = "text/javascript; charset=utf-8"
	f("tributary.js", "gzip, deflate, br, zstd", brotli, "br", js, "max-age=300")
	f("tributary.js", "gzip, br;q=0", gzip, "gzip", js, "max-age=300")
	f("tributary.js", "identity", plain, "", js, "max-age=300")
	f("core.0a1b2c3d.wasm", "br", plain, "", "application/wasm", "immutable")
	f("worker-0a1b2c3d4e5f.js", "br", plain, "", js, "immutable")
	for _, name := range []string{"nope.js", "tributary.js.br", "../doc.go", ""} {
		if response, _ := s.do("GET", "/sdk/v1/"+name, ""); response.StatusCode != 404 {
			t.Errorf("%q: %d", name, response.StatusCode)
		}
	}
	if response, text := s.do("HEAD", "/sdk/v1/tributary.js", ""); response.StatusCode != 200 || len(text) != 0 ||
		response.ContentLength != int64(len(plain)) {
		t.Errorf("HEAD: %d, %d bytes", response.StatusCode, response.ContentLength)
	}
}

func TestPixel(t *testing.T) {
	s := newStand(t, nil)
	response, text := s.do("GET",
		"/v1/pixel.gif?companyId=co_test&event=PRODUCT_VIEW&visitorId=v-1&url=https%3A%2F%2Floja.example.com%2Fp&payload=%7B%22a%22%3A1%7D", "",
		"User-Agent: "+phone)
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != "image/gif" || !bytes.Equal(text, []byte(pixelGIF)) {
		t.Fatalf("%d %q", response.StatusCode, text)
	}
	events := s.events()
	if len(events) != 1 {
		t.Fatalf("%d events", len(events))
	}
	if e := events[0]; e.Event != "PRODUCT_VIEW" || e.Via != "pixel" ||
		e.VisitorID != testHasher(t).Company(testCompany, "BR").VisitorID("v-1") || e.Context.Page.URL != "https://loja.example.com/p" ||
		e.Context.UserAgent != phone || string(e.Payload) != `{"a":1}` {
		t.Errorf("%+v", e)
	}
	if response, _ = s.do("GET", "/v1/pixel.gif?companyId=co_nobody", ""); response.StatusCode != 401 {
		t.Errorf("unknown company: %d", response.StatusCode)
	}
	if response, _ = s.do("GET", "/v1/pixel.gif?companyId=co_test&payload=%7D", ""); response.StatusCode != 400 {
		t.Errorf("broken payload: %d", response.StatusCode)
	}
	// What follows the payload's value would be members of the event.
	more := url.QueryEscape(`{},"identity":{"email":"ana@example.com"},"a":{}`)
	if response, _ = s.do("GET", "/v1/pixel.gif?companyId=co_test&payload="+more, ""); response.StatusCode != 400 {
		t.Errorf("a payload that brings an identity: %d", response.StatusCode)
	}
}

func TestHealthAndMetrics(t *testing.T) {
	s := newStand(t, nil)
	s.post(200, batchOf(pageView(newID())))
	for path, want := range map[string]string{
		"/healthz": `"status":"ok"`,
		"/readyz":  `"status":"ready"`,
		"/metrics": `tributary_edge_events_total{status="ok"} 1`,
	} {
		if response, text := s.do("GET", path, ""); response.StatusCode != 200 || !strings.Contains(string(text), want) {
			t.Errorf("%s: %d %s", path, response.StatusCode, text)
		}
	}
}
