package processor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/ledger"
	"github.com/tributary-io/tributary/internal/postgres/replay"
	"github.com/tributary-io/tributary/internal/postgres/report"
	"github.com/tributary-io/tributary/internal/postgres/upkeep"
	"github.com/tributary-io/tributary/internal/wire"
)

var errKilled = errors.New("killed")

// killedStore fails at the end of a transaction: before its commit, or after it.
type killedStore struct {
	Store
	committed bool
}

func (k killedStore) Transact(ctx context.Context, f func(tx Tx) error) error {
	err := k.Store.Transact(ctx, func(tx Tx) error {
		if err := f(tx); err != nil || k.committed {
			return err
		}
		return errKilled
	})
	if err != nil {
		return err
	}
	return errKilled
}

// randomStep is one thing that may happen in a shop's life.
func (s *ledgerShop) randomStep(r *rand.Rand) {
	s.t.Helper()
	influencer := []string{s.ana, s.beto}[r.IntN(2)]
	currency := []string{"BRL", "BRL", "USD"}[r.IntN(3)]
	switch r.IntN(10) {
	default:
		id := r.IntN(8)
		s.sale(fmt.Sprint("o", id), int64(r.IntN(50_000)), func(o *wire.Order) {
			coupon([]string{"ANA10", "BETO", "other"}[r.IntN(3)])(o)
			o.Currency = []string{"BRL", "USD"}[id%2]
			o.Status = []int{0, 0, 0, 1, 2}[r.IntN(5)]
			if r.IntN(3) == 0 { // another hold
				o.DeliveredAt = wire.Some(noon.AddDate(0, 0, r.IntN(60)))
			}
		})
	case 5: // a rule
		s.exec(`update cost set var_fee = $2, rev = rev + 1 where influencer_id = $1`, influencer, 1+r.IntN(20))
		s.bump()
		s.take(s.commerce(wire.KindRule, "cost/x", noon,
			wire.Rule{Type: wire.RuleCost, Change: wire.RuleUpdated, InfluencerID: influencer, At: noon}))
	case 6: // a decision
		id := fmt.Sprint("o", r.IntN(8))
		s.bump()
		s.take(s.commerce(wire.KindEvidence, id, noon.AddDate(0, 0, r.IntN(60)),
			wire.Evidence{OrderID: id, InfluencerID: influencer, Decision: commerce.EvidenceDecisions[r.IntN(3)]}))
	case 7, 8:
		s.ask(influencer, currency, noon.AddDate(0, 0, r.IntN(120)).Format(time.DateOnly), int64(r.IntN(2)*2000))
	case 9: // sometimes what is not closed, or paid already: both change nothing
		if ids := s.texts(`select statement_id::text from statement where not carried order by rev`); len(ids) > 0 {
			s.pay(ids[r.IntN(len(ids))])
		}
	}
}

// stepsOfWork computes what is queued, and closes statements, with a processor that is
// killed now and then.
func (s *ledgerShop) stepsOfWork(r *rand.Rand, most int) {
	s.t.Helper()
	for range most {
		if s.int(`select count(*) from recompute_company`) == 0 {
			return
		}
		o := s.owner()
		o.config.StatementChunk = 1 + r.IntN(3)
		rules, err := o.rulesOf(s.ctx, []string{s.company})
		if err != nil {
			s.t.Fatal(err)
		}
		killed := r.IntN(3) == 0
		if killed {
			o.Processor.Store = killedStore{o.Store, r.IntN(2) == 0}
		}
		_, err = o.recompute(s.ctx,
			batch{clusterID: o.clusterID, moves: o.moves(nil), now: o.Now().UTC(), companies: []companyBatch{{index: rules[s.company]}}},
			1+r.IntN(3))
		if killed != errors.Is(err, errKilled) || !killed && err != nil {
			s.t.Fatal(err)
		}
	}
}

// balanced fails the test unless the statements and what is in none sum to the ledger.
func (s *ledgerShop) balanced() {
	s.t.Helper()
	if wrong := s.texts(`
		with entries as (select influencer_id, currency, sum(amount_minor) as all, sum(amount_minor) filter (where statement_id is null) as open
			from ledger_entry group by 1, 2),
		closed as (select influencer_id, currency,
			sum(coalesce(total_minor - opening_minor,
				(select sum(amount_minor) from ledger_entry l where l.company_id = s.company_id and l.statement_id = s.statement_id))) as closed
					from statement s group by 1, 2)
		select concat_ws(' ', influencer_id, currency, "all", open, closed) from entries full join closed using (influencer_id, currency)
		where coalesce("all", 0) <> coalesce(open, 0) + coalesce(closed, 0)`); len(wrong) > 0 {
		s.t.Fatalf("statements and open entries are not all entries: %v", wrong)
	}
	if wrong := s.texts(`
		select s.statement_id || ': ' || concat_ws(' ', s.opening_minor, b.total_minor, b.carried, s.run_id, b.run_id)
		from (select *, lag(statement_id) over (partition by influencer_id, currency order by rev) as before from statement
		where closed_at is not null) s
		left join statement b on b.statement_id = s.before
		where s.opening_minor <> case when b.carried then b.total_minor else 0 end or s.run_id <> case when b.carried then b.run_id
		else s.statement_id end
			or s.carried <> (s.total_minor <= 0 or s.total_minor < s.minimum_minor)`); len(wrong) > 0 {
		s.t.Fatalf("a total is not carried as it should be: %v", wrong)
	}
	for _, id := range s.texts(`select statement_id::text from statement where closed_at is not null`) {
		sum, err := upkeep.SumAll(s.ctx, s.db.Pool(), s.company, id)
		if err != nil {
			s.t.Fatal(err)
		}
		if n := s.int(`select count(*) from statement where statement_id = $1 and digest = $2 and total_minor - opening_minor = $3`, id,
			sum.DigestWith(s.partiesOf(id)), sum.Amount.String()); n != 1 {
			s.t.Fatalf("statement %s has not the entries that it was closed with", id)
		}
	}
	list, err := report.New(s.db).Balances(s.ctx, s.company, "2026-04-20", commerce.BalanceCursor{}, 100)
	if err != nil {
		s.t.Fatal(err)
	}
	sums := map[string]decimal.Decimal{}
	for _, b := range list {
		sums[b.InfluencerID+" "+b.Currency] = b.HeldMinor.Add(b.PayableMinor).Add(b.PaidMinor).Add(b.WithheldMinor)
		paid := s.int(`select coalesce(sum(total_minor), 0)::bigint from statement join statement_payment using (company_id, statement_id) `+
			`where influencer_id = $1 and currency = $2`, b.InfluencerID, b.Currency)
		held := s.int(`select coalesce(sum(amount_minor), 0)::bigint from ledger_entry where statement_id is null and payable_on > `+
			`'2026-04-20' and influencer_id = $1 and currency = $2`, b.InfluencerID, b.Currency)
		if !b.PaidMinor.Equal(decimal.NewFromInt(paid)) || !b.HeldMinor.Equal(decimal.NewFromInt(held)) {
			s.t.Fatalf("%+v, want %d paid and %d held", b, paid, held)
		}
	}
	for _, line := range s.texts(`select influencer_id || ' ' || currency || '|' || sum(amount_minor) from ledger_entry group by ` +
		`influencer_id, currency`) {
		key, sum, _ := strings.Cut(line, "|")
		if want := decimal.RequireFromString(sum); !sums[key].Equal(want) {
			s.t.Fatalf("%s: held, payable and paid are %s, the ledger's sum is %s", key, sums[key], want)
		}
	}
}

// TestAClosedStatementNeverChanges: over any history nothing is in two statements,
// closed ones stay as they are byte for byte, and a replay has the same.
func TestAClosedStatementNeverChanges(t *testing.T) {
	t.Parallel()
	closings, carried, paid := 0, int64(0), int64(0)
	histories := seeds(2, 4)
	for seed := range histories {
		s := newLedgerShop(t)
		r := rand.New(rand.NewPCG(seed, 23))
		was := map[string]string{}
		check := func() {
			t.Helper()
			now := s.closed()
			for id, text := range was {
				if now[id] != text {
					t.Fatalf("seed %d: statement %s was\n%s\nand is\n%s", seed, id, text, now[id])
				}
			}
			was = now
			s.balanced()
		}
		for range 60 {
			s.randomStep(r)
			s.stepsOfWork(r, 1+r.IntN(4))
			check()
		}
		s.stepsOfWork(r, 10_000)
		check()
		if wrong := s.unbalanced(); len(wrong) > 0 {
			t.Fatalf("seed %d: %v", seed, wrong)
		}
		s.replaysStatements()
		closings, carried = closings+len(was), carried+s.int(`select count(*) from statement where carried`)
		paid += s.int(`select count(*) from statement_payment`)
	}
	if n := int64(histories); int64(closings) < 5*n || carried < n || paid < n {
		t.Errorf("only %d closings, %d carried, %d paid: the histories are too short", closings, carried, paid)
	}
}

// replaysStatements replays the shop's facts and compares: the statements are copied,
// and what is open is what was open.
func (s *ledgerShop) replaysStatements() {
	s.t.Helper()
	const open = `select concat_ws(' ', order_id, influencer_id, cost_id, currency, payable_on, sum(amount_minor)) from ledger_entry
		where statement_id is null
		group by order_id, influencer_id, cost_id, currency, payable_on having sum(amount_minor) <> 0 order by 1`
	wantOpen, wantClosed := s.texts(open), s.closed()
	err := replay.Run(s.ctx, s.db, s.dsn, replay.Options{}, replayInto, func(live *replay.Snapshot, fresh *replay.Schema) error {
		found, err := ledger.Compare(live.Nets(s.ctx), fresh.Nets(s.ctx, live.Companies), 3)
		if err == nil && !found.Equal() {
			s.t.Errorf("%+v", found)
		}
		if n, altered, err := live.AlteredStatements(s.ctx, 3); err != nil || len(altered) > 0 || n != len(wantClosed) {
			s.t.Errorf("%d statements, altered: %v, %v", n, altered, err)
		}
		pool := s.pool
		s.pool = fresh.DB.Pool()
		wantLines(s.t, s.texts(open), wantOpen...)
		for id, text := range s.closed() {
			if wantClosed[id] != text {
				s.t.Errorf("replayed\n%s\nwant\n%s", text, wantClosed[id])
			}
			delete(wantClosed, id)
		}
		s.pool = pool
		return err
	})
	if err != nil || len(wantClosed) > 0 {
		s.t.Errorf("%v; %d statements were not copied", err, len(wantClosed))
	}
}
