package postgres

import "github.com/tributary-io/tributary/internal/commerce"

// PartyColumns are the columns of a statement's parties, of the table statement_party (y), which may have no row.
func PartyColumns(p *commerce.Parties) Columns {
	return Columns{
		Into("coalesce(y.store_name, '')", &p.Store.Name),
		Into("coalesce(y.store_document, '')", &p.Store.Document),
		Into("coalesce(y.name, '')", &p.Influencer.Name),
		Into("coalesce(y.document, '')", &p.Influencer.Document),
		Into("coalesce(y.pix_type, '')", &p.Pix.Type),
		Into("coalesce(y.pix_key, '')", &p.Pix.Key),
		Into("y.pix_at", ZeroIfNull(&p.PixChanged.At)),
		Into("coalesce(y.pix_by, '')", &p.PixChanged.Actor),
	}
}

// Withheld joins what is withheld (w) of statements (s) of @company_id: one row each, null where nothing was entered.
const Withheld = `
	left join lateral (
		select h.list, h.total_minor, h.invoice from statement_withholding h
		where h.company_id = @company_id and h.statement_id = s.statement_id order by h.rev desc limit 1) w on true`

// These say whether a ledger entry of @company_id is held because its order is one that a connected shop changed and that could not
// be read since: it is put into no statement until then. Where what may be paid of the order takes back what was paid before, nothing
// of it is held. SetAside is of what may be paid on @day, and SetAsideAtEnd on @end_date; SetAsideOfStatement counts what
// @statement_id, which takes entries until @end_date, has taken already.
const (
	SetAside            = setAside + ` and open.statement_id is null and open.payable_on <= @day::date))`
	SetAsideAtEnd       = setAside + ` and open.statement_id is null and open.payable_on <= @end_date::date))`
	SetAsideOfStatement = setAside + ` and (open.statement_id is null or open.statement_id = @statement_id::uuid)
			and open.payable_on <= @end_date::date))`

	setAside = `
	(exists (select 1 from connection_aside h where h.company_id = @company_id and h.order_id = ledger_entry.order_id) and 0 < (
		select sum(open.amount_minor) from ledger_entry open
		where open.company_id = @company_id and open.order_id = ledger_entry.order_id
			and open.influencer_id = ledger_entry.influencer_id and open.currency = ledger_entry.currency`
)
