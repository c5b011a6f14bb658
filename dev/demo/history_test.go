package demo

import (
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/fraud"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// The last 30 days have the leak to find, and nothing else, also some days after the first start. Who lands by an influencer's
// link has a touch.
func TestTheLastThirtyDaysHaveOneSign(t *testing.T) {
	now := time.Date(2026, 11, 25, 6, 0, 0, 0, time.UTC)
	h := historyUntil(now)
	touched, of := map[any]string{}, map[any]string{} // influencers by visitor, and by code
	for _, e := range h.events {
		event := e.(map[string]any)
		page, err := url.Parse(event["context"].(map[string]any)["page"].(map[string]any)["url"].(string))
		if err != nil {
			t.Fatal(err)
		}
		if page.Query().Get("utm_source") == "influencer" {
			touched[event["visitorId"]] = page.Query().Get("utm_campaign")
		}
	}
	for _, p := range h.partners {
		of[p.coupon] = p.name
	}
	sold := map[any]fraud.Sale{}
	for _, o := range h.orders {
		at, err := time.Parse(time.RFC3339, o["createdAt"].(string))
		if err != nil {
			t.Fatal(err)
		}
		s := fraud.Sale{OrderID: o["orderId"].(string), At: at, Day: at.Add(-3 * time.Hour).Format(time.DateOnly), Currency: "BRL",
			Influencer: touched[o["userId"]], Buyers: []string{o["customer"].(map[string]any)["email"].(string)}}
		if s.Influencer != "" {
			s.Touches = []fraud.Touch{{Influencer: s.Influencer, Proven: true}}
		}
		if code, is := o["discountCode"].(string); is {
			s.Code, s.Influencer = code, of[code]
		}
		if sold[o["orderId"]] = s; o["orderStatus"] == 2 {
			delete(sold, o["orderId"])
		}
	}
	for _, later := range []int{0, 2, 4} { // days after the first start
		var sales []fraud.Sale
		for _, s := range sold {
			if s.Day > now.AddDate(0, 0, later-30).Format(time.DateOnly) {
				sales = append(sales, s)
			}
		}
		if found := fraud.Find(sales, nil); len(found) != 1 || found[0].Kind != fraud.CouponSpread || found[0].Code != leaked {
			t.Errorf("%d days later: %+v", later, found)
		}
	}
}

// Everybody can be paid by Pix, by keys that nobody has.
func TestThePartnersCanBePaid(t *testing.T) {
	documents := map[string]bool{}
	for _, p := range partners() {
		asked := commerce.DetailsChange{Document: wire.Some(p.document), Pix: wire.Some(commerce.Pix{Type: p.pixType(), Key: p.pix})}
		bad := asked.Check(func(string) string { return "" }) // a phone could be somebody's
		if document := asked.Document.Value; bad.Any() || document == "" || asked.Pix.Value.Key == "" || documents[document] ||
			p.pixType() == commerce.PixEmail && !strings.HasSuffix(p.pix, "@example.com") {
			t.Errorf("%s: document %q, Pix key %q: %v", p.name, p.document, p.pix, bad)
		} else {
			documents[document] = true
		}
	}
}

// The demo store is a shop that could be: who is shown it sees what the product can do.
func TestTheDemoStoreIsBelievable(t *testing.T) {
	now := time.Date(2026, 11, 25, 6, 0, 0, 0, time.UTC)
	h := historyUntil(now)
	if !reflect.DeepEqual(h.events, historyUntil(now.Add(time.Hour)).events) {
		t.Error("a fill that is repeated on the same day sends other events")
	}
	if n := len(h.events); n < 20_000 || n > 60_000 {
		t.Errorf("%d events, want at most 60,000", n)
	}
	first := now
	visits, bought := [daysOfHistory + 1]int{}, [daysOfHistory + 1]int{} // by how many days ago
	for _, e := range h.events {
		event := e.(map[string]any)
		at, err := time.Parse(time.RFC3339, event["timestamp"].(string))
		if err != nil || !at.Before(now) {
			t.Fatalf("an event at %v, %v", event["timestamp"], err)
		}
		if event["event"] == core.PageView {
			visits[min(daysOfHistory, int(now.Sub(at).Hours()/24))]++
		}
		if at.Before(first) {
			first = at
		}
	}
	if days := now.Sub(first).Hours() / 24; days < 90 {
		t.Errorf("the first visit is %.0f days ago, want three months", days)
	}
	orders, codes, changed, cancelled := map[any]bool{}, map[any]int{}, 0, 0
	for _, o := range h.orders {
		if orders[o["orderId"]] {
			changed++
			if o["orderStatus"] == 2 {
				cancelled++
			}
			continue
		}
		orders[o["orderId"]] = true
		codes[o["discountCode"]]++
		at, err := time.Parse(time.RFC3339, o["createdAt"].(string))
		if err != nil {
			t.Fatal(err)
		}
		bought[min(daysOfHistory, int(now.Sub(at).Hours()/24))]++
	}
	for week := 0; week+7 <= daysOfHistory; week++ { // whichever days the page shows
		of, from := 0, 0
		for day := week; day < week+7; day++ {
			of, from = of+bought[day], from+visits[day]
		}
		if conversion := float64(of) / float64(from); conversion < .01 || conversion > .03 {
			t.Errorf("%d orders of %d visits in the week until %d days ago: %.1f %%, want 1 to 3", of, from, week, 100*conversion)
		}
	}
	if len(h.partners) != 12 || len(codes) != 13 || cancelled == 0 || changed == cancelled {
		t.Errorf("%d influencers, orders by code %v, %d cancelled, %d refunded in part", len(h.partners), codes, cancelled, changed-cancelled)
	}
}
