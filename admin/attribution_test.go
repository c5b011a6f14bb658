package admin_test

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// storedExplanation is one as the processor stores it.
const storedExplanation = `{"order":{"orderId":"A/1","total":100.5,"currency":"BRL","createdAt":"2026-11-20T12:00:00Z","status":0,
  "day":"2026-11-20"},
"keys":[{"kind":"cart","strength":5,"hub":false,"visitors":1}],
"touches":[{"id":"t1","at":"2026-11-20T11:00:00.000Z","source":"influencer","medium":"link","campaign":"Ana Prado","channel":"Ana Prado",
  "influencer":"Ana Prado","click":"k","evidence":"click","matched_by":"cart","proof":"cart","used":true}],
"cuts":[],
"payout":{"winner":{"influencer":"Ana Prado","influencer_id":"01938a4e-6f5a-7c11-a6c1-0d3cf5a0a5b2","campaign":"","evidence":"coupon",
  "proof":"order"},"rule":"coupon_first","losers":[],
  "costs":[{"cost_id":"01938a4e-6f5a-7c11-a6c1-0d3cf5a0a5b3","level":"influencer","fixed_fee":0,"var_fee":10,"revision":3,"amount":10.05,
    "amounts":[{"amount":10.05,"currency":"BRL"}]}],"base":100.5,"commission":10.05,"commissions":[{"amount":10.05,"currency":"BRL"}],
      "state":"earned"},
"models":{"last":[{"touch":"t1","channel":"Ana Prado","influencer":"Ana Prado","share":1,"amount":100.5}]},
"counterfactual":{"without_coupon":{"winner":null,"rule":"coupon_first","losers":[],"costs":[],"base":100.5,"commission":0,
  "commissions":[],"state":"none","reason":"no_winner"},
  "without_link":{"winner":null,"rule":"coupon_first","losers":[],"costs":[],"base":100.5,"commission":0,"commissions":[],"state":"none",
    "reason":"no_winner"}}}`

func TestExplanationIsServedWithItsLedger(t *testing.T) {
	t.Parallel()
	fixture := reporttest.New(t)
	company := fixture.Store.Live.CompanyID
	ana := fixture.Influencer(company, "Ana Prado")
	var explained map[string]any
	if err := json.Unmarshal([]byte(storedExplanation), &explained); err != nil {
		t.Fatal(err)
	}
	fixture.Put(reporttest.Order{CompanyID: company, ID: "A/1", TotalMinor: 10050, InfluencerID: ana, Evidence: commerce.EvidenceCoupon,
		CommissionMinor: 1005,
		Explanation:     explained})
	fixture.Put(reporttest.Order{CompanyID: company, ID: "A2", TotalMinor: 100})

	client, err := kafka.NewClient(kafka.Config{Brokers: []string{"127.0.0.1:1"}}) // nothing is produced here
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	hasher, err := identity.NewHasher(bytes.Repeat([]byte("s"), 32))
	if err != nil {
		t.Fatal(err)
	}
	server, err := admin.New(admin.Config{ShortBase: "go.example.com"},
		admin.Deps{Database: fixture.DB, Producer: kafka.NewProducer(client), Hasher: hasher})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	defer web.Close()
	s := &service{t: t, url: web.URL, db: stores(fixture.DB)}
	key := s.key(company, account.ReadInfluencers)

	got := s.call("GET", "/admin/v1/order/A%2F1/attribution", key, "")
	s.want(got, 200, "")
	var data struct {
		Order, Payout map[string]any
		Ledger        []struct {
			Kind, Influencer, Currency, Cause string
			InfluencerID                      string `json:"influencer_id"`
			Amount                            json.Number
			CostID                            string `json:"cost_id"`
			RuleRev                           int64  `json:"rule_rev"`
		}
	}
	if err := json.Unmarshal(got.Data, &data); err != nil {
		t.Fatal(err)
	}
	if data.Order["total"] != 100.5 || data.Payout["rule"] != "coupon_first" {
		t.Errorf("%s", got.Data)
	}
	if len(data.Ledger) != 1 || data.Ledger[0].Amount != "10.05" || data.Ledger[0].Kind != "earned" ||
		data.Ledger[0].Influencer != "Ana Prado" {
		t.Errorf("ledger %+v", data.Ledger)
	}
	if l := data.Ledger[0]; l.InfluencerID != ana || l.CostID == "" || l.RuleRev != 1 || l.Currency != "BRL" {
		t.Errorf("the entry does not say what it rests on: %+v", l)
	}
	recomputing := func(want string) {
		t.Helper()
		got := s.call("GET", "/admin/v1/order/A%2F1/attribution", key, "")
		s.want(got, 200, "")
		var data struct{ Recomputing json.RawMessage }
		if err := json.Unmarshal(got.Data, &data); err != nil || string(data.Recomputing) != want {
			t.Errorf("recomputing is %s, %v; want %s", data.Recomputing, err, want)
		}
	}
	recomputing("false")
	fixture.Queue(fixture.Store.Sandbox.CompanyID, "A/1")
	recomputing("false")
	fixture.Queue(company, "A/1")
	recomputing("true")
	got = s.call("GET", "/admin/v1/order/A2/attribution", key, "")
	if s.want(got, 404, "not_found"); got.Error.Message != "accepted, not processed yet" {
		t.Errorf("message %q", got.Error.Message)
	}
	other := s.key(fixture.NewStore("Outra").Live.CompanyID, account.ReadInfluencers)
	s.want(s.call("GET", "/admin/v1/order/A%2F1/attribution", other, ""), 404, "not_found")
}
