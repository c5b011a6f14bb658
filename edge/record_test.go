package edge

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// FuzzRecordIsAWireEvent: whatever core accepts, the record decodes, strictly,
// into exactly what core read, and again into the same JSON's meaning.
func FuzzRecordIsAWireEvent(f *testing.F) {
	f.Add(`{"event":"PAGE_VIEW","eventId":"018f3f5e-7b2a-7c3d-8e4f-0123456789ab"}`)
	f.Add(`{"event":"checkout_completed","timestamp":"2019-10-01T00:00:00.001+03:00","payload":{"items":[{"item_id":"1",` +
		`"item_quantity":1}],"é\u0000":"\ud800"},"identity":{"email":"ana@example.com","phone":"11987654321"}}`)
	f.Add(`{"event":"A","context":{"page":{"url":"https://x.com/?a=\"&e=ana%40example.com","title":"\u2028<b>"},"clickIds":{"gclid":"x",` +
		`"trb_click":"c.1"}},"visitorId":"ana@example.com","seq":9223372036854775807}`)
	f.Add(`["r1","018f3f5e-7b2a-7c3d-8e4f-0123456789ab","2026-11-21T06:00:00Z","X","{\"a\":[1,2.50,1e5]}",null,{"url":"https://x.com/",` +
		`"seq":1,"stream":"s","consent":"denied"}]`)
	h := testHasher(f)
	s := &Server{bots: newBots(), signer: identity.NewSigner(testHasher(f), nil)}
	a := &arrival{
		company: &company{Company: wire.Company{CompanyID: `co_"1"`}, keys: h.Company("co_1", "BR")},
		skew:    -5, ip: "203.0.113.0", cookieID: "018f3f5e-7b2a-7c3d-8e4f-0123456789ab", bot: wire.BotNone,
	}
	core.AppendTime(a.receivedAt[:0], 1763704800123)
	f.Add(`{"event":"A","visitorId":"5511987654321","sessionId":"null","context":{"page":{"url":"https://wa.me/5511987654321?x#y"},` +
		`"locale":"ana＠x.com"}}`)
	click := &wire.Click{ID: newID(), Code: "c", Verified: true, LinkID: "l", Destination: "https://x.com/?q=\""}
	f.Add(`{"event":"A","context":{"page":{"url":"https://x.com/?trb_click=Ab12Cd.018f3f5e-7b2a-7c3d-8e4f-0123456789ab.1aaaaaaaaaaaa"}}}`)
	f.Fuzz(func(t *testing.T, body string) {
		batch, violation := core.ParseBatch(body, "co_1", core.Options{Now: 1, NewID: newID})
		if violation != nil {
			return
		}
		for i := range batch.Items {
			item := &batch.Items[i]
			if item.Err != nil {
				if body := redact(item.Text); body != "" && !json.Valid([]byte(body)) {
					t.Fatalf("the dead letter of %q is %q", item.Text, body)
				}
				continue
			}
			e := item.Event
			if landed := s.appendRecord(nil, &e, a, wire.ViaHTTP, nil); !json.Valid(landed) {
				t.Fatalf("%s of %q", landed, body)
			}
			e = item.Event
			value := s.appendRecord(nil, &e, a, wire.ViaHTTP, click)
			var got wire.Event
			decoder := json.NewDecoder(bytes.NewReader(value))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&got); err != nil {
				t.Fatalf("%v\nin %s\nof %q", err, value, body)
			}
			if _, err := decoder.Token(); err != io.EOF {
				t.Fatalf("more than one value: %s", value)
			}
			if got.CompanyID != `co_"1"` || got.EventID != e.ID || got.Event != e.Name || !got.Timestamp.Equal(time.UnixMilli(e.Timestamp)) ||
				got.VisitorID != e.VisitorID || got.SessionID != e.SessionID || got.Stream != e.Stream || got.Seq != e.Seq ||
				got.Context.Page.URL != e.Context.Page.URL || got.Context.Page.Title != e.Context.Page.Title ||
				len(got.Context.ClickIDs) != len(e.Context.ClickIDs) ||
				!got.ReceivedAt.Equal(time.UnixMilli(1763704800123)) || got.ClockSkewMs != skewFor(&e, -5) || got.IP != a.ip ||
				got.CookieID != a.cookieID || *got.Click != *click {
				t.Fatalf("%s\nis not %+v", value, e)
			}
			if (got.Identity.EmailKey != "") != (a.company.keys.Email(e.Identity.Email) != "") {
				t.Fatalf("identity %+v of %+v", got.Identity, e.Identity)
			}
			if strings.Contains(string(value), "ana@example.com") {
				t.Fatalf("an e-mail is in %s", value)
			}
		}
	})
}

func TestAClickIDIsNoPlaceForAnEmail(t *testing.T) {
	s := &Server{bots: newBots()}
	a := &arrival{company: &company{keys: testHasher(t).Company("co_1", "BR")}, bot: wire.BotNone}
	e := core.Event{ID: newID(), Name: core.PageView, Context: core.Context{ClickIDs: []core.Param{
		{Name: "fbclid", Value: "5511987654321"}, {Name: "gclid", Value: "ana@example.com"}, {Name: "yclid", Value: "ana%40example.com"},
	}}}
	if value := string(s.appendRecord(nil, &e, a, wire.ViaHTTP, nil)); !strings.Contains(value,
		`"clickIds":{"fbclid":"5511987654321","gclid":"(email)","yclid":"(email)"}`) {
		t.Error(value)
	}
}

func TestViaTellsWhoMadeTheEventCanonical(t *testing.T) {
	f := func(library string, raw bool, want wire.Via) {
		t.Helper()
		if got := viaLibrary(library, raw); got != want {
			t.Errorf("via of %q, raw %v: %s, want %s", library, raw, got, want)
		}
	}
	f("sdk-js", true, "sdk-js")
	f("sdk-js", false, "sdk-wasm")
	f("sdk-go", false, "sdk-go")
	f("sdk-go", true, "http") // ours sends no envelopes
	f("shop", true, "http")
	f("", false, "http")
}
