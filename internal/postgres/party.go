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
