package vtex

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/tributary-io/tributary/connect/platform"
)

const changed = `{"Domain":"Marketplace","OrderId":"v40484048naf-01","State":"payment-approved","LastState":"payment-pending",` +
	`"LastChange":"2026-11-03T23:17:30.0617185Z","CurrentChange":"2026-11-03T23:17:31Z","Origin":{"Account":"minhaloja","Key":"vtexappkey-x"}}`

func delivery(body, secret string) platform.Delivery {
	return platform.Delivery{Header: http.Header{secretHeader: {secret}}, Body: []byte(body), Secret: "secret", Shop: "minhaloja"}
}

func TestOnlyWhoKnowsTheSecretIsHeard(t *testing.T) {
	f := func(name string, d platform.Delivery) {
		t.Helper()
		if notices, err := New().Notices(d); !errors.Is(err, platform.ErrForged) || notices != nil {
			t.Errorf("%s: %v %v", name, notices, err)
		}
	}
	f("another secret", delivery(changed, "other"))
	f("none", delivery(changed, ""))
	unset := delivery(changed, "")
	unset.Secret = ""
	f("a connection without a secret", unset)
	elsewhere := delivery(changed, "secret")
	elsewhere.Shop = "other"
	f("another account", elsewhere)
	elsewhere.Shop = ""
	f("an account that is not known", elsewhere)
	f("a ping with an order", delivery(`{"hookConfig":"ping","OrderId":"1-01"}`, ""))
	f("no JSON", delivery(`x`, "other"))
}

func TestNotices(t *testing.T) {
	f := func(body, secret string, want ...platform.Notice) {
		t.Helper()
		got, err := New().Notices(delivery(body, secret))
		if err != nil || !slices.EqualFunc(got, want, func(a, b platform.Notice) bool { return a.Kind == b.Kind && a.OrderID == b.OrderID }) {
			t.Errorf("%s: %+v %v", body, got, err)
		}
	}
	f(changed, "secret", platform.Notice{Kind: platform.NoticeOrder, OrderID: "v40484048naf-01"})
	f(`{"hookConfig":"ping"}`, "")
	f(`{"hookConfig":"ping"}`, "secret")
	f(`no JSON`, "secret")
	f(`{"OrderId":"1-01","State":"null","Origin":{"Account":"minhaloja"}}`, "secret")
	f(`{"OrderId":"../feed","State":"invoiced","Origin":{"Account":"minhaloja"}}`, "secret")
	f(`{"OrderId":"","State":"invoiced","Origin":{"Account":"minhaloja"}}`, "secret")
}

func FuzzNotices(f *testing.F) {
	f.Add(changed, "secret")
	f.Add(`{"hookConfig":"ping"}`, "")
	f.Fuzz(func(t *testing.T, body, secret string) {
		notices, err := New().Notices(delivery(body, secret))
		if len(notices) > 0 && (secret != "secret" || err != nil) {
			t.Fatalf("%+v %v", notices, err)
		}
	})
}
