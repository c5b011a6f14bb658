package processor

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

// realData opens a file of real shops' data, which no licence lets us copy
// into the project: absent under CI=true it fails, elsewhere it skips, loudly.
func realData(t *testing.T, name string) *bufio.Scanner {
	t.Helper()
	path := filepath.Join("..", "..", "shared", "data", name)
	f, err := os.Open(path)
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("real data is missing: %v", err)
		}
		t.Skipf("SKIPPED: real data is missing: %v", err)
	}
	t.Cleanup(func() { f.Close() })
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	return lines
}

// realEvents are the clickstream as the edge would write it.
func (s *stack) realEvents(t *testing.T) []any {
	var records []any
	for lines := realData(t, "events.jsonl"); lines.Scan(); {
		var in struct {
			EventID, Event, VisitorID string
			Timestamp                 time.Time
			Payload                   json.RawMessage
			Context                   wire.Context
			Identity                  struct {
				CustomerID string `json:"customer_id"`
				CartToken  string `json:"cart_token"`
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &in); err != nil {
			t.Fatal(err)
		}
		e := wire.Event{
			CompanyID: s.company, EventID: in.EventID, Event: in.Event, Timestamp: in.Timestamp, Payload: in.Payload, Context: in.Context,
			VisitorID: in.VisitorID, ReceivedAt: noon, Bot: "none", Consent: "unknown", Via: "http", Trust: wire.TrustImport,
		}
		if in.Identity.CartToken != "" {
			e.Identity = wire.Identity{CartKey: "k1:cart:" + in.Identity.CartToken, CustomerKey: "k1:customer:" + in.Identity.CustomerID}
		}
		records = append(records, e)
	}
	return records
}

// realOrders are the shop's orders as the admin API would write them.
func (s *stack) realOrders(t *testing.T) []any {
	var records []any
	for lines := realData(t, "shop-orders.jsonl"); lines.Scan(); {
		var in struct {
			OrderID, Currency, CartToken string
			OrderStatus                  int
			CreatedAt, UpdatedAt         time.Time
			TotalPrice, ShippingPrice    json.Number
			Customer                     struct{ CustomerID string }
		}
		if err := json.Unmarshal(lines.Bytes(), &in); err != nil {
			t.Fatal(err)
		}
		minor := func(n json.Number) int64 {
			m, err := commerce.ParseMinor(n.String(), in.Currency)
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		records = append(records, s.commerce(wire.KindOrder, in.OrderID, noon, wire.Order{
			OrderID: in.OrderID, Status: in.OrderStatus, CreatedAt: in.CreatedAt, UpdatedAt: wire.Some(in.UpdatedAt), Currency: in.Currency,
			TotalMinor: minor(in.TotalPrice), ShippingMinor: wire.Some(minor(in.ShippingPrice)),
			CartKey: wire.Some("k1:cart:" + in.CartToken), CustomerKey: wire.Some("k1:customer:" + in.Customer.CustomerID),
		}))
	}
	return records
}

func TestARealShopsTotalsToTheEventAndTheCent(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	events, orders := s.realEvents(t), s.realOrders(t)
	s.influencer("Ana Prado", "Inverno")
	s.influencer("Beto Lima", "Inverno")
	s.influencer("Caio Melo", "Estreia")
	s.run()
	// Half of the events before the orders, half after, some of them twice.
	s.produce(events[:2500]...)
	s.produce(orders...)
	s.applied()
	s.produce(events[2000:]...)
	s.applied()

	if n := s.int(`select count(*) from event_fact where company_id = $1`, s.company); n != 5003 {
		t.Errorf("%d events, want 5003", n)
	}
	wantTexts(t, "orders", s.texts(`select count(*) || ' ' || sum(total_minor) from orders`), "200 5944263")
	wantTexts(t, "credited by link evidence", s.texts(`
		select coalesce(i.name, 'nobody') || ' ' || sum(o.total_minor) from payout p join orders o using (company_id, order_id)
		left join influencer i using (company_id, influencer_id) group by i.name order by i.name`),
		"Ana Prado 1093571", "Beto Lima 989968", "Caio Melo 1069305", "nobody 2791419")
	for _, sum := range s.texts(`
		select m.model || ' ' || sum(m.minor) from credit c cross
		join lateral (values ('first', c.first_minor), ('last', c.last_minor), ('last_non_direct', c.last_non_direct_minor),
			('linear', c.linear_minor), ('position', c.position_minor), ('time_decay', c.time_decay_minor)) m (model, minor) group by m.model`) {
		var model string
		var total int64
		if _, err := fmt.Sscan(sum, &model, &total); err != nil || total != 5944263 {
			t.Errorf("model %s does not conserve: %s", model, strconv.FormatInt(total, 10))
		}
	}
	if n := s.int(`select count(*) from pg_class where relname = 'event_fact_2019_10'`); n != 1 {
		t.Error("no partition was made for October 2019")
	}
}
