package admin_test

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres/salestest"
)

func TestExplanationIsServedWithItsLedger(t *testing.T) {
	fixture := salestest.New(t)
	company := fixture.Store.Live.CompanyID
	ana := fixture.Influencer(company, "Ana Prado")
	fixture.Put(salestest.Order{CompanyID: company, ID: "A/1", TotalMinor: 10050, InfluencerID: ana, Evidence: commerce.EvidenceCoupon, CommissionMinor: 1005,
		Explanation: map[string]any{"order": map[string]any{"orderId": "A/1", "total": json.RawMessage("100.5")}, "payout": map[string]any{"rule": "coupon_first"}}})
	fixture.Put(salestest.Order{CompanyID: company, ID: "A2", TotalMinor: 100})

	client, err := kafka.NewClient(kafka.Config{Brokers: []string{"127.0.0.1:1"}}) // nothing is produced here
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	hasher, err := identity.NewHasher(bytes.Repeat([]byte("s"), 32))
	if err != nil {
		t.Fatal(err)
	}
	server, err := admin.New(admin.Config{ShortBase: "go.example.com"}, admin.Deps{Store: fixture.DB, Producer: kafka.NewProducer(client), Hasher: hasher})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	defer web.Close()
	s := &service{t: t, url: web.URL, db: fixture.DB}
	key := s.key(company, commerce.ReadInfluencers)

	got := s.call("GET", "/admin/v1/order/A%2F1/attribution", key, "")
	s.want(got, 200, "")
	var data struct {
		Order, Payout map[string]any
		Ledger        []struct {
			Kind, Influencer, Currency, Cause string
			Amount                            json.Number
		}
	}
	if err := json.Unmarshal(got.Data, &data); err != nil {
		t.Fatal(err)
	}
	if data.Order["total"] != 100.5 || data.Payout["rule"] != "coupon_first" {
		t.Errorf("%s", got.Data)
	}
	if len(data.Ledger) != 1 || data.Ledger[0].Amount != "10.05" || data.Ledger[0].Kind != "earned" || data.Ledger[0].Influencer != "Ana Prado" {
		t.Errorf("ledger %+v", data.Ledger)
	}
	got = s.call("GET", "/admin/v1/order/A2/attribution", key, "")
	if s.want(got, 404, "not_found"); got.Error.Message != "accepted, not processed yet" {
		t.Errorf("message %q", got.Error.Message)
	}
	other := s.key(fixture.NewStore("Outra").Live.CompanyID, commerce.ReadInfluencers)
	s.want(s.call("GET", "/admin/v1/order/A%2F1/attribution", other, ""), 404, "not_found")
}
