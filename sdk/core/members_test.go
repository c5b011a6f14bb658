package core_test

import (
	"strings"
	"testing"
)

// members are those of an event A's canonical form behind its timestamp, or why
// the event is refused.
func members(t *testing.T, body string) string {
	t.Helper()
	got := one(t, body)
	got = strings.TrimPrefix(got, `{"eventId":"`+id+`","event":"A","timestamp":"2026-05-28T20:26:40.123Z"`)
	return strings.TrimSuffix(strings.TrimPrefix(got, ","), "}")
}

func TestEachMemberStandsAlone(t *testing.T) {
	for _, text := range []string{
		`"context":{"page":{"url":"https://l.example/p","path":"/p"}}`, `"context":{"page":{"path":"/p"}}`, `"context":{"page":{"referrer":"r"}}`,
		`"context":{"page":{"title":"t"}}`,
		`"context":{"campaign":{"source":"s"}}`, `"context":{"campaign":{"medium":"m"}}`, `"context":{"campaign":{"name":"n"}}`,
		`"context":{"campaign":{"content":"c"}}`, `"context":{"campaign":{"term":"t"}}`,
		`"context":{"clickIds":{"gclid":"g"}}`, `"context":{"networkIds":{"ga":"1.2"}}`,
		`"context":{"networkIds":{"ga_session":"AB12CD34EF.1762344000"}}`,
		`"context":{"networkIds":{"fbp":"fb.1.1738782878094.8"}}`,
		`"context":{"networkIds":{"ttp":"kEDQ0tJexuVClkJ41P2SHjupLEY"}}`,
		`"context":{"library":{"name":"n"}}`, `"context":{"library":{"version":"v"}}`,
		`"context":{"locale":"pt-BR"}`, `"context":{"screen":"1x1"}`, `"context":{"userAgent":"u"}`,
		`"visitorId":"v"`, `"sessionId":"s"`, `"stream":"s"`, `"seq":1`, `"frame":true`, `"consent":"granted"`, `"consent":"denied"`,
		`"consent":"unknown"`, `"consent":"granted ga4,meta"`,
		`"identity":{"email":"e"}`, `"identity":{"phone":"p"}`, `"identity":{"customer_id":"c"}`, `"identity":{"cart_token":"t"}`,
		`"identity":{"verified":true}`,
		`"payload":{"a":1}`, `"payload":{}`,
	} {
		if got := members(t, `{"event":"A",`+text+`}`); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// Languages and databases write ids and times as numbers. They are taken digit by digit.
func TestIDsAndTimesMayBeNumbers(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := members(t, `{"event":"A",`+text+`}`); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
	f(`"identity":{"phone":5511912345678,"customer_id":820982911946154508123,"cart_token":42}`,
		`"identity":{"phone":"5511912345678","customer_id":"820982911946154508123","cart_token":"42"}`)
	f(`"identity":{"customer_id":0}`, "")
	f(`"visitorId":42,"sessionId":-7,"stream":1`, `"visitorId":"42","sessionId":"-7","stream":"1"`)
	f(`"timestamp":1780000000123`, "") // the time that members expects
}

// Destinations are in order, each once: two events that say the same are the same bytes.
func TestDestinationsAreInOrder(t *testing.T) {
	for _, text := range []string{"meta,ga4,tiktok", "tiktok, meta ,ga4,meta",
		",ga4,,tiktok,meta,", "meta,meta,meta,meta,ga4,tiktok,ga4,ga4,ga4"} {
		if got := members(t, `{"event":"A","consent":"granted `+text+`"}`); got != `"consent":"granted ga4,meta,tiktok"` {
			t.Errorf("%s became %s", text, got)
		}
	}
}

func TestWhatSaysNothingIsLeftOut(t *testing.T) {
	for _, text := range []string{
		`"seq":0`, `"seq":null`, `"frame":false`, `"frame":null`, `"consent":null`, `"consent":""`, `"consent":" , "`,
		`"visitorId":null`, `"visitorId":" 0 "`,
		`"visitorId":"Undefined"`, `"payload":null`,
		`"context":{}`, `"context":null`, `"context":{"page":{},"campaign":{},"clickIds":{},"library":{},"locale":""}`,
		`"context":{"clickIds":{"gclid":"","other":"x"},"unknown":[1]}`,
		`"identity":{}`, `"identity":null`, `"identity":{"email":"NULL","phone":"(00) 0000-0000","verified":false,"name":"Ana"}`,
		`"unknown":{"a":[]}`, `"eventId":null`, `"timestamp":null`,
	} {
		if got := members(t, `{"event":"A",`+text+`}`); got != "" {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// The flat form, as Node's client and raw envelopes have it, counts where page has nothing.
func TestTheFlatFormOfAContextFillsThePage(t *testing.T) {
	f := func(given, want string) {
		t.Helper()
		if got := members(t, `{"event":"A","context":{`+given+`}}`); got != `"context":{`+want+`}` {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
	const url = `"url":"https://l.example/?utm_source=u"`
	const page = `"page":{"url":"https://l.example/?utm_source=u","path":"/"`
	const campaign = `,"campaign":{"source":"u"}`
	f(url+`,"referrer":"r","title":"t"`, page+`,"referrer":"r","title":"t"}`+campaign)
	f(url+`,"page":{"title":"t"}`, page+`,"title":"t"}`+campaign)
	f(`"page":{"title":"t","url":""},`+url, page+`,"title":"t"}`+campaign)
	f(`"url":"https://other.example/","title":"other",`+page+`,"title":"t"}`, page+`,"title":"t"}`+campaign)
	f(page+`},"url":"https://other.example/"`, page+`}`+campaign)
	f(`"url":null,"title":"t"`, `"page":{"title":"t"}`)
}

// What the page kept of its landing counts more than the URL it is at, each of
// campaign and click ids for itself.
func TestTheURLGivesWhatTheContextLacks(t *testing.T) {
	const url = `"page":{"url":"https://l.example/?utm_source=u&gclid=u","path":"/"}`
	f := func(given, want string) {
		t.Helper()
		if got := members(t, `{"event":"A","context":{`+url+given+`}}`); got != `"context":{`+url+`,`+want+`}` {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
	f(``, `"campaign":{"source":"u"},"clickIds":{"gclid":"u"}`)
	f(`,"campaign":{"medium":"c"}`, `"campaign":{"medium":"c"},"clickIds":{"gclid":"u"}`)
	f(`,"clickIds":{"fbclid":"c"}`, `"campaign":{"source":"u"},"clickIds":{"fbclid":"c"}`)
	f(`,"campaign":{"medium":"c"},"clickIds":{"fbclid":"c"}`, `"campaign":{"medium":"c"},"clickIds":{"fbclid":"c"}`)
	f(`,"clickIds":{"gclid":"1","fbclid":"2","gclid":"3","gclid":""}`, `"campaign":{"source":"u"},"clickIds":{"fbclid":"2","gclid":"3"}`)
}

func TestEnvelopesAreReadElementByElement(t *testing.T) {
	f := func(elements, want string) {
		t.Helper()
		if got := members(t, `["r1"`+elements+`]`); got != want {
			t.Errorf("%s: %s, want %s", elements, got, want)
		}
	}
	f(``, "invalid_event ")
	f(`,null,null`, "invalid_event ")
	f(`,null,null,"A",null,null`, "invalid_event ")
	f(`,null,null,"A",null,null,null`, ``)
	f(`,null,null,"A",null,null,{},{"later":1},2`, ``)
	f(`,null,null,"A","","",{}`, ``)
	f(`,null,null,"A","{\"a\":1}","{\"email\":\"e\"}",{"title":"t"}`,
		`"payload":{"a":1},"context":{"page":{"title":"t"}},"identity":{"email":"e"}`)
	f(`,null,null,"A","null","null",{"referrer":"r"}`, `"context":{"page":{"referrer":"r"}}`)
	f(`,null,null,"A",null,null,{"userAgent":"u","seq":2,"later":3}`, `"context":{"userAgent":"u"},"seq":2`)
	f(`,7,null,"A",null,null,{}`, "invalid_event_id eventId")
	f(`,null,7,"A",null,null,{}`, "invalid_timestamp timestamp")
	f(`,null,null,7,null,null,{}`, "invalid_event_name event")
	f(`,null,null,"A",{},null,{}`, "invalid_payload payload")
	f(`,null,null,"A","[]",null,{}`, "invalid_payload payload")
	f(`,null,null,"A","{\"a\":tru}",null,{}`, "invalid_json payload")
	f(`,null,null,"A","{} x",null,{}`, "invalid_json payload")
	f(`,null,null,"A",null,"{\"email\":\"e\"",{}`, "invalid_json identity")
	f(`,null,null,"A",null,"{\"email\":1} x",{}`, "invalid_identity identity.email")
	f(`,null,null,"A","{\"n\":1e999}",null,{}`, "number_out_of_range payload")
	f(`,null,null,"A","{\"n\":`+strings.Repeat("[", 30)+strings.Repeat("]", 30)+`}",null,{}`,
		`"payload":{"n":`+strings.Repeat("[", 30)+strings.Repeat("]", 30)+`}`)
	f(`,null,null,"A","{\"n\":`+strings.Repeat("[", 31)+strings.Repeat("]", 31)+`}",null,{}`, "too_deep payload")
	f(`,null,null,"A",null,null,[]`, "invalid_context context")
	f(`,null,null,"A",null,null,{"frame":1}`, "invalid_field frame")
}

func TestCampaignsKeepBrokenEscapes(t *testing.T) {
	f := func(value, want string) {
		t.Helper()
		if got := members(t, `{"event":"A","context":{"page":{"url":"https://l.example/?utm_source=`+value+`"}}}`); !strings.Contains(got,
			`"campaign":{"source":"`+want+`"}`) {
			t.Errorf("%s: %s, want %s", value, got, want)
		}
	}
	f("a%41", "aA")
	f("a%4", "a%4")
	f("a%", "a%")
	f("%4g", "%4g")
	f("%g4", "%g4")
	f("%c3%a9%30+%2b", "é0 +")
	f(strings.Repeat("a", 256), strings.Repeat("a", 256))
	f(strings.Repeat("a", 257), strings.Repeat("a", 256))
	f(strings.Repeat("a", 255)+"é", strings.Repeat("a", 255))
	f(strings.Repeat("a", 253)+"😀", strings.Repeat("a", 253))
}
