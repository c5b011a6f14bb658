package edge

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/produce"
	"github.com/tributary-io/tributary/internal/wire"
)

// letters reads rejected.v1.
func (s *stand) letters() []wire.Rejected {
	s.t.Helper()
	var letters []wire.Rejected
	for _, r := range s.log(wire.TopicRejected) {
		var letter wire.Rejected
		if err := json.Unmarshal(r.Value, &letter); err != nil {
			s.t.Fatal(err)
		}
		letters = append(letters, letter)
	}
	return letters
}

// metric is the value of the edge's series "name" or "name{label=\"value\"}", 0
// if it has none yet.
func (s *stand) metric(series string) float64 {
	s.t.Helper()
	_, page := s.do("GET", "/metrics", "")
	for line := range strings.Lines(string(page)) {
		if value, found := strings.CutPrefix(line, "tributary_edge_"+series+" "); found {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return n
		}
	}
	return 0
}

func TestRejectionsOfOneRequestAreOneLetterForEachReason(t *testing.T) {
	s := newStand(t, nil)
	items := slices.Repeat([]string{"1"}, 400)
	items = append(items, slices.Repeat([]string{`{"event":"X","seq":-1}`}, 99)...)
	items = append(items, pageView(newID()))
	answer := s.post(200, batchOf(items...))
	rejected := 0
	for _, r := range answer.Results {
		if r.Status == "rejected" && r.Code != "" {
			rejected++
		}
	}
	if rejected != 499 || len(s.events()) != 1 {
		t.Errorf("%d of 499 are answered as rejected, %d events are stored", rejected, len(s.events()))
	}
	got := map[string]int{}
	size := 0
	for _, r := range s.log(wire.TopicRejected) {
		size += len(r.Value)
	}
	for _, letter := range s.letters() {
		got[letter.Code] += letter.Count
	}
	if len(s.letters()) != 2 || got["invalid_event"] != 400 || got["invalid_field"] != 99 {
		t.Errorf("letters %v", got)
	}
	if size > 1000 {
		t.Errorf("the letters have %d bytes", size)
	}
	if n := s.metric(`events_total{status="rejected"}`); n != 499 {
		t.Errorf("the metrics count %v", n)
	}
}

// What an event's size or shape refuses is neither redacted nor kept.
func TestAnEventIsJudgedBeforeItIsScrubbed(t *testing.T) {
	s := newStand(t, nil)
	f := func(code, event string, redacted float64) {
		t.Helper()
		before, letters := s.metric("redacted_bytes_total"), len(s.letters())
		if got := s.post(200, batchOf(event)).Results[0].Code; got != code {
			t.Errorf("%.60s: %s, want %s", event, got, code)
		}
		after := s.letters()
		if len(after) != letters+1 {
			t.Fatalf("%d letters", len(after)-letters)
		}
		letter := after[slices.IndexFunc(after, func(l wire.Rejected) bool { return l.Code == code })]
		if n := s.metric("redacted_bytes_total") - before; n != redacted || (letter.Body != "") != (redacted > 0) {
			t.Errorf("%s: %v bytes are redacted, want %v; body %.80s", code, n, redacted, letter.Body)
		}
		if want := testHasher(t).Company(testCompany, "BR").Digest([]byte(event)); letter.Digest != want {
			t.Errorf("%s: digest %s, want %s", code, letter.Digest, want)
		}
	}
	escapes := func(n int) string { return strings.Repeat("%25", n) + "40x.com" }
	f("event_too_large", `{"event":"X","payload":{"a":"`+escapes(300_000)+`"}}`, 0)
	f("too_deep", `{"event":"X","payload":{"a":`+strings.Repeat("[", 4000)+strings.Repeat("]", 4000)+`}}`, 0)
	f("number_out_of_range", `{"event":"X","payload":{"n":1e999,"a":"`+escapes(2000)+`"}}`, 0)
	f("invalid_json", `{"event":"X","payload":{"a":"`+escapes(2000)+`" "b"}}`, 0)
	f("invalid_event_id", `{"event":"X","eventId":"`+escapes(4000)+`"}`, 0) // more than is redacted of a request
	small := `{"event":"X","seq":-1,"payload":{"a":"` + escapes(20) + `"}}`
	f("invalid_field", small, float64(len(small)))
}

// What is redacted of a request is bounded, however many reasons it has.
func TestLittleOfARequestIsRedacted(t *testing.T) {
	s := newStand(t, nil)
	var items []string
	for _, fault := range []string{`"seq":-1`, `"eventId":"x"`, `"timestamp":"x"`, `"payload":1`, `"identity":1`, `"context":1`} {
		items = append(items, fmt.Sprintf(`{"event":"X",%s,"a":"%s"}`, fault, strings.Repeat("x", 3000)))
	}
	s.post(200, batchOf(items...))
	bodies := 0
	for _, letter := range s.letters() {
		if letter.Body != "" {
			bodies++
		}
	}
	if n := s.metric("redacted_bytes_total"); len(s.letters()) != 6 || bodies != 2 || n > maxRejectedBody {
		t.Errorf("%v bytes are redacted for %d bodies of %d letters", n, bodies, len(s.letters()))
	}
}

// limited is an edge whose clock stands still, behind a proxy that names the
// client, with room for so many tokens of one network and one company.
func limited(t *testing.T, network, company int, more func(*Config)) *stand {
	t.Helper()
	now := time.Now()
	s := newBroker(t, "")
	s.publishCompany(wire.Company{Limits: wire.Limits{EventsPerSecond: 0.001, Burst: company}})
	s.publishCompany(wire.Company{CompanyID: "co_other"})
	s.publishKey(testKey, wire.APIKey{Scopes: []string{wire.ScopeWriteEvents}})
	s.publish(wire.LinkKeyPrefix+testCode, wire.Link{V: 1, Rev: 1, CompanyID: testCompany, LinkID: "link_1", URL: testLink, Influencer: "Ana"})
	s.publish(wire.LinkKeyPrefix+"Other1", wire.Link{V: 1, Rev: 1, CompanyID: testCompany, LinkID: "link_2", URL: testLink, Influencer: "Bia"})
	s.start(func(c *Config, d *Deps) {
		d.Now = func() time.Time { return now }
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		c.NetworkPerSecond, c.NetworkBurst, c.ClicksPerSecond = 0.001, network, 0.001
		if more != nil {
			more(c)
		}
	})
	s.eventually("all is read", func() bool { return s.edge.directory.state().Links == 2 })
	return s
}

func of(address string) string { return "X-Forwarded-For: " + address }

func TestANetworkPaysForWhateverItSends(t *testing.T) {
	s := limited(t, 100, 10_000, nil)
	networks := 0
	f := func(tokens int, status int, body string, headers ...string) {
		t.Helper()
		network := fmt.Sprintf("198.51.%d.", networks)
		networks++
		sent := 0
		for sent*tokens < 100 { // until nothing is left
			if response, text := s.do("POST", "/v1/events", body, append(headers, of(network+"7"))...); response.StatusCode != status {
				t.Fatalf("%.40s: request %d: %d %s", body, sent, response.StatusCode, text)
			}
			sent++
		}
		answer := s.post(429, batchOf(pageView(newID())), of(network+"200"))
		if answer.Error.Code != "rate_limit_exceeded" || !strings.Contains(answer.Error.Message, "network") {
			t.Errorf("%.40s: after %d requests of %d tokens: %+v", body, sent, tokens, answer.Error)
		}
	}
	var ids strings.Builder
	for ids.Len() < 24*tokenBytes+1 {
		ids.WriteString(newID())
	}
	f(1, 200, batchOf(pageView(newID())))
	f(40, 200, batchOf(slices.Repeat([]string{"1"}, 40)...))                               // rejected
	f(1, 400, "{")                                                                         // no body of events
	f(8, 400, strings.Repeat(" ", 16_000))                                                 // … and what it is long
	f(25, 400, packed(t, "gzip", ids.String()), "Content-Encoding: gzip")                  // inflated
	f(128, 413, packed(t, "gzip", strings.Repeat(" ", 200_000)), "Content-Encoding: gzip") // as much as an encoding can make the edge do
	f(1, 401, `{"companyId":"co_nobody","event":"X"}`)
	f(1, 401, batchOf(pageView(newID())), by("wrong"))
	f(1, 401, batchOf(pageView(newID())), by(strings.Repeat("k", 5000)))

	for i := range 100 {
		if response, _ := s.do("GET", "/v1/pixel.gif?companyId="+testCompany+"&payload=%5B", "", of("192.0.2.1")); response.StatusCode != 400 {
			t.Fatalf("pixel %d: %d", i, response.StatusCode)
		}
	}
	if response, _ := s.do("GET", "/v1/pixel.gif?companyId="+testCompany, "", of("192.0.2.2")); response.StatusCode != 429 ||
		response.Header.Get("Retry-After") == "" {
		t.Errorf("pixel: %d", response.StatusCode)
	}
	s.post(200, batchOf(pageView(newID())), of("203.0.113.7")) // another network
}

// A company's backend is neither kept out by strangers of its network nor by those
// who use up what the company may get without a key.
func TestABackendWithAKeyIsNotLimitedByStrangers(t *testing.T) {
	s := limited(t, 600, 512, nil)
	full := batchOf(slices.Repeat([]string{"1"}, 500)...)
	s.post(200, full, of("198.51.100.7"))
	s.post(429, full, of("203.0.113.7")) // the company's open tokens
	s.post(200, full, of("198.51.100.7"), by(testKey))
	s.post(429, full, of("192.0.2.7"))
	for range 3 {
		s.do("POST", "/v1/events", "{", of("198.51.100.7"))
	}
	s.post(200, batchOf(pageView(newID())), of("198.51.100.7"), by(testKey))
	// What the key sends beyond that is its company's too.
	s.post(200, full, of("198.51.100.7"), by(testKey))
	if answer := s.post(429, batchOf(pageView(newID())), of("203.0.113.99"), by(testKey)); strings.Contains(answer.Error.Message, "network") {
		t.Errorf("%+v", answer.Error)
	}
	s.post(200, `{"companyId":"co_other","event":"X"}`, of("203.0.113.7"))
}

func TestClicksOfOneNetworkOnOneLinkAreLimited(t *testing.T) {
	s := limited(t, 100, 1000, func(c *Config) { c.ClickBurst = 5 })
	click := func(code, address, agent string) {
		t.Helper()
		response, _ := s.do("GET", "/s/"+code, "", of(address), "User-Agent: "+agent)
		if response.StatusCode != 302 || !strings.Contains(response.Header.Get("Location"), "trb_click="+code) {
			t.Fatalf("%d %s", response.StatusCode, response.Header.Get("Location"))
		}
	}
	count := func(counted, repeated, limited float64) {
		t.Helper()
		s.eventually("the clicks are written", func() bool { return len(s.events()) == int(counted) })
		if n, m := s.metric(`clicks_total{outcome="repeated"}`), s.metric(`clicks_total{outcome="limited"}`); n != repeated || m != limited {
			t.Errorf("%v repeated, %v limited, want %v and %v", n, m, repeated, limited)
		}
	}
	for range 50 {
		click(testCode, "198.51.100.7", phone)
	}
	count(1, 49, 0)
	for i := range 50 { // another visitor each time, it seems
		click(testCode, fmt.Sprint("198.51.100.", i), fmt.Sprint(phone, i))
	}
	count(5, 49, 46)
	click("Other1", "198.51.100.7", phone)
	click(testCode, "203.0.113.7", phone)
	count(7, 49, 46)
	for i := range 50 { // one customer's addresses
		click(testCode, fmt.Sprintf("2001:db8:1:2::%x", i), phone)
	}
	count(8, 98, 46)
}

// internal asks the edge's internal routes.
func (s *stand) internal(path string) (status int, body string) {
	s.t.Helper()
	recorder := httptest.NewRecorder()
	s.edge.Internal().ServeHTTP(recorder, httptest.NewRequestWithContext(s.t.Context(), "GET", path, nil))
	return recorder.Code, recorder.Body.String()
}

func TestWithAnInternalPortThePublicOneOnlySaysReadyOrNot(t *testing.T) {
	s := newStand(t, func(c *Config, _ *Deps) { c.Internal = true })
	f := func(path string, status int, want string) {
		t.Helper()
		response, text := s.do("GET", path, "")
		if response.StatusCode != status || want != "" && string(text) != want {
			t.Errorf("%s: %d %s", path, response.StatusCode, text)
		}
	}
	s.post(200, batchOf(pageView(newID())))
	f("/healthz", 200, `{"status":"ok"}`)
	f("/readyz", 200, `{"status":"ready"}`)
	f("/metrics", 404, "")
	if status, text := s.internal("/readyz"); status != 200 || !strings.Contains(text, `"last_produce_ms":`) ||
		!strings.Contains(text, `"companies":1`) {
		t.Errorf("the internal readyz: %d %s", status, text)
	}
	if status, text := s.internal("/metrics"); status != 200 || !strings.Contains(text, `tributary_edge_events_total{status="ok"} 1`) {
		t.Errorf("the internal metrics: %d %.200s", status, text)
	}
	if status, text := s.internal("/healthz"); status != 200 || text != `{"status":"ok"}` {
		t.Errorf("the internal healthz: %d %s", status, text)
	}
	for _, path := range []string{"/v1/events", "/s/" + testCode} {
		if status, _ := s.internal(path); status != 404 {
			t.Errorf("%s on the internal port: %d", path, status)
		}
	}
	s.publishCompany(wire.Company{CompanyID: "co_wrong", KeyCheck: "k1:other"})
	s.eventually("the wrong secret is seen", func() bool { status, _ := s.internal("/readyz"); return status == 503 })
	f("/readyz", 503, `{"status":"not_ready"}`)
}

// tally counts the records that are produced, by topic.
type tally struct {
	sink
	mu      sync.Mutex
	records map[string]int
	bytes   int
}

func (p *tally) ProducePartition(_ context.Context, topic string, _ int, records []kafka.Record) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.records[topic] += len(records)
	for _, r := range records {
		p.bytes += len(r.Value)
	}
	return nil
}

// What a hostile request makes the edge produce and allocate. How much CPU it
// takes is measured by test/bench/edge -attacks.
func TestAHostileRequestCostsLittle(t *testing.T) {
	s := benchServer(t)
	full := func(text string) string {
		return `{"companyId":"` + testCompany + `","event":"X","payload":{"a":"` + strings.Repeat(text, 32_000/len(text)) + `"}}`
	}
	f := func(name, body string, events, letters, bytes int, allocs float64) {
		t.Helper()
		produced := &tally{records: map[string]int{}}
		s.batcher.Close(t.Context())
		s.batcher = produce.NewBatcher(produced, produce.Config{Linger: time.Millisecond})
		const runs = 20
		requests := make([]*fasthttp.RequestCtx, runs+1) // AllocsPerRun warms up with one
		for i := range requests {
			requests[i] = benchRequest(1)
			requests[i].Request.SetBodyString(body)
		}
		next := 0
		got := testing.AllocsPerRun(runs, func() {
			s.handle(requests[next])
			next++
		})
		if status := requests[0].Response.StatusCode(); status != 200 {
			t.Fatalf("%s: %d %s", name, status, requests[0].Response.Body())
		}
		produced.mu.Lock()
		defer produced.mu.Unlock()
		if n, m := produced.records[wire.TopicEvents], produced.records[wire.TopicRejected]; n != events*(runs+1) || m != letters*(runs+1) {
			t.Errorf("%s: %d events and %d letters of %d requests", name, n, m, runs+1)
		}
		if produced.bytes > bytes*(runs+1) {
			t.Errorf("%s: %d bytes a request, more than %d", name, produced.bytes/(runs+1), bytes)
		}
		if got > allocs {
			t.Errorf("%s: %v allocations, more than %v", name, got, allocs)
		}
		t.Logf("%s: %d bytes a request, %v allocations", name, produced.bytes/(runs+1), got)
	}
	item := func(event string) string { return batchOf(slices.Repeat([]string{event}, 500)...) }
	// A notice of rejected events is a record of events.v1.
	f("500 items that are no events", item("1"), 1, 1, 500, 700)
	f("an oversized event", `{"companyId":"`+testCompany+`","event":"X","payload":{"a":"`+strings.Repeat("%25", 300_000)+`"}}`, 1, 1, 500, 100)
	f("phones", full("+5511987654321 "), 1, 0, 33_000, 120)
	f("e-mails", full("a@b.cc "), 1, 0, 45_000, 120)
	f("escapes", full("%2540"), 1, 0, 33_000, 120)
	f("no UTF-8", full("\xffa"), 1, 0, 65_000, 120)
}
