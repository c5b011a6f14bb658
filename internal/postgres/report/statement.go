package report

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/postgres"
)

func statementColumns(s *commerce.Statement) postgres.Columns {
	return postgres.Columns{
		postgres.Into("s.statement_id::text", &s.StatementID),
		postgres.Into("s.influencer_id::text", &s.InfluencerID),
		postgres.Into("coalesce(i.name, '')", &s.Influencer),
		postgres.Into("coalesce(s.number, 0)", &s.Number),
		postgres.Into("s.currency", &s.Currency),
		postgres.Into("s.start_date", postgres.Day(&s.StartDate)),
		postgres.Into("s.end_date", postgres.Day(&s.EndDate)),
		postgres.Into(statementState, &s.State),
		postgres.Into("s.minimum_minor", &s.MinimumMinor),
		postgres.Into("s.rev", &s.Rev),
		postgres.Into("s.asked_at", &s.AskedAt),
		postgres.Into("coalesce(s.opening_minor, 0)", &s.OpeningMinor),
		postgres.Into("coalesce(s.total_minor, 0)", &s.TotalMinor),
		postgres.Into("coalesce(s.lines, 0)", &s.Lines),
		postgres.Into("coalesce(s.carried, false)", &s.Carried),
		postgres.Into("s.closed_at", postgres.ZeroIfNull(&s.ClosedAt)),
		postgres.Into("p.paid_at", postgres.ZeroIfNull(&s.PaidAt)),
		postgres.Into("coalesce(p.reference, '')", &s.Reference),
		postgres.Into("w.list", &s.Withheld),
		postgres.Into("coalesce(w.total_minor, 0)::numeric", &s.WithheldMinor),
		postgres.Into("coalesce(w.invoice, '')", &s.Invoice),
	}
}

// statementState is one of commerce.StatementStates.
const statementState = "case when p.statement_id is not null then 'paid' when s.closed_at is not null then 'closed' else 'closing' end"

// selectStatements begins a statement on statements (s), with their payments (p) and what is withheld (w).
var selectStatements = `
	select ` + postgres.List(statementColumns) + `
	from statement s
	left join statement_payment p on p.company_id = s.company_id and p.statement_id = s.statement_id and p.undone_rev is null
	left join influencer i on i.company_id = s.company_id and i.influencer_id = s.influencer_id` + postgres.Withheld + `
	where s.company_id = @company_id`

// Statements returns a company's statements after a cursor, the newest first; at most
// limit.
func (r *Reader) Statements(ctx context.Context, companyID string, filter commerce.StatementFilter, after commerce.StatementCursor,
	limit int) ([]commerce.Statement, error) {
	list, err := postgres.Collect(ctx, r.db.Pool(), postgres.Scan(statementColumns), selectStatements+`
			and `+filteredStatements+`
			and (@after_id::uuid is null or (s.rev, s.statement_id) < (@after_rev::bigint, @after_id))
		order by s.rev desc, s.statement_id desc limit @most`,
		statementArgs(companyID, filter, pgx.NamedArgs{"after_rev": after.Rev, "after_id": postgres.NullIfEmpty(after.StatementID),
			"most": limit}))
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: statements of %s", companyID)
}

// filteredStatements narrows statements (s) with their payments (p) and influencers (i), by statementArgs.
const filteredStatements = `(@influencer_id::uuid is null or s.influencer_id = @influencer_id)
			and (@state::text is null or ` + statementState + ` = @state) and (@carried::boolean is null or coalesce(s.carried, false) = @carried)
			and (@name = '' or strpos(i.name_folded, @name) > 0)`

// statementArgs are the arguments of filteredStatements and others.
func statementArgs(companyID string, filter commerce.StatementFilter, others pgx.NamedArgs) pgx.NamedArgs {
	args := pgx.NamedArgs{"company_id": companyID, "influencer_id": postgres.NullIfEmpty(filter.InfluencerID),
		"state": postgres.NullIfEmpty(filter.State), "carried": filter.Carried, "name": fold.Name(filter.Name)}
	maps.Copy(args, others)
	return args
}

// StatementTotals returns how many statements there are under a filter and what they sum to, by state and currency.
func (r *Reader) StatementTotals(ctx context.Context, companyID string,
	filter commerce.StatementFilter) ([]commerce.StatementTotal, error) {
	list, err := postgres.Collect(ctx, r.db.Pool(), pgx.RowToStructByPos[commerce.StatementTotal], `
		select `+statementState+`, coalesce(s.carried, false), s.currency, count(*), coalesce(sum(s.total_minor - coalesce(w.total_minor, 0)), 0)
		from statement s
		left join statement_payment p on p.company_id = s.company_id and p.statement_id = s.statement_id and p.undone_rev is null
		left join influencer i on i.company_id = s.company_id and i.influencer_id = s.influencer_id`+postgres.Withheld+`
		where s.company_id = @company_id and `+filteredStatements+`
		group by 1, 2, 3 order by 1, 2, 3`, statementArgs(companyID, filter, nil))
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: statements of %s", companyID)
}

// Statement returns one statement. An unknown one is commerce.ErrNotFound.
func (r *Reader) Statement(ctx context.Context, companyID, statementID string) (commerce.Statement, error) {
	s, err := postgres.One(ctx, r.db.Pool(), postgres.Scan(statementColumns), selectStatements+` and s.statement_id = @statement_id`,
		pgx.NamedArgs{"company_id": companyID, "statement_id": statementID})
	return s, postgres.Wrapf(postgres.Translate(err), "postgres: statement %s of %s", statementID, companyID)
}

// storedParties are whom a statement is of.
type storedParties struct {
	statementID string
	commerce.Parties
}

func partyColumns(p *storedParties) postgres.Columns {
	return append(postgres.Columns{postgres.Into("y.statement_id::text", &p.statementID)}, postgres.PartyColumns(&p.Parties)...)
}

// Parties returns whom closed statements are of, by their ids.
func (r *Reader) Parties(ctx context.Context, companyID string, statementIDs []string) (map[string]commerce.Parties, error) {
	list, err := postgres.Collect(ctx, r.db.Pool(), postgres.Scan(partyColumns), `
		select `+postgres.List(partyColumns)+` from statement_party y
		where y.company_id = @company_id and y.statement_id = any(@statement_ids::uuid[])`,
		pgx.NamedArgs{"company_id": companyID, "statement_ids": statementIDs})
	if err != nil {
		return nil, fmt.Errorf("postgres: parties of statements of %s: %w", companyID, postgres.Translate(err))
	}
	parties := make(map[string]commerce.Parties, len(list))
	for i := range list {
		parties[list[i].statementID] = list[i].Parties
	}
	return parties, nil
}

// LinkedStatement returns a statement to somebody with a link to it, which was made with
// a number (merchant.Store.LinkNumber). Where the links of that number were revoked, or
// the statement is not the influencer's, it is commerce.ErrNotFound.
func (r *Reader) LinkedStatement(ctx context.Context, companyID, statementID, influencerID string,
	number int64) (commerce.Statement, error) {
	s, err := postgres.One(ctx, r.db.Pool(), postgres.Scan(statementColumns), selectStatements+`
			and s.statement_id = @statement_id and s.influencer_id = @influencer_id
			and coalesce((select revoked from statement_link k where k.company_id = @company_id and k.statement_id = s.statement_id),
			0) = @number::bigint`,
		pgx.NamedArgs{"company_id": companyID, "statement_id": statementID, "influencer_id": influencerID, "number": number})
	return s, postgres.Wrapf(postgres.Translate(err), "postgres: linked statement %s of %s", statementID, companyID)
}

func lineColumns(l *commerce.StatementLine) postgres.Columns {
	return postgres.Columns{
		postgres.Into("l.order_id", &l.OrderID),
		postgres.Into("l.day", postgres.Day(&l.Day)),
		postgres.Into("l.amount", &l.AmountMinor),
		postgres.Into("l.base", &l.BaseMinor),
		postgres.Into("coalesce(m.kind, '')", &l.Kind),
		postgres.Into("coalesce(m.reason, '')", &l.Reason),
		postgres.Into("case when l.amount < 0 then coalesce(l.cause, '') else '' end", &l.Cause),
		postgres.Into("coalesce(l.order_name, '')", &l.OrderName),
		postgres.Into("l.value", &l.ValueMinor),
		postgres.Into("coalesce(l.evidence, '')", &l.Evidence),
		postgres.Into("coalesce(l.coupon_code, '')", &l.Coupon),
		postgres.Into("terms.list", &l.Terms),
	}
}

// StatementLines returns what a statement has of each order: sums that are not zero, and memos,
// by order id, after one; at most limit.
func (r *Reader) StatementLines(ctx context.Context, companyID, statementID, after string, limit int) ([]commerce.StatementLine, error) {
	list, err := postgres.Collect(ctx, r.db.Pool(), postgres.Scan(lineColumns), `
		select `+postgres.List(lineColumns)+`
		from (
			select order_id collate "C" as order_id, max(day) as day, sum(amount_minor) as amount, max(base_minor) as base,
				min(cost_id::text) as cost,
				(array_agg(cause order by entry desc) filter (where kind = 'reversed'))[1] as cause,
				max(order_name) as order_name, max(value_minor) as value, max(evidence) as evidence, max(coupon_code) as coupon_code
			from ledger_entry
			where company_id = @company_id and statement_id = @statement_id and order_id collate "C" > @after
			group by 1
			having sum(amount_minor) <> 0 or bool_or(kind = 'product') order by 1 limit @most) l
		left join manual_entry m on m.company_id = @company_id and m.entry_id = l.cost::uuid
		left join lateral (
			select json_agg(json_build_object('net', net, 'var', coalesce(var_fee, 0), 'fixed', coalesce(fixed, 0)) order by first) as list
			from (
				select min(entry) as first, sum(amount_minor) as net, max(var_fee) as var_fee, max(fixed_brl_minor) as fixed from ledger_entry
				where company_id = @company_id and statement_id = @statement_id and order_id collate "C" = l.order_id
				group by cost_id having sum(amount_minor) <> 0) t) terms on true
		order by l.order_id`, pgx.NamedArgs{"company_id": companyID, "statement_id": statementID, "after": after, "most": limit})
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: lines of statement %s of %s", statementID, companyID)
}

// Today returns a company's time zone, and its day at an instant, YYYY-MM-DD. An unknown
// company is commerce.ErrNotFound.
func (r *Reader) Today(ctx context.Context, companyID string, now time.Time) (zone *time.Location, day string, err error) {
	var name string
	if err := r.db.Pool().QueryRow(ctx, `select timezone from company where company_id = $1`, companyID).Scan(&name); err != nil {
		return nil, "", fmt.Errorf("postgres: time zone of %s: %w", companyID, postgres.Translate(err))
	}
	if zone, err = time.LoadLocation(name); err != nil {
		return nil, "", fmt.Errorf("postgres: time zone of %s: %w", companyID, err)
	}
	return zone, now.In(zone).Format(time.DateOnly), nil
}
