package factstore

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
)

// credit is one row of the table credit: what a touch of an order has by every model. A
// model has a column of its own, such as linear_minor; null: the model leaves the touch
// out.
type credit struct {
	facts.Credit
	orderID, currency string
}

var creditRows = append(postgres.Rows[credit]{
	postgres.Col("order_id", "text", func(c *credit) string { return c.orderID }),
	postgres.Col("position", "int", func(c *credit) int32 { return int32(c.Position) }),
	postgres.Col("touch_id", "uuid", touchOf),
	postgres.Col("channel", "text", func(c *credit) string { return c.Channel }),
	postgres.Col("influencer_id", "uuid", func(c *credit) *string { return postgres.NullIfEmpty(c.InfluencerID) }),
	postgres.Col("campaign_id", "text", func(c *credit) *string { return postgres.NullIfEmpty(c.CampaignID) }),
	postgres.Col("currency", "text", func(c *credit) string { return c.currency }),
}, partRows()...)

// touchOf is the event of a touch; nil: it is none.
func touchOf(c *credit) *string {
	if c.TouchID == facts.OrderTouch {
		return nil
	}
	return postgres.NullIfEmpty(c.TouchID)
}

func partRows() (columns postgres.Rows[credit]) {
	for i, model := range facts.Models {
		columns = append(columns, postgres.Col(model+"_minor", "bigint", func(c *credit) pgtype.Int8 {
			return pgtype.Int8{Int64: c.Parts[i].Minor, Valid: c.Parts[i].Given}
		}))
	}
	return columns
}

// partColumns are the models' columns, in the order of facts.Models.
var partColumns = strings.Join(facts.Models[:], "_minor, ") + "_minor"

var upsertCredits = `
	insert into credit (company_id, order_id, position, touch_id, channel, influencer_id, campaign_id, currency, ` + partColumns + `)
	select @company_id, order_id, position, touch_id, channel, influencer_id, campaign_id, currency, ` + partColumns + `
	from ` + creditRows.Unnest("c") + `
	on conflict (company_id, order_id, position) do update set touch_id = excluded.touch_id, channel = excluded.channel,
		influencer_id = excluded.influencer_id, campaign_id = excluded.campaign_id, currency = excluded.currency,
		(` + partColumns + `) = row (excluded.` + strings.ReplaceAll(partColumns, ", ", ", excluded.") + `)`

var goneRows = postgres.Rows[credit]{
	postgres.Col("order_id", "text", func(c *credit) string { return c.orderID }),
	postgres.Col("position", "int", func(c *credit) int32 { return int32(c.Position) }),
}

var deleteCredits = `
	delete from credit c using ` + goneRows.Unnest("g") + `
	where c.company_id = @company_id and c.order_id = g.order_id and c.position = g.position`

// writeCredits stores the credits of outcomes that are not stored yet, and removes those
// that do not hold any more. Credits that stay as they are are not written.
func (t *Tx) writeCredits(ctx context.Context, companyID string, outcomes []facts.StoredOutcome) error {
	var put, gone []credit
	for i := range outcomes {
		p, g := changedCredits(outcomes[i].Was, &outcomes[i].Outcome)
		put, gone = append(put, p...), append(gone, g...)
	}
	company := pgx.NamedArgs{"company_id": companyID}
	if len(gone) > 0 {
		if err := t.exec(ctx, "remove credits", deleteCredits, goneRows.Args(gone, company)); err != nil {
			return err
		}
	}
	if len(put) == 0 {
		return nil
	}
	return t.exec(ctx, "store credits", upsertCredits, creditRows.Args(put, company))
}

// changedCredits returns the credits of an outcome that differ from those before, and
// those before at whose positions there is none now. was may be nil.
func changedCredits(was, is *facts.Outcome) (put, gone []credit) {
	before := map[int]facts.Credit{}
	if was != nil {
		for _, c := range was.Credits {
			before[c.Position] = c
		}
	}
	for _, c := range is.Credits {
		old, there := before[c.Position]
		if !there || old != c || was.Currency != is.Currency {
			put = append(put, credit{c, is.OrderID, is.Currency})
		}
		delete(before, c.Position)
	}
	for _, c := range before {
		gone = append(gone, credit{Credit: c, orderID: is.OrderID})
	}
	return put, gone
}

func creditColumns(c *credit) postgres.Columns {
	columns := postgres.Columns{
		postgres.Into("order_id", &c.orderID),
		postgres.Into("position", &c.Position),
		postgres.Into("case when position = 0 then '' else coalesce(touch_id::text, '"+facts.OrderTouch+"') end", &c.TouchID),
		postgres.Into("channel", &c.Channel),
		postgres.Into("coalesce(influencer_id::text, '')", &c.InfluencerID),
		postgres.Into("coalesce(campaign_id, '')", &c.CampaignID),
		postgres.Into("currency", &c.currency),
	}
	for i, model := range facts.Models {
		columns = append(columns, postgres.Into(model+"_minor", (*part)(&c.Parts[i])))
	}
	return columns
}

var selectCredits = `
	select ` + postgres.List(creditColumns) + ` from credit where company_id = @company_id and order_id = any(@order_ids)
	order by order_id, position`

// part scans a model's column.
type part facts.Part

// ScanInt64 implements pgtype.Int64Scanner.
func (p *part) ScanInt64(v pgtype.Int8) error {
	p.Given, p.Minor = v.Valid, v.Int64
	return nil
}
