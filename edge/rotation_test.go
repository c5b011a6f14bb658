package edge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
)

func rotatingHasher(t testing.TB) *identity.Hasher {
	t.Helper()
	h, err := testHasher(t).Rotating(formerHasher(t))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// While a rotation lasts, a record has the keys of both secrets, so that it joins what was
// before it and what comes after it.
func TestEventHasTheKeysOfBothSecrets(t *testing.T) {
	s := newStand(t, func(_ *Config, d *Deps) { d.Hasher = rotatingHasher(t) })
	current, former := testHasher(t).Company(testCompany, "BR"), formerHasher(t).Company(testCompany, "BR")
	who := `"identity":{"email":"ana@example.com","phone":"11987654321","customer_id":"c-7","cart_token":"%s"}`
	f := func(members string, is func(e *wire.Event, k identity.Keys) wire.Former) {
		t.Helper()
		e := s.onlyEvent(`{"event":"PAGE_VIEW",` + members + `}`)
		if e.Former == nil {
			t.Fatalf("%s: there are no former keys", members)
		}
		now := wire.Former{
			EmailKey: e.Identity.EmailKey, PhoneKey: e.Identity.PhoneKey, CustomerKey: e.Identity.CustomerKey, CartKey: e.Identity.CartKey,
			CartNoKey: e.Identity.CartNoKey, NetKey: e.NetKey, UserKey: e.VisitorID, Stream: e.Stream,
		}
		was, want := is(&e, current), is(&e, former)
		if was.UserKey == "" {
			now.UserKey = ""
		}
		if was.Stream == "" {
			now.Stream = ""
		}
		if now.NetKey == "" || e.Former.NetKey == "" || now.NetKey == e.Former.NetKey {
			t.Errorf("%s: networks %q and %q", members, now.NetKey, e.Former.NetKey)
		}
		was.NetKey, want.NetKey = now.NetKey, e.Former.NetKey
		if now != was || *e.Former != want {
			t.Errorf("%s:\nkeys   %+v\nwant   %+v\nformer %+v\nwant   %+v", members, now, was, *e.Former, want)
		}
	}
	secret := "3f9d2b7c6e1a4850b7d2c9e4f1a6038d"
	f(fmt.Sprintf(who, secret)+`,"visitorId":"member-7","stream":"till 4"`, func(_ *wire.Event, k identity.Keys) wire.Former {
		return wire.Former{
			EmailKey: k.Email("ana@example.com"), PhoneKey: k.Phone("11987654321"), CustomerKey: k.Customer("c-7"), CartKey: k.Cart(secret),
			UserKey: k.VisitorID("member-7"), Stream: k.Stream("till 4"),
		}
	})
	f(fmt.Sprintf(who, "41")+`,"visitorId":"`+newID()+`","stream":"0123456789ab"`, func(_ *wire.Event, k identity.Keys) wire.Former {
		return wire.Former{EmailKey: k.Email("ana@example.com"), PhoneKey: k.Phone("11987654321"), CustomerKey: k.Customer("c-7"),
			CartNoKey: k.Cart("41")}
	})
	f(`"visitorId":"null"`, func(*wire.Event, identity.Keys) wire.Former { return wire.Former{} })
	s.publishCompany(wire.Company{CompanyID: testCompany, Rev: 2, Country: "BR", ConsentPolicy: wire.ConsentRequired})
	s.eventually("the consent is required", func() bool {
		c, _ := s.edge.directory.company(testCompany)
		return c.ConsentPolicy == wire.ConsentRequired
	})
	f(fmt.Sprintf(who, secret)+`,"visitorId":"member-7","consent":"denied"`, func(*wire.Event, identity.Keys) wire.Former {
		return wire.Former{}
	})
}

func TestWithoutARotationARecordHasNoFormerKeys(t *testing.T) {
	s := newStand(t, func(_ *Config, d *Deps) { d.Previous = formerHasher(t) })
	s.post(200, batchOf(`{"event":"PAGE_VIEW","visitorId":"member-7","identity":{"email":"ana@example.com"}}`))
	for _, r := range s.log(wire.TopicEvents) {
		if strings.Contains(string(r.Value), "former") {
			t.Errorf("the record is %s", r.Value)
		}
	}
}

// Edge and admin may be restarted in any order: one secret that both have is enough.
func TestAnEdgeTakesACompanyByEitherSecretOfEither(t *testing.T) {
	first, second := formerHasher(t), testHasher(t)
	both := rotatingHasher(t)
	f := func(of *identity.Hasher, current, former string, wrong bool) {
		t.Helper()
		d := newDirectory(of, Config{}, nil, nil)
		if c := d.newCompany(wire.Company{CompanyID: "co_1", KeyCheck: current, FormerKeyCheck: former}); c.wrongKey != wrong {
			t.Errorf("the secret is wrong: %v, want %v", c.wrongKey, wrong)
		}
	}
	was, is := first.Check("co_1"), second.Check("co_1")
	for _, h := range []*identity.Hasher{first, both} {
		f(h, was, "", false) // the admin is not restarted yet
		f(h, is, was, false)
	}
	for _, h := range []*identity.Hasher{second, both} {
		f(h, is, was, false)
		f(h, is, "", false) // the admin is restarted already
	}
	f(first, is, "", true)
	f(second, was, "", true)
	f(both, "k1:other", "", true)
	f(both, "", "", true)
}

// --compromised: who has the former secret can sign anything with it.
func TestOfACompromisedSecretNothingIsVerified(t *testing.T) {
	s := newStand(t, func(_ *Config, d *Deps) { d.Hasher = rotatingHasher(t) })
	victim, former := newID(), identity.NewSigner(formerHasher(t), nil)
	const same = "Sec-Fetch-Site: same-site"
	if e := s.onlyEvent(pageView(newID()), same, "Cookie: trb_vid="+former.Sign(identity.SignedCookie, victim)); e.CookieID == victim ||
		e.CookieID == "" {
		t.Errorf("a cookie by the former secret names the visitor %q", e.CookieID)
	}
	if e := s.onlyEvent(pageView(newID()), same, "Cookie: trb_vid="+testSigner(t).Sign(identity.SignedCookie, victim)); e.CookieID != victim {
		t.Errorf("a cookie by the current secret names the visitor %q", e.CookieID)
	}
	click := testCode + "." + newID()
	f := func(signed string, verified bool) {
		t.Helper()
		e := s.onlyEvent(fmt.Sprintf(`{"event":"PAGE_VIEW","context":{"page":{"url":"https://loja.example.com/?trb_click=%s"}}}`, signed))
		if e.Click == nil || e.Click.Verified != verified {
			t.Errorf("the click is %+v", e.Click)
		}
	}
	f(former.Sign(identity.SignedClick, click), false)
	f(testSigner(t).Sign(identity.SignedClick, click), true)
}
