package processor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres/replay"
	"github.com/tributary-io/tributary/internal/upkeep/retention"
	"github.com/tributary-io/tributary/internal/wire"
)

// keeps sets the company's retention.
func (s *shop) keeps(days int) {
	s.exec(`update company set retention_days = $1 where company_id = $2`, days, s.company)
	s.bump()
}

// retainer is a processor at an instant.
func (s *shop) retainer(now time.Time) *Processor {
	p := s.processor(nil, nil)
	p.Now = func() time.Time { return now }
	return p
}

// retention is how far the company's removal has come.
func (s *shop) retention() retention.Progress {
	s.t.Helper()
	list, err := s.store.Retentions(s.ctx)
	if err != nil || len(list) != 1 {
		s.t.Fatalf("%+v, %v", list, err)
	}
	return list[0]
}

// retain removes what is older than the retention at an instant.
func (s *shop) retain(now time.Time) retention.Removed {
	s.t.Helper()
	sum, err := s.retainer(now).Retain(s.ctx, s.retention(), AnyPartition, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return sum
}

// clearAll forgets the snapshots and removals, too.
func (s *shop) clearAll() {
	s.clear()
	s.empty("evidence_snapshot", "retention", "erasure", "erasure_key", "erasure_visitor", "erased_order", "erased_key", "snapshot_first")
}

// earned is all that must not change by age: credits, payouts, explanations, net amounts
// and sums by day.
func (s *shop) earned() string {
	parts := strings.Split(s.outcomes(), "--\n")
	kept := slices.Concat(parts[:4], parts[6:12]) // not observations and events
	return strings.Join(kept, "--\n")
}

// historyOf are random facts.
func (s *shop) historyOf(r *rand.Rand, seed uint64) []record {
	if seed%2 == 1 {
		return s.crowdedFacts(r)
	}
	s.newFields = true
	return s.randomFacts(r)
}

// laterWords are what the merchant says after the events are gone: versions of orders and
// decisions.
func (s *shop) laterWords(r *rand.Rand) (list []record) {
	created := map[string]time.Time{}
	rows, err := s.pool.Query(s.ctx, `select order_id, created_at from orders`)
	if err != nil {
		s.t.Fatal(err)
	}
	var id string
	var at time.Time
	if _, err := pgx.ForEachRow(rows, []any{&id, &at}, func() error { created[id] = at.UTC(); return nil }); err != nil {
		s.t.Fatal(err)
	}
	later := noon.AddDate(0, 7, 0)
	for n, id := range slices.Sorted(maps.Keys(created)) {
		list = append(list, s.record(s.order(id, created[id], int64(r.IntN(90_000)), func(o *wire.Order) {
			o.Status, o.UpdatedAt = []int{0, 0, 1, 2}[r.IntN(4)], wire.Some(later.Add(time.Duration(n)*time.Minute))
			if r.IntN(3) == 0 {
				o.DiscountCode = wire.Some([]string{"ANA10", "BETO", ""}[r.IntN(3)])
			}
		})))
		c := s.commerce(wire.KindEvidence, id, later.Add(time.Duration(n)*time.Hour), wire.Evidence{
			OrderID: id, InfluencerID: s.influencers[r.IntN(len(s.influencers))], Decision: commerce.EvidenceDecisions[r.IntN(3)]})
		c.Rev = 5000 + int64(n)
		list = append(list, s.record(c))
	}
	return list
}

// changeRules gives costs another percentage and ends an influencer, or takes that back.
func (s *shop) changeRules(percent string, archived *time.Time) {
	s.exec(`update cost set var_fee = $1::text::numeric`, percent)
	s.exec(`update influencer set archived_at = $1 where influencer_id = $2`, archived, s.influencers[len(s.influencers)-1])
	s.bump()
	var list []record
	for _, id := range s.influencers {
		list = append(list, s.record(s.commerce(wire.KindRule, "influencer/"+id, noon,
			wire.Rule{Type: wire.RuleInfluencer, Change: "updated", InfluencerID: id, At: noon})))
	}
	list = append(list, s.record(s.commerce(wire.KindSettings, "settings", noon, struct{}{})))
	o := s.owner()
	if err := o.applyRecords(s.ctx, numbered(list)); err != nil {
		s.t.Fatal(err)
	}
	s.workOff()
}

// TestCreditsNeverChangeByAge gives the same histories to a shop that removes old events and
// to one that does not. What the merchant says and changes afterwards has the same effect.
func TestCreditsNeverChangeByAge(t *testing.T) {
	t.Parallel()
	s := replayShop(t)
	s.exec(`update cost set var_fee = 3`) // as the last of the changes below leaves it
	removed, snapshotted, histories := 0, 0, seeds(2, 8)
	for seed := range histories {
		s.keeps(0)
		var want []string
		for _, days := range []int{0, 80} {
			r := rand.New(rand.NewPCG(seed, 5))
			s.rev = 1000 // of the decisions, whatever revision the rules have
			before := s.historyOf(r, seed)
			s.clearAll()
			s.keeps(0) // the facts are older than the retention is today
			s.apply(slices.Clone(before), func() int { return 7 })
			stages := []string{s.earned()}
			if days > 0 {
				s.keeps(days)
				for _, age := range []int{60, 85, 112, 200} { // part by part
					sum := s.retain(noon.AddDate(0, 0, age))
					removed, snapshotted = removed+sum.Events, snapshotted+sum.Snapshots
					if got := s.earned(); got != stages[0] {
						t.Fatalf("seed %d, after %d days: %s", seed, age, firstDifference(got, stages[0]))
					}
				}
				if n := s.int(`select count(*) from event_fact where at < $1`, noon.AddDate(0, 0, 119)); n > 0 {
					t.Fatalf("seed %d: %d events are left", seed, n)
				}
				if n := s.int(`select count(*) from observation`); n > 0 {
					t.Fatalf("seed %d: %d observations are left", seed, n)
				}
				s.keeps(0)
			}
			s.apply(s.laterWords(r), func() int { return 3 })
			stages = append(stages, s.earned())
			ended := noon.Add(-12 * time.Hour)
			s.changeRules("20", &ended)
			stages = append(stages, s.earned())
			s.changeRules("3", nil)
			stages = append(stages, s.earned())
			if wrong := s.wrongSums(); len(wrong) > 0 {
				t.Fatalf("seed %d: sums differ: %v", seed, wrong)
			}
			found, err := s.replay(s.ctx, replay.Options{})
			if err != nil || !found.Equal() {
				t.Fatalf("seed %d: a replay differs: %+v, %v", seed, found, err)
			}
			if days == 0 {
				want = stages
				continue
			}
			for i := range want {
				if stages[i] != want[i] {
					t.Fatalf("seed %d, stage %d: %s", seed, i, firstDifference(stages[i], want[i]))
				}
			}
		}
	}
	if removed < 25*int(histories) || snapshotted < 5*int(histories) {
		t.Errorf("%d events were removed and %d orders snapshotted: the test says nothing", removed, snapshotted)
	}
}

// oldShop is a shop whose facts are 200 days old, with a retention of 80 days.
func oldShop(t *testing.T, chunk int) (s *shop, now time.Time, p *Processor) {
	s = replayShop(t)
	s.apply(s.randomFacts(rand.New(rand.NewPCG(3, 5))), func() int { return 20 })
	s.keeps(80)
	now = noon.AddDate(0, 0, 200)
	p = New(Config{RetainChunk: chunk}, Deps{Store: StoreOf(s.store), Now: func() time.Time { return now }})
	return s, now, p
}

// TestARemovalThatIsKilledLosesNothing stops a removal after each of its transactions in
// turn. Whatever is left then is consistent, and the next run ends it.
func TestARemovalThatIsKilledLosesNothing(t *testing.T) {
	t.Parallel()
	s, now, p := oldShop(t, 40)
	want := s.earned()
	check := func(when string) {
		t.Helper()
		if got := s.earned(); got != want {
			t.Fatalf("%s: %s", when, firstDifference(got, want))
		}
		if found, err := s.replay(s.ctx, replay.Options{}); err != nil || !found.Equal() {
			t.Fatalf("%s: a replay differs: %+v, %v", when, found, err)
		}
		s.wantSums(when)
	}
	kills := 0
	for {
		ctx, kill := context.WithCancel(s.ctx)
		steps := 0
		_, err := p.Retain(ctx, s.retention(), 0, func(r retention.Removed) {
			if steps++; r != (retention.Removed{}) {
				kill() // before the next transaction
			}
		})
		kill()
		check(fmt.Sprintf("killed %d times", kills))
		if err == nil {
			break
		}
		if kills++; !errors.Is(err, context.Canceled) || kills > 100 {
			t.Fatal(err)
		}
	}
	if left := s.int(`select count(*) from event_fact`) + s.int(`select count(*) from observation`) +
		s.int(`select count(*) from shopper_day`); left > 0 || kills < 5 {
		t.Errorf("%d rows are left after %d kills", left, kills)
	}
	if n := s.int(`select count(*) from order_key where kind in ($1, $2)`, facts.KeyReached.Code(), facts.KeyTouch.Code()); n > 0 {
		t.Errorf("%d keys still name visitors and events", n)
	}
	again, err := p.Retain(s.ctx, s.retention(), 0, nil)
	if err != nil || again != (retention.Removed{}) {
		t.Errorf("a second run did %+v, %v", again, err)
	}
	dropped, err := s.store.DropEmptyMonths(s.ctx, now)
	if err != nil || len(dropped) == 0 {
		t.Errorf("partitions dropped: %v, %v", dropped, err)
	}
	check("without the months")
}

// TestAnOrderThatComesBetweenSnapshotAndRemovalHasASnapshot: a new order of an old day, with the
// events still there, keeps its credit.
func TestAnOrderThatComesBetweenSnapshotAndRemovalHasASnapshot(t *testing.T) {
	t.Parallel()
	s, _, p := oldShop(t, 20)
	old := []record{
		s.record(s.event("late", noon, 900, func(e *wire.Event) {
			landing("Ana+Prado", "Inverno")(e)
			e.Identity.CartKey = "k1:late"
		})),
	}
	s.keeps(0)
	s.apply(old, func() int { return 1 })
	s.keeps(80)
	came := false
	if _, err := p.Retain(s.ctx, s.retention(), 0, func(r retention.Removed) {
		if r.Snapshots == 0 && !came {
			came = true
			s.apply([]record{s.record(s.order("late", noon.Add(time.Hour), 10_000, cart("k1:late")))}, func() int { return 1 })
		}
	}); err != nil {
		t.Fatal(err)
	}
	if got := s.texts(`select i.name || ' ' || p.state from payout p join influencer i using (company_id, influencer_id) where ` +
		`order_id = 'late'`); !came || len(got) != 1 || got[0] != "Ana Prado earned" {
		t.Errorf("%v %v", came, got)
	}
	if n := s.int(`select count(*) from evidence_snapshot where order_id = 'late'`); n != 1 {
		t.Error("the order has no snapshot")
	}
	if found, err := s.replay(s.ctx, replay.Options{}); err != nil || !found.Equal() {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestWhatIsStillReadIsKept: an order that is too young to be snapshotted keeps its events,
// also under a past setting of a longer window.
func TestWhatIsStillReadIsKept(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.influencer("Ana Prado", "Inverno")
	now := noon.AddDate(0, 0, 100)
	for i, age := range []int{20, 45, 75, 79, 81, 99} { // days before now
		s.apply([]record{s.record(s.event(fmt.Sprint("v", i), now.AddDate(0, 0, -age), i, nil))}, func() int { return 1 })
	}
	left := func() int64 { return s.int(`select count(*) from event_fact`) }
	s.keeps(70)
	s.exec(`insert into past_setting (company_id, until, rev, payout_rule, window_days, half_life_days, ignore_direct, pay_recurring,
		unproven, self_purchase, hold_days, delivered_hold_days, passing_hosts)
		select company_id, $1::timestamptz, 1, 'coupon_first', 80, 7, true, false, 'review', 'review', 30, 15, '{}' from company
		where company_id = $2`,
		now.AddDate(0, 0, -2), s.company)
	s.bump()
	if s.retain(now); left() != 5 { // an order of ten days ago still reads 80 days
		t.Errorf("%d events are left, want 5: all but that of 99 days", left())
	}
	s.exec(`update past_setting set until = $1`, now.AddDate(0, 0, -50))
	s.bump()
	if s.retain(now.Add(time.Hour)); left() != 2 {
		t.Errorf("%d events are left, want those of 20 and 45 days", left())
	}
}

// TestAnEventOlderThanTheRetentionIsNotStored: a history that is imported again does not
// bring back what was removed, and is counted.
func TestAnEventOlderThanTheRetentionIsNotStored(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.keeps(70)
	old := s.event("v1", time.Now().UTC().AddDate(0, 0, -80), 1, func(e *wire.Event) { e.Trust = wire.TrustImport })
	wrongID := s.event("v1", time.Now().UTC().AddDate(0, 0, -3), 2, nil)
	wrongID.EventID = uuid7(time.Now().AddDate(-1, 0, 0), 2) // of a clock that is wrong: the event is young
	s.apply([]record{s.record(old), s.record(wrongID)}, func() int { return 2 })
	wantTexts(t, "stored", s.texts(`select event_id::text from event_fact`), wrongID.EventID)
	wantTexts(t, "counted", s.texts(`select outcome || ' ' || sum(events) from delivery group by outcome order by 1`),
		"rejected:expired 1", "stored 1")
}

// TestProcessorsRemoveOldEventsByThemselves, each the companies of its own partitions.
func TestProcessorsRemoveOldEventsByThemselves(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.influencer("Ana Prado", "Inverno")
	s.apply([]record{
		s.record(s.event("v1", noon, 1, func(e *wire.Event) {
			landing("Ana+Prado", "Inverno")(e)
			e.Identity.CartKey = "k1:a"
		})),
		s.record(s.order("o1", noon.Add(time.Hour), 10_000, cart("k1:a"))),
	}, func() int { return 2 })
	want := s.earned()
	s.exec(`delete from consumer_offset`)
	s.keeps(70)
	p := s.processor(s.group(), s.producer)
	p.config.RetainEvery, p.Now = 50*time.Millisecond, func() time.Time { return noon.AddDate(0, 0, 200) }
	s.runs(p)
	s.await("the event is removed", func() bool { return s.int(`select count(*) from retention where done_at is not null`) == 1 })
	if n := s.int(`select count(*) from event_fact`); n != 0 || s.earned() != want {
		t.Errorf("%d events are left; %s", n, firstDifference(s.earned(), want))
	}
	if s.metric(p, "tributary_processor_removed_total") < 2 || s.metric(p, "tributary_processor_removal_failures_total") != 0 {
		t.Error("the removal is not counted")
	}
}

// TestARemovalUsesTheRulesAsTheyAre: a rule that changes while a removal runs stays in force
// for the orders that are snapshotted after that.
func TestARemovalUsesTheRulesAsTheyAre(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.cost(ana, inverno, 0, "10")
	var list []record
	for i := range 3 {
		key := fmt.Sprint("k1:", i)
		list = append(list, s.record(s.event(fmt.Sprint("v", i), noon, i, func(e *wire.Event) {
			landing("Ana+Prado", "Inverno")(e)
			e.Identity.CartKey = key
		})), s.record(s.order(fmt.Sprint("o", i), noon.Add(time.Hour), 10_000, cart(key))))
	}
	s.apply(list, func() int { return 6 })
	s.keeps(70)
	p := s.retainer(noon.AddDate(0, 0, 200))
	p.config.RetainChunk = 20 // one order a transaction
	steps := 0
	sum, err := p.Retain(s.ctx, s.retention(), AnyPartition, func(retention.Removed) {
		if steps++; steps == 1 {
			s.changeRules("20", nil)
		}
	})
	if err != nil || sum.Snapshots != 3 || sum.Events != 3 {
		t.Fatalf("%+v, %v", sum, err)
	}
	wantTexts(t, "payouts", s.payouts(), "o0 Ana Prado link 2000", "o1 Ana Prado link 2000", "o2 Ana Prado link 2000")
	wantTexts(t, "ledger",
		s.texts(`select order_id || ' ' || sum(amount_minor) || ' in ' || count(*) from ledger_entry group by order_id order by 1`),
		"o0 2000 in 3", "o1 2000 in 3", "o2 2000 in 3")
}
