package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/fakes/networks"
)

// TestSalesReachANetworkWhereTheShopperAgreed is a store that has its sales told to Meta and to GA4, from the page's events to the
// networks: of five shoppers with a coupon, each is known where that shopper agreed, and nowhere else. One is erased; what the networks
// were told of that person is listed with the erasure.
func TestSalesReachANetworkWhereTheShopperAgreed(t *testing.T) {
	t.Parallel()
	const dataset, token, stream, secret = "123456789012345", "EAAB-token-of-meta", "G-AB12CD34EF", "api-secret-of-ga4"
	meta := networks.NewMeta(networks.MetaAccount{Dataset: dataset, Token: token}, time.Now)
	ga4 := networks.NewGA4(networks.GA4Account{MeasurementID: stream, Secret: secret}, time.Now)
	metaServer, ga4Server := httptest.NewServer(meta), httptest.NewServer(ga4)
	t.Cleanup(metaServer.Close)
	t.Cleanup(ga4Server.Close)
	d := startDev(t, dataDir(t), "--empty", "--log-level", "debug", "--shop-address", "graph.facebook.com="+metaServer.URL,
		"--shop-address", "www.google-analytics.com="+ga4Server.URL)
	s := &sender{t: t, dev: d, short: d.register(t, "Ana Prado", "Inverno", "ANA10")}
	for _, account := range []map[string]any{
		{"name": "Meta", "network": "meta", "account_id": dataset, "secret": token},
		{"name": "Analytics", "network": "ga4", "account_id": stream, "secret": secret},
	} {
		mustCall(t, http.MethodPost, d.AdminURL+"/conversions", d.APIKey, account, nil)
	}

	agreed := map[string]string{"both": "granted meta,ga4", "meta": "granted meta", "ga4": "granted ga4", "no": "denied", "silent": ""}
	email := func(name string) string { return "shopper." + name + "@example.com" }
	for name, consent := range agreed {
		cart := strings.ReplaceAll(uuid.NewString(), "-", "")
		event := map[string]any{"eventId": uuid.Must(uuid.NewV7()).String(), "event": "CHECKOUT_COMPLETED",
			"timestamp": time.Now().UTC().Format(time.RFC3339), "visitorId": uuid.NewString(), "identity": map[string]any{"cart_token": cart},
			"payload": map[string]any{"items": []any{map[string]any{"item_id": "p1", "item_quantity": 1}}},
			"context": map[string]any{"page": map[string]any{"url": "https://loja.example.com/obrigado"},
				"networkIds": map[string]any{"ga": "123.456", "fbp": "fb.1.1762902000000.123456789"}}}
		if consent != "" {
			event["consent"] = consent
		}
		text, err := json.Marshal([]any{event})
		if err != nil {
			t.Fatal(err)
		}
		s.post(string(text), map[string]string{"Content-Type": "application/json"}, 1, "ok")
		s.postOrder(nil, map[string]any{"orderId": "order-" + name, "createdAt": time.Now().UTC().Format(time.RFC3339),
			"customer": map[string]any{"email": email(name), "name": "Shopper " + name}, "cartToken": cart, "discountCode": "ANA10"}, http.StatusOK)
	}
	state := func() string {
		var list string
		d.query(t, []any{&list}, `
			select coalesce(string_agg(kind || ' ' || key || ' ' || o.state || coalesce(' ' || (tries -> -1 ->> 'failure'), ''), E'\n'
				order by kind, key, number), '') from outgoing o join destination using (company_id, destination_id)`)
		return list
	}
	const want = "ga4 order:order-both delivered\nga4 order:order-ga4 delivered\nga4 order:order-meta skipped no_consent\n" +
		"ga4 order:order-no skipped no_consent\nga4 order:order-silent waiting\n" +
		"meta order:order-both delivered\nmeta order:order-ga4 skipped no_consent\nmeta order:order-meta delivered\n" +
		"meta order:order-no skipped no_consent\nmeta order:order-silent waiting"
	await.Until(t, await.Long, func() bool { return state() == want }, func() string { return "what became of the conversions:\n" + state() })
	ids := func(list []networks.Event) string {
		got := map[string]bool{}
		for _, e := range list {
			got[e.ID] = true
		}
		return fmt.Sprint(got)
	}
	if got := ids(meta.Events()); got != "map[order-both:true order-meta:true]" {
		t.Errorf("Meta has %s", got)
	}
	if got := ids(ga4.Events()); got != "map[order-both:true order-ga4:true]" {
		t.Errorf("GA4 has %s", got)
	}

	// An erasure says where it is to be passed on.
	var asked struct{ ID string }
	mustCall(t, http.MethodPost, d.AdminURL+"/erasures", d.APIKey, map[string]any{"email": email("both")}, &asked)
	wantCount(t, d.Postgres, "erasures done", 1,
		`select count(*) from erasure where erasure_id = $1::uuid and done_at is not null and orders = 1`, asked.ID)
	var erasure struct {
		Conversions []struct {
			Network string `json:"network"`
			Account string `json:"account"`
			OrderID string `json:"orderId"`
		} `json:"conversions"`
	}
	mustCall(t, http.MethodGet, d.AdminURL+"/erasures/"+asked.ID, d.APIKey, nil, &erasure)
	if got := fmt.Sprint(erasure.Conversions); got != "[{ga4 "+stream+" order-both} {meta "+dataset+" order-both}]" {
		t.Errorf("the erasure is to be passed on to %s", got)
	}
	d.stop(t) // the log is whole then
	for _, needle := range []string{token, secret, email("both"), email("meta")} {
		if strings.Contains(d.output.String(), needle) {
			t.Errorf("the log has %q", needle)
		}
	}
	if list := append(meta.Complaints(), ga4.Complaints()...); len(list) > 0 {
		t.Errorf("the networks complain: %q", list)
	}
}
