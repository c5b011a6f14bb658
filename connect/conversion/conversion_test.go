package conversion

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
)

var at = time.Date(2025, 11, 5, 12, 0, 0, 0, time.UTC)

func sale() Conversion {
	return Conversion{
		Type: Purchase, OrderID: "4711", At: at, Value: commerce.Amount{Minor: 12990, Currency: "BRL"},
		Shipping: &commerce.Amount{Minor: 1500, Currency: "BRL"}, Coupon: "ANA10", PageURL: "https://loja.example.com/",
		Items: []Item{{"SKU-1", 2, "49.95"}, {"SKU-2", 1, ""}},
		Person: Person{CustomerID: "C-99", Email: " Maria.Silva@Gmail.com ", Phone: "+5511988887777", Name: "Maria da Silva", City: "São Paulo",
			State: "SP", Zip: "01310-100", Country: "BR", Birthdate: "1990-02-16", IP: "203.0.113.9", UserAgent: "Mozilla/5.0"},
		Clicks: Clicks{Meta: "IwAR0abc", MetaAt: at.Add(-time.Hour), Google: "Cj0K", TikTok: "E.C.P", Client: "123.456",
			Sessions: "ZZ9XX8YY7W.1762340000 ABC123.1762344000"},
	}
}

func account(n Network) Account {
	a := Account{ID: "1234567890", Secret: "geheim-secret"}
	switch n {
	case GA4:
		a.ID = "G-ABC123"
	case Google:
		a.Action, a.Login = "5555", "999"
	}
	return a
}

// What each network is sent, whole. The files were written by hand from the networks' documentation.
func TestWhatEachNetworkIsSent(t *testing.T) {
	t.Parallel()
	for _, n := range []Network{Meta, GA4, Google, TikTok} {
		request, err := RequestOf(n, sale(), account(n), at.Add(time.Hour))
		if err != nil {
			t.Errorf("%s: %v", n, err)
			continue
		}
		want, err := os.ReadFile(filepath.Join("testdata", string(n)+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			URL    string
			Header map[string]string
			Body   any
		}
		if err := json.Unmarshal(want, &file); err != nil {
			t.Fatalf("%s: %v", n, err)
		}
		var sent any
		if err := json.Unmarshal(request.Body, &sent); err != nil {
			t.Fatal(err)
		}
		got, _ := json.MarshalIndent(sent, "", "  ")
		wanted, _ := json.MarshalIndent(file.Body, "", "  ")
		if request.URL != file.URL || string(got) != string(wanted) {
			t.Errorf("%s: to %s\n%s\nwant %s\n%s", n, request.URL, got, file.URL, wanted)
		}
		for name, value := range file.Header {
			if request.Header.Get(name) != value {
				t.Errorf("%s: header %s is %q", n, name, request.Header.Get(name))
			}
		}
	}
}

// Nothing that names a person leaves in plain text but what the networks want so: address, browser, and Google's and GA4's place.
func TestWhatNamesAPersonIsHashed(t *testing.T) {
	t.Parallel()
	for _, n := range []Network{Meta, GA4, Google, TikTok} {
		request, err := RequestOf(n, sale(), account(n), at)
		if err != nil {
			t.Fatal(n, err)
		}
		body := strings.ToLower(string(request.Body))
		for _, plain := range []string{"maria", "silva", "gmail", "98888", "c-99", "19900216", "1990-02-16"} {
			if strings.Contains(body, plain) {
				t.Errorf("%s is sent %q: %s", n, plain, body)
			}
		}
	}
}

func TestWhatIsNotSent(t *testing.T) {
	t.Parallel()
	nobody := sale()
	nobody.Person, nobody.Clicks = Person{Country: "BR", City: "Santos"}, Clicks{}
	refund := sale()
	refund.Type, refund.Sold.At = Refund, at
	for _, n := range []Network{Meta, GA4, Google, TikTok} {
		if _, err := RequestOf(n, nobody, account(n), at); !errors.Is(err, ErrNobody) {
			t.Errorf("%s of nobody: %v", n, err)
		}
		old := networks[n].horizon - margin
		if _, err := RequestOf(n, sale(), account(n), at.Add(old+time.Second)); !errors.Is(err, ErrTooOld) {
			t.Errorf("%s of an old one: %v", n, err)
		}
		if _, err := RequestOf(n, sale(), account(n), at.Add(old)); err != nil {
			t.Errorf("%s of one that is just in time: %v", n, err)
		}
		if _, err := RequestOf(n, refund, account(n), at); KnowsRefunds(n) != (err == nil) || err != nil && !errors.Is(err, ErrNoRefund) {
			t.Errorf("%s of a refund: %v", n, err)
		}
		for what, change := range map[string]func(c *Conversion, a *Account){
			"OrderID": func(c *Conversion, _ *Account) { c.OrderID = "" },
			"type":    func(c *Conversion, _ *Account) { c.Type = "lead" },
			"ID":      func(_ *Conversion, a *Account) { a.ID = "" },
			"Secret":  func(_ *Conversion, a *Account) { a.Secret = "" },
		} {
			c, a := sale(), account(n)
			change(&c, &a)
			if _, err := RequestOf(n, c, a, at); err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("%s without %s: %v", n, what, err)
			}
		}
	}
	if q, err := RequestOf(GA4, refund, account(GA4), at); err != nil || strings.Contains(string(q.Body), "session_id") {
		t.Errorf("a refund is none of the purchase's session: %s, %v", q.Body, err)
	}
	refund.Sold.At = at.AddDate(0, 0, -40)
	if _, err := RequestOf(GA4, refund, account(GA4), at); err != nil {
		t.Errorf("a refund of an old sale: %v", err)
	}
	if _, err := RequestOf(Google, refund, account(Google), at); !errors.Is(err, ErrTooOld) {
		t.Errorf("an old sale told again: %v", err)
	}
	refund.Sold = Sold{At: at.Add(-time.Hour), Left: commerce.Amount{Minor: 4200, Currency: "BRL"}}
	if q, err := RequestOf(Google, refund, account(Google), at); err != nil || !strings.Contains(string(q.Body), `"conversionValue":42`) ||
		!strings.Contains(string(q.Body), at.Add(-time.Hour).UTC().Format(time.RFC3339)) {
		t.Errorf("google of what is left: %s, %v", q.Body, err)
	}
	if _, err := RequestOf("x", sale(), account(Meta), at); err == nil {
		t.Error("a network that nobody knows")
	}
}

// A clock that is ahead makes no event of the future, a test is one, and long texts are cut.
func TestWhatIsSentOtherwise(t *testing.T) {
	t.Parallel()
	body := func(n Network, change func(c *Conversion, a *Account), now time.Time) (url string, text string) {
		t.Helper()
		c, a := sale(), account(n)
		change(&c, &a)
		r, err := RequestOf(n, c, a, now)
		if err != nil {
			t.Fatal(n, err)
		}
		return r.URL, string(r.Body)
	}
	same := func(*Conversion, *Account) {}
	test := func(_ *Conversion, a *Account) { a.Test = "TEST12345" }
	if _, text := body(Meta, same, at.Add(-10*time.Minute)); !strings.Contains(text, `"event_time":1762343400`) {
		t.Errorf("of a shop whose clock is ahead: %s", text)
	}
	for _, n := range []Network{Meta, TikTok} {
		if _, text := body(n, test, at); !strings.Contains(text, `"test_event_code":"TEST12345"`) {
			t.Errorf("%s, a test: %s", n, text)
		}
	}
	if url, text := body(GA4, test, at); !strings.HasPrefix(url, ga4Check) || !strings.Contains(text, `"validation_behavior"`) {
		t.Errorf("GA4, a test: %s %s", url, text)
	}
	if _, text := body(Google, test, at); !strings.Contains(text, `"validateOnly":true`) {
		t.Errorf("Google, a test: %s", text)
	}
	if _, text := body(Meta, func(c *Conversion, _ *Account) { c.PageURL = "" }, at); !strings.Contains(text, `"action_source":"other"`) {
		t.Errorf("Meta, without a page: %s", text)
	}
	long := strings.Repeat("é", 150)
	if _, text := body(GA4, func(c *Conversion, _ *Account) {
		c.Coupon, c.Items = long, make([]Item, 300)
	}, at); strings.Contains(text, strings.Repeat("é", 101)) || !strings.Contains(text, strings.Repeat("é", 100)) ||
		strings.Count(text, "item_id") != ga4Items {
		t.Errorf("GA4, long texts: %.300s", text)
	}
	if _, text := body(GA4, func(c *Conversion, _ *Account) { c.Type = Refund }, at); !strings.Contains(text, `"name":"refund"`) {
		t.Errorf("GA4, a refund: %s", text)
	}
	yen := func(c *Conversion, _ *Account) { c.Value = commerce.Amount{Minor: 1299, Currency: "JPY"} }
	if _, text := body(Meta, yen, at); !strings.Contains(text, `"value":1299,`) && !strings.Contains(text, `"value":1299}`) {
		t.Errorf("an amount without decimal places: %s", text)
	}
}

// What an answer means. The bodies are those of the networks' documentation.
func TestWhatAnAnswerMeans(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n      Network
		status int
		body   string
		want   Verdict
		words  string
	}{
		{Meta, 200, `{"events_received":1,"messages":[],"fbtrace_id":"A"}`, Taken, ""},
		{Meta, 400, `{"error":{"message":"Invalid OAuth access token.","type":"OAuthException","code":190,"fbtrace_id":"A"}}`, Stopped,
			"Invalid OAuth access token."},
		{Meta, 400, `{"error":{"message":"(#100) Invalid parameter","code":100,"error_subcode":2804003,"is_transient":false,` +
			`"error_user_title":"Event Timestamp Too Old","error_user_msg":"The timestamp is more than 7 days old."}}`, Refused,
			"Event Timestamp Too Old: The timestamp is more than 7 days old."},
		{Meta, 400, `{"error":{"message":"Application request limit reached","code":4}}`, Later, "Application request limit reached"},
		{Meta, 500, `{"error":{"message":"An unknown error occurred","code":1}}`, Later, "An unknown error occurred"},
		{Meta, 403, `{"error":{"message":"(#200) No permission","code":200}}`, Stopped, "(#200) No permission"},
		{Meta, 502, `<html>`, Later, "Bad Gateway"},
		{Meta, 200, `<html>`, Later, "the answer is not the network's"},
		{Meta, 400, `{"error":{"message":"x","code":-1}}`, Later, "x"},
		{Meta, 429, `{"error":{"message":"x","code":7}}`, Later, "x"},
		{Meta, 400, `{"error":{"message":"Unsupported post request.","code":100,"error_subcode":33}}`, Stopped, "Unsupported post request."},
		{Meta, 400, `{"error":{"message":"Requires valid signature","code":104}}`, Stopped, "Requires valid signature"},
		{GA4, 204, "", Taken, ""},
		{GA4, 200, `{"validationMessages":[]}`, Taken, ""},
		{GA4, 200, `{"validationMessages":[{"fieldPath":"events.params.value","description":"must be a number",` +
			`"validationCode":"VALUE_INVALID"}]}`, Refused,
			"VALUE_INVALID events.params.value: must be a number"},
		{GA4, 503, "", Later, "Service Unavailable"},
		{Google, 200, `{"requestId":"126"}`, Taken, ""},
		{Google, 401, `{"error":{"code":401,"message":"Request had invalid authentication credentials.","status":"UNAUTHENTICATED"}}`, Stopped,
			"UNAUTHENTICATED Request had invalid authentication credentials."},
		{Google, 400, `{"error":{"code":400,"message":"There was a problem with the request.","status":"INVALID_ARGUMENT","details":[{"@type":` +
			`"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"events[0].currency",` +
			`"description":"is not valid"}]}]}}`, Refused,
			"INVALID_ARGUMENT There was a problem with the request.; events[0].currency: is not valid"},
		{Google, 429, `{"error":{"code":429,"message":"Quota exceeded","status":"RESOURCE_EXHAUSTED"}}`, Later,
			"RESOURCE_EXHAUSTED Quota exceeded"},
		{Google, 200, `{}`, Later, "the answer is not the network's"},
		{Google, 404, `{"error":{"code":404,"message":"Not found","status":"NOT_FOUND"}}`, Stopped, "NOT_FOUND Not found"},
		{Google, 400, `{"error":{"code":400,"message":"Bad","status":"INVALID_ARGUMENT","details":[{"fieldViolations":[` +
			`{"field":"destinations[0].operatingAccount","description":"is unknown"}]}]}}`, Stopped,
			"INVALID_ARGUMENT Bad; destinations[0].operatingAccount: is unknown"},
		{TikTok, 429, `{"code":42900,"message":"slow"}`, Later, "42900 slow"},
		{TikTok, 503, `{"code":40002,"message":"x"}`, Later, "40002 x"},
		{TikTok, 200, `{}`, Later, "the answer is not the network's"},
		{"x", 200, "", Refused, `no network "x"`},
		{TikTok, 200, `{"code":0,"message":"OK"}`, Taken, ""},
		{TikTok, 200, `{"code":40105,"message":"Access token is incorrect or has been revoked."}`, Stopped,
			"40105 Access token is incorrect or has been revoked."},
		{TikTok, 200, `{"code":40002,"message":"Invalid event_time"}`, Refused, "40002 Invalid event_time"},
		{TikTok, 200, `{"code":40100,"message":"Too many requests"}`, Later, "40100 Too many requests"},
		{TikTok, 200, `{"code":50000,"message":"System error"}`, Later, "50000 System error"},
		{TikTok, http.StatusGatewayTimeout, "", Later, "Gateway Timeout"},
	} {
		want := Outcome{Verdict: c.want, Words: c.words}
		if c.n == Google && c.want == Taken {
			want.Request = "126"
		}
		if got := AnswerOf(c.n, c.status, []byte(c.body)); got != want {
			t.Errorf("%s %d %s: %+v", c.n, c.status, c.body, got)
		}
	}
}

// What Google says later of what it took.
func TestGoogleSaysWhatBecameOfARequest(t *testing.T) {
	t.Parallel()
	if q := StatusRequest("a/b", Account{Secret: "s"}); q.Body != nil || q.Header.Get("Authorization") != "Bearer s" ||
		q.URL != "https://datamanager.googleapis.com/v1/requestStatus:retrieve?requestId=a%2Fb" {
		t.Errorf("%+v", q)
	}
	one := func(text string) string { return `{"requestStatusPerDestination":[` + text + `]}` }
	for _, c := range []struct {
		status int
		body   string
		want   Outcome
	}{
		{200, one(`{"requestStatus":"SUCCESS"}`), Outcome{Verdict: Taken}},
		{200, one(`{"requestStatus":"PROCESSING"}`), Outcome{Verdict: Later}},
		{200, one(`{"requestStatus":"FAILED","errorInfo":{"errorCounts":[{"reason":"PROCESSING_ERROR_REASON_DENIED_CONSENT"}]}}`),
			Outcome{Verdict: Refused, Words: "FAILED PROCESSING_ERROR_REASON_DENIED_CONSENT"}},
		{200, one(`{"requestStatus":"FAILURE"}`), Outcome{Verdict: Refused, Words: "FAILURE"}},
		{200, one(`{"requestStatus":"FAILED","errorInfo":{"errorCounts":[{"reason":"PROCESSING_ERROR_REASON_DUPLICATE_TRANSACTION_ID"}]}}`),
			Outcome{Verdict: Taken}}, // it has it
		{200, one(`{"requestStatus":"FAILED","errorInfo":{"errorCounts":[{"reason":"PROCESSING_ERROR_REASON_INTERNAL_ERROR"}]}}`),
			Outcome{Verdict: Later, Words: "FAILED PROCESSING_ERROR_REASON_INTERNAL_ERROR"}},
		{200, one(`{"requestStatus":"FAILED","errorInfo":{"errorCounts":[{"reason":"PROCESSING_ERROR_REASON_DESTINATION_ACCOUNT_` +
			`ENHANCED_CONVERSIONS_TERMS_NOT_SIGNED"}]}}`), Outcome{Verdict: Stopped,
			Words: "FAILED PROCESSING_ERROR_REASON_DESTINATION_ACCOUNT_ENHANCED_CONVERSIONS_TERMS_NOT_SIGNED"}},
		{200, `{"requestStatusPerDestination":[]}`, Outcome{Verdict: Later}},
		{200, `<html>`, Outcome{Verdict: Later}},
		{400, `{"error":{"code":400}}`, Outcome{Verdict: Later}},
		{503, one(`{"requestStatus":"SUCCESS"}`), Outcome{Verdict: Later}},
	} {
		if got := StatusOf(Purchase, c.status, []byte(c.body)); got != c.want {
			t.Errorf("%d %s: %+v, want %+v", c.status, c.body, got, c.want)
		}
	}
	// A refund has the sale's id: as a repeat it was not counted.
	if got := StatusOf(Refund, 200, []byte(one(`{"requestStatus":"FAILED","errorInfo":{"errorCounts":[{"reason":"`+googleKnown+
		`"}]}}`))); got.Verdict != Refused {
		t.Errorf("a refund: %+v", got)
	}
}
