package admin

import (
	"encoding/json"
	"strings"
	"testing"
)

// Orders with the values of platforms' own order bodies as they come, under our names: what
// the shortest map of a merchant sends. want is the record that is written, after its
// beginning, without the personal part; warned is what the answer warns of.
func TestOrdersOfPlatformsKeepTheirMeaning(t *testing.T) {
	t.Parallel()
	f := func(platform, body, want, warned string) {
		t.Helper()
		order, o := readTestBody(t, strings.Split(strings.TrimSpace(body), "\n")...)
		for _, key := range []string{order.EmailKey.Value, order.PhoneKey.Value, order.CustomerKey.Value, order.CartKey.Value,
			order.CartNoKey.Value, order.NetKey.Value} {
			if key != "" {
				want = strings.Replace(want, "KEY", key, 1)
			}
		}
		order.Personal = nil
		raw, err := json.Marshal(&order)
		if err != nil {
			t.Fatal(err)
		}
		if string(raw) != want || all(o) != warned {
			t.Errorf("%s:\n got %s\nwant %s\n got %s\nwant %s", platform, raw, want, all(o), warned)
		}
	}
	f("Shopify", `
orderId=820982911946154508
number=1234
name="#1234"
orderStatus=0
createdAt="2026-03-09T07:00:00-04:00"
updatedAt="2026-03-09T07:00:01-04:00"
totalPrice="398.00"
totalDiscounts="10.00"
shippingPrice="0.00"
taxPrice="66.33"
currency="USD"
discountCodes=[{"code":"TEN","amount":"10.00"}]
countryCode="US"
provinceCode="KY"
browserIp="216.191.105.146"
cartToken=null
userAgent=null
test=false
customer={"customerId":115310627314723954,"email":"john@example.com","phone":null}
items=[{"item_id":866550311766439020,"variantId":808950810,"productId":632910392,"quantity":1,"price":"199.00","discount":"0.00"}]
refunds=[{"id":509562969,"amount":"41.94","createdAt":"2026-03-09T07:00:01-04:00","reason":"it broke during shipping",`+
		`"items":[{"item_id":703073504,"quantity":1}]}]`,
		`{"orderId":"820982911946154508","orderStatus":0,"createdAt":"2026-03-09T11:00:00Z","currency":"USD","totalMinor":39800,`+
			`"updatedAt":"2026-03-09T11:00:01Z",`+
			`"number":1234,"name":"#1234","discountsMinor":1000,"shippingMinor":0,"provinceCode":"KY","countryCode":"US",`+
			`"emailKey":"KEY","phoneKey":null,"customerKey":"KEY","cartKey":null,"cartNoKey":null,"netKey":"KEY",`+
			`"items":[{"itemId":"866550311766439020","productId":"632910392","variantId":"808950810","quantity":1,"price":"199","discount":"0"}],`+
			`"discountCodes":[{"code":"TEN","amountMinor":1000}],"taxMinor":6633,"test":false,`+
			`"refunds":[{"id":"509562969","amountMinor":4194,"createdAt":"2026-03-09T11:00:01Z","reason":"it broke during shipping",`+
			`"items":[{"itemId":"703073504","quantity":1}]}]}`, "")
	f("WooCommerce", `
orderId=727
number="727"
orderStatus=0
createdAt="2026-03-09T11:00:00Z"
updatedAt=""
totalPrice="29.35"
totalDiscounts="0.00"
shippingPrice="10.00"
taxPrice="1.35"
currency="BRL"
discountCodes=[{"code":"10off","amount":"10"}]
countryCode="BR"
provinceCode="SP"
browserIp=""
userAgent=""
userId=""
customer={"customerId":0,"name":"John Doe","email":"john.doe@example.com","phone":"(11) 98888-7777","zip":"94103","city":"São Paulo",`+
		`"countryCode":"BR"}
items=[{"item_id":315,"productId":93,"variantId":0,"quantity":2.5,"price":3},`+
		`{"item_id":316,"productId":22,"variantId":23,"quantity":1,"price":12.0000001}]`,
		`{"orderId":"727","orderStatus":0,"createdAt":"2026-03-09T11:00:00Z","currency":"BRL","totalMinor":2935,"number":727,`+
			`"discountsMinor":0,"shippingMinor":1000,`+
			`"provinceCode":"SP","countryCode":"BR","emailKey":"KEY","phoneKey":"KEY",`+
			`"items":[{"itemId":"315","productId":"93","variantId":"0","quantity":3,"measure":"2.5","price":"3"},{"itemId":"316",`+
			`"productId":"22","variantId":"23","quantity":1,"price":"12.0000001"}],`+
			`"discountCodes":[{"code":"10off","amountMinor":1000}],"taxMinor":135}`, "")
	f("Nuvemshop", `
orderId=871254203
number=306
orderStatus=1
createdAt="2026-03-09T11:00:00+0000"
totalPrice="43.00"
totalDiscounts="0.00"
shippingPrice="9.00"
currency="BRL"
discountCode="ANA10"
countryCode="BR"
provinceCode="São Paulo"
browserIp=""
cartToken="d5f5b4a0-6a0f-4c3a-9d59-2f6a8d0f1c7e"
customer={"customerId":101,"name":"Maria Silva","email":"maria@example.com","phone":"+5511988887777","zip":"01310100"}
items=[{"variantId":"1234","productId":1234,"quantity":"1","price":"34.00"}]`,
		`{"orderId":"871254203","orderStatus":1,"createdAt":"2026-03-09T11:00:00Z","currency":"BRL","totalMinor":4300,"number":306,`+
			`"discountsMinor":0,"shippingMinor":900,`+
			`"discountCode":"ANA10","countryCode":"BR","emailKey":"KEY","phoneKey":"KEY","customerKey":"KEY","cartKey":"KEY","cartNoKey":null,`+
			`"items":[{"productId":"1234","variantId":"1234","quantity":1,"price":"34"}]}`, "| provinceCode invalid_format")
	f("VTEX, its cents divided", `
orderId="v5195004lux-01"
number="502556"
orderStatus=0
createdAt="2026-03-09T11:00:00.5090000+00:00"
totalPrice="119.90"
shippingPrice="11.50"
currency="BRL"
discountCode=null
countryCode="BRA"
provinceCode="RJ"
origin="Marketplace"
cartToken="8a1d8bd1c1f14a7a93ea66e3a7d1c2f0"
customer={"customerId":"5a3692de-358a-4bea-8885-044bce33bb93","email":"maria@example.com","phone":"+5521999887766","countryCode":"BRA"}
items=[{"item_id":"1234568358","productId":"9","quantity":1,"price":"108.4"}]`,
		`{"orderId":"v5195004lux-01","orderStatus":0,"createdAt":"2026-03-09T11:00:00.509Z","currency":"BRL","totalMinor":11990,`+
			`"number":502556,"shippingMinor":1150,`+
			`"discountCode":null,"provinceCode":"RJ","countryCode":"BR","emailKey":"KEY","phoneKey":"KEY","customerKey":"KEY","cartKey":"KEY",`+
			`"cartNoKey":null,`+
			`"items":[{"itemId":"1234568358","productId":"9","quantity":1,"price":"108.4"}]}`, "| origin invalid_type")
}
