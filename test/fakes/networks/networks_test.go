package networks_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/fakes/networks"
)

var start = time.Date(2025, 11, 12, 12, 0, 0, 0, time.UTC) // when the example of Meta's documentation had just happened

type ticking struct {
	mu  sync.Mutex
	now time.Time
}

func (t *ticking) clock() time.Time { t.mu.Lock(); defer t.mu.Unlock(); return t.now }
func (t *ticking) pass(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = t.now.Add(d)
}

// ask sends a body; header is pairs of a name and a value.
func ask(t *testing.T, to http.Handler, method, target, body string, header ...string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	to.ServeHTTP(w, r)
	text, _ := io.ReadAll(w.Result().Body)
	return w.Code, string(text)
}

// refusal is a change of a good request, as pairs of old and new text, and what the answer must have.
type refusal struct {
	change string // old→new
	status int
	want   string
}

func (c refusal) of(t *testing.T, good string) string {
	t.Helper()
	from, to, _ := strings.Cut(c.change, "→")
	if !strings.Contains(good, from) {
		t.Fatalf("%q is not in the request", from)
	}
	return strings.Replace(good, from, to, 1)
}

// check sends the changed request, which send hands on.
func (c refusal) check(t *testing.T, good string, send func(body string) (int, string)) {
	t.Helper()
	if status, body := send(c.of(t, good)); status != c.status || !strings.Contains(body, c.want) {
		t.Errorf("%.60s: %d %s", c.change, status, body)
	}
}

const (
	email = "309a0a5c3e211326ae75ca18196d301a9bdbd1a882a4d2569511033da23f0abd"
	phone = "254aa248acb47dd654ca3ea53f48c2c26d641d23d7e2e93a1ec56258df7674c4"

	// The request of the page "Using the API", with event_id and the agent and address that the page of parameters asks for.
	metaData = `[{"event_name":"Purchase","event_time":1762902353,"event_id":"o-1","action_source":"website",
		"event_source_url":"https://s.example/x",
		"user_data":{` + metaUser + `},
		"custom_data":{"currency":"usd","value":123.45,"contents":[{"id":"product123","quantity":1,"delivery_category":"home_delivery"}]}}]`
	metaUser = `"em":["` + email + `"],"ph":["` + phone + `"],"client_user_agent":"A","client_ip_address":"123.123.123.123",
		"fbc":"fb.1.1554763741205.AbCdEfGhIjKlMnOpQrStUvWxYz1234567890","fbp":"fb.1.1558571054389.1098115397"`
	metaTarget = "/v25.0/4711/events?access_token=secret"
)

func TestMetaTakesTheDocumentedRequestAndRefusesOthers(t *testing.T) {
	now := &ticking{now: start}
	m := networks.NewMeta(networks.MetaAccount{Dataset: "4711", Token: "secret"}, now.clock)
	form := url.Values{"data": {metaData}, "access_token": {"secret"}, "test_event_code": {"TEST1"}}.Encode()
	for _, sent := range []func() (int, string){
		func() (int, string) { return ask(t, m, "POST", metaTarget, `{"data":`+metaData+`}`) },
		func() (int, string) {
			return ask(t, m, "POST", "/v25.0/4711/events", form, "Content-Type", "application/x-www-form-urlencoded")
		},
		func() (int, string) {
			now.pass(48 * time.Hour)
			return ask(t, m, "POST", metaTarget, `{"data":`+metaData+`}`)
		},
	} {
		if status, body := sent(); status != 200 || !strings.Contains(body, `"events_received":1`) {
			t.Fatalf("%d %s", status, body)
		}
	}
	events := m.Events()
	if len(events) != 1 || events[0].Value != "123.45" || events[0].ID != "o-1" || len(m.TestEvents()) != 1 || m.Repeats() != 1 {
		t.Fatalf("%+v, %d tests, %d repeats", events, len(m.TestEvents()), m.Repeats())
	}
	if len(m.Complaints()) > 0 {
		t.Fatal(m.Complaints())
	}
	many := strings.Repeat(metaData[1:len(metaData)-1]+",", 1000)
	for _, c := range []refusal{
		{"1762902353→1762516799", 400, `"error_subcode":2804003`}, {"1762902353→1762516800", 200, "events_received"},
		{"1762902353→1763121700", 400, "in the future"},
		{`"em":→"e-mail":`, 400, "not documented"}, {"123.45→\"123.45\"", 400, "not documented"},
		{email + "→ana@example.com", 400, "SHA-256"}, {`"client_user_agent":"A",→`, 400, "client_user_agent"},
		{`"currency":"usd",→`, 400, "ISO 4217"}, {"1554763741205→1554763741", 400, "fbc"}, {"website→web", 400, "action_source"},
		{"[{→[" + many + "{", 400, "1,000"},
		{metaUser + `→"client_user_agent":"A"`, 400, "2804050"},
	} {
		c.check(t, metaData, func(data string) (int, string) { return ask(t, m, "POST", metaTarget, `{"data":`+data+`}`) })
	}
	for target, want := range map[string]string{
		"/v25.0/4711/events?access_token=x": `"code":190`, "/v25.0/1/events?access_token=secret": `"error_subcode":33`,
	} {
		if _, body := ask(t, m, "POST", target, `{"data":`+metaData+`}`); !strings.Contains(body, want) {
			t.Errorf("%s: %s", target, body)
		}
	}
	if len(m.Events()) != 1 || len(m.Complaints()) != 4 {
		t.Errorf("%d events, %q", len(m.Events()), m.Complaints())
	}
}

const gaBody = `{"client_id":"1.2","timestamp_micros":"1762900000000000","consent":{"ad_user_data":"GRANTED"},"events":[{"name":"purchase",
	"params":{"transaction_id":"T_1","currency":"USD","value":30.03,"items":[{"item_id":"SKU_1","price":10.01,"quantity":3}],
	"session_id":"s","engagement_time_msec":100}}]}`

func TestGA4TellsErrorsOnlyToTheValidationServer(t *testing.T) {
	now := &ticking{now: start}
	g := networks.NewGA4(networks.GA4Account{MeasurementID: "G-1", Secret: "secret"}, now.clock)
	const query = "?measurement_id=G-1&api_secret="
	refund := strings.NewReplacer("purchase", "refund").Replace(gaBody)
	empty := strings.NewReplacer("T_1", "").Replace(gaBody)
	for _, body := range []string{gaBody, gaBody, refund, empty, empty, `{"client_id":`} {
		if status, answer := ask(t, g, "POST", "/mp/collect"+query+"secret", body); status != 204 || answer != "" {
			t.Fatalf("%d %s", status, answer)
		}
	}
	if status, _ := ask(t, g, "POST", "/mp/collect"+query+"wrong", refund); status != 204 || len(g.Events()) != 3 || g.Repeats() != 2 {
		t.Errorf("%d, %d events, %d repeats", status, len(g.Events()), g.Repeats())
	}
	long := strings.Repeat("x", 101)
	for _, c := range []refusal{
		{"→", 200, `{"validationMessages":[]}`}, {`"client_id":"1.2",→`, 200, "Measurement requires a client_id."},
		{"purchase→_badEventName", 200, "has invalid name [_badEventName]. Names must start"}, {"purchase→session_start", 200, "NAME_RESERVED"},
		{"SKU_1→" + long, 200, "VALUE_OUT_OF_BOUNDS"}, {"client_id→client", 200, "Unable to parse"}, {"item_id→itemid", 200, "not documented"},
		{"GRANTED→granted", 200, "GRANTED or DENIED"}, {`"currency":"USD",→`, 200, "VALUE_REQUIRED"},
		{`"events":[→"events":[` + strings.Repeat(`{"name":"x"},`, 25), 200, "EXCEEDED_MAX_ENTITIES"},
		{"session_id→" + long, 200, "NAME_INVALID"},
		{`"client_id"→"validation_behavior":"ENFORCE_RECOMMENDATIONS","user_id":"u","client_id"`, 200, `{"validationMessages":[]}`},
	} {
		c.check(t, gaBody, func(body string) (int, string) { return ask(t, g, "POST", "/debug/mp/collect"+query+"any", body) })
	}
	now.pass(80 * time.Hour)
	enforced := strings.Replace(strings.Replace(gaBody, "{", `{"validation_behavior":"ENFORCE_RECOMMENDATIONS",`, 1), "T_1", "T_2", 1)
	ask(t, g, "POST", "/mp/collect"+query+"secret", enforced)
	ask(t, g, "POST", "/mp/collect"+query+"secret", strings.Replace(gaBody, "T_1", "T_3", 1))
	if events := g.Events(); len(events) != 4 || events[3].ID != "T_3" || !events[3].Time.Equal(now.clock().Add(-72*time.Hour)) {
		t.Errorf("late: %+v", events)
	}
}

const (
	hashedMail = "509e933019bb285a134a9334b8bb679dff79d0ce023d529af4bd744d47b4fd8a" // of data-manager-python's tests
	dmBody     = `{"destinations":[{"operatingAccount":{"accountType":"GOOGLE_ADS","accountId":"123"},"productDestinationId":"9"}],
		"events":[{"transactionId":"ABC","eventTimestamp":"2025-11-11T23:10:12-05:00","eventSource":"WEB","conversionValue":5.31,"currency":"USD",
		"adIdentifiers":{"gclid":"GCLID123"},"userData":{"userIdentifiers":[{"emailAddress":"` + hashedMail + `"}]}}],
		"consent":{"adUserData":"CONSENT_GRANTED","adPersonalization":"CONSENT_GRANTED"},"encoding":"HEX","validateOnly":false}`
)

func TestGoogleTakesTheSampleOfItsLibraryAndRefusesOthers(t *testing.T) {
	now := &ticking{now: start}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	g := networks.NewGoogle(networks.GoogleAccount{Account: "123", ConversionAction: "9", Processing: time.Hour, OAuth: networks.GoogleOAuth{
		ClientID: "c", ClientSecret: "s", RefreshToken: "r", ServiceEmail: "a@b.iam.gserviceaccount.com", ServiceKey: &key.PublicKey,
	}}, now.clock)
	token := func(form url.Values) (string, string) {
		_, body := ask(t, g, "POST", "/token", form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
		var got struct {
			AccessToken string `json:"access_token"`
		}
		_ = json.Unmarshal([]byte(body), &got)
		return got.AccessToken, body
	}
	jwt := func(scope string) string {
		encoded := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
		signed := encoded(`{"alg":"RS256","typ":"JWT"}`) + "." + encoded(fmt.Sprintf(`{"iss":"a@b.iam.gserviceaccount.com","scope":%q,
			"aud":"https://oauth2.googleapis.com/token","iat":%d,"exp":%d}`, scope, start.Unix(), start.Unix()+3600))
		sum := sha256.Sum256([]byte(signed))
		signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		return signed + "." + encoded(string(signature))
	}
	bearer := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}}
	bearer.Set("assertion", jwt("https://www.googleapis.com/auth/adwords"))
	if _, body := token(bearer); !strings.Contains(body, "invalid_scope") {
		t.Error(body)
	}
	bearer.Set("assertion", jwt("https://www.googleapis.com/auth/datamanager"))
	if first, body := token(bearer); first == "" {
		t.Error(body)
	}
	refresh := url.Values{"grant_type": {"refresh_token"}, "client_id": {"c"}, "client_secret": {"s"}, "refresh_token": {"gone"}}
	if _, body := token(refresh); !strings.Contains(body, "invalid_grant") {
		t.Error(body)
	}
	refresh.Set("refresh_token", "r")
	access, _ := token(refresh)
	for i, body := range []string{dmBody, dmBody, strings.Replace(dmBody, "false}", "true}", 1)} {
		if status, answer := ask(t, g, "POST", "/v1/events:ingest", body, "Authorization", "Bearer "+access); status != 200 {
			t.Fatalf("%d: %d %s", i, status, answer)
		}
	}
	if len(g.Events()) != 1 || g.Repeats() != 1 || len(g.TestEvents()) != 1 || len(g.Complaints()) > 0 {
		t.Errorf("%+v, %d repeats, %v", g.Events(), g.Repeats(), g.Complaints())
	}
	for _, want := range []string{"PROCESSING", "PROCESSING_ERROR_REASON_DUPLICATE_TRANSACTION_ID"} {
		_, body := ask(t, g, "GET", "/v1/requestStatus:retrieve?requestId=fake-request-4", "", "Authorization", "Bearer "+access)
		if !strings.Contains(body, want) {
			t.Errorf("%s, want %s", body, want)
		}
		now.pass(59 * time.Minute)
		access, _ = token(refresh)
		now.pass(2 * time.Minute)
	}
	for _, c := range []refusal{
		{hashedMail + "→ana@example.com", 400, "INVALID_HEX_ENCODING"}, {"HEX→BASE64", 400, "INVALID_SHA256_FORMAT"},
		{`"encoding":"HEX",→`, 400, "REQUIRED_FIELD_MISSING"}, {"gclid→glcid", 400, "Invalid JSON payload"},
		{"USD→usd", 400, "INVALID_CURRENCY_CODE"},
		{"2025-11-11T23:10:12-05:00→1762900000", 400, "INVALID_FORMAT"}, {`"9"→"8"`, 400, "INVALID_CONVERSION_ACTION_ID"},
		{`"123"→"124"`, 403, "PERMISSION_DENIED"}, {"CONSENT_GRANTED→GRANTED", 400, "INVALID_ENUM_VALUE"},
		{`"events":[→"events":[` + strings.Repeat("{},", 2000), 400, "TOO_MANY_EVENTS"},
	} {
		c.check(t, dmBody, func(body string) (int, string) {
			return ask(t, g, "POST", "/v1/events:ingest", body, "Authorization", "Bearer "+access)
		})
	}
	denied := strings.NewReplacer("ABC", "DEF", `"adUserData":"CONSENT_GRANTED"`, `"adUserData":"CONSENT_DENIED"`).Replace(dmBody)
	if status, _ := ask(t, g, "POST", "/v1/events:ingest", denied, "Authorization", "Bearer "+access); status != 200 || len(g.Events()) != 1 {
		t.Errorf("without consent: %d, %d events", status, len(g.Events()))
	}
	g.ExpireTokens()
	if status, body := ask(t, g, "POST", "/v1/events:ingest", dmBody, "Authorization", "Bearer "+access); status != 401 {
		t.Errorf("%d %s", status, body)
	}
}

const ttBody = `{"event_source":"web","event_source_id":"P1","data":[{"event":"Purchase","event_time":1762900000,
	"event_id":"1616318632825_357",
	"user":{"ttclid":"E.C.P.x","external_id":"` + email + `","phone":"` + phone + `","email":["` + email + `"],"ttp":"2F7h",
	"ip":"13.57.97.131","user_agent":"A"},"page":{"url":"http://demo.mywebsite.com/purchase"},
	"properties":{"contents":[{"price":8,"quantity":2,"content_id":"1077218"}],"content_type":"product","currency":"USD","value":46}}]}`

func TestTikTokTakesTheUsualRequestAndRefusesOthersWith200(t *testing.T) {
	now := &ticking{now: start}
	tt := networks.NewTikTok(networks.TikTokAccount{Pixel: "P1", Token: "secret"}, now.clock)
	send := func(body string) (int, string) {
		return ask(t, tt, "POST", "/open_api/v1.3/event/track/", body, "Access-Token", "secret")
	}
	for _, wait := range []time.Duration{0, 48 * time.Hour, time.Second} {
		now.pass(wait)
		if status, body := send(ttBody); status != 200 || !strings.Contains(body, `"code":0`) {
			t.Fatalf("%d %s", status, body)
		}
	}
	send(strings.Replace(ttBody, "{", `{"test_event_code":"TEST1",`, 1))
	if len(tt.Events()) != 2 || tt.Repeats() != 1 || len(tt.TestEvents()) != 1 || len(tt.Complaints()) > 0 {
		t.Errorf("%d events, %d repeats, %v", len(tt.Events()), tt.Repeats(), tt.Complaints())
	}
	for _, c := range []refusal{
		{`"1077218"→1077218`, 200, "40002"}, {"event_source_id→pixel_code", 200, "event_source_id"}, {"P1→P2", 200, "40001"},
		{phone + "→+5511999999999", 200, "Not hashed"}, {"1762900000→1762900000000", 200, "event_time"}, {"USD→US$", 200, "currency"},
		{"ttclid→ttcid", 200, "40002"}, {`"data":[→"data":[` + strings.Repeat("{},", 1000), 200, "1000"},
	} {
		c.check(t, ttBody, send)
	}
	refusal{"→", 200, "40105"}.check(t, ttBody, func(body string) (int, string) {
		return ask(t, tt, "POST", "/open_api/v1.3/event/track/", body, "Access-Token", "x")
	})
	if len(tt.Events()) != 2 {
		t.Errorf("a refused event counts: %+v", tt.Events())
	}
}

func TestFailuresAndHangsMeetRequestsInTheirTurn(t *testing.T) {
	tt := networks.NewTikTok(networks.TikTokAccount{Pixel: "P1", Token: "secret"}, func() time.Time { return start })
	send := func() (int, string) {
		return ask(t, tt, "POST", "/open_api/v1.3/event/track/", ttBody, "Access-Token", "secret")
	}
	tt.FailNext(1, networks.TikTokThrottled)
	tt.FailNext(1, networks.BadGateway)
	tt.SetLatency(time.Millisecond)
	for i, want := range []string{"40100", "502 Bad Gateway", `"code":0`} {
		if _, body := send(); !strings.Contains(body, want) {
			t.Errorf("%d: %s", i, body)
		}
	}
	until := make(chan struct{})
	tt.HangAfter(until)
	var many sync.WaitGroup
	for range 8 {
		many.Go(func() { send() })
	}
	await.Until(t, await.Long, func() bool { return tt.Repeats() == 8 }, func() string { return "they did not count before their answers" })
	close(until)
	many.Wait()
	if len(tt.Events()) != 1 {
		t.Errorf("%d events", len(tt.Events()))
	}
	server := httptest.NewServer(tt)
	defer server.Close()
	tt.HangBefore(make(chan struct{}))
	client := http.Client{Timeout: 20 * time.Millisecond}
	if answer, err := client.Post(server.URL+"/open_api/v1.3/event/track/", "application/json", strings.NewReader(ttBody)); err == nil {
		answer.Body.Close()
		t.Error("a request before a hanging server was answered")
	}
}
