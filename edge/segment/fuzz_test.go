package segment

import (
	"slices"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// FuzzEvents holds that each message becomes a valid event or a refusal with a code, that the events
// are one request of the company, and that no visitor's id proves anything.
func FuzzEvents(f *testing.F) {
	for _, body := range []string{
		`{"batch":[{"type":"track","event":"Product Viewed","properties":{"product_id":1,"quantity":"x"},"messageId":"m"}],` +
			`"sentAt":"2026-03-15T11:00:00Z"}`,
		`{"batch":[{"type":"identify","traits":{"email":"a@b.c"}},null,[],"x",{"type":"page","properties":{"url":"\ud800"}}],"writeKey":"k"}`,
		`{"type":"alias","previousId":"0b6f5d2e-4c1a-4e9f-8a3b-9d1c2e4f6a7b","context":{"page":{},"screen":{"width":1,"height":1e9}}}`,
		`{"event":"\"","companyId":"c_2","eventId":"x","properties":{"products":[{"id":{}}],"name":"\u0000"},"batch":[],"name":"n"}`,
		`{"batch":[["r1"],{"type":"screen","name":"a","properties":{"name":"b"},"timestamp":9e9,"originalTimestamp":[]}]}`,
	} {
		for i := range uint8(3) {
			f.Add(body, i)
		}
	}
	f.Fuzz(func(t *testing.T, body string, how uint8) {
		call := []Call{Batch, Track, Page, Identify, Alias}[how%5]
		trust := []wire.Trust{wire.TrustOpen, wire.TrustKey}[how%2]
		_, v := Read(call, body)
		if v != nil {
			if !slices.Contains(core.Codes(), v.Code) {
				t.Fatalf("refused by %v", v)
			}
			return
		}
		for _, item := range eventsOf(t, call, body, trust) {
			if item.Err != nil {
				if !slices.Contains(core.Codes(), item.Err.Code) {
					t.Errorf("refused by %v", item.Err)
				}
				continue
			}
			if id := item.Event.VisitorID; id != "" && !strings.HasPrefix(id, "segment:") {
				t.Errorf("the visitor %q may prove something", id)
			}
			text := string(core.AppendEvent(nil, &item.Event))
			again, v := core.ParseBatch(text, "c_1", core.Options{Now: now})
			if v != nil || again.Items[0].Err != nil && again.Items[0].Err.Code != core.CodeEventTooLarge {
				t.Errorf("%s is no event: %v %v", text, v, again.Items)
			}
		}
	})
}
