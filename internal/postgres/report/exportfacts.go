package report

import (
	"context"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres/cases"
	"github.com/tributary-io/tributary/internal/wire"
)

const eventsOfDay = `from event_fact f where f.company_id = @company_id and f.event_id >= @first_id and f.event_id < @end_id`

var (
	stateOfEvents = stateOf(cases.StoredColumns+`, f.class`, eventsOfDay)
	exportEvents  = `select ` + cases.StoredColumns + `, f.class` + ` ` + eventsOfDay + ` order by f.event_id`
)

// ExportedEvent is an event to export. Keys that name a person are as the database has them.
type ExportedEvent struct {
	facts.Event
	Class facts.Class
}

// Events calls each for the events of a day, by the time in their ids, in the order of their ids. The event is valid until
// each returns.
func (x *ExportSnapshot) Events(ctx context.Context, day string, each func(e *ExportedEvent) error) error {
	var stored facts.StoredEvent
	var e ExportedEvent
	return x.each(ctx, day, exportEvents, append(cases.Into(&stored), &e.Class), func() (err error) {
		if e.Event, err = stored.Read(); err != nil {
			return err
		}
		e.ID, e.EventID, e.Event.Event.Event = stored.EventID, stored.EventID.String(), stored.Name
		return each(&e)
	})
}

const (
	exportedOrder = `o.order_id, o.created_at, o.status, o.total_minor, o.currency, o.body, coalesce(p.is_first_order, o.sent_first),
		coalesce(p.state, ''), coalesce(p.reason, ''), coalesce(p.influencer_id::text, ''), coalesce(p.campaign_id, ''),
		coalesce(p.coupon_id::text, ''), coalesce(p.evidence, ''), coalesce(p.proof, ''), p.base_minor, p.commission_minor,
		p.fixed_brl_minor, p.payable_on`
	ordersOfDay = `from orders o left join payout p on p.company_id = o.company_id and p.order_id = o.order_id
		where o.company_id = @company_id and o.day = @day::date`
)

var (
	stateOfOrders = stateOf(exportedOrder, ordersOfDay)
	exportOrders  = `select ` + exportedOrder + ` ` + ordersOfDay + ` order by o.created_at, o.order_id`
)

// ExportedOrder is an order to export, with what was decided about it. Keys that name a person are as the database has them.
type ExportedOrder struct {
	Order                      wire.Order
	CreatedAt                  time.Time
	Status                     int16
	TotalMinor                 int64
	Currency                   string
	First                      *bool // its customer's first; nil: not known
	State, Reason              string
	InfluencerID, CampaignID   string // empty: nobody
	CouponID, Evidence, Proof  string
	BaseMinor, CommissionMinor *int64 // nil: it is not decided yet
	FixedBRLMinor              *int64
	PayableOn                  *time.Time
}

// Orders calls each for the orders of a day of the store, in the order of their times. The order is valid until each returns.
func (x *ExportSnapshot) Orders(ctx context.Context, day string, each func(o *ExportedOrder) error) error {
	var o ExportedOrder
	var id string
	var body []byte
	return x.each(ctx, day, exportOrders,
		[]any{&id, &o.CreatedAt, &o.Status, &o.TotalMinor, &o.Currency, &body, &o.First, &o.State, &o.Reason, &o.InfluencerID, &o.CampaignID,
			&o.CouponID, &o.Evidence, &o.Proof, &o.BaseMinor, &o.CommissionMinor, &o.FixedBRLMinor, &o.PayableOn},
		func() (err error) {
			if o.Order, err = facts.UnpackOrder(body); err != nil {
				return err
			}
			o.Order.OrderID = id
			return each(&o)
		})
}
