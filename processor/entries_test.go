package processor

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres/replay"
	"github.com/tributary-io/tributary/internal/wire"
)

// entry is a manual entry's record, as admin sends it.
func (s *ledgerShop) entry(id, influencer, kind string, minor int64, day string) wire.Commerce {
	return s.commerce(wire.KindEntry, id, noon, wire.Entry{EntryID: id, InfluencerID: influencer, Kind: kind, AmountMinor: minor,
		Currency: "BRL", Day: day, Reason: "because of " + kind})
}

func TestManualEntriesArePostedOnceAndAreInTheNextStatement(t *testing.T) {
	t.Parallel()
	s := newLedgerShop(t)
	s.sale("o1", 100_000, coupon("BETO")) // 30.00, payable on 9 April
	ids := map[string]string{}
	for kind, minor := range map[string]int64{"bonus": 5_000, "adjustment": -700, "advance": -2_000, "product": 0} {
		ids[kind] = uuid.NewString()
		s.take(s.entry(ids[kind], s.beto, kind, minor, "2026-03-20"))
		s.take(s.entry(ids[kind], s.beto, kind, minor, "2026-03-20")) // the same again
	}
	s.take(s.entry(ids["bonus"], s.ana, "bonus", 99_999, "2026-03-20")) // another of its id: the first counts
	const lines = `select concat_ws(' ', kind, amount_minor, payable_on, statement_id is not null) from ledger_entry
		where starts_with(order_id, E'\x01') order by kind`
	wantLines(t, s.texts(lines), "adjustment -700 2026-03-20 f", "advance -2000 2026-03-20 f", "bonus 5000 2026-03-20 f",
		"product 0 2026-03-20 f")
	if n := s.int(`select count(*) from audit_log where action = 'ledger.entry'`); n != 4 {
		t.Errorf("%d rows of the audit log", n)
	}
	s.ask(s.beto, "BRL", "2026-03-31", 0)
	s.workOff()
	wantLines(t, s.statements(), "2026-03-20 2026-03-31 0 4 4 2300 due")
	s.take(s.entry(uuid.NewString(), s.beto, "adjustment", 2_000, "2026-03-20")) // too late for it: in the next
	s.ask(s.beto, "BRL", "2026-04-30", 0)
	s.workOff()
	wantLines(t, s.statements(), "2026-03-20 2026-03-31 0 4 4 2300 due", "2026-04-01 2026-04-30 0 2 2 5000 due")
	wantLines(t, s.texts(`select concat_ws(' ', kind, day) from ledger_entry where kind = 'advance'`), "advance 2026-03-20")
	if found, err := s.replay(s.ctx, replay.Options{}); err != nil || !found.Equal() || found.Orders != 6 {
		t.Errorf("%+v, %v", found, err)
	}
}

// A row that waits for its record, as where Kafka did not answer, is nothing yet: nothing is posted, and a replay does not
// post it. Then the record comes.
func TestAnEntryCountsOnceItsRecordHasCome(t *testing.T) {
	t.Parallel()
	s := newLedgerShop(t)
	id := uuid.NewString()
	s.exec(`insert into manual_entry (company_id, entry_id, influencer_id, kind, amount_minor, currency, day, reason, asked_at, actor)
		values ($1, $2, $3, 'bonus', 100, 'BRL', '2026-03-20', 'r', now(), 'test')`, s.company, id, s.ana)
	if found, err := s.replay(s.ctx, replay.Options{}); err != nil || !found.Equal() || found.Orders != 0 {
		t.Errorf("%+v, %v", found, err)
	}
	s.take(s.entry(id, s.ana, "bonus", 100, "2026-03-20"))
	if n := s.int(`select sum(amount_minor) from ledger_entry`); n != 100 {
		t.Errorf("%d is owed", n)
	}
	if found, err := s.replay(s.ctx, replay.Options{}); err != nil || !found.Equal() || found.Orders != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}

// Whatever entries come, in which order and how often, and whenever statements are closed: the ledger's sum is that of the
// entries, the totals of statements and what is in none sum to it, and a replay gives the same.
func TestEntriesAndStatementsConserveMoney(t *testing.T) {
	t.Parallel()
	s := newLedgerShop(t)
	for seed := range seeds(3, 10) {
		r := rand.New(rand.NewPCG(seed, 21))
		s.empty("ledger_entry", "manual_entry", "statement", "statement_payment", "recompute_company", "audit_log")
		var want int64
		var sent []wire.Commerce
		for n := range 25 {
			day := fmt.Sprintf("2026-03-%02d", 1+r.IntN(28))
			switch kind := commerce.EntryKinds[r.IntN(4)]; {
			case n%8 == 7:
				s.ask(s.beto, "BRL", day, int64(r.IntN(3000)))
				s.workOff()
			case len(sent) > 0 && r.IntN(4) == 0:
				s.take(sent[r.IntN(len(sent))])
			default:
				minor := map[string]int64{"bonus": r.Int64N(9000), "adjustment": r.Int64N(4000) - 2000, "advance": -r.Int64N(3000)}[kind]
				sent = append(sent, s.entry(uuid.NewString(), s.beto, kind, minor, day))
				s.take(sent[len(sent)-1])
				want += minor
			}
		}
		open := s.int(`select coalesce(sum(amount_minor), 0) from ledger_entry where statement_id is null`)
		closed := s.int(`select coalesce(sum(total_minor - opening_minor), 0)::bigint from statement where closed_at is not null`)
		if all := s.int(`select sum(amount_minor) from ledger_entry`); all != want || open+closed != want {
			t.Fatalf("seed %d: the entries are %d, the ledger %d, closed %d and open %d", seed, want, all, closed, open)
		}
		if found, err := s.replay(s.ctx, replay.Options{}); err != nil || !found.Equal() || found.Orders < 5 {
			t.Fatalf("seed %d: %+v, %v", seed, found, err)
		}
	}
}
