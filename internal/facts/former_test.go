package facts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
)

// keysBy are the keys of a company by the secret of a letter.
func keysBy(t testing.TB, secret byte) identity.Keys {
	t.Helper()
	if known, made := madeKeys.Load(secret); made {
		return known.(identity.Keys)
	}
	h, err := identity.NewHasher(bytes.Repeat([]byte{secret}, identity.MinSecret))
	if err != nil {
		t.Fatal(err)
	}
	made, _ := madeKeys.LoadOrStore(secret, h.Company("c_1", "BR"))
	return made.(identity.Keys)
}

// madeKeys are keysBy of each secret: a thousand tests ask for them.
var madeKeys sync.Map

// saying is a version of an order that says an e-mail by one secret, or by two: "12" is by the second,
// with the first one as the former.
type saying struct {
	secrets string // the former one first
	email   string // "null", or "" for a version that leaves it out
}

// of returns the keys of the e-mail by all secrets.
func (s saying) of(t testing.TB) (list []string) {
	for i := range s.secrets {
		list = append(list, keysBy(t, s.secrets[i]).Email(s.email+"@x.com"))
	}
	return list
}

func (s saying) order(t testing.TB) (o wire.Order) {
	switch s.email {
	case "":
	case "null":
		o.EmailKey = wire.Null[string]()
	default:
		keys := s.of(t)
		o.EmailKey = wire.Some(keys[len(keys)-1])
		if len(keys) > 1 {
			o.Former = []wire.Former{{EmailKey: keys[0]}}
		}
	}
	return o
}

// emails are the e-mail's keys that a folded order has.
func emails(o *wire.Order) (list []string) {
	if o.EmailKey.Valid {
		list = append(list, o.EmailKey.Value)
	}
	for _, f := range o.Former {
		if f.EmailKey != "" {
			list = append(list, f.EmailKey)
		}
	}
	slices.Sort(list)
	return list
}

// foldOf folds versions that come in any order.
func foldOf(t testing.TB, versions []saying) wire.Order {
	t.Helper()
	var stored []StoredVersion
	var first *wire.Order
	for range 3 {
		stored = nil
		for _, i := range rand.Perm(len(versions)) {
			at := noon.Add(time.Duration(i) * time.Second)
			stored = AddVersions(stored, []OrderVersion{{OrderID: "1", VersionAt: at, AcceptedAt: at, Order: versions[i].order(t)}})
		}
		o := Fold(stored)
		if first == nil {
			first = &o
		} else if !reflect.DeepEqual(emails(first), emails(&o)) {
			t.Fatalf("%v: the order of arrival changes the keys", versions)
		}
	}
	return *first
}

func TestFoldKeepsTheKeyByTheFormerSecret(t *testing.T) {
	t.Parallel()
	f := func(what string, want []saying, versions ...saying) {
		t.Helper()
		keys := []string{}
		for _, s := range want {
			keys = append(keys, s.of(t)...)
		}
		slices.Sort(keys)
		o := foldOf(t, versions)
		if got := emails(&o); !slices.Equal(got, keys) {
			t.Errorf("%s:\n%q, want\n%q", what, got, keys)
		}
	}
	is := func(secrets, email string) saying { return saying{secrets, email} }
	none := []saying(nil)
	f("one version of the rotation", []saying{is("12", "a")}, is("12", "a"))
	f("before, and after", []saying{is("12", "a")}, is("1", "a"), is("2", "a"))
	f("before, while and after", []saying{is("12", "a")}, is("1", "a"), is("12", "a"), is("2", "a"))
	f("while, and after", []saying{is("12", "a")}, is("12", "a"), is("2", "a"))
	f("a service that is not restarted yet comes last", []saying{is("12", "a")}, is("12", "a"), is("1", "a"))
	f("it is left out later", []saying{is("12", "a")}, is("1", "a"), is("2", "a"), is("2", ""))
	f("left out in between", []saying{is("12", "a")}, is("1", "a"), is("2", ""), is("2", "a"))
	f("null", none, is("12", "a"), is("2", "null"))
	f("null, then the same", []saying{is("2", "a")}, is("12", "a"), is("2", "null"), is("2", "a"))
	f("another while it lasts", []saying{is("12", "b")}, is("1", "a"), is("12", "b"))
	f("another after it", []saying{is("2", "b")}, is("12", "a"), is("2", "b"))
	f("another before it", []saying{is("12", "b")}, is("1", "a"), is("1", "b"), is("2", "b"))
	f("another, and back", []saying{is("12", "a")}, is("12", "a"), is("12", "b"), is("12", "a"))
	f("another after it, then the same", []saying{is("2", "b")}, is("1", "a"), is("12", "a"), is("2", "b"), is("2", "b"))
	f("two rotations", []saying{is("123", "a")}, is("1", "a"), is("12", "a"), is("2", "a"), is("23", "a"), is("3", "a"))
	f("two rotations, and no version of the first", []saying{is("123", "a")}, is("1", "a"), is("23", "a"), is("3", "a"))
	f("another between two rotations", []saying{is("23", "b")}, is("12", "a"), is("2", "b"), is("3", "b"))
	f("no version of the rotation: another cannot be told", []saying{is("2", "b"), is("1", "a")}, is("1", "a"), is("2", "b"))
}

// Whatever versions there are: the order has the key of its newest e-mail, by each secret by
// which a version since that e-mail came has it, and no key of another e-mail.
func TestFoldOfAnyVersionsOverARotation(t *testing.T) {
	t.Parallel()
	var all []saying
	for _, secrets := range []string{"1", "12", "2"} {
		for _, email := range []string{"", "null", "a", "b"} {
			all = append(all, saying{secrets, email})
		}
	}
	for n := range len(all) * len(all) * len(all) * len(all) {
		versions := []saying{all[n%12], all[n/12%12], all[n/144%12], all[n/1728]}
		want, told := told(t, versions)
		o := foldOf(t, versions)
		if got := emails(&o); told && !slices.Equal(got, want) {
			t.Fatalf("%v: %q, want %q", versions, got, want)
		}
	}
}

// told returns the keys that the fold of versions should have; false where no version shows
// whether the e-mail is another.
func told(t *testing.T, versions []saying) (keys []string, _ bool) {
	email := ""
	secrets := map[byte]bool{}
	for _, v := range slices.Backward(versions) {
		if v.email == "" {
			continue
		}
		if v.email == "null" {
			break
		}
		if email == "" {
			email = v.email
		}
		known := false
		for i := range v.secrets {
			known = known || secrets[v.secrets[i]]
		}
		if v.email != email {
			if !known {
				return nil, false
			}
			break
		}
		for i := range v.secrets {
			secrets[v.secrets[i]] = true
		}
	}
	for secret := range secrets {
		keys = append(keys, keysBy(t, secret).Email(email+"@x.com"))
	}
	slices.Sort(keys)
	return keys, true
}

func TestFoldOfAVisitorsIDOverARotation(t *testing.T) {
	t.Parallel()
	version := func(at int, id, former string, mac wire.UserIDMAC) StoredVersion {
		o := wire.Order{VisitorID: wire.Some(id), UserIDMAC: mac}
		if former != "" {
			o.Former = []wire.Former{{UserKey: former}}
		}
		return StoredVersion{At: noon.Add(time.Duration(at) * time.Second), Order: o}
	}
	first, second := keysBy(t, '1').VisitorID("member-7"), keysBy(t, '2').VisitorID("member-7")
	const random = "018f3f5e-7b2a-7c3d-8e4f-0123456789ab"
	f := func(what, id, former string, mac wire.UserIDMAC, versions ...StoredVersion) {
		t.Helper()
		o := Fold(versions)
		got := ""
		for _, f := range o.Former {
			got += f.UserKey
		}
		if o.VisitorID.Value != id || got != former || o.UserIDMAC != mac {
			t.Errorf("%s: %q, %q, %q", what, o.VisitorID.Value, got, o.UserIDMAC)
		}
	}
	f("before and after", second, first, "", version(1, first, "", ""), version(2, second, "", ""))
	f("a UUID has no versions", random, "", wire.MACValid, version(1, random, "", ""), version(2, random, "", wire.MACValid))
	f("a UUID in place of an id", random, "", "", version(1, second, first, ""), version(2, random, "", ""))
	f("an id in place of a UUID", second, "", "", version(1, random, "", wire.MACValid), version(2, second, "", ""))
}

// rotated returns an order or an event of one shopper by the secrets, the former one first.
func rotated(t testing.TB, secrets string) (wire.Order, *Event) {
	t.Helper()
	o := wire.Order{OrderID: "1"}
	e := &Event{}
	e.Bot, e.Trust = wire.BotNone, wire.TrustOpen
	for i := range secrets {
		k := keysBy(t, secrets[i])
		f := wire.Former{
			EmailKey: k.Email("a@x.com"), PhoneKey: k.Phone("11987654321"), CustomerKey: k.Customer("7"),
			CartKey:   k.Cart("3f9d2b7c6e1a4850b7d2c9e4f1a6038d"),
			CartNoKey: k.Cart("41"), NetKey: k.Cart("net"), UserKey: k.VisitorID("member-7"),
		}
		if i < len(secrets)-1 {
			o.Former, e.Former = append(o.Former, f), &f
			continue
		}
		o.EmailKey, o.PhoneKey, o.CustomerKey, o.CartKey = wire.Some(f.EmailKey), wire.Some(f.PhoneKey),
			wire.Some(f.CustomerKey), wire.Some(f.CartKey)
		o.CartNoKey, o.NetKey, o.VisitorID = wire.Some(f.CartNoKey), wire.Some(f.NetKey), wire.Some(f.UserKey)
		e.Identity = wire.Identity{EmailKey: f.EmailKey, PhoneKey: f.PhoneKey, CustomerKey: f.CustomerKey, CartKey: f.CartKey,
			CartNoKey: f.CartNoKey}
		e.NetKey, e.VisitorID, e.Visitor = f.NetKey, f.UserKey, f.UserKey
	}
	return o, e
}

// An event and an order join by every kind of key that they join by without a rotation, as long
// as one secret is in both.
func TestEventsAndOrdersJoinOverARotation(t *testing.T) {
	t.Parallel()
	joined := func(of, by string) (kinds []KeyKind) {
		o, _ := rotated(t, of)
		_, e := rotated(t, by)
		for _, verified := range []bool{false, true} {
			if e.Trust, e.Identity.Verified = wire.TrustOpen, verified; verified {
				e.Trust = wire.TrustKey
			}
			keys := e.Keys()
			for _, k := range OrderJoins(&o) {
				if slices.Contains(keys, k.Key) {
					kinds = append(kinds, k.Kind)
				}
			}
		}
		slices.Sort(kinds)
		return slices.Compact(kinds)
	}
	want := joined("1", "1")
	if len(want) != 8 {
		t.Fatalf("without a rotation they join by %v", want)
	}
	f := func(order, event string, want []KeyKind) {
		t.Helper()
		if got := joined(order, event); !slices.Equal(got, want) {
			t.Errorf("an order of %s and an event of %s join by %v, want %v", order, event, got, want)
		}
	}
	f("12", "1", want)
	f("1", "12", want)
	f("12", "12", want)
	f("12", "2", want)
	f("2", "12", want)
	f("23", "12", want)
	f("2", "1", nil)
}

// A network or a verified key is made of what one secret made, and a kind has as many of them by each.
func TestNoProofIsMadeOfTwoSecrets(t *testing.T) {
	t.Parallel()
	count := func(secrets string) map[[2]KeyKind]int {
		o, e := rotated(t, secrets)
		n := map[[2]KeyKind]int{}
		for _, k := range OrderJoins(&o) {
			n[[2]KeyKind{k.Kind, k.Holds}]++
		}
		for _, k := range e.Keys() {
			n[[2]KeyKind{k.Kind, "of the event"}]++
		}
		return n
	}
	once, twice := count("1"), count("12")
	for k, n := range once {
		if twice[k] != 2*n || n != 1 && k[1] != "of the event" {
			t.Errorf("%v: %d by one secret, %d by two", k, n, twice[k])
		}
	}
	if len(once) != len(twice) {
		t.Errorf("%d kinds by one secret, %d by two", len(once), len(twice))
	}
	// Of what two versions of an order have, the network may be by another secret than the e-mail.
	o := wire.Order{EmailKey: wire.Some(keysBy(t, '2').Email("a@x.com")), NetKey: wire.Some(keysBy(t, '1').Cart("net"))}
	for _, k := range OrderJoins(&o) {
		if k.Kind == KeyNetwork {
			t.Error("a network by one secret and an e-mail by another are a proof")
		}
	}
}

func TestAnErasureKnowsTheKeysOfBothSecrets(t *testing.T) {
	t.Parallel()
	now, err := identity.NewHasher(bytes.Repeat([]byte{'2'}, identity.MinSecret))
	if err != nil {
		t.Fatal(err)
	}
	was, err := identity.NewHasher(bytes.Repeat([]byte{'1'}, identity.MinSecret))
	if err != nil {
		t.Fatal(err)
	}
	both, err := now.Rotating(was)
	if err != nil {
		t.Fatal(err)
	}
	f := func(of, by string, subject func(k identity.Keys) Key) {
		t.Helper()
		o, e := rotated(t, of)
		for i := range by {
			key := subject(keysBy(t, by[i]))
			if !InOrder(&o, []Key{key}) || !slices.Contains(e.ErasureKeys(), key) || key.Kind != KeyUser && !slices.Contains(PersonKeys(&o), key) {
				t.Errorf("the %s by %c is not found in what %s made", key.Kind, by[i], of)
			}
		}
		if other := subject(keysBy(t, '9')); InOrder(&o, []Key{other}) {
			t.Errorf("the %s by another secret is found", other.Kind)
		}
	}
	for _, subject := range []func(k identity.Keys) Key{
		func(k identity.Keys) Key { return Key{KeyEmail, k.Email("a@x.com")} },
		func(k identity.Keys) Key { return Key{KeyPhone, k.Phone("11987654321")} },
		func(k identity.Keys) Key { return Key{KeyCustomer, k.Customer("7")} },
		func(k identity.Keys) Key { return Key{KeyUser, k.VisitorID("member-7")} },
	} {
		f("1", "1", subject)
		f("12", "12", subject)
		f("2", "2", subject)
		key := subject(keysBy(t, '1'))
		person := subjectOf(key.Kind)
		keys, wrong := SubjectKeys(person, both.Company("c_1", "BR"))
		if len(wrong) > 0 || !slices.Contains(keys, key) || !slices.Contains(keys, subject(keysBy(t, '2'))) || len(keys) != 2 {
			t.Errorf("%s: %v, %v", key.Kind, keys, wrong)
		}
	}
}

// What stands for the keys of an erased order keeps them apart, and joins what they joined.
func TestSurrogatesOverARotation(t *testing.T) {
	t.Parallel()
	salt := Salt("salt")
	before, _ := rotated(t, "1")
	while, _ := rotated(t, "12")
	after, _ := rotated(t, "2")
	was := before
	salt.Erase(&before)
	surrogates := salt.Erase(&while)
	salt.Erase(&after)
	if InOrder(&while, PersonKeys(&was)) || len(while.Former) != 1 {
		t.Fatalf("it still has the person's keys: %+v", while)
	}
	for i, field := range keyedFields[:6] {
		old, both, late := field.values(&before), field.values(&while), field.values(&after)
		if len(both) != 2 || both[0] != late[0] || both[1] != old[0] || identity.Mark(both[0]) == identity.Mark(both[1]) {
			t.Errorf("%s: %q, %q, %q", surrogateKinds[i], old, both, late)
		}
	}
	stored, err := json.Marshal(surrogates)
	if err != nil {
		t.Fatal(err)
	}
	var read Surrogates
	if err := json.Unmarshal(stored, &read); err != nil || !reflect.DeepEqual(read, surrogates) {
		t.Fatalf("%s is read as %+v: %v", stored, read, err)
	}
	for _, secrets := range []string{"1", "12", "2", "23"} {
		o, _ := rotated(t, secrets)
		read.Replace(&o)
		if InOrder(&o, PersonKeys(&was)) {
			t.Errorf("a version by %s keeps a key", secrets)
		}
		for i, field := range keyedFields {
			for _, value := range field.values(&o) {
				if !slices.Contains(field.values(&while), value) {
					t.Errorf("a version by %s has a %s that no surrogate is: %q", secrets, surrogateKinds[i], value)
				}
			}
		}
		(&Surrogates{}).Replace(&o)
		for i, field := range keyedFields {
			if values := field.values(&o); len(values) > 0 {
				t.Errorf("a late version by %s keeps its %s: %q", secrets, surrogateKinds[i], values)
			}
		}
	}
	if fmt.Sprint(while.Former) == "" || while.Personal != nil {
		t.Error("the personal part stays")
	}
}

func subjectOf(kind KeyKind) (p commerce.DataSubject) {
	switch kind {
	case KeyEmail:
		p.Email = "a@x.com"
	case KeyPhone:
		p.Phone = "11987654321"
	case KeyCustomer:
		p.CustomerID = "7"
	default:
		p.Visitor = "member-7"
	}
	return p
}
