package processor

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/postgres/replay"
	"github.com/tributary-io/tributary/internal/wire"
)

// known is a shop that knows its influencers' e-mails, whose orders are created now: identities count from the clock of
// the database on. An e-mail is the text of its keyed hash.
type known struct {
	*shop
	rules *merchant.Store
}

func newKnown(t *testing.T) *known {
	s := newJourneys(t).shop
	return &known{s, merchant.New(s.db)}
}

func (k *known) author() commerce.Author {
	return commerce.Author{CompanyID: k.company, Actor: "test", At: time.Now()}
}

// has gives an influencer an e-mail, and "" takes it away.
func (k *known) has(name, email string) {
	k.t.Helper()
	change := commerce.DetailsChange{Email: wire.Some(strings.TrimPrefix(email, "k1:") + "@example.com")}
	if email == "" {
		change.Email = wire.Null[string]()
	} else {
		key := facts.Key{Kind: facts.KeyEmail, Value: email}
		change.Keys = []commerce.IdentityKey{{Field: commerce.DetailEmail, Kind: key.Kind.Code(), Key: key.Pack()}}
	}
	k.must(k.rules.UpdateInfluencer(k.ctx, k.author(), name, commerce.InfluencerChange{Details: change}))
	k.told()
}

func (k *known) must(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

// sends hands records to the processor.
func (k *known) sends(records ...record) {
	k.t.Helper()
	o := k.owner()
	next := map[string]int64{}
	for topic, n := range o.next {
		next[topic] = n
	}
	for i := range records {
		records[i].Offset = next[records[i].topic]
		next[records[i].topic]++
	}
	k.must(o.applyRecords(k.ctx, records))
	k.workOff()
}

// buys has somebody with an e-mail buy with a code, now.
func (k *known) buys(id, email, code string, changes ...func(o *wire.Order)) {
	k.t.Helper()
	k.sends(k.record(k.order(id, time.Now().UTC(), 10000, func(o *wire.Order) {
		o.EmailKey, o.DiscountCode = wire.Some(email), wire.Some(code)
		for _, change := range changes {
			change(o)
		}
	})))
}

// wants compares what is owed for the orders: "order state influencer reason", and what a replay of the facts gives.
func (k *known) wants(when string, want ...string) {
	k.t.Helper()
	got := k.texts(`
		select concat_ws(' ', p.order_id, p.state, split_part(i.name, ' ', 1), nullif(p.reason, ''))
		from payout p left join influencer i using (company_id, influencer_id) order by p.order_id`)
	if !slices.Equal(got, want) {
		k.t.Errorf("%s:\n got %v\nwant %v", when, got, want)
	}
	found, err := k.replay(k.ctx, replay.Options{})
	k.must(err)
	if !found.Equal() || found.Orders != len(want) {
		k.t.Fatalf("%s: the replay differs: %+v", when, found)
	}
}

const anasMail, otherMail = "k1:anas-mail", "k1:others-mail"

// docs/attribution.md, "Self-purchase": who was the customer when the order was created stays so, whatever is changed or
// erased later, and a replay gives the same.
func TestASelfPurchaseIsWhatItWasWhenTheOrderWasCreated(t *testing.T) {
	t.Parallel()
	k := newKnown(t)
	k.buys("a before", anasMail, "ANA10")
	k.has("Ana Prado", anasMail)
	k.buys("b own", anasMail, "ANA10")
	k.buys("c another's", anasMail, "BET10")
	k.buys("d follower's", otherMail, "ANA10")
	want := []string{"a before earned Ana", "b own review Ana self_purchase", "c another's earned Beto", "d follower's earned Ana"}
	k.wants("the e-mail is known", want...)
	k.buys("a before", anasMail, "ANA10", func(o *wire.Order) { // a later version of the order: it was created before
		o.CreatedAt = k.createdAt("a before")
	})
	k.wants("an order comes again", want...)

	k.has("Ana Prado", otherMail)
	k.buys("e with the old", anasMail, "ANA10")
	want = append(want, "e with the old earned Ana")
	k.wants("another e-mail", want...)

	k.has("Beto Lima", otherMail)
	k.buys("f of two", otherMail, "ANA10")
	k.buys("g of two", otherMail, "BET10")
	want = append(want, "f of two earned Ana", "g of two earned Beto")
	k.wants("two have one e-mail", want...)

	k.must(k.rules.EraseInfluencer(k.ctx, k.author(), "", "Ana Prado"))
	k.told()
	k.wants("Ana is erased", want...)
	if where := k.identities("Ana Prado"); len(where) > 0 {
		t.Errorf("what is left of Ana's keys: %v", where)
	}
	k.buys("h of one", otherMail, "BET10")
	k.buys("i of nobody", anasMail, "ANA10")
	want = append(want, "h of one review Beto self_purchase", "i of nobody earned Ana")
	k.wants("Beto alone has it", want...)

	k.erase(time.Now().Add(2*time.Second), facts.Key{Kind: facts.KeyEmail, Value: otherMail}, facts.Key{Kind: facts.KeyEmail, Value: anasMail})
	k.wants("the customers are erased", want...)
	if where := k.found(anasMail); len(where) > 0 {
		t.Errorf("what is left of the customer's e-mail: %v", where)
	}
	k.must(k.rules.EraseInfluencer(k.ctx, k.author(), "", "Beto Lima"))
	k.told()
	k.wants("all are erased", want...)
	if where := k.found(anasMail, otherMail); len(where) > 0 {
		t.Errorf("what is left: %v", where)
	}
}

// createdAt is when an order was created.
func (k *known) createdAt(id string) (at time.Time) {
	k.t.Helper()
	k.must(k.pool.QueryRow(k.ctx, `select created_at from orders where order_id = $1`, id).Scan(&at))
	return at.UTC()
}

func (k *known) identities(name string) []string {
	return k.texts(`
		select encode(key, 'escape') from influencer_identity join influencer using (company_id, influencer_id) where name = $1`, name)
}

// Whoever is archived has no e-mail together with somebody else: a shop that registers an influencer anew under another
// name still sees what that one buys.
func TestAnArchivedInfluencerSharesNoIdentity(t *testing.T) {
	t.Parallel()
	k := newKnown(t)
	k.has("Ana Prado", anasMail)
	k.has("Beto Lima", anasMail)
	k.buys("a", anasMail, "BET10")
	_, err := k.rules.ArchiveInfluencer(k.ctx, k.author(), "Ana Prado", "")
	k.must(err)
	k.told()
	k.buys("b", anasMail, "BET10")
	want := []string{"a earned Beto", "b review Beto self_purchase"}
	k.wants("Ana is archived", want...)
	_, err = k.rules.RestoreInfluencer(k.ctx, k.author(), k.influencers[ana], "")
	k.must(err)
	k.told()
	k.buys("c", anasMail, "BET10")
	k.wants("Ana is back", append(want, "c earned Beto")...)
	k.has("Ana Prado", "")
	k.buys("d", anasMail, "BET10")
	k.wants("Ana has none", append(want, "c earned Beto", "d review Beto self_purchase")...)
}

// An e-mail that many orders had when it was added is the shop's counter's, not the influencer's. Orders that come later
// make it none: so nobody hides by buying often, or by having others buy with the e-mail.
func TestAnEMailOfManyOrdersIsNobodysOwn(t *testing.T) {
	t.Parallel()
	k := newKnown(t)
	var counter, own []record
	for i := range commerce.MostOwnOrders + 1 {
		at := time.Now().UTC().Add(time.Duration(i-60) * time.Minute)
		of := func(email string) func(o *wire.Order) { return func(o *wire.Order) { o.EmailKey = wire.Some(email) } }
		counter = append(counter, k.record(k.order("counter "+string(rune('a'+i)), at, 10000, of("k1:counter"))))
		own = append(own, k.record(k.order("own "+string(rune('a'+i)), at.Add(2*time.Hour), 10000, of(anasMail))))
	}
	k.sends(counter...)
	k.has("Beto Lima", "k1:counter")
	k.has("Ana Prado", anasMail)
	k.sends(own...)
	k.buys("x", "k1:counter", "BET10")
	k.buys("y", anasMail, "ANA10")
	got := k.texts(`select order_id || ' ' || state || ' ' || reason from payout where influencer_id is not null order by order_id`)
	if want := []string{"x earned ", "y review self_purchase"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// What strangers can send about an influencer's e-mail: events change nothing about an order, whoever sends them and
// however many. Only an order with the e-mail waits, and the shop decides.
func TestStrangersDenyNoCommissionByAnInfluencersEMail(t *testing.T) {
	t.Parallel()
	k := newKnown(t)
	k.has("Ana Prado", anasMail)
	n := 0
	visit := func(visitor string, change func(e *wire.Event)) record {
		n++
		return k.record(k.event(visitor, time.Now().UTC().Add(-time.Minute), n, func(e *wire.Event) {
			e.Trust, e.ReceivedAt, e.Identity.EmailKey = wire.TrustOpen, time.Now().UTC(), anasMail
			change(e)
		}))
	}
	k.sends(visit("shopper", of("ana+prado")), visit("shopper", func(e *wire.Event) { e.Identity.CartKey = "k1:cart" }))
	k.buys("a follower", otherMail, "ANA10", hasCart)
	var flood []record
	for i := range 15 {
		flood = append(flood, visit("stranger"+string(rune('a'+i)), of("ana+prado")))
	}
	k.sends(flood...)
	k.buys("b typed by a stranger", anasMail, "ANA10")
	k.sends(flood...)
	k.buys("c nobody's code", anasMail, "", hasCart)
	want := []string{"a follower earned Ana", "b typed by a stranger review Ana self_purchase", "c nobody's code review Ana self_purchase"}
	k.wants("strangers know the e-mail", want...)

	k.must(k.rules.DecideEvidence(k.ctx, k.author(), commerce.EvidenceDecision{OrderID: "b typed by a stranger",
		InfluencerID: k.influencers[ana], Decision: commerce.EvidenceAccept}))
	k.must(k.rules.DecideEvidence(k.ctx, k.author(), commerce.EvidenceDecision{OrderID: "c nobody's code",
		InfluencerID: k.influencers[ana], Decision: commerce.EvidenceRefuse}))
	k.told()
	want = []string{"a follower earned Ana", "b typed by a stranger earned Ana", "c nobody's code none no_winner"}
	k.wants("the shop decided", want...)
}

// The setting of the time of the order counts, and an order may be paid or denied at once.
func TestTheSettingForSelfPurchasesCountsForOrdersCreatedSince(t *testing.T) {
	t.Parallel()
	k := newKnown(t)
	k.has("Ana Prado", anasMail)
	set := func(rule string) {
		t.Helper()
		_, _, err := k.rules.ChangeSettings(k.ctx, commerce.SettingsChange{CompanyID: k.company, Actor: "test",
			Change: func(s *commerce.Settings) { s.SelfPurchase = rule }})
		k.must(err)
		k.told()
	}
	k.buys("a", anasMail, "ANA10")
	set(commerce.SelfPurchaseDeny)
	k.buys("b", anasMail, "ANA10")
	set(commerce.SelfPurchasePay)
	k.buys("c", anasMail, "ANA10")
	k.wants("three settings", "a review Ana self_purchase", "b none self_purchase", "c earned Ana")
}

// Whatever happens, in whatever order, what is stored is what a replay of the facts gives, and of orders that were decided
// nothing moves.
func TestSelfPurchasesDependOnTheFactsAlone(t *testing.T) {
	t.Parallel()
	found, kept := int64(0), int64(0)
	for seed := range seeds(2, 6) {
		r := rand.New(rand.NewPCG(seed, 29))
		k := newKnown(t)
		mails, names := []string{anasMail, otherMail, "k1:third"}, []string{"Ana Prado", "Beto Lima", "Eve Silva"}
		before := map[string]string{}
		for i, name := range names {
			k.has(name, mails[i])
		}
		for n := range 40 {
			mail, name := mails[r.IntN(3)], names[r.IntN(3)]
			switch r.IntN(9) {
			case 0:
				k.has(name, mail)
			case 1:
				k.has(name, "")
			case 2:
				k.must(k.rules.EraseInfluencer(k.ctx, k.author(), "", name))
				k.told()
			case 3:
				if n%4 == 0 {
					k.erase(time.Now().Add(2*time.Second), facts.Key{Kind: facts.KeyEmail, Value: mail})
				}
			default:
				k.buys(string(rune('A'+n)), mail, []string{"ANA10", "BET10", "EVE10"}[r.IntN(3)])
			}
			after := map[string]string{}
			for _, line := range k.texts(`select order_id || ' ' || state || ' ' || coalesce(influencer_id::text, '') from payout`) {
				id, state, _ := strings.Cut(line, " ")
				after[id] = state
				if was := before[id]; was != "" && was != state {
					t.Fatalf("seed %d, step %d: order %s was %s and is %s", seed, n, id, was, state)
				}
			}
			before = after
		}
		again, err := k.replay(k.ctx, replay.Options{})
		k.must(err)
		if !again.Equal() {
			t.Fatalf("seed %d: %+v", seed, again)
		}
		found += k.int(`select count(*) from payout where reason = 'self_purchase'`)
		kept += k.int(`select count(*) from self_purchase`)
	}
	if found == 0 || kept == 0 {
		t.Fatalf("%d self-purchases, %d kept: the test says nothing", found, kept)
	}
}
