package edge

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// basic is the authorization of Segment's libraries.
func basic(writeKey string) string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(writeKey+":"))
}

// segmentAnswer is what Segment's libraries read.
type segmentAnswer struct {
	Success       bool
	Code, Message string
	Rejected      []struct {
		Index         int
		Code, Message string
	}
}

// segment sends a call and wants the status.
func (s *stand) segment(status int, call, body string, headers ...string) segmentAnswer {
	s.t.Helper()
	response, text := s.do("POST", "/segment/v1/"+call, body, append([]string{"Content-Type: application/json"}, headers...)...)
	var answer segmentAnswer
	if err := json.Unmarshal(text, &answer); err != nil || response.StatusCode != status {
		s.t.Fatalf("%s %.200s: status %d, want %d: %s", call, body, response.StatusCode, status, text)
	}
	if answer.Success != (status == http.StatusOK) || !answer.Success && (answer.Code == "" || answer.Message == "") {
		s.t.Errorf("status %d: %s", status, text)
	}
	return answer
}

// newSegmentStand is a stand with two companies and a key of each scope.
func newSegmentStand(t *testing.T, change func(*Config, *Deps)) *stand {
	s := newBroker(t, "")
	s.publishCompany(wire.Company{})
	s.publishCompany(wire.Company{CompanyID: "co_other"})
	s.publishKey("trb_live_write", wire.APIKey{KeyID: "key_w", Scopes: []string{wire.ScopeWriteEvents}})
	s.publishKey("trb_live_orders", wire.APIKey{KeyID: "key_o", Scopes: []string{"write_orders"}})
	s.publishKey("trb_live_other", wire.APIKey{KeyID: "key_x", Scopes: []string{wire.ScopeWriteEvents}, CompanyID: "co_other"})
	s.start(change)
	return s
}

func TestSegmentsWriteKeyIsAnAPIKeyOrACompany(t *testing.T) {
	s := newSegmentStand(t, nil)
	const event = `{"type":"track","event":"Seen","userId":"u-1","messageId":"m-1","timestamp":"2026-11-21T06:00:00.000Z"`
	const batch = `{"batch":[` + event + `}]}`
	want := 0
	taken := func(trust wire.Trust, company, call, body string, headers ...string) {
		t.Helper()
		s.segment(200, call, body, headers...)
		want++
		events := s.events()
		is := func(e wire.Event) bool { return e.Trust == trust && e.CompanyID == company }
		if len(events) != want || !slices.ContainsFunc(events, is) {
			t.Errorf("%d events, want %d, one of them %s of %s", len(events), want, trust, company)
		}
	}
	// The same messageId is another event of each company and trust.
	taken(wire.TrustOpen, testCompany, "batch", batch, basic(testCompany))
	taken(wire.TrustKey, testCompany, "batch", batch, basic("trb_live_write"))
	taken(wire.TrustOpen, "co_other", "track", event+`}`, basic("co_other"))
	taken(wire.TrustKey, "co_other", "t", event+`}`, by("trb_live_other"))
	for range 2 { // sent again it is the same
		s.segment(200, "batch", batch, basic(testCompany))
		s.segment(200, "t", event+`,"writeKey":"`+testCompany+`"}`)
		s.segment(200, "import", batch, basic("trb_live_write"), "Sec-Fetch-Mode: cors", "User-Agent: analytics-node-next/latest")
	}
	if events := s.events(); len(events) != want {
		t.Errorf("%d events, want %d: a message that was sent again is one", len(events), want)
	}

	refused := func(status int, code, body string, headers ...string) {
		t.Helper()
		if answer := s.segment(status, "batch", body, headers...); answer.Code != code {
			t.Errorf("%v: %+v, want %s", headers, answer, code)
		}
	}
	inBody := func(key string) string { return `{"writeKey":"` + key + `",` + batch[1:] }
	refused(401, "unauthorized", batch)
	refused(401, "unauthorized", batch, "Authorization: Basic !")
	refused(401, "unauthorized", batch, basic("trb_live_nobody"))
	refused(401, "unauthorized", batch, by("write"))
	refused(401, "unknown_company", batch, basic("Zx9nSegmentsOwnKey"))
	refused(400, "company_id_required", batch, basic(strings.Repeat("c", 100)))
	refused(403, "insufficient_scope", batch, basic("trb_live_orders"))
	refused(403, "key_in_browser", inBody("trb_live_write"))
	refused(403, "key_in_browser", inBody("trb_live_write"), "Origin: "+testOrigin)
	refused(403, "key_in_browser", batch, basic("trb_live_write"), "Origin: "+testOrigin)
	refused(403, "key_in_browser", batch, basic("trb_live_write"), "Sec-Fetch-Mode: cors", "User-Agent: Mozilla/5.0")
	refused(403, "key_in_browser", batch, basic("trb_live_write"), "Sec-Fetch-Site: none", "User-Agent: analytics-node-next/latest")
	refused(403, "origin_not_allowed", batch, basic(testCompany), "Origin: https://elsewhere.example")
	refused(415, "unsupported_media_type", batch, basic(testCompany), "Content-Type: application/x-www-form-urlencoded")
	refused(415, "unsupported_encoding", batch, basic(testCompany), "Content-Encoding: lzma")
	// Basic stays a proxy's at our own route.
	s.post(200, batchOf(pageView(newID())), basic("trb_live_orders"), "Origin: "+testOrigin)
}

// What names a shopper is hashed, and nothing that a stranger can write proves anything.
func TestWhatSegmentsCallsSayProvesNothing(t *testing.T) {
	s := newSegmentStand(t, func(c *Config, _ *Deps) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	keys := testHasher(t).Company(testCompany, "BR")
	const planted = "0b6f5d2e-4c1a-4e9f-8a3b-9d1c2e4f6a7b"
	network := func(address string) string { return keys.Network(netip.MustParseAddr(address)) }
	last := 0
	f := func(what, message, net string, headers ...string) wire.Event {
		t.Helper()
		s.segment(200, "track", message, append(headers, "X-Forwarded-For: 203.0.113.9")...)
		events := s.events()
		if last++; len(events) != last {
			t.Fatalf("%s: %d events, want %d", what, len(events), last)
		}
		e := events[last-1]
		if e.NetKey != net || e.Via != wire.ViaSegment {
			t.Errorf("%s: network %q by %s, want %q by segment", what, e.NetKey, e.Via, net)
		}
		if key := facts.VisitorKey(e.VisitorID); e.VisitorID != "" && key.Kind != facts.KeyUser {
			t.Errorf("%s: the visitor is a proof: %v", what, key)
		}
		if e.Identity.Verified {
			t.Errorf("%s: the log-in is verified", what)
		}
		return e
	}
	forged := `{"event":"Product Viewed","anonymousId":"` + planted + `","userId":"u-1","verified":true,"identity":{"verified":true},
		"companyId":"co_other","visitorId":"` + planted + `","netKey":"k1:x",
		"context":{"ip":"198.51.100.7","page":{"url":"https://loja.example.com/?ajs_aid=` + planted + `"}},
		"traits":{"email":"Ana@example.com"},"properties":{"product_id":"1","phone":"+5511912345678","cart_id":"skdjsidjsdkdj29j4f",
		"note":"ana@example.com of skdjsidjsdkdj29j4f"}}`
	e := f("a page", forged, network("203.0.113.9"), basic(testCompany), "Origin: "+testOrigin)
	if want := keys.VisitorID("segment:" + planted); e.VisitorID != want {
		t.Errorf("visitor %q, want %q", e.VisitorID, want)
	}
	want := wire.Identity{EmailKey: keys.Email("ana@example.com"), PhoneKey: keys.Phone("+5511912345678"), CustomerKey: keys.Customer("u-1"),
		CartKey: keys.Cart("skdjsidjsdkdj29j4f")}
	if e.Identity != want || e.IP != "203.0.113.0" {
		t.Errorf("%+v from %s, want %+v", e.Identity, e.IP, want)
	}
	if text := string(e.Payload); strings.Contains(text, "example.com") || strings.Contains(text, "skdj") ||
		!strings.Contains(text, `"item_id":"1"`) {
		t.Errorf("payload %s", text)
	}
	f("a page of another site", forged, "", basic(testCompany), "Origin: "+testOrigin, "Sec-Fetch-Site: cross-site")
	f("a server without a key", forged, "", basic(testCompany))
	if e := f("a server", forged, "", basic("trb_live_write")); (&facts.Event{Event: e}).Network() != "" {
		t.Error("a server's network is a proof")
	}
	for _, id := range []string{strings.ToUpper(planted), planted + ".1aaaaaaaaaaaa", testSigner(t).Sign("vid:", planted)} {
		f("the visitor "+id, `{"event":"X","anonymousId":"`+id+`"}`, network("203.0.113.9"), basic(testCompany), "Origin: "+testOrigin)
	}
	for _, r := range append(s.log(wire.TopicEvents), s.log(wire.TopicRejected)...) {
		if bytes.Contains(bytes.ToLower(r.Value), []byte("ana@example")) || bytes.Contains(r.Value, []byte("912345678")) {
			t.Errorf("in a topic: %s", r.Value)
		}
	}
}

// A bad message does not harm the others; libraries give up what is answered 400, and send again what is
// answered 429 or 5xx.
func TestSegmentsAnswers(t *testing.T) {
	s := newSegmentStand(t, nil)
	message := func(i int, properties string) string {
		return fmt.Sprintf(`{"type":"track","event":"Seen","messageId":"m-%d","timestamp":"2026-11-21T06:00:00Z","properties":{%s}}`, i,
			properties)
	}
	batch := func(messages ...string) string { return `{"batch":[` + strings.Join(messages, ",") + `]}` }
	answer := s.segment(200, "batch", batch(message(1, ""), `{"type":"dance","messageId":"m-2","traits":{"email":"ana@example.com"}}`,
		message(3, ""), message(4, `"x":"`+strings.Repeat("x", 33_000)+`"`)), basic(testCompany))
	var got []string
	for _, r := range answer.Rejected {
		got = append(got, fmt.Sprint(r.Index, r.Code))
	}
	if want := []string{"1invalid_event", "3event_too_large"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if answer := s.segment(400, "batch", batch(`{"type":"dance"}`), basic(testCompany)); answer.Code != "invalid_event" {
		t.Errorf("%+v", answer)
	}
	answer = s.segment(400, "track", `{"event":"Order Completed","userId":"u-1"}`, basic(testCompany))
	if answer.Code != "payload_items_required" {
		t.Errorf("%+v", answer)
	}
	events, letters := s.events(), s.log(wire.TopicRejected)
	if len(events) != 2 || len(letters) != 4 {
		t.Fatalf("%d events, %d dead letters", len(events), len(letters))
	}
	for _, l := range letters {
		if bytes.Contains(l.Value, []byte("ana@")) {
			t.Errorf("dead letter %s", l.Value)
		}
	}

	refused := func(code, call, body string, headers ...string) {
		t.Helper()
		if answer := s.segment(400, call, body, append(headers, basic(testCompany))...); answer.Code != code {
			t.Errorf("%.60s: %+v, want %s", body, answer, code)
		}
	}
	var large []string
	for i := range 20 {
		large = append(large, message(100+i, `"x":"`+strings.Repeat("x", 26_000)+`"`))
	}
	refused("payload_too_large", "batch", batch(large...))
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, _ = w.Write([]byte(`{"batch":[`))
	random := make([]byte, 20_000)
	for i := range large {
		_, _ = rand.Read(random)
		_, _ = w.Write([]byte(message(200+i, `"x":"`+base64.StdEncoding.EncodeToString(random)+`"`) + ","))
	}
	_, _ = w.Write([]byte(`{}]}`))
	_ = w.Close()
	refused("payload_too_large", "batch", zipped.String(), "Content-Encoding: gzip")
	refused("invalid_json", "batch", `{"batch":`+strings.Repeat(`[`, 100_000))
	refused("too_many_events", "batch", `{"batch":[`+strings.TrimSuffix(strings.Repeat("1,", 200_000), ",")+`]}`)
	refused("too_deep", "track", `{"event":"X","properties":{"a":`+strings.Repeat(`[`, 200)+strings.Repeat(`]`, 200)+`}}`)
	if answer := s.segment(200, "batch", batch(large[:19]...), basic(testCompany)); len(answer.Rejected) > 0 {
		t.Errorf("just below the bound: %+v", answer)
	}

	s.broker.Stop()
	response, _ := s.do("POST", "/segment/v1/batch", batch(message(9, "")), basic(testCompany), "Content-Type: application/json")
	if response.StatusCode != 503 || response.Header.Get("Retry-After") == "" {
		t.Errorf("without Kafka: %d %v", response.StatusCode, response.Header)
	}
}

// A page may send with Authorization, which needs a preflight; analytics-next asks where its events go.
func TestPagesUseSegmentsProtocol(t *testing.T) {
	s := newSegmentStand(t, func(c *Config, _ *Deps) { c.Prefix = "/t" })
	response, _ := s.do("OPTIONS", "/segment/v1/t", "", "Origin: "+testOrigin, "Access-Control-Request-Method: POST",
		"Access-Control-Request-Headers: authorization,x-retry-count")
	allowed := response.Header.Get("Access-Control-Allow-Headers")
	if response.StatusCode != 204 || !strings.Contains(allowed, "Authorization") || !strings.Contains(allowed, "X-Retry-Count") {
		t.Errorf("preflight: %d %v", response.StatusCode, response.Header)
	}
	response, _ = s.do("OPTIONS", "/v1/events", "", "Origin: "+testOrigin, "Access-Control-Request-Method: POST")
	if strings.Contains(response.Header.Get("Access-Control-Allow-Headers"), "Authorization") {
		t.Error("our own route allows a page an API key")
	}
	settings := func(path, host string, status int, headers ...string) (got struct {
		Code         string
		Integrations map[string]struct{ APIKey, APIHost, Protocol string }
	}) {
		t.Helper()
		response, text := s.do("GET", path, "", append(headers, "Host: "+host)...)
		if err := json.Unmarshal(text, &got); err != nil || response.StatusCode != status {
			t.Fatalf("%s: %d %s", path, response.StatusCode, text)
		}
		if len(headers) > 0 && response.Header.Get("Access-Control-Allow-Origin") == "" {
			t.Errorf("%s: a page cannot read the answer", path)
		}
		return got
	}
	const path = "/segment/v1/projects/" + testCompany + "/settings"
	f := func(path, host, apiHost, protocol string) {
		t.Helper()
		got := settings(path, host, 200, "Origin: "+testOrigin).Integrations["Segment.io"]
		if got.APIKey != testCompany || got.APIHost != apiHost || got.Protocol != protocol {
			t.Errorf("%s at %s: %+v", path, host, got)
		}
	}
	f(path, "collect.example.com", "collect.example.com/segment/v1", "https")
	f("/t"+path, "loja.example.com:8443", "loja.example.com:8443/t/segment/v1", "https")
	f(path, "127.0.0.1:7700", "127.0.0.1:7700/segment/v1", "http")
	f(path, "edge.localhost", "edge.localhost/segment/v1", "http")
	if got := settings(path, "x", 403, "Origin: https://elsewhere.example"); got.Code != "origin_not_allowed" {
		t.Errorf("%+v", got)
	}
	if got := settings("/segment/v1/projects/nobody/settings", "x", 401); got.Code != "unknown_company" {
		t.Errorf("%+v", got)
	}
	if got := settings("/segment/v1/projects/trb_live_write/settings", "x", 403); got.Code != "key_in_browser" {
		t.Errorf("%+v", got)
	}
	if got := settings("/segment/v1/dance", "x", 404, "Origin: "+testOrigin); got.Code != "not_found" {
		t.Errorf("%+v", got)
	}
}

// Some libraries leave out the path of their host.
func TestALibraryThatLeavesOutThePathIsToldHowToSetIt(t *testing.T) {
	s := newSegmentStand(t, func(c *Config, _ *Deps) { c.Prefix = "/t" })
	f := func(method, path, says string) {
		t.Helper()
		response, text := s.do(method, path, `{}`, basic(testCompany))
		if response.StatusCode != 404 || !strings.Contains(string(text), says) {
			t.Errorf("%s: %d %s, want %s", path, response.StatusCode, text, says)
		}
	}
	f("POST", "/v1/batch", `is at /t/segment/v1/batch`)
	f("POST", "/t/v1/batch", `its path to /t/segment/v1/batch`)
	f("POST", "/v1/t", `is at /t/segment/v1/t`)
	f("GET", "/v1/projects/"+testCompany+"/settings", `is at /t/segment/v1/projects/`+testCompany+`/settings`)
	f("POST", "/v1/"+strings.Repeat("x", 300), `no such route`)
}
