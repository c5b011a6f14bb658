package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/test/await"
)

// sendPixels sends values in the pixel's query, and in the header from which it
// takes the page.
func (s *sender) sendPixels() {
	p := &s.planted
	pixel := func(header map[string]string, pairs ...string) {
		query := url.Values{"companyId": {s.dev.CompanyID}}
		for i := 0; i < len(pairs); i += 2 {
			query.Set(pairs[i], pairs[i+1])
		}
		request, err := s.request(http.MethodGet, s.dev.EdgeURL+"/v1/pixel.gif?"+query.Encode(), "", header)
		s.do(request, err, http.StatusOK)
	}
	pixel(nil, "url", "https://wa.me/55"+p.phone("pixel, url"), "referrer",
		"https://loja.example.com/?e="+escaped(p.email("pixel, referrer"), 1), "title", names+" +"+p.foreign("pixel, title"))
	pixel(nil, "visitorId", p.email("pixel, visitorId"), "sessionId", "55"+p.phone("pixel, sessionId"), "payload",
		`{"contactNumber":"`+p.phone("pixel, payload")+`","e":"`+p.email("pixel, payload")+`"}`)
	pixel(map[string]string{"Referer": "https://loja.example.com/?email=" + p.email("pixel, Referer"),
		"User-Agent": "App/1 " + p.phone("pixel, User-Agent"),
		"Cookie":     "trb_vid=" + p.email("pixel, cookie trb_vid")}, "email", p.email("pixel, email"), "phone", p.phone("pixel, phone"))
	s.events += 3
	pixel(nil, "eventId", p.email("pixel, eventId"), "url", "https://loja.example.com/?e="+p.email("pixel, rejected, url"))
	pixel(nil, "event", p.phone("pixel, event"))
	s.rejected += 2
}

// openLink opens a short link with values around it, each time as another browser:
// who opens a link twice within seconds makes one click.
func (s *sender) openLink() {
	p := &s.planted
	open := func(query string, header map[string]string) {
		request, err := s.request(http.MethodGet, s.short+query, "", header)
		s.do(request, err, http.StatusFound)
		s.events++
	}
	open("?email="+p.email("link, query")+"&phone=55"+p.phone("link, query"), nil)
	open("", map[string]string{"Referer": "https://wa.me/55" + p.phone("link, Referer"),
		"User-Agent": "Mozilla/5.0 " + p.email("link, User-Agent")})
	open("", map[string]string{"Referer": "https://mail.example.com/?to=" + escaped(p.email("link, Referer"), 2),
		"User-Agent": "Mozilla/5.0 55" + p.phone("link, User-Agent")})
	open("", map[string]string{"Cookie": "trb_vid=" + p.email("link, cookie trb_vid") + "; trb_id=" + p.phone("link, cookie trb_id"),
		"User-Agent": "Mozilla/5.0 another", "Accept-Language": p.email("link, Accept-Language")})
	request, err := s.request(http.MethodGet, s.short+"/"+p.email("link, path"), "", nil)
	s.do(request, err, http.StatusNotFound, http.StatusServiceUnavailable)
}

// sendHeaders sends values in headers, of requests that are taken and of others.
func (s *sender) sendHeaders() {
	p := &s.planted
	for _, name := range []string{"X-Request-Id", "Referer", "User-Agent", "Accept-Language", "X-Forwarded-For",
		"Authorization", "X-Anything"} {
		for _, value := range []string{p.email("header " + name), "55" + p.phone("header "+name+", a phone")} {
			s.post("["+s.event("context.locale", "pt-BR")+"]", map[string]string{"Content-Type": "application/json", name: value}, 1, "ok")
			s.events++
			if name != "Authorization" {
				request, err := s.request(http.MethodGet, s.dev.AdminURL+"/influencers", "",
					map[string]string{"Authorization": "Bearer " + s.dev.APIKey, name: value})
				s.do(request, err, http.StatusOK)
			}
		}
	}
	for _, cookie := range []string{"trb_vid=" + p.email("cookie trb_vid"), "trb_vid=55" + p.phone("cookie trb_vid"),
		"trb_id=" + p.email("cookie trb_id"), "other=" + p.email("another cookie")} {
		s.post("["+s.event("context.locale", "pt-BR")+"]",
			map[string]string{"Cookie": cookie, "Origin": "https://loja.example.com", "Sec-Fetch-Site": "same-site"}, 1, "ok")
		s.events++
	}
	request, err := s.request(http.MethodPost, s.dev.EdgeURL+"/v1/events?companyId="+s.dev.CompanyID, s.event("context.locale", "pt-BR"),
		map[string]string{"Origin": "https://" + p.email("header Origin")})
	s.do(request, err, http.StatusForbidden)
	request, err = s.request(http.MethodGet, s.dev.AdminURL+"/influencers", "",
		map[string]string{"Authorization": "Bearer " + p.email("header Authorization, admin")})
	s.do(request, err, http.StatusUnauthorized)
	for _, base := range []string{s.dev.EdgeURL, s.dev.AdminURL} {
		request, err := s.request(http.MethodGet,
			base+"/nothing/"+p.email("an unknown path")+"?email="+p.email("query of an unknown path"), "", nil)
		s.do(request, err, http.StatusNotFound)
	}
	request, err = s.request(http.MethodGet, s.dev.AdminURL+"/influencers", "",
		map[string]string{"Authorization": "Bearer " + s.dev.APIKey, "X-Request-Id": names + "-1"})
	s.do(request, err, http.StatusOK)
}

// sendBrokenHTTP sends values in what is no HTTP, or too much of it, or ends early.
func (s *sender) sendBrokenHTTP() {
	p := &s.planted
	for _, base := range []string{s.dev.EdgeURL, s.dev.AdminURL} {
		at, err := url.Parse(base)
		if err != nil {
			s.t.Fatal(err)
		}
		begin := "POST " + at.Path + "/order HTTP/1.1\r\nHost: " + at.Host + "\r\n"
		for _, text := range []string{
			p.email("not HTTP, "+base) + " " + p.phone("not HTTP, "+base) + "\r\n\r\n",
			"GET /v1/pixel.gif?email=" + p.email("a broken header, query, "+base) + " HTTP/1.1\r\nHost: x\r\n" +
				p.email("a broken header, "+base) + "\r\n\r\n",
			"GET /" + p.email("a broken version, "+base) + " HTTP/x\r\n\r\n",
			"PATCH" + p.phone("a broken method, "+base) + "@ / HTTP/1.1\r\nHost: x\r\n\r\n",
			begin + "X-Long: " + p.email("headers too large, "+base) + strings.Repeat("x", 64<<10) + "\r\n\r\n",
			begin + "Content-Length: " + p.phone("a broken length, "+base) + "x\r\n\r\n" + p.email("body after a broken length, "+base),
			begin + "Transfer-Encoding: chunked\r\n\r\n" + p.email("a broken chunk, "+base) + "\r\n",
			begin + "Content-Length: 4000\r\n\r\n" + p.email("a body that ends early, "+base),
		} {
			s.exchange(at.Host, text)
		}
	}
}

// exchange sends bytes on a connection of its own and reads until its end.
func (s *sender) exchange(host, text string) {
	s.t.Helper()
	c, err := net.DialTimeout("tcp", host, await.Long)
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(await.Long)); err != nil {
		s.t.Fatal(err)
	}
	_, _ = io.WriteString(c, text) // it may be refused before all is sent
	if err := c.(*net.TCPConn).CloseWrite(); err == nil {
		_, _ = io.Copy(io.Discard, c) // how it is answered does not matter here
	}
}

// sendOrders sends orders with values in the fields that are for them, and in
// all others that take a text. Each order has two versions with the same values: the body
// of an order's only version is stored with the order, not with the version.
func (s *sender) sendOrders() {
	p := &s.planted
	created := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	send := func(header map[string]string, fields map[string]any) {
		s.t.Helper()
		version := map[string]any{"orderId": "o-" + uuid.NewString(), "createdAt": created, "updatedAt": created}
		maps.Copy(version, fields)
		s.postOrder(nil, version, http.StatusOK)
		delete(version, "updatedAt")
		s.postOrder(header, version, http.StatusOK) // updated now
		s.orders++
	}
	send(nil, map[string]any{"name": names})
	field := func(name string, values ...string) {
		for _, value := range values {
			send(nil, map[string]any{name: value})
		}
	}
	for _, name := range []string{"utmSource", "utmMedium", "utmCampaign", "utmContent", "utmTerm", "name"} {
		field(name, p.email("order."+name), escaped(p.email("order."+name+", %40"), 1), fullwidth(p.email("order."+name+", fullwidth")),
			"+"+p.foreign("order."+name), grouped(p.phone("order."+name)), "https://wa.me/55"+p.phone("order."+name+", wa.me"))
	}
	for _, name := range []string{"item_id", "itemId", "productId", "variantId", "name", "sku"} {
		for _, value := range []string{p.email("order.items[]." + name), "+" + p.foreign("order.items[]."+name),
			grouped(p.phone("order.items[]." + name))} {
			send(nil, map[string]any{"items": []any{map[string]any{name: value, "quantity": 1}}})
		}
	}
	send(nil, map[string]any{"note": p.email("order, an unknown field"), "customerEmail": p.email("order, an unknown field"),
		"subscription": map[string]any{"isRecurring": true, "phone": p.phone("order.subscription, an unknown field")}})
	for _, key := range []string{p.email("Idempotency-Key"), "55" + p.phone("Idempotency-Key"), p.customer("Idempotency-Key"),
		escaped(p.email("Idempotency-Key, %40"), 1)} {
		send(map[string]string{"Idempotency-Key": key}, nil)
		s.keyed++
	}

	p.keep = true
	defer func() { p.keep = false }()
	field("userId", p.email("order.userId"), "55"+p.phone("order.userId, a phone"), escaped(p.email("order.userId, %40"), 1),
		p.customer("order.userId, a customer id"))
	field("cartToken", p.customer("order.cartToken"), p.email("order.cartToken, an e-mail"))
	field("userAgent", "App/1 "+p.email("order.userAgent"))
	send(map[string]string{"Idempotency-Key": "k-1"}, map[string]any{"customer": map[string]any{
		"customerId": p.customer("order.customer.customerId"), "name": p.person("order.customer.name"), "email": p.email("order.customer.email"),
		"phone": "+55" + p.phone("order.customer.phone"), "zip": p.phone("order.customer.zip"), "city": p.person("order.customer.city"),
		"provinceCode": p.customer("order.customer.provinceCode"), "countryCode": p.customer("order.customer.countryCode"),
	}})
	s.keyed++
	send(nil, map[string]any{"customer": map[string]any{
		"customerId": p.email("order.customer.customerId, an e-mail"), "email": strings.ToUpper(p.email("order.customer.email, in capitals")),
		"phone": "+" + p.foreign("order.customer.phone, foreign"),
	}})
}

// sendRefusedOrders sends orders that break a rule.
func (s *sender) sendRefusedOrders() {
	p := &s.planted
	for _, fields := range []map[string]any{
		{"totalPrice": p.phone("refused order, totalPrice")},
		{"createdAt": p.email("refused order, createdAt")},
		{"currency": p.email("refused order, currency"), "customer": map[string]any{"email": p.email("refused order, customer.email")}},
		{"countryCode": p.email("refused order, countryCode")},
		{"browserIp": p.email("refused order, browserIp")},
		{"orderStatus": 55, "customer": p.email("refused order, customer")},
		{"userId": p.email("refused order, userId") + strings.Repeat("x", 300)},
		{"customer": map[string]any{"birthdate": p.phone("refused order, birthdate"), p.email("refused order, a name"): 1}},
	} {
		s.postOrder(map[string]string{"Idempotency-Key": p.email("Idempotency-Key of a refused order"), "Prefer": "handling=strict"}, fields,
			http.StatusBadRequest)
	}
	for _, body := range []string{p.email("refused order, not JSON"), `{"orderId":"` + p.email("refused order, JSON that ends early")} {
		request, err := s.request(http.MethodPost, s.dev.AdminURL+"/order", body,
			map[string]string{"Authorization": "Bearer " + s.dev.APIKey, "Content-Type": "application/json"})
		s.do(request, err, http.StatusBadRequest)
	}
	request, err := s.request(http.MethodGet, s.dev.AdminURL+"/order/"+p.email("id of no order")+"/attribution", "",
		map[string]string{"Authorization": "Bearer " + s.dev.APIKey})
	s.do(request, err, http.StatusNotFound)
}

// postOrder sends a valid order with some fields set.
func (s *sender) postOrder(header map[string]string, fields map[string]any, want int) {
	s.t.Helper()
	o := order("o-"+uuid.NewString(), "10.00", "")
	for name, value := range fields {
		o[name] = value
	}
	text, err := json.Marshal(o)
	if err != nil {
		s.t.Fatal(err)
	}
	all := map[string]string{"Authorization": "Bearer " + s.dev.APIKey, "Content-Type": "application/json"}
	for name, value := range header {
		all[name] = value
	}
	request, err := s.request(http.MethodPost, s.dev.AdminURL+"/order", string(text), all)
	s.do(request, err, want)
}

// importFiles imports a history with values in it, also in lines that are rejected.
func (s *sender) importFiles() {
	p := &s.planted
	run := func(kind, text string, wantStatus int, args ...string) {
		s.t.Helper()
		file := filepath.Join(s.t.TempDir(), kind+".jsonl")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
		out, status := runToEnd(s.t, append([]string{"import", kind, file}, args...)...)
		if status != wantStatus {
			s.t.Fatalf("tributary import %s: exit status %d, want %d\n%s", kind, status, wantStatus, out)
		}
		s.output.WriteString(out)
	}
	withoutID := fmt.Sprintf(`{"event":"PAGE_VIEW","timestamp":"2019-10-01T00:00:01Z","visitorId":%q,"identity":{"phone":%q}}`,
		"55"+p.phone("import, visitorId"), p.phone("import, identity"))
	run("events", strings.Join([]string{
		withoutID,
		s.event("context.page.url", "https://wa.me/55"+p.phone("import, url")),
		s.event("payload.phones", []any{p.phone("import, payload")}),
		`{"event":"PAGE_VIEW","eventId":"` + p.email("import, eventId") + `"}`,
		`{"event":"PAGE_VIEW","visitorId":"` + p.email("import, no timestamp") + `"}`,
		p.email("import, not JSON"),
	}, "\n")+"\n", 3, "--edge", s.dev.EdgeURL, "--company", s.dev.CompanyID, "--key", s.dev.APIKey)
	s.events += 3
	s.rejected++

	o := order("o-imported", "10.00", "")
	o["utmCampaign"] = p.email("import, utmCampaign")
	p.keep = true
	o["customer"] = map[string]any{"email": p.email("import, customer.email"), "phone": p.phone("import, customer.phone")}
	p.keep = false
	good, err := json.Marshal(o)
	if err != nil {
		s.t.Fatal(err)
	}
	run("orders", string(good)+"\n"+`{"orderId":"o-refused","customer":{"email":"`+p.email("import, a refused order")+`"}}`+"\n", 3,
		"--admin", s.dev.AdminURL, "--key", s.dev.APIKey)
	s.orders++
}

// useDashboard sends values to pages, as a person does who mistakes a field.
func (s *sender) useDashboard() {
	p := &s.planted
	for range 2 {
		form := url.Values{"email": {p.email("dashboard, an unknown person")}, "password": {p.phone("dashboard, a wrong password")},
			"next": {"/dashboard/" + p.email("dashboard, next")}}
		request, err := s.request(http.MethodPost, s.dev.DashboardURL+"/login?email="+p.email("dashboard, query"), form.Encode(),
			map[string]string{"Content-Type": "application/x-www-form-urlencoded"})
		s.do(request, err, http.StatusUnauthorized)
	}
	request, err := s.request(http.MethodGet, s.dev.DashboardURL+"/"+p.email("dashboard, an unknown path"), "", nil)
	s.do(request, err, http.StatusNotFound, http.StatusSeeOther)
}
