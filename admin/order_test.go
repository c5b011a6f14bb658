package admin_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/dev/devstack"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

const order1001 = `{"orderId":"1001","number":1001,"orderStatus":0,"createdAt":"2026-03-09T11:00:00Z","totalPrice":100.50,
  "shippingPrice":10,
	"currency":"BRL","discountCode":"ANA10","cartToken":"cart-123","utmContent":"ana@example.com",
	"customer":{"customerId":"cust-77","name":"Ana Souza","email":" Ana@Example.com","phone":"(11) 98888-7777"},
	"items":[{"item_id":"v1","quantity":2,"price":45.25}]}`

func TestAcceptedOrderIsOnKafkaWithKeysAndPersonalDataApart(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	const visitor = "018f3f5e-7b2a-7c3d-8e4f-0123456789ab"
	cookie := identity.NewSigner(s.hasher, nil).Sign(identity.SignedCookie, visitor)
	got := s.call("POST", "/admin/v1/order", s.live, strings.Replace(order1001, `"items"`, `"userId":"`+cookie+`","items"`, 1))
	s.want(got, 200, "")
	if got.Data != nil {
		t.Errorf("data %s", got.Data)
	}
	keys := s.hasher.Company(s.store.Live.CompanyID, "BR")
	s.read(wire.TopicCommerce, 8, func(r kafka.Record) bool {
		var c wire.Commerce
		var order wire.Order
		if json.Unmarshal(r.Value, &c) != nil || c.Kind != wire.KindOrder {
			return false
		}
		if err := json.Unmarshal(c.Body, &order); err != nil {
			t.Errorf("body %s: %v", c.Body, err)
		}
		if string(r.Key) != s.store.Live.CompanyID || c.CompanyID != s.store.Live.CompanyID || c.ID != "1001" ||
			time.Since(c.AcceptedAt) > time.Minute {
			t.Errorf("record %s %s", r.Key, r.Value)
		}
		if order.EmailKey.Value != keys.Email("ana@example.com") || order.PhoneKey.Value != keys.Phone("+5511988887777") ||
			order.CustomerKey.Value != keys.Customer("cust-77") || order.CartNoKey.Value != keys.Cart("cart-123") ||
			order.CartKey != wire.Null[string]() {
			t.Errorf("keys %s", c.Body)
		}
		if order.VisitorID != wire.Some(visitor) || order.UserIDMAC != wire.MACValid {
			t.Errorf("visitor %s", c.Body)
		}
		if order.TotalMinor != 10050 || order.ShippingMinor.Value != 1000 || order.Items.Value[0].Price != "45.25" {
			t.Errorf("amounts %s", c.Body)
		}
		if !bytes.Contains(order.Personal, []byte("Ana@Example.com")) {
			t.Errorf("personal %s", order.Personal)
		}
		outside := bytes.Replace(r.Value, order.Personal, nil, 1)
		for _, secret := range []string{"xample.com", "98888", "cust-77", "cart-123", "Souza", cookie} {
			if bytes.Contains(outside, []byte(secret)) {
				t.Errorf("%q stands outside personal: %s", secret, outside)
			}
		}
		return true
	})
}

func TestAcceptedProductIsOnKafka(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	s.want(s.call("POST", "/sandbox/admin/v1/product", s.test,
		`{"productId":"p1","productName":"Camiseta","status":1,"updatedAt":"2026-03-09T11:00:00Z",
		"variants":[{"variantId":"v1","title":"M","sku":"CAM-M","price":45.2525,"currency":"BRL"}]}`), 200, "")
	s.read(wire.TopicCommerce, 8, func(r kafka.Record) bool {
		var c wire.Commerce
		var product wire.Product
		if err := json.Unmarshal(r.Value, &c); err != nil {
			t.Error(err)
		}
		if c.Kind != wire.KindProduct {
			return false
		}
		if err := json.Unmarshal(c.Body, &product); err != nil {
			t.Error(err)
		}
		if c.CompanyID != s.store.Sandbox.CompanyID || product.ProductID != "p1" || *product.Status != 1 ||
			product.Variants[0].Price != "45.2525" {
			t.Errorf("%s", r.Value)
		}
		return true
	})
}

func TestOrderNotProcessedYetIsToldFromAnUnknownOne(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	s.want(s.call("POST", "/admin/v1/order", s.live, order1001), 200, "")
	got := s.call("GET", "/admin/v1/order/1001/attribution", s.live, "")
	s.want(got, 404, "not_found")
	if got.Error.Message != "accepted, not processed yet" {
		t.Errorf("message %q", got.Error.Message)
	}
	for _, id := range []string{"1002", "a%2Fb", "%2E%2E"} {
		got = s.call("GET", "/admin/v1/order/"+id+"/attribution", s.live, "")
		s.want(got, 404, "not_found")
		if strings.Contains(got.Error.Message, "accepted") {
			t.Errorf("%s: message %q", id, got.Error.Message)
		}
	}
	// Another environment's order is nobody's here.
	got = s.call("GET", "/sandbox/admin/v1/order/1001/attribution", s.test, "")
	if s.want(got, 404, "not_found"); strings.Contains(got.Error.Message, "accepted") {
		t.Errorf("message %q", got.Error.Message)
	}
}

func TestBrokerOutageIs503AndHealsByItself(t *testing.T) {
	t.Parallel()
	dsn := devtest.Postgres(t)
	dir := t.TempDir()
	broker, err := devstack.StartBroker(devstack.BrokerConfig{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	addr := broker.Addr()
	defer func() { broker.Stop() }()
	client, err := kafka.NewClient(kafka.Config{Brokers: []string{addr}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.EnsureTopics(t.Context(),
		kafka.TopicPlan{Partitions: 8, Replication: 1, MinInsyncReplicas: 1, KeepForever: true}); err != nil {
		t.Fatal(err)
	}
	s := startOn(t, admin.Config{DependencyTimeout: 5 * time.Second}, dsn, addr)
	s.want(s.call("POST", "/admin/v1/order", s.live, order1001), 200, "")

	broker.Stop()
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			begun := time.Now()
			got := s.call("POST", "/admin/v1/order", s.live, order1001)
			if took := time.Since(begun); got.Status != 503 || got.Error.Code != "unavailable" || got.Header.Get("Retry-After") == "" ||
				took > 50*time.Second {
				t.Errorf("%d after %s, %+v", got.Status, took, got.Error)
			}
		})
	}
	group.Wait()
	// Rules need Postgres alone: their records wait in the outbox.
	s.want(s.call("POST", "/admin/v1/influencers", s.live, anaPrado), 200, "")

	if broker, err = devstack.StartBroker(devstack.BrokerConfig{Addr: addr, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	await.Until(t, await.Long, func() bool { return s.call("POST", "/admin/v1/order", s.live, order1001).Status == 200 },
		func() string { return "orders are still refused after the broker came back" })
	rules := 0
	s.read(wire.TopicCommerce, 8, func(r kafka.Record) bool {
		var c wire.Commerce
		if err := json.Unmarshal(r.Value, &c); err != nil {
			t.Error(err)
		}
		if c.Kind == wire.KindRule {
			rules++
		}
		return rules >= 7
	})
}

// The warnings of the answer are in the record too, for the dashboard.
func TestAnOrdersWarningsAreInItsRecord(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	s.want(s.call("POST", "/admin/v1/order", s.live, strings.Replace(order1001, `"discountCode"`, `"discount_code"`, 1)), 200, "")
	s.read(wire.TopicCommerce, 8, func(r kafka.Record) bool {
		var c wire.Commerce
		if json.Unmarshal(r.Value, &c) != nil || c.Kind != wire.KindOrder {
			return false
		}
		if len(c.Warnings) != 1 || c.Warnings[0].Field != "discount_code" || c.Warnings[0].Code != "unknown_field" ||
			c.Warnings[0].Near != "discountCode" || !strings.Contains(c.Warnings[0].Message, "was not read") {
			t.Errorf("%+v", c.Warnings)
		}
		return true
	})
}
