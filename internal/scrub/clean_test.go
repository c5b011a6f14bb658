package scrub

import (
	"encoding/json"
	"strings"
	"testing"
)

// Nothing removes anything from a text that is clean.
func FuzzClean(f *testing.F) {
	for _, text := range []string{
		"", "https://shop.example.com/checkout/thank-you?order=100482", "https://shop.example.com/checkout#/payment-of-the-order",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36",
		"tel 1234567", "12345678", "1a2345678", "1-2.3(4)5 6+7d8", "ana@example.com", "q%40x.com", "ana＠x．com", "ana｡com", "x。y",
		"https://x.com/?customer_id=12345678", "?CLIENTE_ID=ab", "?comprador-id=x1", "cpf=1", "user[id]=77", "buyerId=5", "?shopperId=5",
		"cart_token=c", "visitorId=5", "orderFormId=c", "trb_id=5", "checkout-token=5", "/checkouts/cn/Z2NwLXVzLWVhc3QxOjAxSlM",
		"key=wc_order_9f3b", "ccustomer_id=1", "cusuuser_id=4",
		`{"items":[{"item_id":"SKU-10023","item_quantity":1,"price":89.00}]}`, `{"customer":{"id":5}}`, `{"a":"\u0040"}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !Clean(text) {
			return
		}
		if mayHoldEmail(text) || mayHoldPhone(text) || mentionsID(text) || fold(text) != text {
			t.Errorf("%q is not clean", text)
		}
		for name, scrub := range map[string]func(string) string{"Text": Text, "Cut": Cut, "Strict": Strict} {
			if got := scrub(text); got != text {
				t.Errorf("%s: %q of a clean text %q", name, got, text)
			}
		}
		if !strings.Contains(text, `\`) && json.Valid([]byte(text)) && JSON(text) != text {
			t.Errorf("JSON: %q of a clean text %q", JSON(text), text)
		}
	})
}

// What ordinary events are full of is clean: else Clean saves nothing.
func TestOrdinaryTextsAreClean(t *testing.T) {
	for _, text := range []string{
		"https://shop.example.com/checkout/thank-you?order=100482", "https://loja.example.com/p/camiseta?utm_source=influencer&utm_campaign=Ana",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
		"pt-BR", "1920x1080", "Camiseta básica", "autumn_sale_2026",
		`{"items":[{"item_id":"SKU-10023","name":"Merino Crew Sweater","item_quantity":1,"price":89.00}]}`,
	} {
		if !Clean(text) {
			t.Errorf("%q is taken to hold something", text)
		}
	}
}
