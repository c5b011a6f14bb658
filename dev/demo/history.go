package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tributary-io/tributary/dev/storefront"
	"github.com/tributary-io/tributary/sdk/core"
)

// The months of the demo store: its visits, orders and refunds of daysOfHistory days, as a shop has them that sells three or four
// things a day. About 2 of 100 visits become an order, in every week. All of it follows from one seed and the day, so a fill that is
// repeated on the same day sends the same.
const (
	daysOfHistory = 100
	visitsOfDay   = 330
	historySeed   = 7
	// launchBegan is since how many days ago Caio's followers buy launchTimes as much as before: a code of few orders can have no spread.
	// launchLooks of them look and do not buy, each day.
	launchBegan = 36
	launchTimes = 4
	launchLooks = 40
	// leakBegan is since how many days ago Caio's code is on a coupon site, leakOfDay how many buy by it each day, and leakLooks how
	// many come from there and do not buy. The last 30 days have orders enough before and after it (docs/signs.md), also some days after
	// the first start.
	leakBegan = 12
	leakOfDay = 4
	leakLooks = 60
)

// source is a way by which visitors come.
type source struct {
	weight          int
	query, referrer string
}

// sources are the ways of visitors who follow no influencer, in hundredths of all visits.
func sources() []source {
	return []source{
		{24, "", "https://www.google.com/"},
		{20, "", ""},
		{13, "", "https://www.instagram.com/"},
		{10, "utm_source=google&utm_medium=cpc&utm_campaign=verao", "https://www.google.com/"},
		{8, "utm_source=facebook&utm_medium=paid_social&utm_campaign=verao", "https://www.facebook.com/"},
		{7, "utm_source=newsletter&utm_medium=email&utm_campaign=novidades", ""},
		{3, "", "https://blog-de-moda.example.com/"},
	}
}

const couponSite = "https://cupons-de-todos.example.com/"

// history makes the events and orders of the months before today.
type history struct {
	random   *rand.Rand
	today    time.Time // midnight, UTC
	products []storefront.Product
	partners []partner
	events   []any
	orders   []map[string]any // versions, the earlier of an order first
	sold     int
}

// historyUntil makes the history of the days before one.
func historyUntil(now time.Time) *history {
	now = now.UTC()
	random := rand.New(rand.NewPCG(historySeed, historySeed)) //nolint:gosec // the same history each time
	h := &history{random: random, products: storefront.Products(), partners: partners(),
		today: time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)}
	h.make()
	return h
}

// at is an instant of a day, between 10 and 24 o'clock UTC.
func (h *history) at(daysAgo int) time.Time {
	return h.today.AddDate(0, 0, -daysAgo).Add(10*time.Hour + time.Duration(h.random.IntN(14*3600))*time.Second)
}

// make fills events and orders.
func (h *history) make() {
	for day := daysOfHistory; day > 0; day-- {
		for range visitsOfDay + h.random.IntN(60) - 30 {
			h.visitOn(day)
		}
		for _, p := range h.partners {
			buyers := p.buyers
			if p.coupon == leaked && day <= launchBegan {
				buyers *= launchTimes
				for range launchLooks {
					h.look(h.id(), h.at(day), p.query(), "https://www.instagram.com/", 1)
				}
			}
			for ; buyers > 0; buyers -= 100 {
				if h.random.IntN(100) < buyers {
					h.buyBy(p, h.at(day))
				}
			}
			if h.random.IntN(100) < p.codes { // a follower who buys on another phone: only the code is known
				h.order(h.at(day), "", p.coupon)
			}
		}
		if day <= leakBegan {
			for range leakOfDay {
				visitor := h.id()
				at := h.at(day)
				h.look(visitor, at, "", couponSite, 5)
				h.order(at.Add(20*time.Minute), visitor, leaked)
			}
			for range leakLooks {
				h.look(h.id(), h.at(day), "", couponSite, 1)
			}
		}
	}
}

// leaked is the code that is on a coupon site.
const leaked = "CAIO5"

// id is a random UUID, version 4.
func (h *history) id() string {
	a, b := h.random.Uint64(), h.random.Uint64()
	a, b = a&^0xf000|0x4000, b&^(3<<62)|2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", a>>32, a>>16&0xffff, a&0xffff, b>>48, b&0xffffffffffff)
}

// eventID is a UUID, version 7, of an instant.
func (h *history) eventID(at time.Time) string {
	rest := h.id()
	ms := fmt.Sprintf("%012x", at.UnixMilli())
	return ms[:8] + "-" + ms[8:] + "-7" + rest[15:]
}

// visitOn is one visit, which may lead to an order.
func (h *history) visitOn(day int) {
	at, visitor, pick := h.at(day), h.id(), h.random.IntN(100)
	depth := 1
	switch roll := h.random.IntN(1000); {
	case roll < 12:
		depth = 5
	case roll < 45:
		depth = 4
	case roll < 100:
		depth = 3
	case roll < 300:
		depth = 2
	}
	for _, s := range sources() {
		if pick < s.weight {
			if depth == 5 && h.random.IntN(3) == 0 && day < daysOfHistory-5 { // came before, another way
				h.look(visitor, at.AddDate(0, 0, -1-h.random.IntN(5)), "utm_source=newsletter&utm_medium=email&utm_campaign=novidades", "", 2)
			}
			h.look(visitor, at, s.query, s.referrer, depth)
			if depth == 5 {
				h.order(at.Add(15*time.Minute), visitor, "")
			}
			return
		}
		pick -= s.weight
	}
	h.look(visitor, at, h.partnerByWeight().query(), "https://www.instagram.com/", min(depth, len(steps())-1))
}

// buyBy is the visit of a follower who buys, mostly with the partner's code.
func (h *history) buyBy(p partner, at time.Time) {
	visitor, coupon := h.id(), p.coupon
	if h.random.IntN(5) == 0 {
		coupon = ""
	}
	h.look(visitor, at, p.query(), "https://www.instagram.com/", len(steps()))
	h.order(at.Add(15*time.Minute), visitor, coupon)
}

// partnerByWeight chooses a partner: who sells more has more visits.
func (h *history) partnerByWeight() (chosen partner) {
	all := 0
	for _, p := range h.partners {
		all += p.weight
		if h.random.IntN(all) < p.weight {
			chosen = p
		}
	}
	return chosen
}

// steps are what a visitor does, one after another.
func steps() []string {
	return []string{core.PageView, core.ProductView, core.AddToCart, core.InitiateCheckout, core.CheckoutCompleted}
}

// look adds the events of one visit, up to a step.
func (h *history) look(visitor string, at time.Time, query, referrer string, depth int) {
	p := h.products[h.random.IntN(len(h.products))]
	page := "https://" + Host + "/p/" + p.ID
	if query != "" {
		page += "?" + query
	}
	for i, name := range steps()[:depth] {
		when := at.Add(time.Duration(i) * 3 * time.Minute)
		event := map[string]any{"eventId": h.eventID(when), "event": name, "visitorId": visitor, "timestamp": when.Format(time.RFC3339),
			"payload": map[string]any{"items": []any{map[string]any{"item_id": p.ID, "item_quantity": 1}}},
			"context": map[string]any{"page": map[string]any{"url": page, "referrer": referrer}}}
		if i >= 3 {
			event["identity"] = map[string]any{"cart_token": visitor + "-cart"}
		}
		h.events = append(h.events, event)
	}
}

// order adds an order. visitor may be empty: nothing leads to a visit. Some are refunded in part, some are cancelled.
func (h *history) order(at time.Time, visitor, coupon string) {
	p := h.products[h.random.IntN(len(h.products))]
	quantity := int64(1)
	if h.random.IntN(6) == 0 {
		quantity = 2
	}
	goods := p.PriceCents * quantity
	if coupon != "" {
		goods = goods * int64(100-Coupons()[coupon]) / 100
	}
	number := firstOfHistory + h.sold
	h.sold++
	customer := number
	if h.random.IntN(4) == 0 { // who bought before
		customer = firstOfHistory + h.random.IntN(h.sold)
	}
	when := at.Format(time.RFC3339)
	first := map[string]any{
		"orderId": fmt.Sprintf("demo-%d", number), "name": fmt.Sprintf("#%d", number), "orderStatus": 0, "currency": "BRL",
		"createdAt": when, "updatedAt": when, "totalPrice": money(goods + shipping), "shippingPrice": money(shipping),
		"customer": map[string]any{"email": fmt.Sprintf("cliente-%d@example.com", customer)},
		"items": []any{map[string]any{"item_id": p.ID, "productId": p.ID, "variantId": p.ID, "name": p.Name, "quantity": quantity,
			"price": money(p.PriceCents)}},
	}
	if coupon != "" {
		first["discountCode"] = coupon
	}
	if visitor != "" {
		first["cartToken"], first["userId"] = visitor+"-cart", visitor
	}
	h.orders = append(h.orders, first)
	later := at.AddDate(0, 0, 4)
	if later.After(h.today) {
		return
	}
	roll := h.random.IntN(100)
	if roll >= 7 {
		return
	}
	changed := map[string]any{}
	for key, value := range first {
		changed[key] = value
	}
	changed["updatedAt"] = later.Format(time.RFC3339)
	if roll < 3 {
		changed["orderStatus"] = 2
	} else {
		changed["totalPrice"] = money(goods/2 + shipping)
	}
	h.orders = append(h.orders, changed)
}

// shipping is what the demo shop asks for it, in cents; firstOfHistory the number of its first order.
const (
	shipping       = 1500
	firstOfHistory = 2001
)

// Bounds of what is sent at once.
const (
	eventsOfRequest = 250
	requestsAtOnce  = 4
)

// history sends the events of the last months, as somebody who imports them from another system, and then the orders.
// It returns once all of them are processed.
func (s *Store) history(ctx context.Context, now time.Time) error {
	h := historyUntil(now)
	group, each := errgroup.WithContext(ctx)
	group.SetLimit(requestsAtOnce)
	for i := 0; i < len(h.events); i += eventsOfRequest {
		part := h.events[i:min(len(h.events), i+eventsOfRequest)]
		group.Go(func() error { return s.send(each, part, http.Header{"Authorization": {"Bearer " + s.apiKey}}) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	versions := map[any][]map[string]any{}
	for _, o := range h.orders {
		versions[o["orderId"]] = append(versions[o["orderId"]], o)
	}
	group, each = errgroup.WithContext(ctx)
	group.SetLimit(requestsAtOnce)
	for _, list := range versions {
		group.Go(func() error {
			for _, order := range list {
				if err := s.api(each, http.MethodPost, "/order", order, nil); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return s.processed(ctx, now.UTC(), h.sold)
}

// money writes cents as a decimal.
func money(cents int64) json.Number { return json.Number(fmt.Sprintf("%d.%02d", cents/100, cents%100)) }
