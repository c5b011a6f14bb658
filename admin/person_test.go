package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
)

func TestItemsOfAnOrderNameNobody(t *testing.T) {
	t.Parallel()
	hasher, err := identity.NewHasher(make([]byte, identity.MinSecret))
	if err != nil {
		t.Fatal(err)
	}
	items := []wire.Item{
		{ItemID: "ana@example.com", ProductID: "+55 11 98765-4321", VariantID: "ana%40example.com"},
		{ItemID: "44123456789012", ProductID: "7891234567895", VariantID: "tee-m / 2026-03-15"},
	}
	order := wire.Order{Items: wire.Some(items)}
	if _, err := conceal(&order, wire.Personal{}, hasher.Company("c_1", "BR"), identity.NewSigner(hasher, nil)); err != nil {
		t.Fatal(err)
	}
	for i, want := range []wire.Item{
		{ItemID: "(email)", ProductID: "(phone)", VariantID: "(email)"},
		{ItemID: "44123456789012", ProductID: "7891234567895", VariantID: "tee-m / 2026-03-15"},
	} {
		if got := order.Items.Value[i]; got != want {
			t.Errorf("item %d became %+v, want %+v", i, got, want)
		}
	}
}

// An order's userId joins the visitor that the edge stores for the same
// visitorId, whatever the shop took for one, and can be read by nobody.
func TestAnOrdersUserIDIsTheVisitorIDOfTheEdge(t *testing.T) {
	t.Parallel()
	hasher, err := identity.NewHasher(bytes.Repeat([]byte("s"), 32))
	if err != nil {
		t.Fatal(err)
	}
	keys := hasher.Company("c_test", "BR")
	seen := map[string]string{}
	for _, raw := range []string{"ana@example.com", "bia@example.com", "5511988887777", "+55 11 98888-7777", "(11) 98888-7777",
		"0195-visitor", "550050854", "k1:x",
		"ana%40example.com", "ana＠example.com", "018f3f5e-7b2a-7c3d-8e4f-0123456789ab@example.com"} {
		order, bad := readTestOrder(t, `userId=`+quoted(t, raw))
		if bad.Any() {
			t.Fatal(found(bad))
		}
		got := order.VisitorID.Value
		if got == "" || got != keys.VisitorID(raw) {
			t.Errorf("userId %q is %q, want %q", raw, got, keys.VisitorID(raw))
		}
		if other, twice := seen[got]; twice {
			t.Errorf("%q and %q are one visitor", raw, other)
		}
		seen[got] = raw
		if want := `{"userId":` + quoted(t, raw) + `}`; string(order.Personal) != want {
			t.Errorf("personal part of %q: %s, want %s", raw, order.Personal, want)
		}
		order.Personal = nil
		rest, err := json.Marshal(order)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(rest, []byte(raw)) {
			t.Errorf("%q stands outside personal: %s", raw, rest)
		}
	}
}

// A userId that is the edge's cookie is known by its mac, and only its UUID is kept.
func TestAnOrdersUserIDSaysWhetherTheEdgeSignedIt(t *testing.T) {
	t.Parallel()
	hashers := map[string]*identity.Hasher{}
	for _, secret := range []string{"now", "before", "foreign"} {
		var err error
		if hashers[secret], err = identity.NewHasher(bytes.Repeat([]byte(secret), 32)); err != nil {
			t.Fatal(err)
		}
	}
	const id = "018f3f5e-7b2a-7c3d-8e4f-0123456789ab"
	signed := func(secret string, what identity.Signed, text string) string {
		return identity.NewSigner(hashers[secret], nil).Sign(what, text)
	}
	keys, signer := hashers["now"].Company("c_test", "BR"), identity.NewSigner(hashers["now"], hashers["before"])
	f := func(what string, userID wire.Optional[string], wantID string, want wire.UserIDMAC) {
		t.Helper()
		order := wire.Order{VisitorID: userID}
		if _, err := conceal(&order, wire.Personal{}, keys, signer); err != nil {
			t.Fatal(err)
		}
		if order.VisitorID.Or("") != wantID || order.UserIDMAC != want {
			t.Errorf("%s: %q %q, want %q %q", what, order.VisitorID.Or(""), order.UserIDMAC, wantID, want)
		}
		if strings.Contains(fmt.Sprint(order), ".1") {
			t.Errorf("%s: the mac is kept: %+v", what, order)
		}
	}
	f("a cookie", wire.Some(signed("now", identity.SignedCookie, id)), id, wire.MACValid)
	f("one with white space around it", wire.Some(" "+signed("now", identity.SignedCookie, id)+"\n"), id, wire.MACValid)
	f("one that the former secret signed", wire.Some(signed("before", identity.SignedCookie, id)), id, wire.MACValid)
	f("another installation's", wire.Some(signed("foreign", identity.SignedCookie, id)), id, wire.MACInvalid)
	f("a click's signature", wire.Some(signed("now", identity.SignedClick, id)), id, wire.MACInvalid)
	f("another cookie's mac",
		wire.Some(id+strings.TrimPrefix(signed("now", identity.SignedCookie, id[:35]+"c"), id[:35]+"c")), id, wire.MACInvalid)
	f("trb_id", wire.Some(id), id, wire.MACNone)
	f("the shop's own id", wire.Some("u-77"), keys.VisitorID("u-77"), wire.MACNone)
	notID := signed("now", identity.SignedCookie, "u-77")
	f("a signed text that is no id of ours", wire.Some(notID), keys.VisitorID(notID), wire.MACNone)
	f("null", wire.Null[string](), "", wire.MACNone)
	f("none", wire.Optional[string]{}, "", wire.MACNone)
	signer = identity.NewSigner(hashers["now"], nil) // --compromised
	f("one that a former secret signed which others know", wire.Some(signed("before", identity.SignedCookie, id)), id, wire.MACInvalid)
}
