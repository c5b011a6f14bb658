package edge

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"log/slog"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/edge/guard"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

func TestEdgeNeedsKafkaAlone(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, "github.com/tributary-io/tributary/internal/kafka") {
		t.Fatal("go list did not list the edge's dependencies")
	}
	for _, dep := range deps {
		for _, banned := range []string{
			"github.com/jackc/", "/tributary/admin", "/tributary/processor", "/tributary/internal/postgres",
			"/tributary/dev", "/tributary/sdk-js", "/tributary/test",
		} {
			if strings.Contains(dep, banned) {
				t.Errorf("the edge reaches %s", dep)
			}
		}
	}
}

func TestClientIP(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	f := func(remote, forwarded, wantTruncated string) {
		t.Helper()
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(remote)), nil)
		for line := range strings.SplitSeq(forwarded, "|") {
			if line != "" {
				ctx.Request.Header.Add("X-Forwarded-For", line)
			}
		}
		if got := truncateIP(guard.ClientIP(&ctx, trusted)); got != wantTruncated {
			t.Errorf("%s, %q: %s, want %s", remote, forwarded, got, wantTruncated)
		}
	}
	f("203.0.113.77:1", "", "203.0.113.0")
	f("203.0.113.77:1", "198.51.100.9", "203.0.113.0") // not a proxy of ours: its word counts nothing
	f("10.0.0.1:1", "198.51.100.9", "198.51.100.0")
	f("10.0.0.1:1", "1.2.3.4, 198.51.100.9, 10.0.0.2", "198.51.100.0")
	f("10.0.0.1:1", "1.2.3.4|198.51.100.9", "198.51.100.0")
	f("10.0.0.1:1", "junk", "10.0.0.0")
	f("10.0.0.1:1", "1.2.3.4, junk, 10.0.0.2", "10.0.0.0")
	f("[fd00::1]:1", "2001:db8:1:2:3::4", "2001:db8:1::")
	f("[::ffff:203.0.113.77]:1", "", "203.0.113.0")
}

func TestBots(t *testing.T) {
	b := newBots()
	f := func(agent string, want wire.Bot) {
		t.Helper()
		for range 2 { // judged, then remembered
			if got := b.kind(agent); got != want {
				t.Errorf("%s: %s, want %s", agent, got, want)
			}
		}
	}
	f("", "none")
	f("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36", "none")
	f(phone, "none")
	f("Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/126.0 Mobile Safari/537.36 [FB_IAB/FB4A;FBAV/470.0]", "none")
	f("Mozilla/5.0 (Linux; Android 14; wv) Chrome/126.0 Mobile Safari/537.36 trill_340 BytedanceWebview", "none")
	f("Mozilla/5.0 (Linux; Android 14) Chrome/126.0 Mobile Safari/537.36 WhatsApp/2.24", "none")
	f("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/126.0.0.0 Safari/537.36", "none")
	f("WhatsApp/2.23.20.0 A", "preview")
	f("facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)", "preview")
	f("TelegramBot (like TwitterBot)", "preview")
	f("Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", "preview")
	f("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "known")
	f("Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)", "known")
	f("Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)", "known")
	f("Mozilla/5.0 (Windows NT 6.1; WOW64) AppleWebKit/534+ (KHTML, like Gecko) BingPreview/1.0b", "preview")
	f("Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.6478.126 Mobile "+
		"Safari/537.36 (compatible; GoogleOther)", "known")
	f("Mozilla/5.0 (X11; Linux x86_64; Storebot-Google/1.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/79.0.3945.88 Safari/537.36", "known")
	f("Screaming Frog SEO Spider/20.2", "known")
	f("curl/8.5.0", "known")
	f("Wget/1.21.4", "known")
	f("Go-http-client/1.1", "none")
	f("Mozilla/5.0 (Linux; Android 14; CUBOT NOTE 50) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36", "none")
	f("Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Instagram "+
		"335.0.0.27.93 (iPhone14,5; iOS 17_5; pt_BR; pt; scale=3.00; 1170x2532; 612345678)", "none")
	f("Mozilla/5.0 (Linux; Android 14; SM-A546E) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36 "+
		"musical_ly_2023 BytedanceWebview/d8a21c6", "none")
	f("Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [Pinterest/iOS]", "none")
}

func TestProgramsAtALinkAreNoPeople(t *testing.T) {
	b := newBots()
	f := func(agent string, want wire.Bot) {
		t.Helper()
		if got := b.kindAtLink(agent); got != want {
			t.Errorf("%s: %s, want %s", agent, got, want)
		}
	}
	for _, program := range []string{"", "python-requests/2.32.3", "Go-http-client/2.0", "okhttp/4.12.0", "Java/17.0.2", "axios/1.7.2", "node",
		"PostmanRuntime/7.39.0"} {
		f(program, "known")
	}
	f("Signal-Android/7.10.3 Android/34", "preview")
	f("WhatsApp/2", "preview") // of Signal, too
	f("Mozilla/4.0 (compatible; ms-office; MSOffice 16)", "preview")
	f("Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.17328; Pro)", "known")
	f("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/126.0.0.0 Safari/537.36", "none")
	f("Opera/9.80 (Android; Opera Mini/36.2.2254/119.132; U; id) Presto/2.12.423 Version/12.16", "none")
	f(phone, "none")
}

func TestSameSite(t *testing.T) {
	f := func(a, b string, want bool) {
		t.Helper()
		if sameSite(a, b) != want || sameSite(b, a) != want {
			t.Errorf("%s and %s: want %v", a, b, want)
		}
	}
	f("loja.example.com", "t.example.com:8080", true)
	f("loja.com.br", "outra.com.br", false)
	f("www.loja.com.br", "t.loja.com.br", true)
	f("a.github.io", "b.github.io", false)
	f("127.0.0.1:1", "127.0.0.1:2", true)
	f("127.0.0.1", "10.0.0.1", false)
	f("localhost:1", "localhost:2", true)
	f("[::1]:1", "[::1]:2", true)
	f("", "", false)
}

func TestRedact(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := redact(text); got != want {
			t.Errorf("redact(%s)\n got %s\nwant %s", text, got, want)
		}
	}
	f(`{"event":"X","identity":{"email":"ana@example.com","phone":1}}`, `{"event":"X","identity":"(redacted)"}`)
	f(`{"payload":{"customer_id":42,"customerEmail":"x","n":1.50,"url":"/?e=ana%40example.com"}}`,
		`{"payload":{"customerEmail":"(redacted)","customer_id":"(redacted)","n":1.50,"url":"/?e=(email)"}}`)
	f(`["r1","id","t","X","{\"phone\":\"x\",\"a\":1}","{\"email\":\"ana@example.com\"}",{"url":"u"}]`,
		`["r1","(redacted)","t","X","{\"a\":1,\"phone\":\"(redacted)\"}","(redacted)",{"url":"u"}]`)
	f(`{"customer":{"anything":"ana"}}`, `{"customer":"(redacted)"}`)
	// Encoded twice, a common mistake; and an envelope that lacks a member.
	f(`{"payload":"{\"customer_id\":\"c-42\",\"a\":1}"}`, `{"payload":"{\"a\":1,\"customer_id\":\"(redacted)\"}"}`)
	f(`{"payload":" [{\"customer_id\":\"c-42\""}`, `{"payload":""}`)
	f(`["r1","X",null,"{\"customer_id\":\"c-42\"}"]`, `["r1","(redacted)",null,"{\"customer_id\":\"(redacted)\"}"]`)
	f(`{"eventId":"c-42","event":"X"}`, `{"event":"X","eventId":"(redacted)"}`)
	f(`{"n":"x","user_id":"c-42","cart":{"token":"9f3b"},"cartToken":"9f3b"}`,
		`{"cart":{"token":"(id)"},"cartToken":"(redacted)","n":"x","user_id":"(redacted)"}`)
	f(`ana@example.com`, ``)
	f(`{"a":"`+strings.Repeat("x", maxRejectedBody)+`"}`, ``)
}

func TestTheHTTPLogQuotesNothingOfARequest(t *testing.T) {
	f := func(message, want string) {
		t.Helper()
		var out bytes.Buffer
		httpLog{slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))}.Printf("error: %s", message)
		if !strings.Contains(out.String(), want) || strings.Contains(out.String(), "c-42") || strings.Contains(out.String(), "11987654321") {
			t.Errorf("%s was logged as %s, want %s", message, out.String(), want)
		}
	}
	f(`malformed mime header: missing colon: "c-42"`, `missing colon: (left out)`)
	f(`invalid uri "/c-42\"c-42" in "GET c-42": end`, `invalid uri (left out) in (left out): end`)
	f(`contents: "c-42`, `contents: (left out)`)
	f(`cannot parse 11987654321`, `cannot parse (phone)`)
}

func TestATextThatCoreCutKeepsNoBeginningOfAnAddress(t *testing.T) {
	keys := testHasher(t).Company("co_1", "BR")
	const address = "shopper.q1z@example.com.br"
	for _, field := range []struct {
		path  string
		bound int
	}{
		{"page.url", maxURL}, {"page.path", maxURL}, {"page.referrer", maxURL}, {"page.title", maxTitle}, {"userAgent", maxUserAgent},
		{"campaign.source", maxCampaign}, {"campaign.term", maxCampaign}, {"clickIds.gclid", maxCampaign},
		{"locale", maxShort}, {"screen", maxShort}, {"library.name", maxShort}, {"library.version", maxShort},
	} {
		for kept := len("shopper.q1z@"); kept <= len(address); kept++ {
			text := "https://x.com/?a=" + strings.Repeat("x", field.bound-kept-len("https://x.com/?a=&e=")) + "&e=" + address
			value := asJSON(t, text)
			for _, name := range slices.Backward(strings.Split("context."+field.path, ".")) {
				value = `{"` + name + `":` + value + `}`
			}
			batch, violation := core.ParseBatch(`{"companyId":"c","event":"X",`+value[1:], "", core.Options{})
			if violation != nil || batch.Items[0].Err != nil {
				t.Fatal(violation, batch.Items[0].Err)
			}
			e := &batch.Items[0].Event
			scrubEvent(e, keys.Recent())
			if got := string(core.AppendEvent(nil, e)); strings.Contains(got, "q1z") || !strings.Contains(got, "xxx&e=(email)") {
				t.Errorf("%s, cut after %d bytes of the address: …%s", field.path, kept, got[max(0, len(got)-200):])
			}
		}
	}
}

func TestDuplicatesAreBounded(t *testing.T) {
	d := newDuplicates(160) // ten a shard
	inCompany := func(company string, i int) fingerprint {
		var id uuid.UUID
		binary.BigEndian.PutUint64(id[8:], uint64(i))
		return d.fingerprint(d.sender(company, wire.TrustOpen), id)
	}
	key := func(i int) fingerprint { return inCompany("c", i) }
	const n = 2000
	for i := range n {
		f := &attempt{}
		if first, _ := d.claim(key(i), f); !first {
			t.Fatalf("%d is not the first of its kind", i)
		}
		if first, other := d.claim(key(i), &attempt{}); first || other != f {
			t.Fatalf("%d: the other is not found", i)
		}
		d.finish(f, []fingerprint{key(i)}, i%2 == 0)
	}
	remembered := 0
	for i := range d.shards {
		s := &d.shards[i]
		if len(s.pending) != 0 || len(s.acked) != 3 {
			t.Errorf("shard %d: %d pending, %d buckets", i, len(s.pending), len(s.acked))
		}
		for _, bucket := range s.acked {
			for i := range bucket.first {
				if bucket.first[i] != 0 || bucket.second[i] != 0 {
					remembered++
				}
			}
		}
	}
	if remembered < 160 {
		t.Errorf("only %d are remembered", remembered)
	}
	if first, _ := d.claim(key(n-2), &attempt{}); first {
		t.Error("the last acknowledged is forgotten")
	}
	if first, _ := d.claim(key(n-1), &attempt{}); !first {
		t.Error("a failed event counts as acknowledged")
	}
	if first, _ := d.claim(inCompany("d", n-2), &attempt{}); !first {
		t.Error("another company's event with the same id is a duplicate")
	}
}

func TestUUIDBytes(t *testing.T) {
	a, b := uuidBytes("018f3f5e-7b2a-7c3d-8e4f-0123456789ab"), uuidBytes("018f3f5e-7b2a-7c3d-8e4f-0123456789ac")
	if a == b || a[0] != 0x01 || a[15] != 0xab {
		t.Errorf("%x %x", a, b)
	}
}

func TestATopicThatIsShorterOrAnotherIsReadAnew(t *testing.T) {
	config, err := Config{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	d := newDirectory(testHasher(t), config, slog.New(slog.DiscardHandler), time.Now)
	again := 0
	d.endIs(10, "made before the reading began")
	d.readAgain = func() { again++ }
	d.next = 10
	for _, end := range []int64{10, 12} {
		if d.endIs(end, ""); again != 0 {
			t.Errorf("read anew at the end %d", end)
		}
	}
	if d.endIs(9, ""); again != 1 {
		t.Error("not read anew")
	}
	if d.endIs(10, "another"); again != 2 {
		t.Error("another topic, with as many records, is not read anew")
	}
	if d.endIs(11, "another"); again != 2 {
		t.Error("the other topic is read anew again")
	}
}

// An old record of a company may have been made with a former secret. What counts is
// the newest one.
func TestOnlyTheNewestRecordSaysThatTheHashingSecretIsWrong(t *testing.T) {
	config, err := Config{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	d := newDirectory(testHasher(t), config, slog.New(slog.NewTextHandler(&log, nil)), time.Now)
	record := func(id string, rev int64, check string) []byte {
		value, err := json.Marshal(wire.Company{CompanyID: id, Rev: rev, KeyCheck: check})
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	d.rebuilt = newEntries()
	d.apply(wire.CompanyKeyPrefix+"co_1", record("co_1", 1, "of a former secret"))
	d.apply(wire.CompanyKeyPrefix+"co_2", record("co_2", 1, "of a former secret"))
	d.apply(wire.CompanyKeyPrefix+"co_1", record("co_1", 2, testHasher(t).Check("co_1")))
	d.reachedEnd(3)
	if said := log.String(); strings.Contains(said, "co_1") || strings.Count(said, "company=co_2") != 1 {
		t.Errorf("at the log's end it says:\n%s", said)
	}
	log.Reset()
	d.rebuilt = newEntries() // the topic is read anew
	d.apply(wire.CompanyKeyPrefix+"co_1", record("co_1", 2, testHasher(t).Check("co_1")))
	d.apply(wire.CompanyKeyPrefix+"co_2", record("co_2", 1, "of a former secret"))
	d.reachedEnd(3)
	if said := log.String(); strings.Contains(said, "company=") {
		t.Errorf("read anew, it says once more:\n%s", said)
	}
	d.apply(wire.CompanyKeyPrefix+"co_1", record("co_1", 3, "of another secret"))
	if said := log.String(); strings.Count(said, "company=co_1") != 1 {
		t.Errorf("for a new record it says:\n%s", said)
	}
}
