package shopify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"reflect"
	"testing"

	"github.com/tributary-io/tributary/connect/platform"
)

const (
	ourShop = "minha-loja.myshopify.com"
	sold    = `{"id":820982911946154508,"admin_graphql_api_id":"gid://shopify/Order/820982911946154508","email":"maria@example.com"}`
	redact  = `{"shop_id":954889,"shop_domain":"minha-loja.myshopify.com","customer":{"id":191167,"email":"maria@example.com",` +
		`"phone":"555-625-1199"},"orders_to_redact":[299938,280263]}`
	request = `{"shop_id":954889,"shop_domain":"minha-loja.myshopify.com","orders_requested":[299938],"customer":{"id":191167,` +
		`"email":"maria@example.com"},"data_request":{"id":9999}}`
	gone = `{"shop_id":954889,"shop_domain":"minha-loja.myshopify.com"}`
)

func sign(body, secret string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return mac.Sum(nil)
}

func delivery(topic, body, secret string) platform.Delivery {
	return platform.Delivery{
		Header: http.Header{
			"X-Shopify-Topic": {topic}, "X-Shopify-Shop-Domain": {ourShop},
			"X-Shopify-Hmac-Sha256": {base64.StdEncoding.EncodeToString(sign(body, secret))},
		},
		Body: []byte(body), Secret: "secret", AppSecrets: []string{"app", "former"}, Shop: ourShop,
	}
}

func TestForgedDeliveriesAreRefused(t *testing.T) {
	f := func(name string, spoil func(*platform.Delivery)) {
		t.Helper()
		d := delivery("orders/updated", sold, "secret")
		if spoil(&d); true {
			if notices, err := New().Notices(d); !errors.Is(err, platform.ErrForged) || notices != nil {
				t.Errorf("%s: %v %v", name, notices, err)
			}
		}
	}
	f("no signature", func(d *platform.Delivery) { d.Header.Del("X-Shopify-Hmac-Sha256") })
	f("another secret", func(d *platform.Delivery) { d.Secret = "other" })
	f("no secret at all", func(d *platform.Delivery) {
		d.Secret, d.AppSecrets = "", nil
		d.Header.Set("X-Shopify-Hmac-Sha256", base64.StdEncoding.EncodeToString(sign(sold, "")))
	})
	f("hex where base64 is right", func(d *platform.Delivery) {
		d.Header.Set("X-Shopify-Hmac-Sha256", hex.EncodeToString(sign(sold, "secret")))
	})
	f("another body", func(d *platform.Delivery) { d.Body = append(d.Body, ' ') })
	f("another shop of the same app", func(d *platform.Delivery) { d.Header.Set("X-Shopify-Shop-Domain", "other.myshopify.com") })
	f("a connection whose shop is not known", func(d *platform.Delivery) { d.Shop = "" })
	d := delivery("customers/redact", `{"shop_domain":"other.myshopify.com","customer":{"id":1},"orders_to_redact":[]}`, "secret")
	if _, err := New().Notices(d); !errors.Is(err, platform.ErrForged) {
		t.Errorf("the signed body names another shop: %v", err)
	}
}

func TestNotices(t *testing.T) {
	f := func(topic, body, secret string, want ...platform.Notice) {
		t.Helper()
		got, err := New().Notices(delivery(topic, body, secret))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v %v", topic, got, err)
		}
	}
	one := platform.Notice{Kind: platform.NoticeOrder, OrderID: "820982911946154508"}
	f("orders/updated", sold, "secret", one)
	f("orders/create", sold, "app", one)
	f("orders/delete", `{"id":820982911946154508}`, "former", one)
	f("orders/edited", `{"order_edit":{"id":78912328793123780,"order_id":820982911946154508}}`, "secret", one)
	f("refunds/create", `{"id":890088186047892400,"order_id":820982911946154508}`, "secret", one)
	f("app/uninstalled", `{"id":548380009,"myshopify_domain":"minha-loja.myshopify.com"}`, "secret",
		platform.Notice{Kind: platform.NoticeUninstalled})
	f("app/uninstalled", `{"id":548380009,"myshopify_domain":"other.myshopify.com"}`, "secret")
	f("app/uninstalled", `{"id":548380009,"myshopify_domain":null}`, "secret", platform.Notice{Kind: platform.NoticeUninstalled})
	person := platform.Person{CustomerID: "191167", Email: "maria@example.com", Phone: "555-625-1199", OrderIDs: []string{"299938", "280263"}}
	f("customers/redact", redact, "app", platform.Notice{Kind: platform.NoticeRedact, Person: person})
	f("customers/data_request", request, "app", platform.Notice{
		Kind: platform.NoticeDataRequest, Person: platform.Person{CustomerID: "191167", Email: "maria@example.com", OrderIDs: []string{"299938"}},
	})
	f("shop/redact", gone, "app", platform.Notice{Kind: platform.NoticeRedactShop})
	// The topic is not signed: a body that was sent for another topic does nothing.
	f("app/uninstalled", sold, "secret")
	f("app/uninstalled", gone, "secret")
	f("shop/redact", redact, "app")
	f("customers/redact", request, "app")
	f("customers/redact", gone, "app")
	f("customers/data_request", redact, "app")
	f("products/update", sold, "secret")
	f("orders/updated", `{"id":"x"}`, "secret")
	f("orders/updated", `no JSON`, "secret")
	newer := delivery("", sold, "secret")
	newer.Header = http.Header{
		"Shopify-Topic": {"orders/updated"}, "Shopify-Shop-Domain": {ourShop}, "Shopify-Hmac-Sha256": newer.Header["X-Shopify-Hmac-Sha256"],
	}
	if got, err := New().Notices(newer); err != nil || len(got) != 1 {
		t.Errorf("%v %v", got, err)
	}
}

func TestTheShopOfANoticeOfTheApp(t *testing.T) {
	f := func(body, secret, want string, forged bool) {
		t.Helper()
		d := delivery("customers/redact", body, secret)
		d.Shop = ""
		d.Header.Set("X-Shopify-Shop-Domain", "other.myshopify.com") // not signed: it says nothing
		shop, err := New().(platform.AppNotifier).NoticedShop(d)
		if shop != want || errors.Is(err, platform.ErrForged) != forged {
			t.Errorf("%s: %q %v", body, shop, err)
		}
	}
	f(redact, "app", ourShop, false)
	f(request, "former", ourShop, false)
	f(gone, "app", ourShop, false)
	f(sold, "app", "", false)
	f("no JSON", "app", "", false)
	f(redact, "secret", "", true) // of one merchant's own app
	f(redact, "other", "", true)
	f(redact, "", "", true)
}

func FuzzNotices(f *testing.F) {
	for _, body := range []string{sold, redact, request, gone} {
		f.Add("orders/updated", body)
		f.Add("customers/redact", body)
	}
	f.Fuzz(func(t *testing.T, topic, body string) {
		notices, err := New().Notices(delivery(topic, body, "secret"))
		for _, n := range notices {
			if n.Kind == "" || n.Kind == platform.NoticeOrder && n.OrderID == "" || len(n.Person.OrderIDs) > mostOrders || err != nil {
				t.Fatalf("%+v %v", n, err)
			}
		}
	})
}
