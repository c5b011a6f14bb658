package processor

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/ledger"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/factstore"
	"github.com/tributary-io/tributary/internal/postgres/replay"
	"github.com/tributary-io/tributary/internal/wire"
)

// replay applies the shop's stored facts to a fresh schema and compares.
func (s *shop) replay(ctx context.Context, o replay.Options) (found *ledger.Comparison, err error) {
	err = replay.Run(ctx, s.db, s.dsn, o, replayInto, func(live *replay.Snapshot, fresh *replay.Schema) error {
		found, err = ledger.Compare(live.Nets(ctx), fresh.Nets(ctx, live.Companies), 3)
		return err
	})
	return found, err
}

func replayInto(ctx context.Context, to *replay.Schema, parts iter.Seq2[facts.Stored, error]) error {
	return New(Config{}, Deps{Store: StoreOf(factstore.New(to.DB))}).Replay(ctx, parts)
}

// schemas are those that replays left.
func (s *shop) schemas() []string {
	s.t.Helper()
	names, err := replay.LeftOver(s.ctx, s.db)
	if err != nil {
		s.t.Fatal(err)
	}
	return names
}

// replayShop is a shop with rules, and facts of every kind.
func replayShop(t *testing.T) *shop {
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	beto, verao := s.influencer("Beto Lima", "Verão")
	s.coupon(ana, inverno, "ANA10")
	s.coupon(beto, verao, "BETO")
	s.cost(ana, inverno, 100, "7.5")
	s.cost(beto, "", 0, "3")
	s.exec(`insert into past_setting (company_id, until, rev, payout_rule, window_days, half_life_days, ignore_direct, pay_recurring,
		unproven, self_purchase, hold_days, delivered_hold_days, passing_hosts)
		select company_id, $1::timestamptz, 1, 'last_touch', 3, 2, false, true, 'pay', 'deny', 5, 2, '{}' from company where company_id = $2`,
		noon.Add(20*time.Minute), s.company)
	s.exec(`insert into influencer_unproven values ($1, $2, $3, 1, 'pay')`, s.company, beto, noon)
	return s
}

func TestAReplayGivesTheSameLedgerHash(t *testing.T) {
	t.Parallel()
	s := replayShop(t)
	hashes := map[string]bool{}
	histories := seeds(2, 8)
	for seed := range histories {
		r := rand.New(rand.NewPCG(seed, 11))
		list := s.historyOf(r, seed)
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		s.clear()
		s.apply(list, func() int { return 1 + r.IntN(40) })
		before := s.outcomes()
		found, err := s.replay(s.ctx, replay.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !found.Equal() || len(found.LiveHash) != 64 || found.Orders == 0 {
			t.Fatalf("seed %d: %+v", seed, found)
		}
		if s.outcomes() != before {
			t.Fatalf("seed %d: the replay changed live rows", seed)
		}
		hashes[found.LiveHash] = true
	}
	if len(hashes) != int(histories) {
		t.Errorf("%d hashes of %d histories", len(hashes), histories)
	}
	if left := s.schemas(); len(left) > 0 {
		t.Errorf("schemas are left: %v", left)
	}
}

// Who decided and who confirmed is a fact: a replay has it as it was.
func TestAReplayKnowsWhoConfirmedADecision(t *testing.T) {
	t.Parallel()
	s := replayShop(t)
	s.apply(s.historyOf(rand.New(rand.NewPCG(1, 11)), 0), func() int { return 20 })
	const decisions = `select concat_ws(' ', order_id, rev, decision, actor, confirmed_by) from evidence_decision order by 1`
	live := s.texts(decisions)
	if confirmed := slices.ContainsFunc(live, func(line string) bool { return strings.HasSuffix(line, "user/second") }); !confirmed {
		t.Fatalf("no decision was confirmed: %q", live)
	}
	err := replay.Run(s.ctx, s.db, s.dsn, replay.Options{}, replayInto, func(_ *replay.Snapshot, fresh *replay.Schema) error {
		again, err := postgres.Collect(s.ctx, fresh.DB.Pool(), pgx.RowTo[string], decisions)
		if err == nil && !slices.Equal(again, live) {
			t.Errorf("replayed %q, live %q", again, live)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAReplayFindsWhatWasChanged plants a change in live rows, one at a time, and wants
// the order named.
func TestAReplayFindsWhatWasChanged(t *testing.T) {
	t.Parallel()
	s := replayShop(t)
	for i := range 3 {
		visitor, id := fmt.Sprint("v", i), fmt.Sprint("o", i)
		s.apply([]record{
			s.record(s.event(visitor, noon, i, func(e *wire.Event) {
				landing("Ana+Prado", "Inverno")(e)
				e.Identity.CartKey = "k1:" + id
			})),
			s.record(s.order(id, noon.Add(time.Hour), 10_000, cart("k1:"+id))),
		}, func() int { return 2 })
	}
	if found, err := s.replay(s.ctx, replay.Options{}); err != nil || !found.Equal() || found.Orders != 3 {
		t.Fatalf("%+v, %v", found, err)
	}
	backup := []string{"payout", "ledger_entry", "event_fact", "orders"}
	for _, table := range backup {
		s.exec(`create table backup_` + table + ` as table ` + table)
	}
	for _, planted := range []struct{ name, change string }{
		{"a credit's amount", setCredits("o1", 5, "((f ->> 5)::bigint + 1)::text")},
		{"whose credit it is", setCredits("o1", 2, `'""'`)},
		{"a credit that is gone", `update payout set credits = null where order_id = 'o1'`},
		{"a part of a credit that is gone", setCredits("o1", 7, "null")},
		{"a ledger entry that is gone", `delete from ledger_entry where order_id = 'o1'`},
		{"a ledger entry's amount", `update ledger_entry set amount_minor = 1 where order_id = 'o1'`},
		{"from which day it may be paid", `update ledger_entry set payable_on = payable_on + 1 where order_id = 'o1'`},
		{"for which cost it was posted", `update ledger_entry set cost_id = influencer_id where order_id = 'o1'`},
		{"a payout's state", `update payout set state = 'expected' where order_id = 'o1'`},
		{"an event that is lost", `delete from event_fact where event_id = '` + uuid7(noon, 1) + `'`},
		{"an order whose versions are lost",
			`update orders set version_at = null, accepted_at = null, content_hash = null where order_id = 'o1'`},
	} {
		s.exec(planted.change)
		found, err := s.replay(s.ctx, replay.Options{})
		if err != nil {
			t.Fatalf("%s: %v", planted.name, err)
		}
		if found.Equal() || found.LiveHash == found.ReplayedHash || found.Different != 1 || len(found.Differences) != 1 ||
			found.Differences[0].OrderID != "o1" {
			t.Errorf("%s: %+v", planted.name, found)
		}
		for _, table := range backup {
			s.exec(`delete from ` + table)
			s.exec(`insert into ` + table + ` select * from backup_` + table)
		}
	}
	if found, err := s.replay(s.ctx, replay.Options{}); err != nil || !found.Equal() {
		t.Fatalf("the rows were not put back: %+v, %v", found, err)
	}
	s.exec(setCredits("", 9, "((f ->> 9)::bigint + 1)::text"))
	s.exec(`update ledger_entry set at = now(), cause = 'other', rule_rev = 99`)
	if found, err := s.replay(s.ctx, replay.Options{}); err != nil || found.Different != 3 {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestAReplayThatIsStoppedLeavesNothing stops it after each part.
func TestAReplayThatIsStoppedLeavesNothing(t *testing.T) {
	t.Parallel()
	s := replayShop(t)
	list := s.randomFacts(rand.New(rand.NewPCG(1, 1)))
	s.apply(list, func() int { return len(list) })
	before := s.outcomes()
	parts := 0
	if _, err := s.replay(s.ctx, replay.Options{Progress: func(replay.Progress) { parts++ }}); err != nil || parts < 3 {
		t.Fatalf("%d parts, %v", parts, err)
	}
	for stopAfter := 1; stopAfter <= parts; stopAfter++ {
		ctx, stop := context.WithCancel(s.ctx)
		done := 0
		_, err := s.replay(ctx, replay.Options{Progress: func(replay.Progress) {
			if done++; done == stopAfter {
				stop()
			}
		}})
		stop()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("stopped after part %d: %v", stopAfter, err)
		}
		if left := s.schemas(); len(left) > 0 {
			t.Errorf("stopped after part %d: schemas are left: %v", stopAfter, left)
		}
	}
	if s.outcomes() != before {
		t.Error("live rows were changed")
	}
	kept := ""
	if _, err := s.replay(s.ctx, replay.Options{Keep: true, Created: func(name string) { kept = name }}); err != nil ||
		!slices.Equal(s.schemas(), []string{kept}) {
		t.Errorf("kept %q, %v: %v", kept, s.schemas(), err)
	}
	// A killed run leaves such a schema too; it is in nobody's way.
	if found, err := s.replay(s.ctx, replay.Options{}); err != nil || !found.Equal() {
		t.Errorf("beside a schema that was left: %+v, %v", found, err)
	}
}

// TestAReplayWaitsForTheQueue refuses while outcomes are not those of the facts yet.
func TestAReplayWaitsForTheQueue(t *testing.T) {
	t.Parallel()
	s := replayShop(t)
	s.apply([]record{s.record(s.order("o1", noon, 1000, nil))}, func() int { return 1 })
	s.exec(`insert into recompute (company_id, order_id, cause) values ($1, 'o1', 'rule 1 settings')`, s.company)
	if _, err := s.replay(s.ctx, replay.Options{}); !errors.Is(err, replay.ErrQueued) {
		t.Errorf("orders are queued: %v", err)
	}
	s.exec(`update recompute set failure = 'why'`)
	if _, err := s.replay(s.ctx, replay.Options{Wait: time.Hour}); !errors.Is(err, replay.ErrQuarantined) {
		t.Errorf("an order is quarantined: %v", err)
	}
	s.exec(`delete from recompute`)
	s.exec(`insert into outbox (topic, key, value) values ('commerce.v1', 'k', 'v')`)
	waited := false
	found, err := s.replay(s.ctx, replay.Options{Wait: time.Hour, Waiting: func(because error) {
		if waited = true; !errors.Is(because, replay.ErrOutbox) {
			t.Errorf("waits because %v", because)
		}
		s.exec(`delete from outbox`)
	}})
	if err != nil || !waited || !found.Equal() {
		t.Errorf("waited: %t, %+v, %v", waited, found, err)
	}
}

// TestLiveTrafficDoesNotDisturbAReplay: facts that come after the snapshot are in
// neither side.
func TestLiveTrafficDoesNotDisturbAReplay(t *testing.T) {
	t.Parallel()
	s := replayShop(t)
	s.apply([]record{s.record(s.order("o1", noon, 1000, nil))}, func() int { return 1 })
	found, err := s.replay(s.ctx, replay.Options{Created: func(string) {
		s.exec(`update consumer_offset set next = 0`)
		s.apply([]record{s.record(s.order("o2", noon, 1000, nil)), s.record(s.order("o1", noon.Add(time.Hour), 5000, nil))}, func() int {
			return 2
		})
	}})
	if err != nil || !found.Equal() || found.Orders != 1 {
		t.Errorf("%+v, %v", found, err)
	}
	if again, err := s.replay(s.ctx, replay.Options{}); err != nil || !again.Equal() || again.Orders != 2 || again.LiveHash == found.LiveHash {
		t.Errorf("%+v, %v", again, err)
	}
}

// TestAReplayHasTheRulesWithTheirHistory reads the rules of both schemas.
func TestAReplayHasTheRulesWithTheirHistory(t *testing.T) {
	t.Parallel()
	s := replayShop(t)
	dora, junho := s.influencer("Dora \"D\" Nuñez", "Junho")
	s.exec(`update influencer set archived_at = '2026-03-11 12:34:56.123456Z' where influencer_id = $1`, dora)
	s.exec(`insert into link (company_id, link_id, influencer_id, campaign_id, url, code, rev) values ($1, $2, $2, $3, `+
		`'https://loja.example.com/?a=b', 'abc', 2)`, s.company, dora, junho)
	s.exec(`insert into coupon (company_id, coupon_id, influencer_id, campaign_id, code, code_folded, period, rev, deleted_at)
		values ($1, $2, $2, $3, 'D', 'D', '[2026-03-01,2026-04-01)', 2, now())`, s.company, dora, junho)
	s.cost(dora, junho, 9_000_000_000, "0.0123456789")
	s.exec(`update cost set end_date = '2026-12-31', deleted_at = now() where influencer_id = $1`, dora)
	s.exec(`update company set passing_hosts = '{pay.example.com,-x.example.com}', hosts = '{loja.example.com}', timezone = `+
		`'America/Manaus' where company_id = $1`, s.company)
	for i, until := range []string{"2026-03-12 01:02:03.456789Z", ""} {
		key := facts.Key{Kind: facts.KeyEmail, Value: "k1:" + string(rune('a'+i))}
		s.exec(`insert into influencer_identity (company_id, influencer_id, kind, key, since, until, field, shared, others, rev)
			values ($1, $2, $3, $4, $5, nullif($6, '')::timestamptz, 'email', false, false, 1)`, s.company, dora, key.Kind.Code(), key.Pack(),
			noon, until)
	}
	err := replay.Run(s.ctx, s.db, s.dsn, replay.Options{}, replayInto, func(_ *replay.Snapshot, fresh *replay.Schema) error {
		want, err := s.store.Rules(s.ctx, s.company)
		if err != nil {
			return err
		}
		got, err := factstore.New(fresh.DB).Rules(s.ctx, s.company)
		if err == nil && (!reflect.DeepEqual(got, want) || len(got.Identities) != 2) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAReplayComputesWhatItQueued: orders that are too many for one part are computed
// at the end.
func TestAReplayComputesWhatItQueued(t *testing.T) {
	t.Parallel()
	s := replayShop(t)
	records := []record{}
	for i := range 3 {
		records = append(records, s.record(s.order(fmt.Sprint("o", i), noon, 1000, nil)))
	}
	s.apply(records, func() int { return 3 })
	want := s.outcomes()
	for _, table := range []string{"credit_day", "path_day"} {
		s.exec(`delete from ` + table)
	}
	s.exec(`update payout set credits = null, outcome_hash = ''`)
	s.exec(`insert into recompute (company_id, order_id, cause) select company_id, order_id, 'rule 1 settings' from orders`)
	s.exec(`insert into recompute_company (company_id) values ($1)`, s.company)
	none := func(func(facts.Stored, error) bool) {}
	if err := New(Config{RecomputeChunk: 2}, Deps{Store: StoreOf(s.store)}).Replay(s.ctx, none); err != nil {
		t.Fatal(err)
	}
	if got := s.outcomes(); got != want {
		t.Error(firstDifference(got, want))
	}
	if n := s.int(`select count(*) from recompute`) + s.int(`select count(*) from recompute_company`); n != 0 {
		t.Errorf("%d rows are still queued", n)
	}
}

// TestAReplayNeedsTheRules: a company that the store does not have is an error.
func TestAReplayNeedsTheRules(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	parts := func(yield func(facts.Stored, error) bool) { yield(facts.Stored{CompanyID: "c_unknown"}, nil) }
	if err := s.processor(nil, nil).Replay(s.ctx, parts); err == nil || !strings.Contains(err.Error(), "c_unknown") {
		t.Errorf("%v", err)
	}
}
