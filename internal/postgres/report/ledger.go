package report

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

func itemColumns(i *commerce.LedgerItem) postgres.Columns {
	return append(ledgerColumns(&i.LedgerEntry),
		postgres.Into("l.order_id", &i.OrderID),
		postgres.Into("coalesce(m.reason, '')", &i.Reason),
		postgres.Into("l.state", &i.State),
		postgres.Into("coalesce(l.statement_id::text, '')", &i.StatementID))
}

// entries are a company's ledger entries with their states. One in a statement is paid
// where a statement of the same run is: that one was carried to it. of is more of their condition.
func entries(of string) string {
	return `
	with paid as materialized (
		select s.statement_id from statement s
		join statement n on n.company_id = @company_id and n.influencer_id = s.influencer_id and n.currency = s.currency and n.run_id = s.run_id
		join statement_payment p on p.company_id = @company_id and p.statement_id = n.statement_id and p.undone_rev is null
		where s.company_id = @company_id)
	select e.*, case when e.held then 'held' when e.paid then 'paid' else 'payable' end as state
	from (
		select *, statement_id is null
		and (payable_on > @day::date or ` + postgres.SetAside + `) as held,
		coalesce(statement_id in (select statement_id from paid), false) as paid
		from ledger_entry
		where company_id = @company_id and (@influencer_id::uuid is null or influencer_id = @influencer_id)
			and (@of::text is null or starts_with(order_id, @of) and (@of <> '' or not starts_with(order_id, E'\x01')))` + of + `
			and (@from::timestamptz is null or at >= @from) and (@before::timestamptz is null or at < @before)
			and (@after_at::timestamptz is null or (at, order_id, entry) < (@after_at, @after_order, @after_entry::int))) e
	where @state::text is null or case @state when 'held' then e.held when 'paid' then e.paid else not e.held and not e.paid end
	order by e.at desc, e.order_id desc, e.entry desc limit @most`
}

// ledgerOf lists entries with whose and for what they are.
func ledgerOf(of string) string {
	return `
		select ` + postgres.List(itemColumns) + `
		from (` + entries(of) + `) l
		left join influencer i on i.company_id = @company_id and i.influencer_id = l.influencer_id
		left join cost k on k.company_id = @company_id and k.cost_id = l.cost_id
		left join manual_entry m on m.company_id = @company_id and m.entry_id = l.cost_id
		order by l.at desc, l.order_id desc, l.entry desc`
}

var (
	ledgerOfAll = ledgerOf("")
	// LedgerOfAccounts goes by the index ledger_account: entries of no order are few, or none, among very many.
	LedgerOfAccounts = ledgerOf(` and starts_with(order_id, E'\x01')`)
)

// Ledger returns a company's ledger entries after a cursor, those posted last first; at
// most limit. now says on which day an entry is held or payable.
func (r *Reader) Ledger(ctx context.Context, companyID string, now time.Time, filter commerce.LedgerFilter, after commerce.LedgerCursor,
	limit int) ([]commerce.LedgerItem, error) {
	zone, day, err := r.Today(ctx, companyID, now)
	if err != nil {
		return nil, err
	}
	args := pgx.NamedArgs{"company_id": companyID, "day": day, "influencer_id": postgres.NullIfEmpty(filter.InfluencerID),
		"state": postgres.NullIfEmpty(filter.State), "of": beginningOf(filter.Of),
		"from": dayStart(filter.From, 0, zone), "before": dayStart(filter.To, 1, zone),
		"after_at": postgres.NullIfZero(after.At), "after_order": after.OrderID, "after_entry": after.Entry, "most": limit}
	var list []commerce.LedgerItem
	if filter.Of == "" || filter.Of == commerce.OfOrder {
		list, err = postgres.Collect(ctx, r.db.Pool(), postgres.Scan(itemColumns), ledgerOfAll, args)
	} else {
		list, err = postgres.Collect(ctx, r.db.Pool(), postgres.Scan(itemColumns), LedgerOfAccounts, args)
	}
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: ledger of %s", companyID)
}

// beginningOf is what the accounts of one of commerce.LedgerSubjects begin with; nil: all.
func beginningOf(of string) *string {
	begin := ""
	switch of {
	case "":
		return nil
	case commerce.OfOrder:
	default:
		begin = commerce.AccountOf(of, "")
	}
	return &begin
}

// dayStart is the first instant of a day, or of one some days later; nil for no day.
func dayStart(day string, later int, zone *time.Location) *time.Time {
	t, err := time.ParseInLocation(time.DateOnly, day, zone)
	if err != nil {
		return nil
	}
	t = t.AddDate(0, 0, later)
	return &t
}
