package merchant

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// toldOrder is an order as events tell it, and when it became so.
type toldOrder struct {
	commerce.OrderTold
	at    time.Time
	fixed int64
}

func toldOrderColumns(o *toldOrder) postgres.Columns {
	return postgres.Columns{
		postgres.Into("p.order_id", &o.OrderID),
		postgres.Into("p.status", &o.Status),
		postgres.Into("p.currency", &o.Currency),
		postgres.Into("p.total_minor", &o.Total.Minor),
		postgres.Into("coalesce(p.influencer_id::text, '')", &o.InfluencerID),
		postgres.Into("coalesce(p.campaign_id, '')", &o.CampaignID),
		postgres.Into("coalesce(p.coupon_id::text, '')", &o.CouponID),
		postgres.Into("coalesce(p.evidence, '')", &o.Evidence),
		postgres.Into("p.state", &o.State),
		postgres.Into("p.reason", &o.Reason),
		postgres.Into("p.commission_minor", &o.Commission.Minor),
		postgres.Into("p.fixed_brl_minor", &o.fixed),
		postgres.Into("p.payable_on", postgres.Day(&o.PayableOn)),
		postgres.Into("p.processed_at", &o.at),
	}
}

// changed is an order or a statement that changed, and when.
type changed struct {
	id string
	at time.Time
}

func changedColumns(c *changed) postgres.Columns {
	return postgres.Columns{postgres.Into("id", &c.id), postgres.Into("max(at)", &c.at)}
}

const (
	// replayBefore is how long before its first moment a replay begins to read. A transaction writes its moment before it commits, by
	// less than processor.Config.ApplyTimeout: what it told when a destination was disabled may have become so a little earlier.
	replayBefore = commerce.ReplayBefore
	// replayReserve is how long before the end of its context a replay writes no more: the rest is another one's.
	replayReserve = 500 * time.Millisecond
	// replayAtOnce is how many orders or statements one transaction of a replay reads and writes: nobody else writes events meanwhile.
	replayAtOnce = 500
)

// briefly bounds the waits and the statements of a transaction that others wait for.
func briefly(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `select set_config('lock_timeout', '20s', true), set_config('statement_timeout', '30s', true)`)
	return err
}

// replayTo takes the numbers of a company's events, so that whoever wrote events before has committed, and then the endpoint.
// commerce.ErrNotFound where it is not there.
func replayTo(ctx context.Context, tx pgx.Tx, companyID, id string) (d postgres.Destination, err error) {
	if err := briefly(ctx, tx); err != nil {
		return d, err
	}
	if _, err := postgres.NextOutgoing(ctx, tx, companyID, 0); err != nil {
		return d, err
	}
	d.ID = id
	return d, tx.QueryRow(ctx, `
		select types, name from destination where company_id = $1 and destination_id = $2 and kind <> 'mail' for no key update`,
		companyID, id).Scan(&d.Types, &d.Name)
}

// ReplayEndpoint writes for an endpoint what changed in [from, to) and a little before, as it is now: orders that are or were an
// influencer's, and closed statements with their payments. At most commerce.MaxReplay orders and as many statements.
// commerce.ErrEndpointFull where too many messages wait already. Where it fails, a part may be written: what is written twice has the
// webhook-id that it had. Where ctx ends soon, the rest is left to another replay: Replayed.More. Each step commits by itself, also
// where ctx carries a postgres.Transactor.
func (s *Store) ReplayEndpoint(ctx context.Context, author commerce.Author, id string, from, to time.Time) (commerce.Replayed, error) {
	return s.replayReserving(ctx, author, id, from, to, replayReserve)
}

// replayReserving is ReplayEndpoint, which writes no more where less than reserve of its time is left.
func (s *Store) replayReserving(ctx context.Context, author commerce.Author, id string, from, to time.Time, reserve time.Duration,
) (r commerce.Replayed, err error) {
	ctx = postgres.WithoutTransactor(ctx)
	// Whoever told something without this endpoint has committed after this, and is among what is looked for next.
	var waiting int
	var d postgres.Destination
	err = s.db.InTx(ctx, func(tx pgx.Tx) (err error) {
		if d, err = replayTo(ctx, tx, author.CompanyID, id); err != nil {
			return err
		}
		waiting, err = postgres.WaitingFor(ctx, tx, author.CompanyID, id, commerce.MaxWaiting)
		return err
	})
	if err == nil && waiting+4*commerce.MaxReplay > commerce.MaxWaiting {
		err = commerce.ErrEndpointFull
	}
	var orders, statements []changed
	if err == nil {
		orders, statements, r, err = s.changedIn(ctx, author.CompanyID, from.Add(-replayBefore), to, d.Types)
	}
	detail := map[string]any{"name": d.Name, "start_date": from.UTC().Format(time.RFC3339), "end_date": to.UTC().Format(time.RFC3339)}
	for begun := false; err == nil && (!begun || len(orders)+len(statements) > 0); begun = true {
		o, c := min(len(orders), replayAtOnce), min(len(statements), replayAtOnce)
		n, started := 0, time.Now()
		if err = s.db.InTx(ctx, func(tx pgx.Tx) (err error) {
			if !begun { // in the order in which others lock: the company, the numbers, the endpoint
				if err := lockForConnections(ctx, tx, author.CompanyID); err != nil {
					return err
				}
				if err := auditConnection(ctx, tx, author, auditedAs(id)+".replay", id, detail); err != nil {
					return err
				}
			}
			n, err = replay(ctx, tx, author.CompanyID, id, orders[:o], statements[:c])
			return err
		}); err != nil {
			break
		}
		r.Messages, orders, statements = r.Messages+n, orders[o:], statements[c:]
		rest := earliest(orders, statements)
		ends, limited := ctx.Deadline()
		// Each goes on behind the one before: where all that is written is of the first moment, this one goes on as long as it can.
		if limited && rest.After(from.Add(-replayBefore)) && time.Until(ends) < max(reserve, 2*time.Since(started)) {
			r.More, r.Until = true, rest.Add(replayBefore)
			break
		}
	}
	return r, postgres.Wrapf(err, "postgres: endpoint %.40s", id)
}

// changedIn returns the orders and the statements that changed in [from, to), the first first: those that a destination of these types
// may get.
func (s *Store) changedIn(ctx context.Context, companyID string, from, to time.Time, types []string) (orders, statements []changed,
	r commerce.Replayed, err error) {
	r.Until = to
	args := pgx.NamedArgs{"company_id": companyID, "from": from, "to": to, "most": commerce.MaxReplay + 1,
		"all":     slices.Contains(types, string(commerce.ConversionOther)),
		"network": slices.Contains(types, string(commerce.ConversionProven))}
	found, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(changedColumns), `
		select `+postgres.List(changedColumns)+` from (
			select p.order_id as id, p.processed_at as at from payout p
			where p.company_id = @company_id and p.processed_at >= @from and p.processed_at < @to and (@all or p.influencer_id is not null
				or p.formerly or exists (select 1 from ledger_entry l where l.company_id = @company_id and l.order_id = p.order_id)
				or @network and exists (select 1 from conversion v where v.company_id = @company_id and v.order_id = p.order_id))
			order by p.processed_at, p.order_id limit @most) c
		group by id order by max(at), id`, args)
	if err != nil {
		return nil, nil, r, postgres.Translate(err)
	}
	// As many as there are room for, and all of one moment or none.
	if len(found) > commerce.MaxReplay {
		end := found[commerce.MaxReplay].at
		n := commerce.MaxReplay
		for n > 0 && found[n-1].at.Equal(end) {
			n--
		}
		if n == 0 { // one moment has more: a batch of the processor is far smaller
			return nil, nil, r, commerce.ErrEndpointFull
		}
		found, args["to"] = found[:n], end
		r.More, r.Until = true, end.Add(replayBefore) // which the next replay takes off again
	}
	orders = found
	if slices.Contains(types, string(commerce.ConversionProven)) { // a network gets none
		return orders, nil, r, nil
	}
	delete(args, "all")
	delete(args, "network")
	statements, err = postgres.Collect(ctx, s.db.Pool(), postgres.Scan(changedColumns), `
		select `+postgres.List(changedColumns)+` from (
			select statement_id::text as id, closed_at as at from statement
			where company_id = @company_id and closed_at >= @from and closed_at < @to
			union all
			select statement_id::text, greatest(recorded_at, undone_at) from statement_payment
			where company_id = @company_id and greatest(recorded_at, undone_at) >= @from and greatest(recorded_at, undone_at) < @to) c
		group by id order by max(at), id limit @most`, args)
	if err == nil && len(statements) > commerce.MaxReplay {
		err = commerce.ErrEndpointFull
	}
	return orders, statements, r, postgres.Translate(err)
}

// earliest returns the first moment of two lists, each the first first; the zero one where both are empty.
func earliest(a, b []changed) (at time.Time) {
	for _, list := range [][]changed{a, b} {
		if len(list) > 0 && (at.IsZero() || list[0].at.Before(at)) {
			at = list[0].at
		}
	}
	return at
}

func idsOf(list []changed) []string {
	ids := make([]string, len(list))
	for i, c := range list {
		ids[i] = c.id
	}
	return ids
}

// replay writes orders and statements as they are now, and returns how many messages that are.
func replay(ctx context.Context, tx pgx.Tx, companyID, id string, changedOrders, changedStatements []changed) (int, error) {
	d, err := replayTo(ctx, tx, companyID, id)
	if err != nil {
		return 0, err
	}
	if slices.Contains(d.Types, string(commerce.ConversionProven)) {
		events := make([]commerce.Event, len(changedOrders))
		for i, o := range changedOrders {
			told := commerce.ConversionTold{OrderID: o.id}
			events[i] = commerce.Event{Type: commerce.ConversionProven, Key: told.Key(), At: o.at, Data: told}
		}
		return len(events), postgres.TellTo(ctx, tx, companyID, d, events)
	}
	orders, err := postgres.Collect(ctx, tx, postgres.Scan(toldOrderColumns), `
		select `+postgres.List(toldOrderColumns)+` from payout p where p.company_id = $1 and p.order_id = any($2)
		order by p.processed_at, p.order_id`, companyID, idsOf(changedOrders))
	if err != nil {
		return 0, err
	}
	events, err := postgres.StatementEvents(ctx, tx, companyID, idsOf(changedStatements), commerce.StatementIsClosed, commerce.StatementIsPaid)
	if err != nil {
		return 0, err
	}
	for i := range orders {
		events = append(events, orderEvents(&orders[i])...)
	}
	return len(events), postgres.TellTo(ctx, tx, companyID, d, events)
}

// orderEvents are the events of an order as it is now.
func orderEvents(o *toldOrder) []commerce.Event {
	told := o.OrderTold
	told.Total.Currency, told.Commission.Currency = told.Currency, told.Currency
	if o.fixed != 0 {
		told.FixedBRL = &commerce.Amount{Minor: o.fixed, Currency: commerce.BRL}
	}
	types := []commerce.EventType{commerce.OrderAttributed, commerce.PayoutChanged}
	if told.State == "review" {
		types = append(types, commerce.PayoutReview)
	}
	events := make([]commerce.Event, len(types))
	for i, t := range types {
		events[i] = commerce.Event{Type: t, Key: told.Key(), At: o.at, Data: told}
	}
	return events
}
