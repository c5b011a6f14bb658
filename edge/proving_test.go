package edge

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
)

// Who looks at events must not read there what proves them: with the token of a checkout
// that is under way one event claims the sale.
func TestWhatProvesAnEventIsInNoTextOfIt(t *testing.T) {
	var log await.Buffer
	s := newStand(t, func(_ *Config, deps *Deps) {
		deps.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	made := 0
	var tokens, visitors []string
	event := func(id string) map[string]any {
		made++
		token, visitor := fmt.Sprintf("Z2NwLXVz/%dLWVhc3QxOjAx+SlM", made), newID()
		tokens, visitors = append(tokens, fmt.Sprintf("%dLWVhc3QxOjAx", made)), append(visitors, visitor)
		pay := "https://loja.example.com/pay/" + token + "?v=" + visitor
		escaped := "https://x.example.com/?to=" + url.QueryEscape(url.QueryEscape(pay))
		return map[string]any{
			"eventId": id, "event": "ADD_TO_CART", "visitorId": visitor, "sessionId": token,
			"identity": map[string]any{"cart_token": token},
			"payload":  map[string]any{"a": []any{pay, map[string]any{visitor: 1}}, "b": escaped, "json": `{"c":"` + token + `"}`},
			"context": map[string]any{
				"page":     map[string]any{"url": pay, "path": "/pay/" + token, "referrer": escaped, "title": "Pedido " + token},
				"campaign": map[string]any{"source": token, "medium": visitor, "name": token, "content": token, "term": token},
				"clickIds": map[string]any{"gclid": token}, "library": map[string]any{"name": token, "version": visitor},
				"locale": token, "screen": token, "userAgent": "App/1.0 " + token,
			},
		}
	}
	envelope := func(e map[string]any) string {
		page := e["context"].(map[string]any)["page"].(map[string]any)
		flat := map[string]any{"url": page["url"], "referrer": page["referrer"], "title": page["title"], "visitorId": e["visitorId"],
			"userAgent": "A " + fmt.Sprint(e["sessionId"])}
		return asJSON(t, []any{"r1", e["eventId"], nil, "PAGE_VIEW", asJSON(t, e["payload"]), asJSON(t, e["identity"]), flat})
	}
	s.post(200, batchOf(asJSON(t, event(newID()))))
	s.post(200, batchOf(envelope(event(newID()))))
	long := event(newID())
	long["context"].(map[string]any)["page"].(map[string]any)["url"] = "https://loja.example.com/" + strings.Repeat("x", maxURL-40) + "/" +
		long["sessionId"].(string)
	s.post(200, batchOf(asJSON(t, long)))
	for field, value := range map[string]any{"eventId": "x", "timestamp": "x"} { // refused
		bad := event(newID())
		bad[field] = value
		s.post(200, batchOf(asJSON(t, bad)))
	}
	bad := event("x")
	s.post(200, batchOf(envelope(bad)))

	// Without an identity: a checkout's address by its shape, an order's key by its name.
	e := s.onlyEvent(`{"event":"PAGE_VIEW","payload":{"orderFormId":"9f3b5d2e4c1a4e9f"},` +
		`"context":{"page":{"url":"https://loja.example.com/checkouts/cn/9f3b5d2e4c1a4e9f?key=wc_order_a1B2"}}}`)
	if e.Context.Page.URL != "https://loja.example.com/checkouts/cn/(id)?key=(id)" || e.Context.Page.Path != "/checkouts/cn/(id)" ||
		string(e.Payload) != `{"orderFormId":"(id)"}` {
		t.Errorf("%+v %s", e.Context.Page, e.Payload)
	}

	events, letters := s.log(wire.TopicEvents), s.log(wire.TopicRejected)
	if len(letters) != 3 {
		t.Fatalf("%d dead letters, want 3: %s", len(letters), letters)
	}
	var written bytes.Buffer
	for _, r := range append(events, letters...) {
		written.Write(r.Value)
		written.WriteByte('\n')
	}
	all := written.String() + log.String()
	for _, token := range tokens {
		if i := strings.Index(all, token[:8]); i >= 0 {
			t.Errorf("the token %s is in …%s", token, all[max(0, i-60):min(len(all), i+60)])
		}
	}
	for i, visitor := range visitors {
		want := 0
		if i < 3 {
			want = 1 // as the visitorId of an accepted event
		}
		if n := strings.Count(all, visitor); n != want || strings.Count(all, `"visitorId":"`+visitor) != want {
			t.Errorf("visitor %d stands %d times in records and log, want %d", i, n, want)
		}
	}
}
