package upkeep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/ledger"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/upkeep/statements"
)

// Statements works on statements within a transaction. It is a statements.Store.
type Statements struct{ tx pgx.Tx }

// StatementsIn returns one that works within the caller's transaction.
func StatementsIn(tx pgx.Tx) Statements { return Statements{tx} }

var statementRows = postgres.Rows[statements.Statement]{
	postgres.Col("statement_id", "uuid", func(s *statements.Statement) string { return s.StatementID }),
	postgres.Col("rev", "bigint", func(s *statements.Statement) int64 { return s.Rev }),
	postgres.Col("influencer_id", "uuid", func(s *statements.Statement) string { return s.InfluencerID }),
	postgres.Col("currency", "text", func(s *statements.Statement) string { return s.Currency }),
	postgres.Col("end_date", "date", func(s *statements.Statement) string { return s.EndDate }),
	postgres.Col("minimum_minor", "bigint", func(s *statements.Statement) int64 { return s.MinimumMinor }),
	postgres.Col("asked_at", "timestamptz", func(s *statements.Statement) time.Time { return s.AskedAt }),
	postgres.Col("actor", "text", func(s *statements.Statement) string { return s.Actor }),
}

var insertStatements = `
	insert into statement (company_id, statement_id, rev, influencer_id, currency, end_date, minimum_minor, asked_at, actor)
	select @company_id, statement_id, rev, influencer_id, currency, end_date, minimum_minor, asked_at, actor from ` +
	statementRows.Unnest("s") + `
	on conflict (company_id, statement_id) do nothing`

// Insert stores statements that are asked for and not stored yet.
func (t Statements) Insert(ctx context.Context, companyID string, asked []statements.Statement) error {
	return statementRows.Exec(ctx, t.tx, "store statements", insertStatements, asked, pgx.NamedArgs{"company_id": companyID})
}

var paymentRows = postgres.Rows[statements.Payment]{
	postgres.Col("statement_id", "uuid", func(p *statements.Payment) string { return p.StatementID }),
	postgres.Col("rev", "bigint", func(p *statements.Payment) int64 { return p.Rev }),
	postgres.Col("paid_at", "timestamptz", func(p *statements.Payment) time.Time { return p.PaidAt }),
	postgres.Col("reference", "text", func(p *statements.Payment) string { return p.Reference }),
	postgres.Col("recorded_at", "timestamptz", func(p *statements.Payment) time.Time { return p.RecordedAt }),
	postgres.Col("actor", "text", func(p *statements.Payment) string { return p.Actor }),
	postgres.Col("undoes", "bigint", func(p *statements.Payment) int64 { return p.Undoes }),
	postgres.Col("reason", "text", func(p *statements.Payment) string { return p.Reason }),
}

var insertPayments = `
	insert into statement_payment (company_id, statement_id, rev, paid_at, reference, recorded_at, actor)
	select @company_id, statement_id, rev, paid_at, reference, recorded_at, actor from ` + paymentRows.Unnest("p") + `
	on conflict do nothing`

var undoPayments = `
	update statement_payment p set undone_rev = u.rev, undone_at = u.recorded_at, undone_by = u.actor, undo_reason = u.reason
	from ` + paymentRows.Unnest("u") + `
	where p.company_id = @company_id and p.statement_id = u.statement_id and p.rev = u.undoes and p.undone_rev is null`

// InsertPayments stores payments of statements of which no payment stands, and undoes payments, in their order. What is
// stored already stays as it is.
func (t Statements) InsertPayments(ctx context.Context, companyID string, payments []statements.Payment) error {
	company := pgx.NamedArgs{"company_id": companyID}
	for len(payments) > 0 {
		undoes, n := payments[0].Undoes != 0, 1
		for n < len(payments) && (payments[n].Undoes != 0) == undoes {
			n++
		}
		var err error
		if undoes {
			err = paymentRows.Exec(ctx, t.tx, "undo payments", undoPayments, payments[:n], company)
		} else {
			err = paymentRows.Exec(ctx, t.tx, "store payments", insertPayments, payments[:n], company)
		}
		if err == nil {
			err = t.tell(ctx, companyID, commerce.StatementIsPaid, payments[:n]...)
		}
		if err != nil {
			return err
		}
		payments = payments[n:]
	}
	return nil
}

var withholdingRows = postgres.Rows[statements.Withholding]{
	postgres.Col("statement_id", "uuid", func(w *statements.Withholding) string { return w.StatementID }),
	postgres.Col("rev", "bigint", func(w *statements.Withholding) int64 { return w.Rev }),
	postgres.Col("list", "text", func(w *statements.Withholding) string { return postgres.JSONList(w.List) }),
	postgres.Col("total_minor", "bigint", func(w *statements.Withholding) int64 { return w.TotalMinor().IntPart() }),
	postgres.Col("invoice", "text", func(w *statements.Withholding) string { return w.Invoice }),
	postgres.Col("at", "timestamptz", func(w *statements.Withholding) time.Time { return w.At }),
	postgres.Col("actor", "text", func(w *statements.Withholding) string { return w.Actor }),
}

var insertWithholdings = `
	insert into statement_withholding (company_id, statement_id, rev, list, total_minor, invoice, at, actor)
	select @company_id, statement_id, rev, list::jsonb, total_minor, invoice, at, actor from ` + withholdingRows.Unnest("w") + `
	on conflict (company_id, statement_id, rev) do nothing`

// InsertWithholdings stores what is withheld of statements. What is stored already stays as it is.
func (t Statements) InsertWithholdings(ctx context.Context, companyID string, list []statements.Withholding) error {
	return withholdingRows.Exec(ctx, t.tx, "store withholdings", insertWithholdings, list, pgx.NamedArgs{"company_id": companyID})
}

var entryRows = postgres.Rows[statements.Entry]{
	postgres.Col("entry_id", "uuid", func(e *statements.Entry) string { return e.EntryID }),
	postgres.Col("influencer_id", "uuid", func(e *statements.Entry) string { return e.InfluencerID }),
	postgres.Col("kind", "text", func(e *statements.Entry) string { return e.Kind }),
	postgres.Col("amount_minor", "bigint", func(e *statements.Entry) int64 { return e.AmountMinor }),
	postgres.Col("currency", "text", func(e *statements.Entry) string { return e.Currency }),
	postgres.Col("day", "date", func(e *statements.Entry) string { return e.Day }),
	postgres.Col("reason", "text", func(e *statements.Entry) string { return e.Reason }),
	postgres.Col("accepted_at", "timestamptz", func(e *statements.Entry) time.Time { return e.AcceptedAt }),
	postgres.Col("actor", "text", func(e *statements.Entry) string { return e.Actor }),
}

// insertEntries takes the record's content where the stored row waits for its record. The row of the audit log has the
// entry's id: it is written once.
var insertEntries = `
	with stored as (
		insert into manual_entry as m (company_id, entry_id, influencer_id, kind, amount_minor, currency, day, reason, asked_at, actor,
			accepted_at)
		select @company_id, entry_id, influencer_id, kind, amount_minor, currency, day, reason, accepted_at, actor, accepted_at
		from ` + entryRows.Unnest("e") + `
		on conflict (company_id, entry_id) do update set influencer_id = excluded.influencer_id, kind = excluded.kind,
			amount_minor = excluded.amount_minor, currency = excluded.currency, day = excluded.day, reason = excluded.reason,
			actor = excluded.actor, accepted_at = excluded.accepted_at
		where m.accepted_at is null
		returning entry_id, influencer_id, kind, amount_minor, currency, day, reason, actor, accepted_at),
	told as (
		insert into audit_log (company_id, audit_id, at, actor, action, subject, part_of, detail)
		select @company_id, entry_id, accepted_at, actor, 'ledger.entry', entry_id::text, influencer_id::text,
			jsonb_build_object('influencer_id', influencer_id, 'kind', kind, 'amount_minor', amount_minor, 'currency', currency,
				'date', day, 'reason', reason)
		from stored
		on conflict (company_id, audit_id) do nothing returning 1)
	select entry_id::text from stored`

// InsertEntries stores manual entries that are not stored yet, with their rows of the audit log, and returns their ids. No
// id may be there twice.
func (t Statements) InsertEntries(ctx context.Context, companyID string, entries []statements.Entry) (map[string]bool, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	ids, err := postgres.Collect(ctx, t.tx, pgx.RowTo[string], insertEntries, entryRows.Args(entries, pgx.NamedArgs{"company_id": companyID}))
	if err != nil {
		return nil, fmt.Errorf("store manual entries: %w", err)
	}
	stored := map[string]bool{}
	for _, id := range ids {
		stored[id] = true
	}
	return stored, nil
}

// Next returns the first statement of a company that is not closed, nil where
// there is none.
func (t Statements) Next(ctx context.Context, companyID string) (*statements.Statement, error) {
	s, err := postgres.One(ctx, t.tx, func(row pgx.CollectableRow) (s statements.Statement, err error) {
		var summed []byte
		err = row.Scan(&s.StatementID, &s.InfluencerID, &s.Currency, postgres.Day(&s.EndDate), &s.MinimumMinor, &s.Rev,
			&s.AskedAt, &s.Actor, &summed)
		if err == nil && summed != nil && json.Unmarshal(summed, &s.Summed) != nil {
			s.Summed = &statements.Sum{} // another version of the program wrote it: the sum begins anew
		}
		return s, err
	}, `
		select statement_id::text, influencer_id::text, currency, end_date, minimum_minor, rev, asked_at, actor, summed from statement
		where company_id = @company_id and closed_at is null order by rev, statement_id limit 1`, pgx.NamedArgs{"company_id": companyID})
	return postgres.Maybe(s, postgres.Wrapf(err, "next statement"))
}

// Freeze puts ledger entries of a statement's influencer and currency into the
// statement, at most limit: those that are in none, may be paid by its last day and are of no
// order that is set aside. What the statement prints of an order,
// and the day of an entry of no order, stay with an entry from then on. It returns how many there were.
func (t Statements) Freeze(ctx context.Context, companyID string, s statements.Statement, limit int) (int, error) {
	rows, err := postgres.Collect(ctx, t.tx, pgx.RowTo[int], `
		update ledger_entry l set statement_id = @statement_id::uuid,
			day = coalesce(o.day, case when starts_with(l.order_id, E'\x01') then l.payable_on end), order_name = o.name,
			base_minor = case when o.currency = @currency then p.base_minor end,
			value_minor = case when o.currency = @currency then o.total_minor end,
			var_fee = case when o.currency = @currency then c.var_fee end,
			fixed_brl_minor = case when o.order_id is not null and @currency = 'BRL' then c.fixed_fee_minor end,
			evidence = case when p.influencer_id <> @influencer_id then null when p.proof = 'assigned' then 'assigned' else p.evidence end,
			coupon_code = case when p.influencer_id = @influencer_id and p.evidence = 'coupon' and p.proof is distinct from 'assigned'
				then k.code end
		from (
			select order_id, entry, cost_id from ledger_entry
			where company_id = @company_id and influencer_id = @influencer_id and currency = @currency and statement_id is null
			and payable_on <= @end_date::date and not `+postgres.SetAsideOfStatement+`
			order by payable_on limit @most) f
		left join orders o on o.company_id = @company_id and o.order_id = f.order_id
		left join payout p on p.company_id = @company_id and p.order_id = f.order_id
		left join cost c on c.company_id = @company_id and c.cost_id = f.cost_id
		left join coupon k on k.company_id = @company_id and k.coupon_id = p.coupon_id
		where l.company_id = @company_id and l.order_id = f.order_id and l.entry = f.entry and l.statement_id is null
		returning 1`, pgx.NamedArgs{"company_id": companyID, "statement_id": s.StatementID, "influencer_id": s.InfluencerID,
		"currency": s.Currency, "end_date": s.EndDate, "most": limit})
	return len(rows), postgres.Wrapf(err, "freeze entries")
}

// ClosedBefore returns the newest closed statement of a statement's influencer and
// currency, nil where there is none.
func (t Statements) ClosedBefore(ctx context.Context, companyID string, s statements.Statement) (*statements.Closed, error) {
	c, err := postgres.One(ctx, t.tx, func(row pgx.CollectableRow) (c statements.Closed, err error) {
		err = row.Scan(&c.StatementID, postgres.Day(&c.EndDate), &c.Total, &c.Carried, &c.RunID)
		return c, err
	}, `
		select statement_id::text, end_date, total_minor, carried, run_id::text from statement
		where company_id = @company_id and influencer_id = @influencer_id and currency = @currency and closed_at is not null
		order by rev desc limit 1`, pgx.NamedArgs{"company_id": companyID, "influencer_id": s.InfluencerID, "currency": s.Currency})
	return postgres.Maybe(c, postgres.Wrapf(err, "statement before"))
}

// Sum adds the next entries that are in a statement to its sum, at most limit. It returns
// how many there were.
func (t Statements) Sum(ctx context.Context, companyID, statementID string, sum *statements.Sum, limit int) (int, error) {
	return sumEntries(ctx, t.tx, companyID, statementID, sum, limit)
}

// entriesPerPage is how many entries SumAll reads at once.
const entriesPerPage = 10_000

// SumAll sums all entries that are in a statement.
func SumAll(ctx context.Context, q postgres.Querier, companyID, statementID string) (*statements.Sum, error) {
	sum := &statements.Sum{}
	for {
		n, err := sumEntries(ctx, q, companyID, statementID, sum, entriesPerPage)
		if err != nil || n < entriesPerPage {
			return sum, err
		}
	}
}

func sumEntries(ctx context.Context, q postgres.Querier, companyID, statementID string, sum *statements.Sum, limit int) (n int, err error) {
	order, number := sum.Order, sum.Number
	var e ledger.Entry
	var printed string
	into := []any{&order, &e.Number, &e.Kind, &e.Reverses, &e.InfluencerID, &e.CampaignID, &e.CostID, &e.AmountMinor, &e.Currency,
		postgres.Day(&e.PayableOn), &printed}
	err = postgres.Each(ctx, q, into, func() error { n++; sum.Add(order, e, printed); return nil }, `
		select order_id, entry, kind, coalesce(reverses, 0), influencer_id::text, coalesce(campaign_id, ''), cost_id::text, amount_minor,
		currency, payable_on,
		jsonb_build_array(day, base_minor, order_name, value_minor, var_fee, fixed_brl_minor, evidence, coupon_code)::text
		from ledger_entry where company_id = @company_id and statement_id = @statement_id
		and (order_id collate "C", entry) > (@order::text, @number::int)
		order by order_id collate "C", entry limit @most`,
		pgx.NamedArgs{"company_id": companyID, "statement_id": statementID, "order": order, "number": number, "most": limit})
	return n, postgres.Wrapf(err, "entries of a statement")
}

// KeepSum stores the sum of a statement's entries so far: all of them are in it.
func (t Statements) KeepSum(ctx context.Context, companyID, statementID string, sum *statements.Sum) error {
	return postgres.Exec(ctx, t.tx, "keep a sum",
		`update statement set summed = @summed where company_id = @company_id and statement_id = @statement_id and closed_at is null`,
		pgx.NamedArgs{"company_id": companyID, "statement_id": statementID, "summed": sum})
}

// Parties returns who a statement of an influencer is of, as they are now.
func (t Statements) Parties(ctx context.Context, companyID, influencerID string) (p commerce.Parties, err error) {
	if err := t.tx.QueryRow(ctx, `select coalesce(nullif(legal_name, ''), name), tax_id from company where company_id = $1`, companyID).
		Scan(&p.Store.Name, &p.Store.Document); err != nil {
		return p, fmt.Errorf("store of a statement: %w", err)
	}
	if err := t.tx.QueryRow(ctx, `
		select i.name, coalesce(d.document, ''), coalesce(d.pix_type, ''), coalesce(d.pix_key, ''), d.pix_at, coalesce(d.pix_by, '')
		from influencer i left join influencer_personal d on d.company_id = @company_id and d.influencer_id = i.influencer_id
		where i.company_id = @company_id and i.influencer_id = @influencer_id`,
		pgx.NamedArgs{"company_id": companyID, "influencer_id": influencerID}).Scan(&p.Influencer.Name, &p.Influencer.Document,
		&p.Pix.Type, &p.Pix.Key, postgres.ZeroIfNull(&p.PixChanged.At), &p.PixChanged.Actor); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return p, fmt.Errorf("influencer of a statement: %w", err)
	}
	return p, nil
}

// Close stores what a statement has and its parties, and gives it the company's next number. One that is closed stays as it is.
func (t Statements) Close(ctx context.Context, companyID string, now time.Time, c statements.Closed) error {
	if err := postgres.Exec(ctx, t.tx, "store the parties of a statement", `
		insert into statement_party (company_id, statement_id, store_name, store_document, name, document, pix_type, pix_key, pix_at, pix_by)
		values (@company_id, @statement_id, @store_name, @store_document, @name, @document, @pix_type, @pix_key, @pix_at, @pix_by)
		on conflict (company_id, statement_id) do nothing`,
		pgx.NamedArgs{"company_id": companyID, "statement_id": c.StatementID, "store_name": c.Parties.Store.Name,
			"store_document": c.Parties.Store.Document, "name": c.Parties.Influencer.Name, "document": c.Parties.Influencer.Document,
			"pix_type": c.Parties.Pix.Type, "pix_key": c.Parties.Pix.Key, "pix_at": postgres.NullIfZero(c.Parties.PixChanged.At),
			"pix_by": postgres.NullIfEmpty(c.Parties.PixChanged.Actor)}); err != nil {
		return err
	}
	if err := postgres.Exec(ctx, t.tx, "close a statement", `
		update statement set closed_at = @now::timestamptz,
			number = (select coalesce(max(n.number), 0) + 1 from statement n where n.company_id = @company_id and n.number is not null),
			start_date = @start_date::date, opening_minor = @opening::numeric,
			total_minor = @total::numeric,
			entries = @entries::bigint, lines = @lines::bigint, summed = null, carried = @carried::boolean, run_id = @run_id::uuid,
				digest = @digest::bytea
		where company_id = @company_id and statement_id = @statement_id and closed_at is null`,
		pgx.NamedArgs{"company_id": companyID, "statement_id": c.StatementID, "now": now, "start_date": c.StartDate, "opening": whole(c.Opening),
			"total":   whole(c.Total),
			"entries": c.Entries, "lines": c.Lines, "carried": c.Carried, "run_id": c.RunID, "digest": c.Digest}); err != nil {
		return err
	}
	return t.tell(ctx, companyID, commerce.StatementIsClosed, statements.Payment{StatementID: c.StatementID})
}

// tell writes the events of statements for the company's other systems.
func (t Statements) tell(ctx context.Context, companyID string, what commerce.EventType, of ...statements.Payment) error {
	return postgres.Tell(ctx, t.tx, companyID, func() ([]commerce.Event, error) {
		ids := make([]string, len(of))
		for i := range of {
			ids[i] = of[i].StatementID
		}
		return postgres.StatementEvents(ctx, t.tx, companyID, ids, what)
	})
}

// whole is a whole number as an argument of type numeric.
func whole(n decimal.Decimal) string { return n.StringFixed(0) }
