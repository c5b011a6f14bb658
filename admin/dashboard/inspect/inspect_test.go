package inspect_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/inspect"
	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

var came = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func rules() *attribution.Index {
	return attribution.NewIndex(&facts.Rules{
		CompanyID: "c_1", Location: time.UTC,
		Influencers: []facts.Influencer{{ID: "i1", Name: "Ana Prado", Folded: "ana prado", CreatedAt: came.AddDate(0, -1, 0)}},
		Links:       []facts.Link{{ID: "l1", InfluencerID: "i1", Code: "abc123"}},
	})
}

func view(change func(e *wire.Event)) []byte {
	e := wire.Event{
		CompanyID: "c_1", EventID: "01938a4e-6f5a-7c11-a6c1-0d3cf5a0a5b2", Event: "PAGE_VIEW",
		Timestamp: came.Add(-time.Second), ReceivedAt: came,
		VisitorID: "0199f3a0-0000-7000-8000-00000000000a", Bot: wire.BotNone, Consent: wire.ConsentGranted, Via: wire.ViaJS,
		Trust:   wire.TrustOpen,
		Context: wire.Context{Page: wire.Page{URL: "https://loja.example.com/p/vestido?nome=Maria", Path: "/p/vestido"}},
	}
	change(&e)
	value, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return value
}

func TestWhatAnEventDoes(t *testing.T) {
	t.Parallel()
	f := func(what string, effect inspect.Effect, change func(e *wire.Event)) inspect.Event {
		t.Helper()
		got := inspect.Record(view(change), rules())
		if got.Effect != effect {
			t.Errorf("%s: %s, want %s", what, got.Effect, effect)
		}
		return got
	}
	at := func(url string) func(e *wire.Event) { return func(e *wire.Event) { e.Context.Page.URL = url } }
	f("a page", inspect.Counts, func(*wire.Event) {})
	ours := f("an influencer's name", inspect.Ours, at("https://loja.example.com/?utm_source=influencer&utm_campaign=Ana+Prado"))
	if ours.Touch.Influencer != "Ana Prado" || ours.Touch.Kind != facts.ByUTM {
		t.Errorf("%+v", ours.Touch)
	}
	f("an influencer's link", inspect.Ours,
		at("https://loja.example.com/?trb_click=abc123.01938a4e-6f5a-7c11-a6c1-0d3cf5a0a5b2.1aaaaaaaaaaaa"))
	f("another campaign", inspect.Came, at("https://loja.example.com/?utm_source=google&utm_medium=cpc"))
	f("a bot", inspect.Program, func(e *wire.Event) { e.Bot = wire.BotKnown })
	f("an old one", inspect.Late, func(e *wire.Event) { e.Timestamp = came.AddDate(0, 0, -8) })
	f("nobody's", inspect.Nobody, func(e *wire.Event) { e.VisitorID = "" })
	f("a frame's", inspect.Framed, func(e *wire.Event) { e.Frame = true })
	for _, fault := range []struct {
		want  string
		value []byte
	}{
		{"invalid_event_id", view(func(e *wire.Event) { e.EventID = "7" })},
		{"missing_company", view(func(e *wire.Event) { e.CompanyID = "" })},
		{"invalid_time", view(func(e *wire.Event) { e.ReceivedAt = time.Time{} })},
		{"invalid_json", []byte(`{`)},
	} {
		if got := inspect.Record(fault.value, rules()); got.Effect != inspect.Refused || got.Fault != fault.want {
			t.Errorf("%s %q, want %s", got.Effect, got.Fault, fault.want)
		}
	}
}

// No id, key, query or value of a payload is shown.
func TestNobodyIsShown(t *testing.T) {
	t.Parallel()
	got := inspect.Record(view(func(e *wire.Event) {
		e.Payload = json.RawMessage(`{"nome": "Maria Silva", "items": [{"item_id": "p1"}]}`)
		e.Identity = wire.Identity{EmailKey: "k1:secretkey", CartKey: "k1:cartkey"}
		e.CookieID, e.NetKey, e.IP = "0199f3a0-0000-7000-8000-00000000000b", "k1:network", "203.0.113.0"
	}), rules())
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"Maria", "k1:", "0199f3a0", "203.0.113", "?"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("%s shows %q", text, secret)
		}
	}
	if got.Page != "loja.example.com/p/vestido" || strings.Join(got.Members, " ") != "items nome" || len(got.Keys) < 3 || got.Visitor == "" ||
		got.Visitor != inspect.Mark("0199f3a0-0000-7000-8000-00000000000a") {
		t.Errorf("%+v", got)
	}
}

// A checkout's token stands in its address, and claims the sale: nobody may read it there.
func TestALongPartOfAPathIsAMark(t *testing.T) {
	t.Parallel()
	const token = "Z2NwLXVzLWVhc3Qx"
	f := func(page wire.Page, want string) {
		t.Helper()
		got := inspect.Record(view(func(e *wire.Event) {
			e.Context.Page, e.Payload = page, json.RawMessage(`{"`+token+`": 1, "shipping_address": 2}`)
		}), rules())
		if got.Page != want {
			t.Errorf("%+v: %s, want %s", page, got.Page, want)
		}
		if want := "~" + inspect.Mark(token)[:2] + " shipping_address"; strings.Join(got.Members, " ") != want {
			t.Errorf("%v, want %s", got.Members, want)
		}
	}
	mark := "~" + inspect.Mark(token)[:2]
	f(wire.Page{URL: "https://loja.example.com/checkouts/cn/" + token + "/pay?x=1"}, "loja.example.com/checkouts/cn/"+mark+"/pay")
	f(wire.Page{URL: "https://loja.example.com/" + token + "/" + token[1:]}, "loja.example.com/"+mark+"/"+token[1:])
	f(wire.Page{URL: "https://loja.example.com/%2F" + token}, "loja.example.com/~"+inspect.Mark("%2F" + token)[:2])
	f(wire.Page{Path: "/pay/" + token}, "/pay/"+mark)
	const random = "9f3b5d2e4c1a4e9f"
	marked := "~" + inspect.Mark(random)[:2]
	for text, want := range map[string]string{
		`{"url":"https://a-shop-of-many-letters.example.com/p/` + token +
			`?x=1"}`: `{"url":"https://a-shop-of-many-letters.example.com/p/` + mark + `?x=1"}`,
		`{"path":"/pay/` + token + `"}`:      `{"path":"/pay/` + mark + `"}`,
		`{"path":"/` + token + `"}`:          `{"path":"/` + mark + `"}`,
		`{"a":"1/2/3","b":"` + token + `"}`:  `{"a":"1/2/3","b":"` + token + `"}`, // a text in base64
		`{"a":"1/2/3","b":"` + random + `"}`: `{"a":"1/2/3","b":"` + marked + `"}`,
		`{"a":"?t=` + random + `&utm_campaign=vestido-de-festa-2026#` + random + `"}`: `{"a":"?t=` + marked +
			`&utm_campaign=vestido-de-festa-2026#` + marked + `"}`,
		`{"userAgent":"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36",` +
			`"at":"2026-11-24T18:53:35.123Z"}`: `{"userAgent":"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36",` +
			`"at":"2026-11-24T18:53:35.123Z"}`,
	} {
		if got := inspect.Marked(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// Anybody may write what is shown: a text does not turn what is behind it around, and a
// host that looks like the shop's is another one.
func TestATextShowsWhatItIs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Ana Prado": "Ana Prado", "São João ❤": "São João ❤", "": "", "{\n\t}": "{\n\t}",
		"gpj.\u202eexe": `gpj.\u202eexe`, "Ana\u200b Prado": `Ana\u200b Prado`, "a\x1b[2J\u2028b": `a\u001b[2J\u2028b`,
		"\u2066x\u2069": `\u2066x\u2069`, "\U000e0041": `\ue0041`,
	} {
		if got := inspect.Visible(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for address, want := range map[string]string{
		"https://loja.example.com/p/a?x=1":     "loja.example.com/p/a",
		"https://lоja.example.com:8443/p/ção":  "xn--lja-sed.example.com:8443/p/%C3%A7%C3%A3o",
		"https://a@b.example.com/":             "b.example.com/",
		"https://\u202eloja.example.com/":      "xn--loja-ud7a.example.com/",
		"https://" + strings.Repeat("é", 5000): "",
		"/p/a":                                 "",
	} {
		got := inspect.Place(address)
		if strings.ContainsFunc(got, func(r rune) bool { return r >= 0x80 }) || want != "" && got != want ||
			strings.HasPrefix(address, "/") && got != "" {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}
