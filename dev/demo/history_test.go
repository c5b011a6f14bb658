package demo

import (
	"reflect"
	"testing"
	"time"

	"github.com/tributary-io/tributary/sdk/core"
)

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
	visits, first := 0, now
	for _, e := range h.events {
		event := e.(map[string]any)
		if event["event"] == core.PageView {
			visits++
		}
		at, err := time.Parse(time.RFC3339, event["timestamp"].(string))
		if err != nil || !at.Before(now) {
			t.Fatalf("an event at %v, %v", event["timestamp"], err)
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
	}
	if conversion := float64(len(orders)) / float64(visits); conversion < .01 || conversion > .03 {
		t.Errorf("%d orders of %d visits: %.1f %%, want 1 to 3", len(orders), visits, 100*conversion)
	}
	if len(h.partners) != 12 || len(codes) != 13 || cancelled == 0 || changed == cancelled {
		t.Errorf("%d influencers, orders by code %v, %d cancelled, %d refunded in part", len(h.partners), codes, cancelled, changed-cancelled)
	}
}
