package edge

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// warned are the warnings of an answer: "0 field code: message", by event.
func (a answerBody) warned() string {
	var lines []string
	for i, r := range a.Results {
		for _, w := range r.Warnings {
			lines = append(lines, fmt.Sprintf("%d %s %s: %s", i, w.Field, w.Code, w.Message))
		}
	}
	return strings.Join(lines, "\n")
}

func TestWhatOfAnEventIsNotReadIsWarnedOf(t *testing.T) {
	s := newStand(t, nil)
	f := func(members string, want ...string) {
		t.Helper()
		answer := s.post(200, `{"companyId":"`+testCompany+`","event":"PRODUCT_VIEW"`+members+`}`)
		if got := answer.warned(); answer.Results[0].Status != "ok" || got != strings.Join(want, "\n") {
			t.Errorf("%s: %+v\n got %s\nwant %s", members, answer.Results[0], got, strings.Join(want, "\n"))
		}
	}
	unknown := func(field, near string) string {
		return "0 " + field + " unknown_field: is not known here and was not read; did you mean " + near + "?"
	}
	f(``)
	f(`,"visitor_id":"v-1"`, unknown("visitor_id", "visitorId"))
	f(`,"VisitorID":"v-1","vistorId":"v-1"`, unknown("VisitorID", "visitorId"), unknown("vistorId", "visitorId"))
	f(`,"anonymousId":"v-1","userId":"c-1"`, unknown("anonymousId", "visitorId"), unknown("userId", "identity.customer_id"))
	f(`,"identity":{"customerId":"c-1"}`, unknown("identity.customerId", "customer_id"))
	f(`,"identity":{"user_id":"c-1","e-mail":"a@example.com","cartToken":"9f3b"}`, unknown("identity.user_id", "customer_id"),
		unknown("identity.e-mail", "email"), unknown("identity.cartToken", "cart_token"))
	f(`,"context":{"user_agent":"curl"}`, unknown("context.user_agent", "userAgent"))
	f(`,"context":{"page":{"href":"https://loja.example.com/","referer":"https://x.example.com/"},"campaign":{"utm_source":"a"},`+
		`"clickIds":{"trbClick":"a"}}`,
		unknown("context.page.href", "url"), unknown("context.page.referer", "referrer"), unknown("context.campaign.utm_source", "source"),
		unknown("context.clickIds.trbClick", "trb_click"))
	// A name with an escape is the same name.
	f(`,"visitor\u005fid":"v-1"`, unknown("visitor_id", "visitorId"))
	// Lists that other vendors have elsewhere.
	f(`,"payload":{"contents":[{"id":"1"}]}`, unknown("payload.contents", "payload.items"))
	f(`,"payload":{"currency":"BRL","ecommerce":{"currency":"BRL","items":[{"item_id":"1"}]}}`,
		unknown("payload.ecommerce.items", "payload.items"))
	f(`,"payload":{"contents":[{"id":"1"}],"items":[{"item_id":"1","item_quantity":1}]}`)
	f(`,"payload":{"contents":[{"id":"1"}],"products":[{"sku":"1"}]}`)
	f(`,"payload":{"contents":"none","ecommerce":{"items":2}}`)
	f(`,"payload":{"items":[{"item_id":"1","quantity":"two"}]}`,
		"0 payload.items[0].quantity invalid_payload: must be a number above 0, up to 1000000000; the items stay as they were sent")
	// What tells nobody.
	f(`,"visitorId":"undefined","identity":{"customer_id":"null"}`,
		"0 visitorId invalid_value: tells nobody apart: it is a placeholder, or too long; it is ignored",
		"0 identity.customer_id invalid_value: tells nobody apart: it is a placeholder, or too long; it is ignored")
	f(`,"visitorId":"guest","identity":{"email":"ana","phone":"12","cart_token":"anonymous"}`,
		"0 visitorId invalid_value: tells nobody apart: it is a placeholder, or too long; it is ignored",
		"0 identity.email invalid_value: is no e-mail address; it is ignored",
		"0 identity.phone invalid_value: is no phone number; it is ignored",
		"0 identity.cart_token invalid_value: tells nobody apart: it is a placeholder, or too long; it is ignored")
	f(`,"visitorId":null,"identity":{"customer_id":"0","email":"","phone":"000-000"}`)
	// Members of one's own, and what is in a payload, are nobody's fault.
	f(`,"surprise":1,"type":"track","identity":{"segment":"b"},"context":{"ip":"1.2.3.4","page":{"search":"?a"},"library":{"x":1}},` +
		`"payload":{"visitor_id":1,"customerId":2}`)
	// An answer's memory is used again.
	f(``)
}

func TestARejectedEventTellsWhatWasMeant(t *testing.T) {
	s := newStand(t, nil)
	f := func(event, wantCode, wantField string) {
		t.Helper()
		r := s.post(200, batchOf(event)).Results[0]
		if r.Status != "rejected" || r.Code != wantCode || len(r.Warnings) != 1 || r.Warnings[0].Field != wantField {
			t.Errorf("%s: %+v", event, r)
		}
	}
	f(`{"event_name":"PAGE_VIEW"}`, "invalid_event_name", "event_name")
	f(`{"event":"Purchase","payload":{"contents":[{"id":"1","quantity":1}]}}`, "payload_items_required", "payload.contents")
	f(`{"event":"purchase","payload":{"ecommerce":{"items":[{"item_id":"1"}]}}}`, "payload_items_required", "payload.ecommerce.items")
	f(`{"event":"A","visitor_id":"v","seq":-1}`, "invalid_field", "visitor_id")
}

// Of several events with the same fault the first tells it; each event has its own.
func TestEachFaultIsToldOnceInAnAnswer(t *testing.T) {
	s := newStand(t, nil)
	answer := s.post(200, batchOf(pageView(newID()), `{"event":"A","visitor_id":"v"}`, `{"event":"A","visitor_id":"v"}`, pageView(newID()),
		`{"event":"A","identity":{"email":"ana"},"visitor_id":"v"}`, `{"event":"a b"}`, `{"event":"a b"}`))
	want := "1 visitor_id unknown_field: is not known here and was not read; did you mean visitorId?\n4 identity.email invalid_value: is " +
		"no e-mail address; it is ignored"
	if got := answer.warned(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for i, status := range []string{"ok", "ok", "ok", "ok", "ok", "rejected", "rejected"} {
		if answer.Results[i].Status != status {
			t.Errorf("%d: %+v, want %s", i, answer.Results[i], status)
		}
	}
	// The SDK's own envelopes are not looked at.
	if got := s.post(200, batchOf(`["r1",null,null,"A",null,"{\"customerId\":\"c\"}",{"visitor_id":"v"},{}]`)).warned(); got != "" {
		t.Error(got)
	}
}

func TestStrictHandlingRefusesTheEventAlone(t *testing.T) {
	s := newStand(t, nil)
	const strict = "Prefer: respond-async, handling=strict"
	good, bad := pageView(newID()), newID()
	response, text := s.do("POST", "/v1/events", batchOf(good, strings.Replace(pageView(bad), "{", `{"visitor_id":"v-1",`, 1)), strict)
	if response.Header.Get("Preference-Applied") != "handling=strict" {
		t.Error(response.Header)
	}
	if want := `"status":"rejected","code":"unknown_field","message":"visitor_id is not known here and was not read; did you mean ` +
		`visitorId?"}`; response.StatusCode != 200 ||
		!strings.Contains(string(text), want) || strings.Contains(string(text), "warnings") {
		t.Errorf("%d %s", response.StatusCode, text)
	}
	f := func(event, wantCode, wantMessage string) {
		t.Helper()
		for range 2 { // each event, not the first alone
			r := s.post(200, batchOf(event, event), strict).Results[1]
			if (r.Status == "rejected") != (wantCode != "") || r.Code != wantCode || r.Message != wantMessage || r.Warnings != nil {
				t.Errorf("%s: %+v", event, r)
			}
		}
	}
	f(`{"event":"A","identity":{"email":"ana"}}`, "invalid_value", "identity.email is no e-mail address; it is ignored")
	f(`{"event":"A","visitorId":"guest"}`, "invalid_value", "visitorId tells nobody apart: it is a placeholder, or too long; it is ignored")
	f(`{"event":"AddToCart","payload":{"contents":[]}}`, "unknown_field",
		"payload.contents is not known here and was not read; did you mean payload.items?")
	// what would be refused anyway comes first
	f(`{"event":"A","seq":-1,"visitor_id":"v"}`, "invalid_field", "seq must be a whole number from 0")
	f(`{"event":"A","surprise":1}`, "", "")
	for _, e := range s.events() {
		if e.EventID == bad || e.Event == "ADD_TO_CART" || e.Event == "A" && (e.Seq != 0 || e.Identity.EmailKey != "") {
			t.Errorf("stored: %+v", e)
		}
	}
	if letters := s.log(wire.TopicRejected); len(letters) == 0 || strings.Contains(string(letters[0].Value), "v-1") {
		t.Errorf("%d letters: %s", len(letters), letters)
	}
	// It was not stored, so it is no duplicate.
	if r := s.post(200, batchOf(pageView(bad))).Results[0]; r.Status != "ok" {
		t.Errorf("%+v", r)
	}
	// Of two preferences the first counts; another is ignored.
	for header, want := range map[string]string{"Prefer: handling=lenient, handling=strict": "ok",
		"Prefer: return=minimal": "ok", strict: "rejected"} {
		if r := s.post(200, batchOf(`{"event":"A","visitor_id":"v"}`), header).Results[0]; r.Status != want {
			t.Errorf("%s: %+v", header, r)
		}
	}
	if response, _ := s.do("GET", "/v1/pixel.gif?companyId="+testCompany+"&visitorId=guest", "", strict); response.StatusCode != 200 ||
		response.Header.Get("Preference-Applied") != "" {
		t.Errorf("%d %v", response.StatusCode, response.Header)
	}
}

// What a stranger can make the edge say and do by names that are not known.
func TestManyUnknownNamesAreAnsweredWithFew(t *testing.T) {
	s := newStand(t, nil)
	f := func(what string, events int, members func(event int) string, most int, headers ...string) {
		t.Helper()
		var list []string
		for i := range events {
			list = append(list, `{"event":"A"`+members(i)+`}`)
		}
		body := batchOf(list...)
		if len(body) > 1<<20 {
			t.Fatalf("%s: %d bytes", what, len(body))
		}
		response, text := s.do("POST", "/v1/events", body, headers...)
		if n := len(text); response.StatusCode != http.StatusOK || n > events*120+most || strings.Contains(string(text), "secret") {
			t.Errorf("%s: %d, %d bytes: %.500s", what, response.StatusCode, n, text)
		}
		if n := strings.Count(string(text), `"field"`); n > maxWarnings {
			t.Errorf("%s: %d warnings", what, n)
		}
	}
	repeat := func(n int, member func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString("," + member(i))
		}
		return b.String()
	}
	slip := func(i int) string { // as many spellings of visitorId as there are numbers
		name := []byte("visitorid")
		for bit := range name {
			if i>>bit&1 == 1 {
				name[bit] -= 'a' - 'A'
			}
		}
		return `"` + string(name) + strings.Repeat("_", i>>9) + `":"secret"`
	}
	f("spellings", 32, func(e int) string { return repeat(500, func(i int) string { return slip(e*500 + i) }) }, 6_000)
	f("others", 32, func(e int) string {
		return repeat(1000, func(i int) string { return fmt.Sprintf(`"x%d":"secret"`, e*1000+i) })
	}, 6_000)
	f("long names", 32, func(int) string { return `,"visitor_id` + strings.Repeat("secret", 5_000) + `":1` }, 6_000)
	personal := func(i int) string {
		return fmt.Sprintf(`,"identity":{"email ana%d@secret.example.com":1,"trb_live_secret8F3kD92mQpXz71Lw%d":2}`, i, i)
	}
	f("names that are no names", 500, func(i int) string { return personal(i) + `,"visitor id":"secret"` }, 6_000)
	f("the same, strict", 500, personal, 500*200, "Prefer: handling=strict")
	f("strict", 500, func(i int) string {
		return repeat(20, func(n int) string { return slip(i*20 + n) })
	}, 500*200, "Prefer: handling=strict")
}

// However many unknown names there are, few are compared, and few events are read again.
func TestFewUnknownNamesAndEventsAreLookedAt(t *testing.T) {
	f := func(strict bool, members func(event int) string, wantLookedAt, wantRefused int) {
		t.Helper()
		w := warnings{strict: strict}
		refused := 0
		for i := range 500 {
			item := core.Item{Text: `{"event":"A"` + members(i) + `}`, Unread: true}
			if w.look(i, &item); w.refused != nil {
				w.refused, refused = nil, refused+1
			}
		}
		looked := w.lookedAt
		if !strict {
			looked = min(looked, maxLookedAt)
		}
		if len(w.meant) > maxCompared || looked != wantLookedAt || refused != wantRefused || len(w.list) > maxWarnings {
			t.Errorf("%d names are compared, %d events looked at, %d refused, %d warnings", len(w.meant), looked, refused, len(w.list))
		}
	}
	one := func(int) string { return `,"type":"track"` }
	many := func(i int) string { return fmt.Sprintf(`,"type%d":"track","t%d":1`, i, i) }
	f(false, one, maxLookedAt, 0)
	f(true, one, 500, 0)
	f(false, many, maxLookedAt, 0)
	f(true, many, 500, 500-maxCompared/2) // beyond the bound each unknown name is refused
}

// An event that is as the document says costs nothing more.
func TestAnEventWithoutFaultIsNotReadAgain(t *testing.T) {
	files, err := filepath.Glob("../testdata/events/*")
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	bodies := []string{benchEvent(newID())}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, canonical, _ := strings.Cut(string(text), "\n----------\n")
		bodies = append(bodies, canonical)
	}
	read := 0
	for _, body := range bodies {
		var batch core.Batch
		if batch.Parse(body, testCompany, core.Options{}) != nil {
			continue
		}
		for _, item := range batch.Items {
			if read++; item.Unread {
				t.Errorf("is read again: %s", item.Text)
			}
		}
	}
	if read < 5 {
		t.Errorf("%d events", read)
	}
}
