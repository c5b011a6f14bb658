package platform_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

func whole() platform.Order {
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	return platform.Order{OrderID: "1", CreatedAt: at, UpdatedAt: at, TotalPrice: "10.00", Currency: "BRL"}
}

func TestAnOrderThatCannotBeSentSaysWhichFieldAndNoValue(t *testing.T) {
	f := func(field string, spoil func(*platform.Order)) {
		t.Helper()
		o := whole()
		spoil(&o)
		told := new(platform.Error)
		if err := o.Tidy(); !errors.As(err, &told) || told.Reason != commerce.ShopUnknownShape || !strings.Contains(told.Detail, field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	f("id", func(o *platform.Order) { o.OrderID = "" })
	f("id", func(o *platform.Order) { o.OrderID = "1\x00" })
	f("id", func(o *platform.Order) { o.OrderID = strings.Repeat("1", 256) })
	f("status", func(o *platform.Order) { o.Status = 3 })
	f("created", func(o *platform.Order) { o.CreatedAt = time.Time{} })
	f("updated", func(o *platform.Order) { o.UpdatedAt = time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC) })
	f("currency", func(o *platform.Order) { o.Currency = "XYZW" })
	f("total", func(o *platform.Order) { o.TotalPrice = "" })
	f("total", func(o *platform.Order) { o.TotalPrice = "10.005" })
	f("total", func(o *platform.Order) { o.TotalPrice = "-1" })
	f("total", func(o *platform.Order) { o.TotalPrice = "1e999999999" })
	f("total", func(o *platform.Order) { o.TotalPrice = "10000000000.01" })
}

func TestWhatIsOptionalAndWrongIsLeftOut(t *testing.T) {
	o := whole()
	o.Shipping, o.Tax, o.Discounts = "12.00", "3.00", "x"
	o.BrowserIP, o.Province, o.Country, o.Name = "fe80::1%eth0", "São Paulo", "br", " #1\x07 "
	o.UTMSource, o.Installments, o.Source = strings.Repeat("é", 600), -1, 9
	o.Customer = &platform.Customer{Name: "\x00"}
	o.Codes = make([]platform.Code, 30)
	for i := range o.Codes {
		o.Codes[i] = platform.Code{Code: fmt.Sprint("C", i), Amount: "-1"}
	}
	o.Codes[0].Code = " "
	o.Items = []platform.OrderItem{{ItemID: "1", Quantity: 1, Price: "1.005"}, {ItemID: "2", Price: "1"}, {Quantity: 1, Price: "1"},
		{ItemID: "3", Quantity: 2, Price: "-1"}}
	o.Refunds = []platform.Refund{{Amount: "1.00"}, {Amount: "1.001"}}
	if err := o.Tidy(); err != nil {
		t.Fatal(err)
	}
	if o.Shipping != "10.00" || o.Tax != "0.00" || o.Discounts != "" {
		t.Errorf("no part is more than the total: %q %q %q", o.Shipping, o.Tax, o.Discounts)
	}
	if o.BrowserIP+o.Province+o.Country != "" || o.Name != "#1" || len([]rune(o.UTMSource)) != 512 || o.Installments != 0 || o.Source != 3 ||
		o.Customer != nil {
		t.Errorf("%+v", o)
	}
	if len(o.Codes) != 20 || o.Codes[0].Code != "C1" || o.Codes[0].Amount != "" {
		t.Errorf("%+v", o.Codes)
	}
	if len(o.Items) != 1 || o.Items[0].Price != "1.005" || len(o.Refunds) != 1 {
		t.Errorf("%+v %+v", o.Items, o.Refunds)
	}
	if text, err := json.Marshal(o); err != nil || !strings.Contains(string(text), `"totalPrice":10.00`) {
		t.Errorf("%s %v", text, err)
	}
}

func TestFieldNamesHaveNoValues(t *testing.T) {
	got := platform.FieldNames([]byte(`{"id": 1, "customer": {"email": "a@b.c"}, "maria@example.com": 1, "status": [`))
	if !slices.Equal(got, []string{"id", "customer", "status"}) {
		t.Error(got)
	}
	if got := platform.FieldNames([]byte(`[1]`)); got != nil {
		t.Error(got)
	}
	item := platform.Unreadable(platform.Item{ID: "1"}, []byte(`{"a":1}`), errors.New("maria@example.com"))
	if item.Aside.Detail != "" || item.Aside.Reason != commerce.ShopUnknownShape || item.Order != nil {
		t.Errorf("an error of elsewhere tells what it holds: %+v", item.Aside)
	}
}

func TestAnEmptySecretSignsNothing(t *testing.T) {
	sign := func(secret string) []byte {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte("body"))
		return mac.Sum(nil)
	}
	if platform.Signed([]byte("body"), sign(""), "", "b") || !platform.Signed([]byte("body"), sign("b"), "a", "b", "") ||
		platform.Signed([]byte("bodY"), sign("b"), "b") || platform.Signed([]byte("body"), nil, "b") {
		t.Error("signed by none of the secrets, or not by one")
	}
}

func TestTheInstallPageIsRewrittenLikeRequests(t *testing.T) {
	o := platform.Options{Rewrite: map[string]string{"www.nuvemshop.com.br": "http://127.0.0.1:9000"}}
	for from, want := range map[string]string{
		"https://www.nuvemshop.com.br/apps/1/authorize?state=%7Bstate%7D": "http://127.0.0.1:9000/apps/1/authorize?state=%7Bstate%7D",
		"https://api.nuvemshop.com.br/v1":                                 "https://api.nuvemshop.com.br/v1",
		"%":                                                               "%",
	} {
		if got := o.Rewritten(from); got != want {
			t.Errorf("%s: %s", from, got)
		}
	}
}
