package processor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/postgres/replay"
	"github.com/tributary-io/tributary/internal/wire"
)

// ledgerShop is a shop whose two influencers are paid by coupon: Ana in the order's
// currency and a fee in BRL, Beto a share alone.
type ledgerShop struct {
	*shop
	ana, beto string
	version   int64 // numbers the versions of orders, and the revisions of decisions
}

func newLedgerShop(t *testing.T) *ledgerShop {
	s := &ledgerShop{shop: newShop(t)}
	var inverno, verao string
	s.ana, inverno = s.influencer("Ana Prado", "Inverno")
	s.beto, verao = s.influencer("Beto Lima", "Verão")
	s.coupon(s.ana, inverno, "ANA10")
	s.coupon(s.beto, verao, "BETO")
	s.cost(s.ana, inverno, 100, "7.5")
	s.cost(s.beto, "", 0, "3")
	return s
}

// take gives one record to an owner that begins where the last one ended, and works off
// what it queues.
func (s *ledgerShop) take(value any) {
	s.t.Helper()
	o := s.owner()
	r := s.record(value)
	r.Offset = o.next[r.topic]
	if err := o.applyRecords(s.ctx, []record{r}); err != nil {
		s.t.Fatal(err)
	}
}

// sale is a version of an order that is newer than those before.
func (s *ledgerShop) sale(id string, minor int64, change func(*wire.Order)) {
	s.t.Helper()
	s.version++
	s.take(s.order(id, noon, minor, func(o *wire.Order) {
		o.UpdatedAt = wire.Some(noon.Add(time.Duration(s.version) * time.Second))
		change(o)
	}))
}

func coupon(code string) func(*wire.Order) {
	return func(o *wire.Order) { o.DiscountCode = wire.Some(code) }
}

// ask asks for a statement, as admin does.
func (s *ledgerShop) ask(influencer, currency, end string, minimum int64) (statementID string) {
	s.t.Helper()
	s.bump()
	id := uuid.NewString()
	s.take(s.commerce(wire.KindStatement, id, noon,
		wire.Statement{StatementID: id, InfluencerID: influencer, Currency: currency, EndDate: end, MinimumMinor: minimum}))
	return id
}

func (s *ledgerShop) pay(statementID string) {
	s.t.Helper()
	s.bump()
	s.take(s.commerce(wire.KindPayment, statementID, noon, wire.Payment{StatementID: statementID, PaidAt: noon, Reference: "pix 1"}))
}

// undo takes the payment of a revision back.
func (s *ledgerShop) undo(statementID string, rev int64) {
	s.t.Helper()
	s.bump()
	s.take(s.commerce(wire.KindPayment, statementID, noon, wire.Payment{StatementID: statementID, Undoes: rev, Reason: "sent back"}))
}

// statements are "start end opening entries lines total carried|due", in the order in which
// they were closed.
func (s *shop) statements() []string {
	return s.texts(`select concat_ws(' ', start_date, end_date, opening_minor, entries, lines, total_minor,
		case when carried then 'carried' else 'due' end)
		from statement where closed_at is not null order by rev, statement_id`)
}

// closed is all of the closed statements and their entries, by statement.
func (s *shop) closed() map[string]string {
	all := map[string]string{}
	for _, line := range s.texts(`
		select s.statement_id || '|' || to_jsonb(s)::text || coalesce((select string_agg(to_jsonb(l)::text, E'\n' order by order_id, entry)
		from ledger_entry l where l.company_id = s.company_id and l.statement_id = s.statement_id), '')
		|| (select to_jsonb(y)::text from statement_party y where y.company_id = s.company_id and y.statement_id = s.statement_id)
		from statement s where closed_at is not null`) {
		id, text, _ := strings.Cut(line, "|")
		all[id] = text
	}
	return all
}

func wantLines(t testing.TB, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// The example of docs/payouts.md, "Closing a month".
func TestAMonthIsClosed(t *testing.T) {
	t.Parallel()
	s := newLedgerShop(t)
	s.exec(`update cost set fixed_fee_minor = 0, var_fee = 10 where influencer_id = $1`, s.ana)
	s.bump()
	for id, day := range map[string]int{"1001": 1, "1002": 5, "1003": 25} { // approved in March
		s.take(s.order(id, time.Date(2026, 3, day, 15, 0, 0, 0, time.UTC), 20000, coupon("ANA10")))
	}
	april := s.ask(s.ana, "BRL", "2026-04-15", 0)
	s.workOff()
	wantLines(t, s.statements(), "2026-03-31 2026-04-15 0 2 2 4000 due")
	s.pay(april)
	s.replaysStatements()
	first := s.rev
	s.undo(april, first)
	s.undo(april, first) // a repeat finds nothing
	s.pay(april)
	s.pay(april) // of two that stand the first counts
	wantLines(t, s.texts(`select concat_ws(' ', rev, undone_rev, undo_reason) from statement_payment order by rev`),
		fmt.Sprint(first, " ", first+1, " sent back"), fmt.Sprint(first+3))
	s.replaysStatements()

	s.take(s.order("1001", time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC), 0, func(o *wire.Order) { // returned after it was paid
		o.Status, o.UpdatedAt = 2, wire.Some(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC))
	}))
	s.ask(s.ana, "BRL", "2026-04-30", 5000)
	s.workOff()
	wantLines(t, s.statements(), "2026-03-31 2026-04-15 0 2 2 4000 due", "2026-04-16 2026-04-30 0 2 2 0 carried")
	s.take(s.order("1004", time.Date(2026, 4, 10, 15, 0, 0, 0, time.UTC), 30000, coupon("ANA10")))
	s.ask(s.ana, "BRL", "2026-05-31", 5000)
	s.take(s.order("1005", time.Date(2026, 5, 10, 15, 0, 0, 0, time.UTC), 30000, coupon("ANA10")))
	s.ask(s.ana, "BRL", "2026-06-30", 5000)
	s.workOff()
	wantLines(t, s.statements()[2:], "2026-05-01 2026-05-31 0 1 1 3000 carried", "2026-06-01 2026-06-30 3000 1 1 6000 due")
	wantLines(t, s.texts(`select number || ' of ' || end_date from statement order by number`), "1 of 2026-04-15", "2 of 2026-04-30",
		"3 of 2026-05-31", "4 of 2026-06-30")
	s.replaysStatements()
}

// Two statements that are asked for at once, the second a step after the first: each
// entry is in one of them.
func TestStatementsOfOneTimeFreezeEachEntryOnce(t *testing.T) {
	t.Parallel()
	s := newLedgerShop(t)
	for i := range 5 {
		s.sale(fmt.Sprint("o", i), 10_000, coupon("BETO"))
	}
	first, second := s.ask(s.beto, "BRL", "2026-04-30", 0), s.ask(s.beto, "BRL", "2026-05-31", 0)
	rules, err := s.owner().rulesOf(s.ctx, []string{s.company})
	if err != nil {
		t.Fatal(err)
	}
	steps := 0
	for ; s.int(`select count(*) from recompute_company`) > 0; steps++ {
		o := s.owner()
		o.config.StatementChunk = 2
		if _, err := o.recompute(s.ctx,
			batch{clusterID: o.clusterID, moves: o.moves(nil), now: o.Now().UTC(), companies: []companyBatch{{index: rules[s.company]}}},
			1); err != nil {
			t.Fatal(err)
		}
	}
	if steps < 4 {
		t.Errorf("%d steps, want the five entries in three, the second statement in one", steps)
	}
	wantLines(t, s.statements(), "2026-04-09 2026-04-30 0 5 5 1500 due", "2026-05-01 2026-05-31 0 0 0 0 carried")
	if n := s.int(`select count(*) from ledger_entry where statement_id = $1`, first); n != 5 {
		t.Errorf("%d entries in the first", n)
	}
	if n := s.int(`select count(*) from ledger_entry where statement_id = $1`, second); n != 0 {
		t.Errorf("%d entries in the second", n)
	}
}

// A statement waits while orders of the company are queued: it has what the facts say.
func TestAStatementWaitsForTheQueue(t *testing.T) {
	t.Parallel()
	s := newLedgerShop(t)
	s.sale("o1", 10_000, coupon("BETO"))
	s.sale("o2", 10_000, coupon("BETO"))
	s.exec(`delete from ledger_entry`)
	s.exec(`update payout set outcome_hash = ''`)
	s.exec(`insert into recompute (company_id, order_id, cause) select company_id, order_id, 'rule 1 settings' from orders`)
	s.ask(s.beto, "BRL", "2026-04-30", 0)
	o := s.owner()
	rules, err := o.rulesOf(s.ctx, []string{s.company})
	if err != nil {
		t.Fatal(err)
	}
	for s.int(`select count(*) from recompute`) > 0 { // order by order
		if closed := s.statements(); len(closed) > 0 {
			t.Fatalf("closed while orders wait: %v", closed)
		}
		b := batch{clusterID: o.clusterID, moves: o.moves(nil), now: o.Now().UTC(), companies: []companyBatch{{index: rules[s.company]}}}
		if _, err := o.recompute(s.ctx, b, 1); err != nil {
			t.Fatal(err)
		}
	}
	s.workOff()
	wantLines(t, s.statements(), "2026-04-09 2026-04-30 0 2 2 600 due")
}

// What may be paid on a statement's last day is in it.
func TestAStatementHasItsLastDay(t *testing.T) {
	t.Parallel()
	s := newLedgerShop(t)
	s.sale("o1", 10_000, coupon("BETO")) // payable on 9 April
	s.ask(s.beto, "BRL", "2026-04-08", 0)
	s.ask(s.beto, "BRL", "2026-04-09", 0)
	s.workOff()
	wantLines(t, s.statements(), "2026-04-08 2026-04-08 0 0 0 0 carried", "2026-04-09 2026-04-09 0 1 1 300 due")
}

// What an order earned that a connected shop changed, and that cannot be read since, is in no statement until it is read.
func TestAStatementIsWithoutOrdersSetAside(t *testing.T) {
	t.Parallel()
	s := newLedgerShop(t)
	s.sale("o1", 10_000, coupon("BETO"))
	s.sale("o2", 20_000, coupon("BETO"))
	s.exec(`insert into connection_aside (company_id, connection_id, order_id, reason, detail, fields, at)
		values ($1, 'c', 'o2', 'unknown_shape', 'status', '{}', now()), ('c_another', 'c', 'o1', 'unknown_shape', 'status', '{}', now())`,
		s.company)
	s.ask(s.beto, "BRL", "2026-04-09", 0)
	s.workOff()
	wantLines(t, s.statements(), "2026-04-09 2026-04-09 0 1 1 300 due")
	s.exec(`delete from connection_aside where company_id = $1`, s.company)
	s.ask(s.beto, "BRL", "2026-04-10", 0)
	s.workOff()
	wantLines(t, s.statements(), "2026-04-09 2026-04-09 0 1 1 300 due", "2026-04-10 2026-04-10 0 1 1 600 due")
	s.replaysStatements()
}

// Of an order that is set aside only what would be paid is held: what takes back what was paid before is in the next statement.
func TestAStatementTakesBackWhatAnOrderSetAsideEarned(t *testing.T) {
	t.Parallel()
	s := newLedgerShop(t)
	s.sale("o1", 10_000, coupon("BETO"))
	s.ask(s.beto, "BRL", "2026-04-09", 0)
	s.workOff()
	paid := "2026-04-09 2026-04-09 0 1 1 300 due"
	wantLines(t, s.statements(), paid)
	s.sale("o1", 4_000, coupon("BETO"))
	s.sale("o2", 20_000, coupon("BETO"))
	s.sale("o2", 10_000, coupon("BETO")) // less, and still more than nothing
	s.sale("o3", 20_000, coupon("BETO"))
	s.sale("o3", 0, coupon("BETO")) // nothing: its entries come in several steps
	s.exec(`insert into connection_aside (company_id, connection_id, order_id, reason, detail, fields, at)
		select $1, 'c', unnest(array['o1', 'o2', 'o3']), 'unknown_shape', 'status', '{}', now()`, s.company)
	s.ask(s.beto, "BRL", "2026-04-30", 0)
	o := s.owner()
	o.config.StatementChunk = 1
	s.workOffBy(o)
	wantLines(t, s.statements(), paid, "2026-04-10 2026-04-30 0 4 1 -180 carried")
	s.replaysStatements()
}

// A statement whose sum so far is lost is summed from its first entry, and has the same digest.
func TestASumThatIsLostBeginsAnew(t *testing.T) {
	t.Parallel()
	s := newLedgerShop(t)
	for i := range 5 {
		s.sale(fmt.Sprint("o", i), 10_000, coupon("BETO"))
	}
	s.ask(s.beto, "BRL", "2026-04-30", 0)
	o := s.owner()
	o.config.StatementChunk = 2
	rules, err := o.rulesOf(s.ctx, []string{s.company})
	if err != nil {
		t.Fatal(err)
	}
	b := batch{clusterID: o.clusterID, moves: o.moves(nil), now: o.Now().UTC(), companies: []companyBatch{{index: rules[s.company]}}}
	for s.int(`select count(*) from statement where summed is not null`) == 0 {
		if _, err := o.recompute(s.ctx, b, 200); err != nil {
			t.Fatal(err)
		}
	}
	s.exec(`update statement set summed = '"another form"'`)
	for s.int(`select count(*) from recompute_company`) > 0 {
		if _, err := o.recompute(s.ctx, b, 200); err != nil {
			t.Fatal(err)
		}
	}
	wantLines(t, s.statements(), "2026-04-09 2026-04-30 0 5 5 1500 due")
	s.balanced()
}

// TestVerifyFindsAnAlteredStatement plants a change in a closed statement, one at a time.
func TestVerifyFindsAnAlteredStatement(t *testing.T) {
	t.Parallel()
	s := newLedgerShop(t)
	for i := range 3 {
		s.sale(fmt.Sprint("o", i), 10_000, coupon("BETO"))
	}
	closed := s.ask(s.beto, "BRL", "2026-04-30", 0)
	s.workOff()
	altered := func() (list []replay.AlteredStatement) {
		t.Helper()
		if err := replay.InSnapshot(s.ctx, s.db, func(live *replay.Snapshot) (err error) {
			_, list, err = live.AlteredStatements(s.ctx, 3)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return list
	}
	if list := altered(); len(list) > 0 {
		t.Fatalf("altered: %v", list)
	}
	s.exec(`create table backup_ledger as table ledger_entry`)
	s.exec(`create table backup_statement as table statement`)
	s.exec(`create table backup_party as table statement_party`)
	for _, change := range []string{
		`update ledger_entry set amount_minor = 301 where order_id = 'o1'`,
		`update ledger_entry set amount_minor = case order_id when 'o1' then 301 else 299 end where order_id in ('o1', 'o2')`,
		`update ledger_entry set statement_id = null where order_id = 'o1'`,
		`update ledger_entry set order_id = 'o9' where order_id = 'o1'`,
		`update statement set total_minor = 901`,
		`update ledger_entry set order_name = '#2' where order_id = 'o1'`,
		`update ledger_entry set var_fee = 10 where order_id = 'o1'`,
		`update ledger_entry set value_minor = base_minor + 1 where order_id = 'o1'`,
		`update ledger_entry set coupon_code = null where order_id = 'o1'`,
		`update statement_party set store_document = '1'`,
		`update statement_party set pix_key = 'beto@example.com'`,
		`update statement_party set pix_at = now()`,
		`delete from statement_party`,
	} {
		s.exec(change)
		if list := altered(); !slices.Equal(list, []replay.AlteredStatement{{CompanyID: s.company, StatementID: closed}}) {
			t.Errorf("%s: altered: %v", change, list)
		}
		s.exec(`delete from ledger_entry`)
		s.exec(`insert into ledger_entry select * from backup_ledger`)
		s.exec(`delete from statement`)
		s.exec(`insert into statement select * from backup_statement`)
		s.exec(`delete from statement_party`)
		s.exec(`insert into statement_party select * from backup_party`)
	}
	if list := altered(); len(list) > 0 {
		t.Fatalf("the rows were not put back: %v", list)
	}
}
