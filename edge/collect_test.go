package edge

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/tributary-io/tributary/internal/wire"
)

func TestEventIsHashedScrubbedAndEnriched(t *testing.T) {
	s := newStand(t, nil)
	id := newID()
	before := time.Now().UTC().Truncate(time.Millisecond)
	sentAt := before.Add(-90 * time.Second)
	body := fmt.Sprintf(`{"companyId":%q,"sentAt":%q,
		"events":[{"eventId":%q,"event":"CHECKOUT_COMPLETED","timestamp":"2026-11-21T06:00:00.123Z",
		"payload":{"items":[{"item_id":"44123456789012","item_quantity":2}],"note":"ana\u0040example.com"},
		"identity":{"email":" Ana@Example.com","phone":"(11) 98765-4321","customer_id":"c-42","cart_token":"null"},
		"context":{"page":{"url":"https://loja.example.com/ok?email=ana%%40example.com&utm_source=influencer",
			"referrer":"https://x.com/?phone=11987654321","title":"Oi ana@example.com"},
			"clickIds":{"trb_click":"Ab12Cd.x"},"library":{"name":"sdk-js","version":"1"},"locale":"pt-BR"},
		"visitorId":"v-1","sessionId":"s-1","stream":"st","seq":7}]}`, testCompany, sentAt.Format(time.RFC3339Nano), id)
	answer := s.post(200, body, "Origin: "+testOrigin, "User-Agent: Mozilla/5.0 (Linux; Android 14) Chrome/126.0 Mobile Safari/537.36")
	if len(answer.Results) != 1 || answer.Results[0].Status != "ok" || answer.Results[0].EventID != id || answer.Durability != "kafka" {
		t.Fatalf("answer %+v", answer)
	}
	log := s.log(wire.TopicEvents)
	if len(log) != 1 {
		t.Fatalf("%d records", len(log))
	}
	for _, raw := range []string{"ana@", "Ana@", "ana%40", "u0040", "98765", "11987654321", "c-42"} {
		if bytes.Contains(log[0].Value, []byte(raw)) {
			t.Errorf("%q is in the log: %s", raw, log[0].Value)
		}
	}
	e := s.events()[0]
	keys := testHasher(t).Company(testCompany, "BR")
	f := func(name string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	f("company", e.CompanyID, testCompany)
	f("id", e.EventID, id)
	f("event", e.Event, "CHECKOUT_COMPLETED")
	f("timestamp", e.Timestamp, time.Date(2026, 11, 21, 6, 0, 0, 123e6, time.UTC))
	f("identity", e.Identity,
		wire.Identity{EmailKey: keys.Email("ana@example.com"), PhoneKey: keys.Phone("+5511987654321"), CustomerKey: keys.Customer("c-42")})
	f("url", e.Context.Page.URL, "https://loja.example.com/ok?email=(email)&utm_source=influencer")
	f("referrer", e.Context.Page.Referrer, "https://x.com/?phone=(phone)")
	f("title", e.Context.Page.Title, "Oi (email)")
	f("click id", e.Context.ClickIDs["trb_click"], "Ab12Cd.x")
	f("user agent", e.Context.UserAgent, "Mozilla/5.0 (Linux; Android 14) Chrome/126.0 Mobile Safari/537.36")
	f("visitor", e.VisitorID, keys.VisitorID("v-1"))
	f("session", e.SessionID, keys.SessionID("s-1"))
	f("stream", e.Stream, keys.Stream("st"))
	f("seq", e.Seq, int64(7))
	f("ip", e.IP, "127.0.0.0")
	f("bot", e.Bot, wire.BotNone)
	f("consent", e.Consent, wire.ConsentUnknown)
	f("via", e.Via, wire.ViaWASM) // canonical already: the worker made it
	f("trust", e.Trust, wire.TrustOpen)
	f("key", e.KeyID, "")
	if e.ReceivedAt.Before(before) || e.ReceivedAt.After(time.Now()) {
		t.Errorf("receivedAt %v", e.ReceivedAt)
	}
	f("skew", e.ClockSkewMs, e.ReceivedAt.Sub(sentAt).Milliseconds())
	var payload struct {
		Items []struct {
			ItemID       string `json:"item_id"`
			ItemQuantity int    `json:"item_quantity"`
		}
		Note string
	}
	if err := json.Unmarshal(e.Payload, &payload); err != nil || payload.Note != "(email)" || payload.Items[0].ItemID != "44123456789012" {
		t.Errorf("payload %s: %v", e.Payload, err)
	}
}

func TestOneBadEventDoesNotSinkItsBatch(t *testing.T) {
	s := newStand(t, nil)
	good, twice := newID(), newID()
	bad := `{"eventId":"not-a-uuid","event":"PAGE_VIEW","identity":{"email":"ana@example.com"},"payload":{"customer_id":"c-42","note":"tel ` +
		`+55 11 98765-4321"}}`
	answer := s.post(200, batchOf(pageView(good), bad, pageView(twice), pageView(twice)))
	var statuses []string
	for _, r := range answer.Results {
		statuses = append(statuses, r.Status)
	}
	if want := []string{"ok", "rejected", "ok", "duplicate"}; !slices.Equal(statuses, want) {
		t.Fatalf("statuses %v, want %v", statuses, want)
	}
	if answer.Results[1].Code != "invalid_event_id" || answer.Results[1].Message == "" {
		t.Errorf("rejected with %+v", answer.Results[1])
	}
	if n := len(s.events()); n != 2 {
		t.Errorf("%d events in the log", n)
	}
	letters := s.log(wire.TopicRejected)
	if len(letters) != 1 {
		t.Fatalf("%d dead letters", len(letters))
	}
	var letter wire.Rejected
	if err := json.Unmarshal(letters[0].Value, &letter); err != nil {
		t.Fatal(err)
	}
	if letter.Code != "invalid_event_id" || letter.CompanyID != testCompany || letter.Topic != wire.TopicEvents ||
		letter.Digest != testHasher(t).Company(testCompany, "BR").Digest([]byte(bad)) || !strings.Contains(letter.Body, "PAGE_VIEW") {
		t.Errorf("letter %+v", letter)
	}
	for _, raw := range []string{"ana@", "c-42", "98765"} {
		if bytes.Contains(letters[0].Value, []byte(raw)) {
			t.Errorf("%q is in the dead letter %s", raw, letters[0].Value)
		}
	}
}

func TestRepeatIsADuplicate(t *testing.T) {
	s := newStand(t, nil)
	id := newID()
	for _, want := range []string{"ok", "duplicate", "duplicate"} {
		if got := s.post(200, batchOf(pageView(id))).Results[0].Status; got != want {
			t.Errorf("status %s, want %s", got, want)
		}
	}
	if n := len(s.events()); n != 1 {
		t.Errorf("%d events in the log", n)
	}
}

func TestConcurrentRequestsAreEachInTheLogOnce(t *testing.T) {
	s := newStand(t, nil)
	const companies, senders, requests, batch = 3, 24, 6, 5
	for c := range companies {
		s.publishCompany(wire.Company{CompanyID: fmt.Sprint("co_", c)})
	}
	s.eventually("all companies are known", func() bool { return s.edge.directory.state().Companies == companies+1 })
	var (
		mu    sync.Mutex
		acked = map[string]string{}
		group sync.WaitGroup
	)
	shared := newID() // every sender of a company sends it in each request
	for sender := range senders {
		group.Go(func() {
			company := fmt.Sprint("co_", sender%companies)
			for range requests {
				events := []string{pageView(shared)}
				ids := []string{}
				for range batch {
					ids = append(ids, newID())
					events = append(events, pageView(ids[len(ids)-1]))
				}
				answer := s.post(200, `{"companyId":"`+company+`","events":[`+strings.Join(events, ",")+`]}`)
				for i, r := range answer.Results {
					if i > 0 && r.Status != "ok" {
						t.Errorf("event %d: %s %s", i, r.Status, r.Code)
					}
				}
				mu.Lock()
				for _, id := range ids {
					acked[id] = company
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	sharedSeen := map[string]int{}
	for _, e := range s.events() {
		if e.EventID == shared {
			sharedSeen[e.CompanyID]++
			continue
		}
		if acked[e.EventID] != e.CompanyID {
			t.Errorf("event %s of %s is twice in the log, or was never acknowledged", e.EventID, e.CompanyID)
		}
		delete(acked, e.EventID)
	}
	if len(acked) != 0 {
		t.Errorf("%d acknowledged events are not in the log", len(acked))
	}
	for c := range companies {
		if n := sharedSeen[fmt.Sprint("co_", c)]; n != 1 {
			t.Errorf("the event that all sent is %d times in company %d", n, c)
		}
	}
}

func TestEveryShapeAndEncoding(t *testing.T) {
	s := newStand(t, nil)
	sent := 0
	f := func(path, contentType, encoding, body string) {
		t.Helper()
		headers := []string{"Content-Type: " + contentType}
		if encoding != "" {
			headers = append(headers, "Content-Encoding: "+encoding)
		}
		response, text := s.do("POST", path, body, headers...)
		if response.StatusCode != 200 || !bytes.Contains(text, []byte(`"status":"ok"`)) {
			t.Errorf("%s %s %s: %d %s", path, contentType, encoding, response.StatusCode, text)
		}
		sent++
	}
	single := func() string { return `{"companyId":"co_test",` + pageView(newID())[1:] }
	f("/v1/events", "application/json", "", single())
	f("/v1/events", "text/plain;charset=UTF-8", "", single())
	f("/v1/events?companyId=co_test", "application/json; charset=utf-8", "", "["+pageView(newID())+"]")
	f("/v1/events", "text/plain", "", batchOf(pageView(newID())))
	f("/v1/events", "application/json", "", `{"companyId":"co_test","event":"PAGE_VIEW"}`) // the edge makes the id
	f("/v1/events?companyId=co_test", "text/plain", "",
		`[["r1","`+newID()+`","2026-11-21T06:00:00.000Z","PAGE_VIEW",null,"{\"email\":\"ana@example.com\"}",`+
			`{"url":"https://loja.example.com/","visitorId":"v"}]]`)
	f("/v1/events", "application/json", "gzip", packed(t, "gzip", single()))
	f("/v1/events", "application/json", "deflate", packed(t, "deflate", single()))
	f("/v1/events", "application/json", "br", packed(t, "br", single()))
	f("/v1/events", "application/json", "zstd", packed(t, "zstd", single()))
	if n := len(s.events()); n != sent {
		t.Errorf("%d events in the log, %d sent", n, sent)
	}
}

func packed(t *testing.T, encoding, text string) string {
	t.Helper()
	var out bytes.Buffer
	var w interface {
		Write([]byte) (int, error)
		Close() error
	}
	switch encoding {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "deflate":
		w = zlib.NewWriter(&out)
	case "br":
		w = brotli.NewWriter(&out)
	case "zstd":
		z, err := zstd.NewWriter(&out)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestRefusals(t *testing.T) {
	s := newStand(t, nil)
	s.publishCompany(wire.Company{CompanyID: "co_slow", Limits: wire.Limits{EventsPerSecond: 0.001, Burst: 1}})
	s.publishCompany(wire.Company{CompanyID: "co_wrong", KeyCheck: "k1:other"})
	s.eventually("all companies are known", func() bool { return s.edge.directory.state().Companies == 3 })
	bomb := packed(t, "gzip", strings.Repeat(" ", 2<<20)+`{}`)
	f := func(status int, code, body string, headers ...string) {
		t.Helper()
		if got := s.post(status, body, headers...).Error.Code; got != code {
			t.Errorf("code %q, want %q", got, code)
		}
	}
	ok := batchOf(pageView(newID()))
	f(400, "invalid_json", `{"companyId":`)
	f(400, "invalid_json", ``)
	f(400, "company_id_required", pageView(newID()))
	f(400, "no_events", batchOf())
	f(401, "unknown_company", `{"companyId":"co_nobody","event":"PAGE_VIEW"}`)
	f(403, "origin_not_allowed", ok, "Origin: https://evil.example")
	f(413, "payload_too_large", strings.Repeat(" ", 1<<20)+ok)
	f(413, "payload_too_large", bomb, "Content-Encoding: gzip")
	f(400, "invalid_encoding", "not gzip", "Content-Encoding: gzip")
	f(415, "unsupported_encoding", ok, "Content-Encoding: lzma")
	f(415, "unsupported_media_type", ok, "Content-Type: application/xml")
	f(503, "wrong_hashing_secret", `{"companyId":"co_wrong","event":"PAGE_VIEW"}`)
	full := make([]string, 500)
	for i := range full {
		full[i] = pageView(newID())
	}
	slow := `{"companyId":"co_slow","events":[` + strings.Join(full, ",") + `]}`
	s.post(200, slow)
	f(429, "rate_limit_exceeded", slow)
	if n := len(s.events()); n != 500 {
		t.Errorf("%d events in the log", n)
	}

	response, text := s.do("GET", "/v1/events", "")
	if response.StatusCode != 405 || response.Header.Get("Allow") != "POST" {
		t.Errorf("GET: %d %s", response.StatusCode, text)
	}
	if response, text = s.do("GET", "/nowhere", ""); response.StatusCode != 404 {
		t.Errorf("unknown route: %d %s", response.StatusCode, text)
	}
	response, text = s.do("GET", "/readyz", "")
	if response.StatusCode != 503 || !strings.Contains(string(text), `"reasons":["wrong_hashing_secret"]`) ||
		strings.Contains(string(text), "co_wrong") {
		t.Errorf("readyz %d %s", response.StatusCode, text)
	}
	if status, text := s.internal("/readyz"); status != 503 || !strings.Contains(text, `"wrong_hashing_secret":["co_wrong"]`) {
		t.Errorf("the internal readyz %d %s", status, text)
	}
}

func TestPrefixIsOptional(t *testing.T) {
	s := newStand(t, func(c *Config, _ *Deps) { c.Prefix = "t/" })
	for _, path := range []string{"/v1/events", "/t/v1/events"} {
		if response, text := s.do("POST", path, batchOf(pageView(newID()))); response.StatusCode != 200 {
			t.Errorf("%s: %d %s", path, response.StatusCode, text)
		}
	}
}
