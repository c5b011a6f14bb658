package fakes_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/test/fakes"
)

// platformPages is what the page after the purchase must show of each platform.
var platformPages = map[string]string{
	"nuvemshop": "LS.order = {", "woocommerce": "Thank you", "vtex": "orderFormId:", "yampi": "cart_token:", "shopify": `"checkout_token":`,
}

func TestAPersonBuysOnEachStorefront(t *testing.T) {
	for _, platform := range fakes.Platforms() {
		t.Run(platform, func(t *testing.T) {
			s := start(t, fakes.Options{Platform: platform, Storefront: true, Script: `https://cdn.example/t.js data-company="c_1"`})
			if _, err := s.AddCoupon(fakes.Coupon{Code: "ANA10", Kind: fakes.CouponPercent, Value: 1000}); err != nil {
				t.Fatal(err)
			}
			jar, _ := cookiejar.New(nil)
			client := &http.Client{Jar: jar}
			text := func(answer *http.Response, err error) string {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				defer answer.Body.Close()
				body, _ := io.ReadAll(answer.Body)
				return string(body)
			}
			home := text(client.Get(s.URL() + "/?utm_source=ana&ref=ana"))
			if !strings.Contains(home, `src="https://cdn.example/t.js" data-company="c_1"`) || !strings.Contains(home, "/products/1") {
				t.Fatal(home)
			}
			form := url.Values{"quantity": {"2"}, "coupon": {"NOPE"}, "email": {"ana@example.com"}, "method": {"pix"}}
			if page := text(client.PostForm(s.URL()+"/products/0", form)); !strings.Contains(page, `id="error"`) {
				t.Error("an unknown code is taken")
			}
			form.Set("coupon", "ANA10")
			thanks := text(client.PostForm(s.URL()+"/products/0", form))
			orders := s.Orders()
			if len(orders) != 1 || orders[0].Total != "156.32" || orders[0].Status != fakes.StatusApproved {
				t.Fatalf("%+v", orders) // 2 × 79.90 less 10 %, and 12.50
			}
			if !strings.Contains(thanks, ">"+orders[0].Number+"<") || !strings.Contains(thanks, platformPages[platform]) {
				t.Error(thanks)
			}
			found := s.Find(func(o fakes.Order) bool { return true })
			if !strings.Contains(found[0].Landing, "utm_source=ana") {
				t.Errorf("landing %q", found[0].Landing)
			}
			if page := text(client.Get(s.URL() + "/shop-admin")); !strings.Contains(page, orders[0].Number) || !strings.Contains(page,
				s.Keys()[0].Value) {
				t.Error(page)
			}
		})
	}
}
