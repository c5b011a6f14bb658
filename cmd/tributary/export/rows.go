package export

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/postgres/report"
	"github.com/tributary-io/tributary/internal/scrub"
	"github.com/tributary-io/tributary/internal/uuidtext"
	"github.com/tributary-io/tributary/internal/wire"
)

// The rows of files, a type for each kind. Times are UTC, amounts in minor units of the currency beside them. A text that is empty is
// none. docs/analysis.md tells of the columns. Another column, or another meaning of one, is another layout.

// eventRow is a row of events. It has nothing of what the page or the backend sent along: anything may stand there.
type eventRow struct {
	EventID      string    `parquet:"event_id"`
	Name         string    `parquet:"name,dict"`
	At           time.Time `parquet:"at,timestamp(microsecond)"`
	ReceivedAt   time.Time `parquet:"received_at,timestamp(microsecond)"`
	Person       bool      `parquet:"person"`  // no bot, prefetch or preview
	Arrived      bool      `parquet:"arrived"` // a person who came by a campaign
	Late         bool      `parquet:"late"`
	Bot          string    `parquet:"bot,dict,optional"`
	Via          string    `parquet:"via,dict,optional"`
	Trust        string    `parquet:"trust,dict,optional"`
	Consent      string    `parquet:"consent,dict,optional"`
	PageHost     string    `parquet:"page_host,dict,optional"`
	PagePath     string    `parquet:"page_path,dict,optional"`
	ReferrerHost string    `parquet:"referrer_host,dict,optional"`
	UTMSource    string    `parquet:"utm_source,dict,optional"`
	UTMMedium    string    `parquet:"utm_medium,dict,optional"`
	UTMCampaign  string    `parquet:"utm_campaign,dict,optional"`
	UTMContent   string    `parquet:"utm_content,dict,optional"`
	UTMTerm      string    `parquet:"utm_term,dict,optional"`
	LinkCode     string    `parquet:"link_code,dict,optional"`
	Visitor      string    `parquet:"visitor,dict,optional"` // digests, as all below
	Cookie       string    `parquet:"cookie,dict,optional"`
	Session      string    `parquet:"session,dict,optional"`
	Customer     string    `parquet:"customer,dict,optional"`
	Email        string    `parquet:"email,dict,optional"`
	Phone        string    `parquet:"phone,dict,optional"`
	Cart         string    `parquet:"cart,dict,optional"`
}

func eventOf(e *report.ExportedEvent, d *identity.Digests) *eventRow {
	c := &e.Context
	_, host := attribution.SiteOf(c.Page.URL)
	_, referrer := attribution.SiteOf(c.Page.Referrer)
	row := &eventRow{
		EventID: e.EventID, Name: e.Event.Event.Event, At: e.At.UTC(), ReceivedAt: e.ReceivedAt.UTC(), Person: e.Class != facts.ClassProgram,
		Arrived: e.Class == facts.ClassArrival, Late: e.Late(), Via: string(e.Via), Trust: string(e.Trust), Consent: string(e.Consent),
		PageHost: host, PagePath: pathOf(&c.Page), ReferrerHost: referrer, UTMSource: c.Campaign.Source,
		UTMMedium: c.Campaign.Medium, UTMCampaign: c.Campaign.Name, UTMContent: c.Campaign.Content, UTMTerm: c.Campaign.Term,
		Visitor: d.Of("visitor", e.Visitor), Cookie: d.Of("visitor", e.CookieID), Session: d.Of("session", e.SessionID),
		Customer: d.Of("customer", e.Identity.CustomerKey), Email: d.Of("email", e.Identity.EmailKey), Phone: d.Of("phone", e.Identity.PhoneKey),
		Cart: d.Of("cart", e.Identity.CartKey+e.Identity.CartNoKey),
	}
	if e.Bot != wire.BotNone {
		row.Bot = string(e.Bot)
	}
	if e.Click != nil {
		row.LinkCode = e.Click.Code
	}
	return row
}

// pathOf is the path of an event's page, without parts that may be somebody's: ids made at random, tokens.
func pathOf(p *wire.Page) string {
	path := p.Path
	if page, err := url.Parse(p.URL); err == nil && p.URL != "" {
		path = page.EscapedPath()
	}
	if end := strings.IndexAny(path, "?#"); end >= 0 {
		path = path[:end]
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if uuidtext.Is(part) || scrub.SecretToken(part) {
			parts[i] = "(id)"
		}
	}
	return strings.Join(parts, "/")
}

// orderRow is a row of orders.
type orderRow struct {
	OrderID         string    `parquet:"order_id"`
	CreatedAt       time.Time `parquet:"created_at,timestamp(microsecond)"`
	Status          string    `parquet:"status,dict"`
	Currency        string    `parquet:"currency,dict"`
	TotalMinor      int64     `parquet:"total_minor"`
	DiscountsMinor  *int64    `parquet:"discounts_minor"`
	ShippingMinor   *int64    `parquet:"shipping_minor"`
	TaxMinor        *int64    `parquet:"tax_minor"`
	Number          *int64    `parquet:"number"`
	DiscountCodes   string    `parquet:"discount_codes,dict,optional"`
	UTMSource       string    `parquet:"utm_source,dict,optional"`
	UTMMedium       string    `parquet:"utm_medium,dict,optional"`
	UTMCampaign     string    `parquet:"utm_campaign,dict,optional"`
	UTMContent      string    `parquet:"utm_content,dict,optional"`
	UTMTerm         string    `parquet:"utm_term,dict,optional"`
	Country         string    `parquet:"country,dict,optional"`
	Province        string    `parquet:"province,dict,optional"`
	First           *bool     `parquet:"first_order"`
	Recurring       *bool     `parquet:"recurring"`
	Test            bool      `parquet:"test"`
	State           string    `parquet:"state,dict,optional"`
	Reason          string    `parquet:"reason,dict,optional"`
	InfluencerID    string    `parquet:"influencer_id,dict,optional"`
	CampaignID      string    `parquet:"campaign_id,dict,optional"`
	CouponID        string    `parquet:"coupon_id,dict,optional"`
	Evidence        string    `parquet:"evidence,dict,optional"`
	Proof           string    `parquet:"proof,dict,optional"`
	BaseMinor       *int64    `parquet:"base_minor"`
	CommissionMinor *int64    `parquet:"commission_minor"`
	FixedBRLMinor   *int64    `parquet:"fixed_brl_minor"`
	PayableOn       *int32    `parquet:"payable_on,date"`
	Visitor         string    `parquet:"visitor,dict,optional"` // digests, as all below
	Customer        string    `parquet:"customer,dict,optional"`
	Email           string    `parquet:"email,dict,optional"`
	Phone           string    `parquet:"phone,dict,optional"`
	Cart            string    `parquet:"cart,dict,optional"`
}

// statuses are those of orders, as files have them.
var statuses = map[int16]string{commerce.OrderApproved: "approved", commerce.OrderPending: "pending", commerce.OrderCancelled: "cancelled"}

func orderOf(x *report.ExportedOrder, d *identity.Digests) *orderRow {
	o := &x.Order
	return &orderRow{
		OrderID: o.OrderID, CreatedAt: x.CreatedAt.UTC(), Status: statuses[x.Status], Currency: x.Currency,
		TotalMinor: x.TotalMinor, DiscountsMinor: pointer(o.DiscountsMinor), ShippingMinor: pointer(o.ShippingMinor),
		TaxMinor: pointer(o.TaxMinor),
		Number:   pointer(o.Number), DiscountCodes: scrub.Text(facts.CodesText(o).Or("")),
		UTMSource: o.UTMSource.Or(""), UTMMedium: o.UTMMedium.Or(""), UTMCampaign: o.UTMCampaign.Or(""), UTMContent: o.UTMContent.Or(""),
		UTMTerm: o.UTMTerm.Or(""), Country: o.CountryCode.Or(""), Province: o.ProvinceCode.Or(""), First: x.First,
		Recurring: pointer(o.IsRecurring), Test: o.Test.Or(false), State: x.State, Reason: x.Reason, InfluencerID: x.InfluencerID,
		CampaignID: x.CampaignID, CouponID: x.CouponID, Evidence: x.Evidence, Proof: x.Proof, BaseMinor: x.BaseMinor,
		CommissionMinor: x.CommissionMinor, FixedBRLMinor: x.FixedBRLMinor, PayableOn: dayOrNone(x.PayableOn),
		Visitor: d.Of("visitor", o.VisitorID.Or("")), Customer: d.Of("customer", o.CustomerKey.Or("")),
		Email: d.Of("email", o.EmailKey.Or("")), Phone: d.Of("phone", o.PhoneKey.Or("")), Cart: d.Of("cart", o.CartKey.Or("")+o.CartNoKey.Or("")),
	}
}

// pointer is a value that may be absent; nil: it is.
func pointer[T any](o wire.Optional[T]) *T {
	if !o.Valid {
		return nil
	}
	return &o.Value
}

// creditRow is a row of credits: what a touch has of an approved order, under each model.
type creditRow struct {
	OrderID            string    `parquet:"order_id,dict"`
	OrderAt            time.Time `parquet:"order_at,timestamp(microsecond)"`
	Position           int32     `parquet:"position"`
	Channel            string    `parquet:"channel,dict"`
	InfluencerID       string    `parquet:"influencer_id,dict,optional"`
	CampaignID         string    `parquet:"campaign_id,dict,optional"`
	Currency           string    `parquet:"currency,dict"`
	FirstMinor         *int64    `parquet:"first_minor"`
	LastMinor          *int64    `parquet:"last_minor"`
	LastNonDirectMinor *int64    `parquet:"last_non_direct_minor"`
	LinearMinor        *int64    `parquet:"linear_minor"`
	PositionMinor      *int64    `parquet:"position_minor"`
	TimeDecayMinor     *int64    `parquet:"time_decay_minor"`
}

// creditOf copies what the next row would change.
func creditOf(c *report.ExportedCredit) *creditRow {
	return &creditRow{OrderID: c.OrderID, OrderAt: c.OrderAt.UTC(), Position: c.Position, Channel: c.Channel, InfluencerID: c.InfluencerID,
		CampaignID: c.CampaignID, Currency: c.Currency, FirstMinor: c.First, LastMinor: c.Last, LastNonDirectMinor: c.LastNonDirect,
		LinearMinor: c.Linear, PositionMinor: c.ByPosition, TimeDecayMinor: c.TimeDecay}
}

// ledgerRow is a row of the ledger: of an order, an agreement or a manual entry.
type ledgerRow struct {
	Of           string    `parquet:"of,dict"` // one of commerce.LedgerSubjects
	OrderID      string    `parquet:"order_id,dict,optional"`
	Entry        int32     `parquet:"entry"`
	At           time.Time `parquet:"at,timestamp(microsecond)"`
	Kind         string    `parquet:"kind,dict"`
	InfluencerID string    `parquet:"influencer_id,dict"`
	CampaignID   string    `parquet:"campaign_id,dict,optional"`
	CostID       string    `parquet:"cost_id,dict"` // or that of the manual entry
	AmountMinor  int64     `parquet:"amount_minor"`
	Currency     string    `parquet:"currency,dict"`
	PayableOn    int32     `parquet:"payable_on,date"`
	Reverses     *int32    `parquet:"reverses"`
	RuleRev      int64     `parquet:"rule_rev"`
	Cause        string    `parquet:"cause,dict"`
	StatementID  string    `parquet:"statement_id,dict,optional"`
}

func entryOf(e *report.ExportedEntry) *ledgerRow {
	of, id := commerce.SplitAccount(e.OrderID)
	row := &ledgerRow{Of: of, Entry: e.Entry, At: e.At.UTC(), Kind: e.Kind, InfluencerID: e.InfluencerID, CampaignID: e.CampaignID,
		CostID: e.CostID, AmountMinor: e.AmountMinor, Currency: e.Currency, PayableOn: dayOf(e.PayableOn), Reverses: e.Reverses,
		RuleRev: e.RuleRev, Cause: e.Cause, StatementID: e.StatementID}
	if of == commerce.OfOrder {
		row.OrderID = id
	}
	return row
}

// statementRow is a row of the closed statements.
type statementRow struct {
	StatementID   string     `parquet:"statement_id"`
	Number        int64      `parquet:"number"`
	InfluencerID  string     `parquet:"influencer_id,dict"`
	Currency      string     `parquet:"currency,dict"`
	StartDate     *int32     `parquet:"start_date,date"`
	EndDate       int32      `parquet:"end_date,date"`
	ClosedAt      time.Time  `parquet:"closed_at,timestamp(microsecond)"`
	OpeningMinor  int64      `parquet:"opening_minor"`
	TotalMinor    int64      `parquet:"total_minor"`
	WithheldMinor int64      `parquet:"withheld_minor"`
	Entries       int64      `parquet:"entries"`
	Lines         int64      `parquet:"lines"`
	Carried       bool       `parquet:"carried"`
	PaidAt        *time.Time `parquet:"paid_at,timestamp(microsecond)"`
}

func statementOf(s *report.ExportedStatement) (*statementRow, error) {
	row := &statementRow{StatementID: s.StatementID, Number: s.Number, InfluencerID: s.InfluencerID, Currency: s.Currency,
		StartDate: dayOrNone(s.StartDate), EndDate: dayOf(s.EndDate), ClosedAt: s.ClosedAt.UTC(), WithheldMinor: s.Withheld, Entries: s.Entries,
		Lines: s.Lines, Carried: s.Carried}
	if s.PaidAt != nil {
		at := s.PaidAt.UTC()
		row.PaidAt = &at
	}
	for _, amount := range []struct {
		to *int64
		is decimal.Decimal
	}{{&row.OpeningMinor, s.Opening}, {&row.TotalMinor, s.Total}} {
		if !amount.is.IsInteger() || !amount.is.BigInt().IsInt64() {
			return nil, fmt.Errorf("statement %s has the amount %s, for which a file has no room", s.StatementID, amount.is)
		}
		*amount.to = amount.is.IntPart()
	}
	return row, nil
}
