package processing

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

// start is the day on which the generated journeys begin.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// generator makes stores' facts: journeys of shoppers, orders with their versions, and
// decisions. Shoppers are few for their keys, so that these meet.
type generator struct {
	r       *rand.Rand
	records []record
	event   int // number of the next event
}

// facts makes the records of a store with so many shoppers, in the order of the facts.
func (g *generator) facts(c company, shoppers int) {
	for i := range shoppers {
		g.journey(c, i)
	}
}

// journey is what one shopper does: some visits, and often an order.
func (g *generator) journey(c company, i int) {
	first := len(g.records)
	began := start.Add(time.Duration(g.r.IntN(40*24*60)) * time.Minute)
	at := began
	cart := fmt.Sprintf("k1:cart-of-shopper-%d", i)
	var ids []string
	for range 1 + g.r.IntN(5) {
		at = at.Add(time.Duration(1+g.r.IntN(6*24*60)) * time.Minute)
		ids = append(ids, g.visit(c, i, at, cart)...)
	}
	if g.r.IntN(4) > 0 {
		g.order(c, i, at.Add(time.Duration(g.r.IntN(90))*time.Minute), cart)
		if g.r.IntN(5) == 0 {
			g.decision(c, i, at, ids)
		}
	}
	for range (len(g.records) - first) / 4 { // sent again
		g.records = append(g.records, g.records[first+g.r.IntN(len(g.records)-first)])
	}
}

// arrivals are the ways into the shop.
var arrivals = []struct{ query, referrer string }{
	{"?utm_source=influencer&utm_medium=link&utm_campaign=Ana+Prado&utm_content=Inverno", "https://www.instagram.com/"},
	{"?utm_source=influencer&utm_medium=link&utm_campaign=beto+lima", ""},
	{"?utm_campaign=Nobody&utm_medium=cpc", ""},
	{"", "https://www.google.com/"},
	{"?gclid=1", ""},
	{"", ""},
}

// visit is one visit: an arrival, some pages, and what tells who it is.
func (g *generator) visit(c company, i int, at time.Time, cart string) (ids []string) {
	arrival := arrivals[g.r.IntN(len(arrivals))]
	for n := range 1 + g.r.IntN(4) {
		e := g.page(c, i, at.Add(time.Duration(n)*time.Minute))
		if n == 0 {
			e.Context.Page.URL, e.Context.Page.Referrer = e.Context.Page.URL+arrival.query, arrival.referrer
		}
		g.identify(e, i, cart)
		ids = append(ids, e.EventID)
		g.add(wire.TopicEvents, c, e)
		if g.r.IntN(8) == 0 { // another copy of the id, with another clock or sender
			e.ReceivedAt = e.ReceivedAt.Add(time.Duration(g.r.IntN(600)) * time.Second)
			e.Trust = []wire.Trust{wire.TrustOpen, wire.TrustKey, wire.TrustImport}[g.r.IntN(3)]
			g.add(wire.TopicEvents, c, e)
		}
	}
	return ids
}

func (g *generator) page(c company, i int, at time.Time) *wire.Event {
	g.event++
	e := &wire.Event{
		CompanyID: c.id, EventID: eventID(at, g.event), Event: "PAGE_VIEW", Timestamp: at, VisitorID: shopperID(i),
		ReceivedAt: at.Add(300 * time.Millisecond), NetKey: fmt.Sprint("net", i%50), Bot: wire.BotNone, Consent: wire.ConsentGranted,
		Via: wire.ViaJS, Trust: wire.TrustOpen,
	}
	e.Context.Page.URL = fmt.Sprintf("https://loja.example.com/p/%d", g.r.IntN(20))
	return e
}

// identify lets an event tell who its shopper is, or makes it one that joins nothing.
func (g *generator) identify(e *wire.Event, i int, cart string) {
	switch g.r.IntN(10) {
	case 0, 1:
		e.Identity.CartKey = cart
	case 2:
		e.Identity.EmailKey, e.Identity.CustomerKey = fmt.Sprint("k1:email", i%200), fmt.Sprint("k1:customer", i)
	case 3:
		e.CookieID = shopperID(-i - 1)
	case 4:
		e.Trust, e.Identity.Verified, e.Identity.EmailKey = wire.TrustKey, true, fmt.Sprint("k1:email", i%200)
	case 5:
		e.Event = "INITIATE_CHECKOUT"
	case 6:
		e.ReceivedAt = e.ReceivedAt.Add(time.Duration(g.r.IntN(10)) * 24 * time.Hour) // some are late
	case 7:
		e.Bot = []wire.Bot{wire.BotNone, wire.BotKnown}[g.r.IntN(2)]
	}
}

// order is an order with up to three versions.
func (g *generator) order(c company, i int, at time.Time, cart string) {
	o := wire.Order{OrderID: fmt.Sprint("order-", i), CreatedAt: at.Truncate(time.Second), Currency: "BRL",
		TotalMinor: 1000 + g.r.Int64N(50_000), Status: commerce.OrderPending}
	switch g.r.IntN(4) {
	case 0:
		o.CartKey = wire.Some(cart)
	case 1:
		o.VisitorID = wire.Some(shopperID(i))
	case 2:
		o.EmailKey, o.NetKey = wire.Some(fmt.Sprint("k1:email", i%200)), wire.Some(fmt.Sprint("net", i%50))
	default:
		o.EmailKey, o.CustomerKey = wire.Some(fmt.Sprint("k1:email", i%200)), wire.Some(fmt.Sprint("k1:customer", i))
	}
	if g.r.IntN(3) == 0 {
		o.DiscountCode = wire.Some(codes[g.r.IntN(len(codes))])
	}
	if g.r.IntN(6) == 0 {
		o.UTMCampaign = wire.Some(names[g.r.IntN(len(names))])
	}
	for n := range 1 + g.r.IntN(3) {
		updated := at.Add(time.Duration(n*36+g.r.IntN(24)) * time.Hour)
		o.UpdatedAt = wire.Some(updated)
		if n > 0 {
			o.Status = []int{commerce.OrderApproved, commerce.OrderApproved, commerce.OrderCancelled}[g.r.IntN(3)]
			o.TotalMinor -= g.r.Int64N(o.TotalMinor/4 + 1) // a partial refund
		}
		body, err := json.Marshal(o)
		if err != nil {
			panic(err) // of a type of our own
		}
		g.add(wire.TopicCommerce, c,
			&wire.Commerce{V: wire.CommerceVersion, Kind: wire.KindOrder, ID: o.OrderID, CompanyID: c.id, AcceptedAt: updated.Add(time.Second),
				Actor: "key/prove", Body: body})
	}
}

// decision is what the merchant decides about an influencer's link for an order.
func (g *generator) decision(c company, i int, at time.Time, touches []string) {
	body, err := json.Marshal(wire.Evidence{
		OrderID: fmt.Sprint("order-", i), InfluencerID: c.influencers[g.r.IntN(len(c.influencers))],
		Decision: commerce.EvidenceDecisions[g.r.IntN(3)],
		Touches:  touches[:min(len(touches), wire.MaxAccepted)],
	})
	if err != nil {
		panic(err) // of a type of our own
	}
	g.add(wire.TopicCommerce, c,
		&wire.Commerce{V: wire.CommerceVersion, Kind: wire.KindEvidence, ID: fmt.Sprint("order-", i), Rev: int64(1000 + i), CompanyID: c.id,
			AcceptedAt: at.Add(48 * time.Hour), Actor: "key/prove", Body: body})
}

func (g *generator) add(topic string, c company, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // of a type of our own
	}
	g.records = append(g.records, record{topic, c.id, text})
}

// eventID is the nth UUIDv7, of an instant.
func eventID(at time.Time, n int) string {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:], uint64(at.UnixMilli())<<16)
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	id[6], id[8] = 0x70, 0x80
	return id.String()
}

func shopperID(i int) string {
	return uuid.NewHash(sha256.New(), uuid.NameSpaceURL, fmt.Append(nil, "shopper ", i), 4).String()
}
