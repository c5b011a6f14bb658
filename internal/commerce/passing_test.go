package commerce

import (
	"maps"
	"slices"
	"testing"
)

func TestHostsThroughWhichAShopperPasses(t *testing.T) {
	t.Parallel()
	f := func(host string, want bool, changes ...string) {
		t.Helper()
		if got := Passing(host, changes); got != want {
			t.Errorf("%s with %v: %t, want %t", host, changes, got, want)
		}
	}
	for _, host := range []string{
		"accounts.google.com", "www.paypal.com", "asaas.com", "www.asaas.com", "moip.com.br", "secure.payu.com", "app.vindi.com.br",
		"nupay.com.br", "checkout.pagaleve.com.br",
		"pay.hotmart.com", "loja.vtexcommercestable.com.br", "checkout.shopify.com", "www.nuvemshop.com.br", "checkout.tray.com.br",
		"3ds.itau.com.br", "banco.bradesco", "acs.arcot.com",
	} {
		f(host, true)
	}
	for _, host := range []string{"", "google.com", "notpaypal.com", "paypal.com.example.org", "com.br", "instagram.com",
		"bradesco", "stripe.com"} {
		f(host, false)
	}
	f("pay.example.com", true, "example.com")
	f("example.com", true, "example.com")
	f("hotmart.com", false, "-hotmart.com")
	f("blog.hotmart.com", false, "-blog.hotmart.com")
	f("pay.hotmart.com", true, "-blog.hotmart.com")
	f("pay.hotmart.com", true, "-hotmart.com", "pay.hotmart.com") // the longer name counts
	f("blog.example.com", false, "example.com", "-blog.example.com")
	f("example.com", false, "example.com", "-example.com")
	for _, host := range slices.Sorted(maps.Keys(passing)) {
		if !isHost(host) {
			t.Errorf("%q is no host", host)
		}
	}
}
