package processor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres/replay"
	"github.com/tributary-io/tributary/internal/wire"
)

// wantSums fails the test where a table of sums by day differs from what the outcomes sum
// to when they are all read again.
func (s *shop) wantSums(when string) {
	s.t.Helper()
	wrong, err := (&replay.Schema{DB: s.db}).CheckSums(s.ctx, []string{s.company})
	if err != nil || len(wrong) > 0 {
		s.t.Fatalf("%s: sums differ: %v, %v", when, wrong, err)
	}
}

// changed applies a changed rule.
func (s *shop) changed(o *owner, rule wire.Rule) {
	s.t.Helper()
	rules, err := o.rulesOf(s.ctx, []string{s.company})
	if err != nil {
		s.t.Fatal(err)
	}
	changed := companyBatch{index: rules[s.company], changes: []facts.Change{{Rule: rule, Rev: s.rev}}}
	if _, err := o.apply(s.ctx,
		batch{clusterID: o.clusterID, moves: o.moves(nil), now: o.Now().UTC(), companies: []companyBatch{changed}}, func() {}); err != nil {
		s.t.Fatal(err)
	}
}

// TestSumsFollowEveryChange: random histories of orders that change, refunds, first
// orders that come late, rules and settings that change, and orders that wait in the queue
// meanwhile. After each transaction the sums are those of all outcomes.
func TestSumsFollowEveryChange(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	beto, verao := s.influencer("Beto Lima", "Verão")
	s.coupon(ana, inverno, "ANA10")
	s.coupon(beto, verao, "BETO")
	s.cost(ana, inverno, 100, "7.5")
	s.cost(beto, "", 0, "3")
	seen := map[string]int64{ // what is summed in some history
		`select count(*) from sale_day where orders > 0 and influencer_id <> '' and coupon_id <> ''`:          0,
		`select count(*) from sale_day where returning_orders > 0`:                                            0,
		`select count(*) from sale_day where cancelled_orders > 0`:                                            0,
		`select count(*) from credit_day where linear_orders > 0 and linear_orders < 1`:                       0,
		`select count(*) from product_day where sales > 0`:                                                    0,
		`select count(*) from path_day where cardinality(path) > 1 and orders > 0`:                            0,
		`select count(*) from journey_month where size = 0 and before <> '' and channel <> '' and orders > 0`: 0,
		`select count(*) from journey_month where size > 1 and orders > 1`:                                    0,
	}
	for seed := range seeds(2, 4) {
		r := rand.New(rand.NewPCG(seed, 21))
		s.newFields = true
		records := s.randomFacts(r)
		r.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		s.clear()
		o := s.owner()
		numbered(records)
		for n := 0; len(records) > 0; n++ {
			size := min(1+r.IntN(12), len(records))
			waits := r.IntN(3) == 0 // the orders are queued
			if _, err := o.applyOnce(s.ctx, records[:size], func(string) bool { return waits }); err != nil {
				t.Fatal(err)
			}
			for _, r := range records[:size] {
				o.next[r.topic] = r.Offset + 1
			}
			records = records[size:]
			s.wantSums(fmt.Sprintf("seed %d, batch %d, waits %t", seed, n, waits))
			switch r.IntN(6) {
			case 0:
				s.cost(ana, "", int64(r.IntN(500)), "1")
				s.changed(o, wire.Rule{Type: wire.RuleCost, InfluencerID: ana})
			case 1:
				s.exec(`update company set timezone = $2, unproven = $3, rules_rev = rules_rev + 1 where company_id = $1`, s.company,
					[]string{"America/Sao_Paulo", "Pacific/Auckland"}[r.IntN(2)], []string{"review", "pay", "ignore"}[r.IntN(3)])
				s.changed(o, wire.Rule{Type: wire.RuleSettings})
			case 2:
				s.workOffBy(o)
			}
			s.wantSums(fmt.Sprintf("seed %d, after batch %d", seed, n))
		}
		s.workOff()
		s.wantSums(fmt.Sprintf("seed %d, at the end", seed))
		for what := range seen {
			seen[what] += s.int(what)
		}
	}
	for what, rows := range seen {
		if rows == 0 {
			t.Errorf("%s: the test says nothing", what)
		}
	}
}

// A row that is wrong is found, in each table.
func TestWrongSumsAreFound(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.apply([]record{s.record(s.event("v1", noon, 1, nil)), s.record(s.order("o1", noon, 1000, func(o *wire.Order) {
		o.Items = wire.Some([]wire.Item{{ProductID: "p1", Quantity: 1, Price: "10"}})
	}))}, func() int { return 2 })
	s.wantSums("at first")
	for table, change := range map[string]string{
		"sale_day": `set new_customers = 1`, "credit_day": `set time_decay_minor = time_decay_minor + 1`, "product_day": `set item = 'p2'`,
		"path_day":      `set orders = orders + 1`,
		"product_month": `set quantity = 3`, "path_month": `set sales_minor = 0`,
		"journey_month": `set orders = orders + 1 where size = 0 and channel = ''`,
		"traffic_day":   `set visited = 0`, "traffic_month": `set viewed = viewed + 1`,
	} {
		s.exec(`update ` + table + ` ` + change)
		wrong, err := (&replay.Schema{DB: s.db}).CheckSums(s.ctx, []string{s.company})
		if err != nil || !slices.ContainsFunc(wrong, func(d replay.DifferentSums) bool { return d.Table == table && d.CompanyID == s.company }) {
			t.Errorf("%s: %v, %v", table, wrong, err)
		}
	}
}
