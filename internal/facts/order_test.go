package facts

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

func orderRecord(body string) wire.Commerce {
	return wire.Commerce{Kind: wire.KindOrder, AcceptedAt: noon, Body: json.RawMessage(body)}
}

func TestUnreadableOrdersHaveACode(t *testing.T) {
	f := func(name string, c wire.Commerce, want error) {
		t.Helper()
		if _, err := ParseOrder(c); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	with := func(id, rest string) wire.Commerce {
		return orderRecord(`{"orderId":"` + id + `","currency":"BRL","createdAt":"2026-03-10T12:00:00Z"` + rest + `}`)
	}
	f("whole", with("1", ""), nil)
	f("no JSON", orderRecord("{"), ErrNotJSON)
	f("another type", orderRecord(`{"orderId":1}`), ErrNotJSON)
	f("no id", with("", ""), ErrNoID)
	f("the longest id", with(strings.Repeat("x", maxOrderID), ""), nil)
	f("a longer id", with(strings.Repeat("x", maxOrderID+1), ""), ErrLongID)
	f("no currency", with("1", `,"currency":""`), ErrCurrency)
	f("another currency", with("1", `,"currency":"brl"`), ErrCurrency)
	f("never created", with("1", `,"createdAt":"0001-01-01T00:00:00Z"`), ErrTime)
	f("changed in another age", with("1", `,"updatedAt":"2200-01-01T00:00:00Z"`), ErrTime)
	never := with("1", `,"updatedAt":"2026-03-10T12:00:00Z"`)
	never.AcceptedAt = time.Time{}
	f("never accepted", never, ErrTime)
}

// docs/attribution.md, "Facts": a version's time is updatedAt, else acceptedAt,
// and its content is all but what names the shopper.
func TestVersionsOfAnOrder(t *testing.T) {
	parse := func(body string) OrderVersion {
		t.Helper()
		c := orderRecord(body)
		c.AcceptedAt = noon.Add(1999 * time.Nanosecond).In(time.FixedZone("", -3*60*60))
		v, err := ParseOrder(c)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	const head = `{"orderId":"1","currency":"BRL","createdAt":"2026-03-10T12:00:00Z"`
	plain := parse(head + `}`)
	if want := noon.Add(time.Microsecond); plain.OrderID != "1" || plain.VersionAt != want || plain.AcceptedAt != want {
		t.Errorf("%+v", plain)
	}
	body, err := json.Marshal(plain.Order)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(body); !bytes.Equal(plain.ContentHash, sum[:contentHashLength]) || plain.Personal != nil ||
		plain.PersonalDigest != nil {
		t.Errorf("%+v", plain)
	}
	if v := parse(head + `,"updatedAt":"2026-03-11T09:00:00.0000019-03:00"}`); v.VersionAt != noon.Add(24*time.Hour+time.Microsecond) {
		t.Errorf("updated at %s", v.VersionAt)
	}
	if v := parse(head + `,"updatedAt":null}`); v.VersionAt != plain.VersionAt {
		t.Errorf("without an updatedAt it is of %s", v.VersionAt)
	}
	personal := parse(head + `,"personal":{"customer":{"name":"Ana"}}}`)
	if sum := sha256.Sum256(personal.Personal); !bytes.Equal(personal.PersonalDigest, sum[:personalDigestLength]) ||
		string(personal.Personal) != `{"customer":{"name":"Ana"}}` {
		t.Errorf("%s", personal.Personal)
	}
	if personal.Order.Personal != nil || !bytes.Equal(personal.ContentHash, plain.ContentHash) {
		t.Errorf("%+v holds what names the shopper", personal.Order)
	}
	if other := parse(head + `,"totalMinor":1}`); bytes.Equal(other.ContentHash, plain.ContentHash) {
		t.Error("another total is the same content")
	}
}

func TestFoldKeepsWhatIsAbsentAndClearsWhatIsNull(t *testing.T) {
	first := wire.Order{OrderID: "o", TotalMinor: 1, DiscountCode: wire.Some("A"), CartKey: wire.Some("k1:a"), Name: wire.Some("#1")}
	second := wire.Order{OrderID: "o", TotalMinor: 2, CartKey: wire.Null[string](), Name: wire.Some("#2")}
	third := wire.Order{OrderID: "o", TotalMinor: 3, Status: 2}
	o := Fold([]StoredVersion{{Order: first}, {Order: second}, {Order: third}})
	if o.TotalMinor != 3 || o.Status != 2 || o.DiscountCode.Or("") != "A" || o.CartKey.Valid || !o.CartKey.Present || o.Name.Or("") != "#2" {
		t.Errorf("fold %+v", o)
	}
	if keys := keysOf(&o); len(keys) != 0 {
		t.Errorf("keys %v of a cleared cart", keys)
	}
	if o := Fold([]StoredVersion{{Order: first}}); !reflect.DeepEqual(o, first) {
		t.Errorf("one version alone became %+v", o)
	}
}

// The mac of a userId is worth nothing beside another userId.
func TestAUserIDsMACFollowsItsUserID(t *testing.T) {
	f := func(what string, want wire.UserIDMAC, versions ...wire.Order) {
		t.Helper()
		var stored []StoredVersion
		for _, o := range versions {
			text, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			var read wire.Order // as it comes from Kafka and Postgres
			if err := json.Unmarshal(text, &read); err != nil {
				t.Fatal(err)
			}
			stored = append(stored, StoredVersion{Order: read})
		}
		if got := Fold(stored); got.UserIDMAC != want {
			t.Errorf("%s: %q, want %q", what, got.UserIDMAC, want)
		}
	}
	signed := wire.Order{VisitorID: wire.Some("a"), UserIDMAC: wire.MACValid}
	f("a later version without a userId keeps it", wire.MACValid, signed, wire.Order{})
	f("another userId has none", wire.MACNone, signed, wire.Order{VisitorID: wire.Some("b")})
	f("another userId has its own", wire.MACInvalid, signed, wire.Order{VisitorID: wire.Some("b"), UserIDMAC: wire.MACInvalid})
	f("null clears it", wire.MACNone, signed, wire.Order{VisitorID: wire.Null[string]()})
	f("a later one counts", wire.MACValid, wire.Order{VisitorID: wire.Some("b")}, signed)
}

// Every optional field of an order, also one that is added later, is taken from
// the newest version that has it.
// A version in another currency that leaves an amount out keeps the number that was
// sent, not its minor units.
func TestAnAmountIsKeptOverAChangeOfCurrency(t *testing.T) {
	f := func(from, to string, shipping, want int64) {
		t.Helper()
		old := StoredVersion{Order: wire.Order{Currency: from, ShippingMinor: wire.Some(shipping), DiscountsMinor: wire.Some(shipping)}}
		now := StoredVersion{Order: wire.Order{Currency: to}}
		o := Fold([]StoredVersion{old, now})
		if o.ShippingMinor != wire.Some(want) || o.DiscountsMinor != wire.Some(want) {
			t.Errorf("%d of %s is %d of shipping and %d of discounts in %s, want %d", shipping, from, o.ShippingMinor.Value,
				o.DiscountsMinor.Value, to, want)
		}
	}
	f("BRL", "USD", 2000, 2000)
	f("BRL", "JPY", 2000, 20)
	f("JPY", "BRL", 20, 2000)
	f("BRL", "KWD", 2000, 20000)
	f("BRL", "JPY", 2050, 20) // half to even
	f("BRL", "JPY", 2150, 22)
	f("BRL", "ZZZ", 2000, 2000) // no currency: an order of before
	versions := []StoredVersion{
		{Order: wire.Order{Currency: "BRL", ShippingMinor: wire.Some(int64(2000))}},
		{Order: wire.Order{Currency: "JPY", ShippingMinor: wire.Null[int64]()}},
		{Order: wire.Order{Currency: "JPY"}},
	}
	if o := Fold(versions); o.ShippingMinor != wire.Null[int64]() {
		t.Errorf("a null is not kept: %+v", o.ShippingMinor)
	}
	if o := Fold([]StoredVersion{versions[2], versions[2]}); o.ShippingMinor.Present {
		t.Errorf("an amount that was never sent: %+v", o.ShippingMinor)
	}
}

func TestFoldKnowsEveryOptionalField(t *testing.T) {
	fields, known := reflect.TypeFor[wire.Order](), 0
	for i := range fields.NumField() {
		if !strings.HasPrefix(fields.Field(i).Type.Name(), "Optional[") {
			continue
		}
		known++
		var with wire.Order
		reflect.ValueOf(&with).Elem().Field(i).FieldByName("Present").SetBool(true)
		o := Fold([]StoredVersion{{Order: with}, {}, {}})
		if !reflect.ValueOf(o).Field(i).FieldByName("Present").Bool() {
			t.Errorf("%s of an older version is lost", fields.Field(i).Name)
		}
	}
	if known < 20 {
		t.Errorf("%d optional fields", known)
	}
}

func TestKeysOfAnOrder(t *testing.T) {
	long := strings.Repeat("v", maxID+1)
	o := wire.Order{
		PhoneKey: wire.Some("p"), EmailKey: wire.Some("e"), CustomerKey: wire.Some("i"), VisitorID: wire.Some(long), CartKey: wire.Some("c"),
	}
	claimed := []Key{{KeyCustomer, "i"}, {KeyEmail, "e"}, {KeyPhone, "p"}, {KeyUser, boundedID(long)}}
	want := append([]Key{{KeyCart, "c"}}, claimed...)
	for _, k := range claimed {
		want = append(want, heldBy(k, "", true)...)
	}
	if got := keysOf(&o); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	o = wire.Order{CartKey: wire.Some(""), EmailKey: wire.Null[string]()}
	if got := keysOf(&o); len(got) != 0 {
		t.Errorf("%v of empty fields", got)
	}
}

// docs/attribution.md, "Payout".
func TestCodesAreTriedWholeThenInParts(t *testing.T) {
	f := func(field string, want ...string) {
		t.Helper()
		if got := OrderCodes(&wire.Order{DiscountCode: wire.Some(field)}); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", field, got, want)
		}
	}
	f("")
	f(" , ;", ", ;")
	f(" ana10 ", "ANA10")
	f("a, b;c|a", "A, B;C|A", "A", "B", "C")
	f("a;\u200b", "A;", "A")
}

func TestNewestPersonalIsTheLastThatHasOne(t *testing.T) {
	version := func(order, personal string, at, accepted int) OrderVersion {
		v := OrderVersion{OrderID: order, VersionAt: noon.Add(time.Duration(at) * time.Second),
			AcceptedAt: noon.Add(time.Duration(accepted) * time.Second)}
		if personal != "" {
			v.Personal, v.PersonalDigest = []byte(personal), []byte(personal)
		}
		return v
	}
	f := func(name, want string, versions ...OrderVersion) {
		t.Helper()
		for range versions {
			var got []string
			for _, v := range NewestPersonal(versions) {
				got = append(got, v.OrderID+"="+string(v.Personal))
			}
			slices.Sort(got)
			if text := strings.Join(got, " "); text != want {
				t.Errorf("%s: %s, want %s", name, text, want)
			}
			versions = append(versions[1:], versions[0]) // the order in which they come says nothing
		}
	}
	f("nothing", "")
	f("none has one", "", version("1", "", 0, 0), version("2", "", 0, 0))
	f("by the version's time", "1=b", version("1", "a", 1, 9), version("1", "b", 2, 0))
	f("then by when it was accepted", "1=a", version("1", "a", 1, 2), version("1", "b", 1, 1))
	f("then by digest", "1=b", version("1", "a", 1, 1), version("1", "b", 1, 1))
	f("a version without one clears nothing", "1=a", version("1", "a", 1, 1), version("1", "", 2, 2))
	f("each order its own", "1=a 2=b 3=d", version("1", "a", 1, 1), version("2", "b", 2, 2), version("3", "c", 0, 0), version("3", "d", 9, 9))
}

// Of versions of one time the one that was accepted last counts, then the one with the greater hash.
func TestVersionsOfOneTimeAreOrderedByWhenTheyWereAccepted(t *testing.T) {
	version := func(at, accepted int, hash byte) OrderVersion {
		return OrderVersion{VersionAt: noon.Add(time.Duration(at) * time.Second), AcceptedAt: noon.Add(time.Duration(accepted) * time.Second),
			ContentHash: []byte{hash}}
	}
	ordered := []OrderVersion{version(0, 9, 9), version(1, 0, 5), version(1, 1, 3), version(1, 1, 4), version(1, 2, 0)}
	for shift := range ordered {
		var came []OrderVersion
		for i := range ordered {
			came = append(came, ordered[(i*2+shift)%len(ordered)])
		}
		all := AddVersions(AddVersions(nil, came[:2]), came[1:]) // one of them twice
		for i := range all {
			if want := ordered[i]; len(all) != len(ordered) || !all[i].At.Equal(want.VersionAt) || !all[i].AcceptedAt.Equal(want.AcceptedAt) ||
				!bytes.Equal(all[i].ContentHash, want.ContentHash) {
				t.Fatalf("from place %d: version %d of %d is %+v, want %+v", shift, i, len(all), all[i], want)
			}
		}
	}
}
