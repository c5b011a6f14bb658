package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/wire"
)

// load is what fills the topics.
type load struct {
	name   string
	stores int
	orders bool // each visitor places one
}

var loads = []load{
	{"page views", 1, false},
	{"orders, one store", 1, true},
	{"orders, eight stores", 8, true},
}

const (
	eventsOfVisitor  = 10
	touchesOfVisitor = 5
	// together is how many visitors of a store are in the shop at the same time: their
	// events come in turn.
	together = 50
	// betweenGroups is how long after one such group of page views the next one comes: as in
	// a shop, the ids of events come in the order of their times.
	betweenGroups = 400 * time.Second
	// perBatch is how many records are produced together, below a broker's limit on a
	// batch's bytes.
	perBatch = 500
)

// visitors is how many visitors a load has.
func (b *bench) visitorsOf(l load) int {
	if l.orders {
		return b.orders
	}
	return b.visitors
}

// campaigns are the five arrivals of a visitor with an order: two by influencers.
var campaigns = [touchesOfVisitor]struct{ query, referrer string }{
	{"?utm_source=influencer&utm_medium=link&utm_campaign=Ana+Prado&utm_content=Primavera", "https://www.instagram.com/"},
	{"", "https://www.google.com/"},
	{"?utm_source=newsletter&utm_medium=email&utm_campaign=ofertas", ""},
	{"?utm_source=facebook&utm_medium=cpc&utm_campaign=vestidos", "https://www.facebook.com/"},
	{"?utm_source=influencer&utm_medium=link&utm_campaign=Beto+Lima&utm_content=Primavera", "https://www.tiktok.com/"},
}

// noCheck is of stores whose records no service made.
func noCheck(string) string { return "" }

// createStores makes a load's stores, each with two influencers who get 10 %, and
// returns their live companies. check is that of a hashing secret.
func createStores(ctx context.Context, dsn string, n int, check func(companyID string) string) ([]string, error) {
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	stores := merchant.New(db)
	companies := make([]string, n)
	for i := range companies {
		store, err := stores.CreateStore(ctx, commerce.NewStore{
			Name: fmt.Sprint("Loja ", i+1), Actor: "cli", Random: rand.Reader, KeyCheck: check,
		})
		if err != nil {
			return nil, err
		}
		companies[i] = store.Live.CompanyID
		for _, name := range []string{"Ana Prado", "Beto Lima"} {
			if _, err := stores.RegisterInfluencer(ctx, commerce.Author{CompanyID: companies[i], Actor: "cli", At: time.Now()},
				commerce.Registration{
					Name: name, Campaign: "Primavera", Costs: []commerce.CostTerms{{VarFee: decimal.NewFromInt(10), StartDate: "2020-01-01"}},
				}, rand.Reader); err != nil {
				return nil, err
			}
		}
	}
	return companies, nil
}

// fill writes a load's records to the topics, and returns how many there are and the
// bytes of a typical event's record.
func (b *bench) fill(ctx context.Context, client *kafka.Client, l load, companies []string) (records, eventBytes int, err error) {
	producer := kafka.NewProducer(client)
	now := time.Now().UTC().Truncate(time.Millisecond)
	for group := range slices.Chunk(numbers(b.visitorsOf(l)), together*len(companies)) {
		var events, orders []kafka.Record
		for n := range eventsOfVisitor {
			for _, i := range group {
				value, err := json.Marshal(l.event(companies[i%len(companies)], i, n, now))
				if err != nil {
					return 0, 0, err
				}
				eventBytes = len(value)
				events = append(events, kafka.Record{Key: []byte(companies[i%len(companies)]), Value: value})
			}
		}
		for _, i := range group {
			if !l.orders {
				break
			}
			value, err := order(companies[i%len(companies)], i, now)
			if err != nil {
				return 0, 0, err
			}
			orders = append(orders, kafka.Record{Key: []byte(companies[i%len(companies)]), Value: value})
		}
		for topic, list := range map[string][]kafka.Record{wire.TopicEvents: events, wire.TopicCommerce: orders} {
			for chunk := range slices.Chunk(list, perBatch) {
				if err := producer.Produce(ctx, topic, chunk...); err != nil {
					return 0, 0, err
				}
			}
		}
		records += len(events) + len(orders)
	}
	return records, eventBytes, nil
}

func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// eventID is a UUIDv7 of an instant, the nth event of visitor i.
func eventID(at time.Time, i, n int) string {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:], uint64(at.UnixMilli())<<16)
	binary.BigEndian.PutUint64(id[8:], uint64(i)<<8|uint64(n))
	id[6], id[8] = 0x70, 0x80
	return id.String()
}

func visitorID(i int) string {
	return uuid.NewHash(sha256.New(), uuid.NameSpaceURL, fmt.Append(nil, "visitor ", i), 4).String()
}

// key is a keyed hash as identity makes them, of something of visitor i.
func key(kind string, i int) string {
	sum := sha256.Sum256(fmt.Append(nil, kind, i))
	return "k1:" + base64.RawURLEncoding.EncodeToString(sum[:])
}

// products are the demo shop's.
var products = []string{"vestido", "bolsa", "camiseta", "chapeu"}

// event is a page view of the demo shop as the edge writes it: the nth of visitor i. A
// visitor with an order comes five times, the last an hour before it, and looks at two
// pages each time. Other visitors come once, from a search.
func (l load) event(company string, i, n int, now time.Time) *wire.Event {
	at := now.Add(-24*time.Hour + time.Duration(i/together)*betweenGroups + time.Duration(n)*20*time.Second)
	page, referrer := "https://demo.example.com/p/"+products[(i+n)%len(products)], "https://demo.example.com/"
	if n == 0 {
		referrer = "https://www.google.com/"
	}
	if l.orders {
		visit := n / 2
		at = now.Add(-time.Hour - time.Duration(touchesOfVisitor-1-visit)*5*24*time.Hour + time.Duration(n%2)*20*time.Second)
		if n%2 == 0 {
			page, referrer = page+campaigns[visit].query, campaigns[visit].referrer
		}
	}
	e := &wire.Event{
		CompanyID: company, EventID: eventID(at, i, n), Event: "PAGE_VIEW", Timestamp: at, VisitorID: visitorID(i),
		SessionID: uuid.NewSHA1(uuid.NameSpaceURL, fmt.Append(nil, "session ", i, at.Day())).String(),
		Stream:    visitorID(-i - 1), Seq: int64(n + 1),
		ReceivedAt: at.Add(150 * time.Millisecond), ClockSkewMs: 150, IP: "203.0.113.0", NetKey: key("net", i),
		CookieID: visitorID(-i - 1_000_000),
		Bot:      wire.BotNone, Consent: wire.ConsentGranted, Via: wire.ViaJS, Trust: wire.TrustOpen,
	}
	e.Context = wire.Context{
		Page:    wire.Page{URL: page, Path: "/p/" + products[(i+n)%len(products)], Referrer: referrer, Title: "Vestido de linho – Loja Demo"},
		Library: wire.Library{Name: "sdk-js", Version: "1.0.0"}, Locale: "pt-BR", Screen: "390x844",
		UserAgent: "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 " +
			"Mobile/15E148 Safari/604.1",
	}
	return e
}

// order is visitor i's order as admin writes it. It has the visitor's id.
func order(company string, i int, now time.Time) ([]byte, error) {
	id := fmt.Sprintf("order-%08d", i)
	body, err := json.Marshal(&wire.Order{
		OrderID: id, CreatedAt: now, Currency: "BRL", TotalMinor: 25_000, UpdatedAt: wire.Some(now), Number: wire.Some(int64(i)),
		ShippingMinor: wire.Some[int64](2_000), PaymentMethod: wire.Some(1), Installments: wire.Some(3), ProvinceCode: wire.Some("SP"),
		CountryCode: wire.Some("BR"),
		VisitorID:   wire.Some(visitorID(i)), Source: wire.Some(0), EmailKey: wire.Some(key("email", i)), PhoneKey: wire.Some(key("phone", i)),
		CustomerKey: wire.Some(key("customer", i)),
		Items:       wire.Some([]wire.Item{{ItemID: "1", ProductID: "vestido", VariantID: "vestido-m", Quantity: 1, Price: "230.00"}}),
		Personal: json.RawMessage(fmt.Sprintf(`{"customer":{"customerId":"%d","name":"Maria Souza","email":"maria%d@example.com",`+
			`"phone":"+5511987654321"},"browserIp":"203.0.113.9"}`, i, i)),
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(&wire.Commerce{
		V: wire.CommerceVersion, Kind: wire.KindOrder, ID: id, CompanyID: company, AcceptedAt: now.Add(time.Duration(i) * time.Microsecond),
		Actor: "key/bench", Body: body,
	})
}
