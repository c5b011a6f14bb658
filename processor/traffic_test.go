package processor

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/wire"
)

// with is an event of a name, with items.
func with(name string, items ...string) func(*wire.Event) {
	return func(e *wire.Event) {
		list := []map[string]any{}
		for _, id := range items {
			list = append(list, map[string]any{"item_id": id, "item_quantity": 1})
		}
		e.Event = name
		e.Payload, _ = json.Marshal(map[string]any{"items": list})
	}
}

func (s *shop) traffic() []string {
	return s.texts(`select concat_ws(' ', day, regexp_replace(of, '[0-9a-f-]{36}', '…', 'g'), visited, viewed, added, checkout, bought) ` +
		`from traffic_day order by day, of`)
}

func TestVisitorsAreCountedOnceADay(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.influencer("Ana Prado", "Inverno")
	records := []record{
		s.record(s.event("v1", noon, 1, with("PRODUCT_VIEW", "tee"))),
		s.record(s.event("v1", noon.Add(time.Minute), 2, with("PRODUCT_VIEW", "tee", "hat"))),
		s.record(s.event("v1", noon.Add(2*time.Minute), 3, with("ADD_TO_CART", "tee"))),
		s.record(s.event("v2", noon, 4, with("PRODUCT_VIEW", "tee"))),
		s.record(s.event("v2", noon, 5, landing("Ana+Prado", "Inverno"))),
		s.record(s.event("v2", noon.Add(time.Hour), 6, landing("Ana+Prado", "Inverno"))),
		s.record(s.event("v1", noon.Add(24*time.Hour), 7, with("CHECKOUT_COMPLETED", "tee"))),
		s.record(s.event("late", noon, 8, func(e *wire.Event) { e.Trust, e.ReceivedAt = wire.TrustOpen, noon.AddDate(0, 0, 9) })),
		s.record(s.event("bot", noon, 9, func(e *wire.Event) { e.Bot = wire.BotKnown })),
		s.record(s.event("frame", noon, 10, func(e *wire.Event) { e.Frame = true })),
		s.record(s.event("v3", time.Date(2026, 3, 11, 2, 59, 0, 0, time.UTC), 11, nil)), // still the 10th in São Paulo
	}
	want := []string{
		"2026-03-10  3 2 1 0 0", "2026-03-10 i:…/… 1 0 0 0 0", "2026-03-10 p:hat 1 1 0 0 0", "2026-03-10 p:tee 2 2 1 0 0",
		"2026-03-11  1 0 0 0 1", "2026-03-11 p:tee 1 0 0 0 1",
	}
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 1))
		again := append(append([]record{}, records...), records[:5]...)
		r.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
		s.clear()
		s.apply(again, func() int { return 1 + r.IntN(4) })
		wantTexts(t, fmt.Sprint("seed ", seed), s.traffic(), want...)
		s.wantSums("visitors")
	}
}

func TestClicksAreCountedOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.exec(`insert into link (company_id, link_id, influencer_id, campaign_id, url, code, rev) values ($1, $2, $3, $4, `+
		`'https://loja.example.com/', 'abc', 1)`, s.company, uuid.NewString(), ana, inverno)
	s.bump()
	received := noon.Add(time.Minute)
	click := func(code string, n int) record {
		return s.record(s.event("v1", noon, n, func(e *wire.Event) {
			e.Event, e.Context.Page.URL = "LINK_CLICK", ""
			e.Context.ClickIDs = map[string]string{"trb_click": fmt.Sprintf("%s.%d", code, n)}
			received = received.Add(-time.Second) // of two copies the one that was received first counts
			e.ReceivedAt = received
		}))
	}
	s.apply([]record{click("abc", 1), click("abc", 2), click("abc", 1), click("nobody", 3), click("abc", 2)}, func() int { return 2 })
	if n := s.int(`select count(*) from event_fact`); n != 3 {
		t.Fatalf("%d clicks are stored", n)
	}
	wantTexts(t, "clicks", s.texts(`select concat_ws(' ', day, code, clicks) from click_day`), "2026-03-10 abc 2")
	if n := s.int(`select count(*) from traffic_day`); n != 0 {
		t.Errorf("a click is no visit: %d rows", n)
	}
}

// An event may name many items, and anybody may send it.
func TestTheItemsOfAnEventAreBounded(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var ids []string
	for i := range 100 {
		ids = append(ids, fmt.Sprint("item ", i, strings.Repeat("x", 20*i)))
	}
	s.apply([]record{s.record(s.event("v1", noon, 1, with("PRODUCT_VIEW", ids...)))}, func() int { return 1 })
	if n := s.int(`select count(*) from shopper_day`); n != 21 {
		t.Errorf("%d rows, want one for the store and 20 for items", n)
	}
}

// Anybody may send events with items that do not exist, and what is counted of a day is
// kept for good. So a day has room for so many items that are not in the catalogue; what is
// beyond is counted as one. Items of the catalogue are always counted.
func TestMadeUpItemsOfADayAreBounded(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.exec(`insert into product (company_id, product_id, name, updated_at, accepted_at, digest, body) values ($1, 'tee', 'Tee', now(), `+
		`now(), '', '{}')`, s.company)
	s.exec(`insert into product_variant (company_id, variant_id, product_id, sku) values ($1, 'tee-m', 'tee', 'SKU1')`, s.company)
	var attack []record
	for i := range (maxItemsOfDay + 1000) / 20 {
		var items []string
		for n := range 20 {
			items = append(items, fmt.Sprint("made up ", i, "/", n))
		}
		attack = append(attack, s.record(s.event(fmt.Sprint("stranger ", i), noon, 1000+i, with("PRODUCT_VIEW", items...))))
	}
	s.apply(attack, func() int { return 200 })
	ofDay := func(day string) int64 {
		return s.int(`select count(*) from traffic_day where day = $1::date and of > 'p:' and of < 'p;'`, day)
	}
	if n := ofDay("2026-03-10"); n != maxItemsOfDay {
		t.Errorf("%d items are counted, want %d", n, maxItemsOfDay)
	}
	first := attack[0]
	s.apply([]record{
		s.record(s.event("v1", noon, 1, with("PRODUCT_VIEW", "tee", "tee-m", "SKU1", "hat", "another"))),
		s.record(s.event("v1", noon, 2, with("ADD_TO_CART", "hat"))),
		s.record(s.event("v1", noon.Add(24*time.Hour), 3, with("PRODUCT_VIEW", "hat"))),
		first,
	}, func() int { return 4 })
	wantTexts(t, "items of the catalogue",
		s.texts(`select concat_ws(' ', day, of, viewed, added) from traffic_day where of in ('p:tee', 'p:tee-m', 'p:SKU1', 'p:hat') order by 1`),
		"2026-03-10 p:SKU1 1 0", "2026-03-10 p:tee 1 0", "2026-03-10 p:tee-m 1 0", "2026-03-11 p:hat 1 0")
	// of 50 strangers, and v1
	wantTexts(t, "all others", s.texts(`select concat_ws(' ', day, viewed, added) from traffic_day where of = 'p:'`), "2026-03-10 51 1")
	if n := s.int(`select count(*) from shopper_day where of = 'p:'`); n != 51 {
		t.Errorf("%d visitors have a row for all others, want one each, 51", n)
	}
	s.wantSums("made-up items")
}
