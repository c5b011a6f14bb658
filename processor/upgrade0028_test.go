package processor

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/caseload"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres/factstore"
	"github.com/tributary-io/tributary/internal/wire"
)

// The names by which the version before found orders are digests now, and what it had in
// rows that other keys say as well is gone; on the way back these rows are there again.
func TestNamesOfOrdersBecomeDigests(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.coupon(ana, inverno, "ANA10")
	s.cost(ana, inverno, 100, "7.5")
	s.apply(s.randomFacts(rand.New(rand.NewPCG(2, 8))), func() int { return 50 })
	want, names := s.outcomes(), `select concat_ws(' ', order_id, names) from payout where names is not null order by 1`
	wantNames := s.texts(names)
	if len(wantNames) < 3 {
		t.Fatalf("names: %v", wantNames)
	}
	var rows []facts.OrderKey // as the version before had them
	for id, o := range s.decided() {
		for _, k := range o.FoundBy {
			if slices.Contains(facts.NameKinds, k.Kind) {
				rows = append(rows, facts.OrderKey{Key: k.Key, OrderID: id})
			}
		}
	}
	var verified []string
	for _, o := range s.orders() {
		for _, k := range facts.OrderJoins(&o) {
			switch {
			case k.Kind == facts.KeyVerified:
				packed := k.Pack() // ends in the mark of a secret, which no key had then
				verified = append(verified, fmt.Sprintf("%s %x", o.OrderID, packed[:len(packed)-2]))
			case k.Kind == facts.KeyVisitor:
				rows = append(rows, facts.OrderKey{Key: facts.Key{Kind: facts.KeyReached, Value: k.Value}, OrderID: o.OrderID})
			}
		}
	}
	slices.Sort(verified)
	reached := s.texts(`select concat_ws(' ', order_id, encode(key, 'hex')) from order_key where kind = 11 order by 1`)

	up := s.takeBack(28)
	wantTexts(t, "verified keys", s.texts(`select order_id || ' ' || left(encode(key, 'hex'), -4) from order_key where kind = 5 order by order_id || ' ' || encode(key, 'hex') collate "C"`), verified...)
	for _, k := range rows {
		s.exec(`insert into order_key (company_id, kind, key, hub, created_at, order_id) select company_id, $2, $3, 0, created_at, order_id from orders where order_id = $1
			on conflict (company_id, kind, key, hub, created_at, order_id) do nothing`, k.OrderID, k.Kind.Code(), k.Pack())
	}
	s.exec(`truncate recompute, recompute_company`)
	up()
	wantTexts(t, "names", s.texts(names), wantNames...)
	wantTexts(t, "reached", s.texts(`select concat_ws(' ', order_id, encode(key, 'hex')) from order_key where kind = 11 order by 1`), reached...)
	if n := s.int(`select count(*) from order_key where kind in (5, 33, 34, 35)`); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	s.exec(`insert into recompute (company_id, order_id, cause) select company_id, order_id, 'upgrade' from orders`)
	s.exec(`insert into recompute_company (company_id) values ($1) on conflict do nothing`, s.company)
	s.workOff()
	if got := s.outcomes(); got != want {
		t.Error(firstDifference(got, want))
	}
}

// decided computes the outcomes of all orders, by order id.
func (s *shop) decided() map[string]facts.Outcome {
	s.t.Helper()
	rules, err := s.store.Rules(s.ctx, s.company)
	if err != nil {
		s.t.Fatal(err)
	}
	index := attribution.NewIndex(rules)
	list := map[string]facts.Outcome{}
	if err := s.store.Transact(s.ctx, func(tx *factstore.Tx) error {
		_, _, err := caseload.Each(s.ctx, tx, s.company, index.Limits(), s.texts(`select order_id from orders`), attribution.ClaimedEvents, func(c *facts.Case) bool {
			list[c.Order.OrderID] = index.Decide(*c)
			return true
		})
		return err
	}); err != nil {
		s.t.Fatal(err)
	}
	return list
}

// An order is found by a verified key of it also where too many visitors were seen with
// the key that this one holds: few of them need be logged in.
func TestAVerifiedVisitorOfACrowdedKeyIsFound(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	mail := func(e *wire.Event) { e.Identity.EmailKey = "k1:till" }
	records := []record{s.record(s.order("o1", noon.Add(time.Hour), 1000, func(o *wire.Order) { o.EmailKey = wire.Some("k1:till") }))}
	for i := range 30 {
		records = append(records, s.record(s.event(fmt.Sprint("v", i), noon, i, mail)))
	}
	s.apply(records, func() int { return 5 })
	if hub := s.int(`select hub from order_key where kind = $1`, facts.KeyEmail.Code()); hub != int64(facts.HubOfVisitors.Code()) {
		t.Fatalf("the key's hub is %d", hub)
	}
	s.apply([]record{s.record(s.event("w", noon, 50, func(e *wire.Event) {
		mail(e)
		e.Trust, e.Identity.Verified = wire.TrustKey, true
	}))}, func() int { return 1 })
	touches := s.onlyExplanation().Touches
	if len(touches) != 1 {
		t.Errorf("%d touches, want that of the visitor who is logged in: %+v", len(touches), touches)
	}
}

// orders are the stored orders.
func (s *shop) orders() (list []wire.Order) {
	s.t.Helper()
	for _, body := range s.texts(`select encode(body, 'hex') from orders order by order_id`) {
		stored, err := hex.DecodeString(body)
		if err != nil {
			s.t.Fatal(err)
		}
		o, err := facts.UnpackOrder(stored)
		if err != nil {
			s.t.Fatal(err)
		}
		list = append(list, o)
	}
	return list
}
