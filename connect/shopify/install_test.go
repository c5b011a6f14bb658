package shopify

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

func about(scopes ...string) string {
	var list []map[string]string
	for _, scope := range scopes {
		list = append(list, map[string]string{"handle": scope})
	}
	text, _ := json.Marshal(map[string]any{"data": map[string]any{
		"shop": map[string]any{"name": "Minha Loja", "myshopifyDomain": "minha-loja.myshopify.com",
			"url": "https://minhaloja.com.br", "currencyCode": "BRL"},
		"currentAppInstallation": map[string]any{"accessScopes": list},
	}})
	return string(text)
}

func TestAboutTellsWhatIsMissing(t *testing.T) {
	f := func(scopes []string, lacks []string, reason string) {
		t.Helper()
		s := serve(t, func(asked, int) (int, string) { return 200, about(scopes...) })
		got, err := s.open(t, pasted).About(t.Context())
		if told, _ := reasonOf(err); told != reason || !slices.Equal(got.Lacks, lacks) {
			t.Errorf("%v: lacks %v, %v", scopes, got.Lacks, err)
		}
		if got.ID != "minha-loja.myshopify.com" || got.Name != "Minha Loja" || got.Currency != "BRL" || got.ProofKey != commerce.ProofCart ||
			!got.CanNotify {
			t.Errorf("%+v", got)
		}
	}
	f([]string{"write_orders", "read_all_orders", "read_customers", "read_products", "write_discounts"}, nil, "")
	f([]string{"read_orders"}, []string{"read_all_orders", "read_customers", "read_products", "write_discounts"}, "")
	f([]string{"read_all_orders"}, []string{"read_orders", "read_customers", "read_products", "write_discounts"}, commerce.ShopLacksScope)
}

func TestSubscribingTwiceAsksOnce(t *testing.T) {
	const url = "https://connect.example.com/connect/shopify/abc"
	there := []hook{{ID: "gid://shopify/WebhookSubscription/1", Topic: "ORDERS_UPDATED", URI: "https://other.example.com/"}}
	s := serve(t, func(a asked, _ int) (int, string) {
		switch a.Query {
		case hooksQuery:
			nodes := []map[string]string{}
			for _, h := range there {
				nodes = append(nodes, map[string]string{"id": h.ID, "topic": h.Topic, "uri": h.URI})
			}
			text, _ := json.Marshal(map[string]any{"data": map[string]any{"webhookSubscriptions": map[string]any{"nodes": nodes}}})
			return 200, string(text)
		case hookQuery:
			topic := a.Variables["topic"].(string)
			there = append(there, hook{ID: "gid://shopify/WebhookSubscription/" + topic, Topic: topic,
				URI: a.Variables["hook"].(map[string]any)["uri"].(string)})
			return 200, `{"data":{"webhookSubscriptionCreate":{"webhookSubscription":{"id":"x"},"userErrors":[]}}}`
		}
		there = slices.DeleteFunc(there, func(h hook) bool { return h.ID == a.Variables["id"] })
		return 200, `{"data":{"webhookSubscriptionDelete":{"deletedWebhookSubscriptionId":"x","userErrors":[]}}}`
	})
	shop := s.open(t, pasted)
	for range 2 {
		if err := shop.Subscribe(t.Context(), url, ""); err != nil {
			t.Fatal(err)
		}
		if len(there) != 1+len(topics) {
			t.Errorf("%d subscriptions", len(there))
		}
	}
	for range 2 {
		if err := shop.Unsubscribe(t.Context(), url); err != nil || len(there) != 1 {
			t.Fatalf("%v, %d are left", err, len(there))
		}
	}
	none := s.open(t, platform.Credentials{"shop": "minha-loja", "token": "x"})
	if reason, detail := reasonOf(none.Subscribe(t.Context(), url, "")); reason != commerce.ShopLacksScope || detail != "client_secret" {
		t.Errorf("without a secret no notice can be checked: %s %s", reason, detail)
	}
}

func TestTheOfferIsWhole(t *testing.T) {
	offer := New().Offer()
	for _, language := range []string{"en", "pt-BR"} {
		if len(offer.Steps[language]) != len(offer.Steps["en"]) || len(offer.Brings[language]) != len(offer.Brings["en"]) {
			t.Errorf("%s has other steps", language)
		}
		for _, field := range offer.Fields {
			if field.Label[language] == "" || field.Help[language] == "" {
				t.Errorf("%s: %s", language, field.Name)
			}
		}
	}
	for _, field := range offer.Fields {
		pattern := regexp.MustCompile(`^(?:` + field.Pattern + `)$`)
		for _, c := range []platform.Credentials{pasted, grant} {
			if !pattern.MatchString(c[field.Name]) {
				t.Errorf("%s does not take %q", field.Name, c[field.Name])
			}
		}
	}
}

func TestCoupons(t *testing.T) {
	s := serve(t, func(a asked, _ int) (int, string) {
		switch {
		case a.Query == createQuery:
			return 200, `{"data":{"discountCodeBasicCreate":{"codeDiscountNode":{"id":"gid://shopify/DiscountCodeNode/1"},"userErrors":[]}}}`
		case a.Variables["code"] == "NONE":
			return 200, `{"data":{"codeDiscountNodeByCode":null}}`
		case a.Variables["code"] == "FIVE":
			return 200, `{"data":{"codeDiscountNodeByCode":{"codeDiscount":{"__typename":"DiscountCodeBasic","status":"EXPIRED",` +
				`"endsAt":"2026-10-01T00:00:00Z","usageLimit":3,` +
				`"appliesOncePerCustomer":true,"customerGets":{"value":{"__typename":"DiscountAmount","amount":{"amount":"5.0",` +
				`"currencyCode":"BRL"}}}}}}}`
		}
		return 200, `{"data":{"codeDiscountNodeByCode":{"codeDiscount":{"__typename":"DiscountCodeBasic","status":"ACTIVE","endsAt":null,` +
			`"usageLimit":null,` +
			`"appliesOncePerCustomer":false,"customerGets":{"value":{"__typename":"DiscountPercentage","percentage":0.07}}}}}}`
	})
	shop := s.open(t, pasted)
	got, found, err := shop.Coupon(t.Context(), "ANA7")
	if err != nil || !found || got != (commerce.ShopCoupon{Code: "ANA7", Percent: "7", Enabled: true}) {
		t.Errorf("%+v %v %v", got, found, err)
	}
	got, found, err = shop.Coupon(t.Context(), "FIVE")
	want := commerce.ShopCoupon{Code: "FIVE", Amount: "5.0", MaxUses: 3, OnePerPerson: true, EndsAt: time.Date(2026, 10, 1, 0, 0, 0, 0,
		time.UTC)}
	if err != nil || !found || got != want {
		t.Errorf("%+v %v %v", got, found, err)
	}
	if _, found, err := shop.Coupon(t.Context(), "NONE"); found || err != nil {
		t.Errorf("%v %v", found, err)
	}
	if err := shop.CreateCoupon(t.Context(), commerce.ShopCoupon{Code: "ANA7", Percent: "7.5", MaxUses: 10, EndsAt: want.EndsAt}); err != nil {
		t.Fatal(err)
	}
	sent, _ := json.Marshal(s.all()[3].Variables["coupon"])
	for _, part := range []string{`"percentage":0.075`, `"usageLimit":10`, `"endsAt":"2026-10-01T00:00:00Z"`, `"items":{"all":true}`,
		`"context":{"all":"ALL"}`} {
		if !strings.Contains(string(sent), part) {
			t.Errorf("%s lacks %s", sent, part)
		}
	}
	for _, c := range []commerce.ShopCoupon{{Code: "X"}, {Code: "X", Percent: "101"}, {Code: "X", Percent: "0"}, {Code: "X", Amount: "-5"}} {
		if err := shop.CreateCoupon(t.Context(), c); err == nil {
			t.Errorf("%+v is made", c)
		}
	}
	taken := serve(t, func(asked, int) (int, string) {
		return 200, `{"data":{"discountCodeBasicCreate":{"codeDiscountNode":null,"userErrors":[{"field":["basicCodeDiscount","code"],` +
			`"code":"TAKEN"}]}}}`
	})
	if _, detail := reasonOf(taken.open(t, pasted).CreateCoupon(t.Context(), commerce.ShopCoupon{Code: "X",
		Amount: "5"})); detail != "basicCodeDiscount.code TAKEN" {
		t.Error(detail)
	}
	torn := serve(t, func(asked, int) (int, string) { panic(http.ErrAbortHandler) })
	if reason, _ := reasonOf(torn.open(t, pasted).CreateCoupon(t.Context(), commerce.ShopCoupon{Code: "X",
		Amount: "5"})); reason != commerce.ShopUnknownWrite || len(torn.all()) != 1 {
		t.Errorf("%s after %d requests", reason, len(torn.all()))
	}
}
