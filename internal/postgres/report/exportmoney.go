package report

import (
	"context"
	"time"

	"github.com/shopspring/decimal"
)

//nolint:gosec // SQL, no secret
const (
	exportedCredit = `o.order_id, o.created_at, c.position, c.channel, coalesce(c.influencer_id::text, ''), coalesce(c.campaign_id, ''),
		c.currency, c.first_minor, c.last_minor, c.last_non_direct_minor, c.linear_minor, c.position_minor, c.time_decay_minor`
	creditsOfDay = `from orders o join credit c on c.company_id = o.company_id and c.order_id = o.order_id
		where o.company_id = @company_id and o.day = @day::date`
)

var (
	// A credit is an element of what its order's payout has: to take that apart is most of the work.
	stateOfCredits = stateOf(`o.order_id, o.created_at, p.currency, p.credits::text`, `from orders o
		join payout p on p.company_id = o.company_id and p.order_id = o.order_id
		where o.company_id = @company_id and o.day = @day::date and p.credits is not null`)
	exportCredits = `select ` + exportedCredit + ` ` + creditsOfDay + ` order by o.created_at, o.order_id, c.position`
)

// ExportedCredit is what a touch has of an approved order under each model, in minor units; nil: the model leaves the touch out.
type ExportedCredit struct {
	OrderID                       string
	OrderAt                       time.Time
	Position                      int32
	Channel                       string
	InfluencerID, CampaignID      string // empty: nobody
	Currency                      string
	First, Last, LastNonDirect    *int64
	Linear, ByPosition, TimeDecay *int64
}

// Credits calls each for the credits of a day's orders, in the order of the orders' times and of the touches. The credit is
// valid until each returns.
func (x *ExportSnapshot) Credits(ctx context.Context, day string, each func(c *ExportedCredit) error) error {
	var c ExportedCredit
	return x.each(ctx, day, exportCredits,
		[]any{&c.OrderID, &c.OrderAt, &c.Position, &c.Channel, &c.InfluencerID, &c.CampaignID, &c.Currency, &c.First, &c.Last,
			&c.LastNonDirect, &c.Linear, &c.ByPosition, &c.TimeDecay},
		func() error { return each(&c) })
}

const (
	exportedEntry = `l.order_id, l.entry, l.at, l.kind, l.influencer_id::text, coalesce(l.campaign_id, ''), l.cost_id::text, l.amount_minor,
		l.currency, l.payable_on, l.reverses, l.rule_rev, l.cause, coalesce(l.statement_id::text, '')`
	entriesOfDay = `from ledger_entry l where l.company_id = @company_id and l.at >= @from and l.at < @before`
)

var (
	stateOfLedger = stateOf(exportedEntry, entriesOfDay)
	exportLedger  = `select ` + exportedEntry + ` ` + entriesOfDay + ` order by l.at, l.order_id, l.entry`
)

// ExportedEntry is an entry of the ledger to export.
type ExportedEntry struct {
	OrderID                          string // or commerce.AccountOf
	Entry                            int32
	At                               time.Time
	Kind                             string
	InfluencerID, CampaignID, CostID string
	AmountMinor                      int64
	Currency                         string
	PayableOn                        time.Time
	Reverses                         *int32 // the entry it takes back; nil: none
	RuleRev                          int64
	Cause                            string
	StatementID                      string // empty: it is in none yet
}

// Ledger calls each for the entries of a UTC day, in their order. The entry is valid until each returns.
func (x *ExportSnapshot) Ledger(ctx context.Context, day string, each func(e *ExportedEntry) error) error {
	var e ExportedEntry
	return x.each(ctx, day, exportLedger,
		[]any{&e.OrderID, &e.Entry, &e.At, &e.Kind, &e.InfluencerID, &e.CampaignID, &e.CostID, &e.AmountMinor, &e.Currency, &e.PayableOn,
			&e.Reverses, &e.RuleRev, &e.Cause, &e.StatementID},
		func() error { return each(&e) })
}

const (
	exportedStatement = `s.statement_id::text, s.number, s.influencer_id::text, s.currency, s.start_date, s.end_date, s.closed_at,
		s.opening_minor, s.total_minor, s.entries, s.lines, s.carried, coalesce(w.total_minor, 0), p.paid_at`
	statementsOfDay = `from statement s
		left join lateral (
			select w.total_minor from statement_withholding w where w.company_id = @company_id and w.statement_id = s.statement_id
			order by w.rev desc limit 1) w on true
		left join lateral (
			select p.paid_at from statement n
			join statement_payment p on p.company_id = @company_id and p.statement_id = n.statement_id and p.undone_rev is null
			where n.company_id = @company_id and n.influencer_id = s.influencer_id and n.currency = s.currency and n.run_id = s.run_id
			order by p.paid_at limit 1) p on true
		where s.company_id = @company_id and s.closed_at >= @from and s.closed_at < @before`
)

var (
	stateOfStatements = stateOf(exportedStatement, statementsOfDay)
	exportStatements  = `select ` + exportedStatement + ` ` + statementsOfDay + ` order by s.number`
)

// ExportedStatement is a closed statement to export. Amounts are in minor units of Currency.
type ExportedStatement struct {
	StatementID, InfluencerID, Currency string
	Number                              int64
	StartDate                           *time.Time
	EndDate, ClosedAt                   time.Time
	Opening, Total                      decimal.Decimal
	Entries, Lines                      int64
	Carried                             bool // its total is paid with the next one
	Withheld                            int64
	PaidAt                              *time.Time // nil: it is not paid
}

// Statements calls each for the statements that were closed on a UTC day, by their numbers. The statement is valid until
// each returns.
func (x *ExportSnapshot) Statements(ctx context.Context, day string, each func(s *ExportedStatement) error) error {
	var s ExportedStatement
	return x.each(ctx, day, exportStatements,
		[]any{&s.StatementID, &s.Number, &s.InfluencerID, &s.Currency, &s.StartDate, &s.EndDate, &s.ClosedAt, &s.Opening, &s.Total,
			&s.Entries, &s.Lines, &s.Carried, &s.Withheld, &s.PaidAt},
		func() error { return each(&s) })
}
