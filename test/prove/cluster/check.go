package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/fakes/shop"
	"github.com/tributary-io/tributary/test/prove/edgefault"
	"github.com/tributary-io/tributary/test/prove/history"
	"github.com/tributary-io/tributary/test/prove/processing"
)

// outcome is what a run saw.
type outcome struct {
	Events, EventsAcked, Spooled int
	Orders, OrdersAcked          int
	ShopOrders                   int
	Refused                      int64 // answers of balancers that no service gave, and those of another status than 2xx
	Lasted                       time.Duration
	Alerts                       []string // that fired
}

// settleWithin is how long all may take to be applied after the load.
const settleWithin = 5 * time.Minute

// begin starts the load.
func (s *stand) begin(ctx context.Context) {
	s.events = edgefault.NewLoad(edgefault.Shape{Companies: stores, Clients: 2, Batch: 5, Pause: 500 * time.Millisecond}, s.Seed,
		s.balancers["edge"].URL, s.companies())
	s.orders = newOrders(s.balancers["admin"].URL, s.stores, s.Seed)
	s.events.Start(ctx)
	s.orders.start(ctx)
	s.live(ctx)
}

// lives are the shop's orders, which live random lives.
type lives struct {
	end  context.CancelFunc
	wait sync.WaitGroup
	err  error // once wait is over
}

// live lets orders live in the shop until they are told to end.
func (s *stand) live(ctx context.Context) {
	const together, pause = 20, time.Second
	ctx, s.lives.end = context.WithCancel(ctx)
	s.lives.wait.Go(func() {
		for seed := s.Seed; ctx.Err() == nil; seed++ {
			if err := s.fake.Live(ctx, seed, together, pause); err != nil && ctx.Err() == nil {
				s.lives.err = err
				return
			}
		}
	})
}

// judge ends the load, lets all settle, and compares what is there with what was acknowledged.
func (s *stand) judge(ctx context.Context) (o outcome, err error) {
	s.lives.end()
	s.lives.wait.Wait()
	if s.lives.err != nil {
		return o, s.lives.err
	}
	s.events.End()
	s.orders.end(time.Minute)
	o.Lasted = time.Since(s.began)
	if err := errors.Join(s.fake.Settle(ctx), s.alive()); err != nil {
		return o, err
	}
	if err := s.shop.AwaitEqual(ctx, settleWithin); err != nil {
		return o, err
	}
	s.problems = append(s.problems, s.shop.Outcome().Problems...)
	o.ShopOrders = len(s.fake.Find(func(shop.Order) bool { return true }))
	if err := s.awaitStored(ctx); err != nil {
		s.wrong("%v", err)
	}
	if err := s.judgeEvents(ctx, &o); err != nil {
		return o, err
	}
	if err := s.judgeOrders(ctx, &o); err != nil {
		return o, err
	}
	for _, one := range s.all() {
		found, err := one.complaints()
		if err != nil {
			return o, err
		}
		s.problems = append(s.problems, found...)
	}
	o.Refused = s.refused()
	if o.Alerts, err = s.judgeAlerts(ctx); err != nil {
		return o, err
	}
	if err := s.judgeQueries(ctx); err != nil {
		return o, err
	}
	if _, _, err := processing.Verify(ctx, s.Binary, s.database.direct()); err != nil {
		s.wrong("%v", err)
	}
	return o, s.alive()
}

// awaitStored returns once the database has all that Kafka has.
func (s *stand) awaitStored(ctx context.Context) error {
	state := ""
	err := until(ctx, "all is stored", settleWithin, func() (bool, error) {
		var events, orders int
		conn, err := pgx.Connect(ctx, s.database.direct())
		if err != nil {
			return false, err
		}
		defer conn.Close(ctx)
		var queued int
		err = conn.QueryRow(ctx, `select (select count(*) from event_fact), (select count(*) from orders where company_id = any ($1)),
			(select count(*) from recompute) + (select count(*) from recompute_span)`, s.companies()).Scan(&events, &orders, &queued)
		if err != nil {
			return false, err
		}
		wantEvents, wantOrders := int(s.events.Acked.Load()), s.orders.known()
		state = fmt.Sprintf("%d events and %d orders are stored, %d and %d acknowledged, %d orders wait", events, orders, wantEvents,
			wantOrders, queued)
		return events >= wantEvents && orders >= wantOrders && queued == 0, s.alive()
	})
	if err != nil {
		return fmt.Errorf("%w: %s", err, state)
	}
	return nil
}

// judgeEvents compares the log and the database with what was acknowledged. Between two edges, one of which spools, no order
// is promised.
func (s *stand) judgeEvents(ctx context.Context, o *outcome) error {
	records, misplaced, err := edgefault.ReadLog(ctx, s.kafka.Addrs())
	if err != nil {
		return err
	}
	sent := s.events.Events()
	verdict := history.Count(history.History{Events: sent, Records: records})
	o.Events, o.EventsAcked, o.Spooled = verdict.Sent, verdict.Acked, int(s.events.Spooled.Load())
	if verdict.Lost+verdict.Duplicates+verdict.Foreign+misplaced > 0 {
		s.wrong("in Kafka %d acknowledged events are lost, %d are there under two ids, %d are foreign and %d misplaced", verdict.Lost,
			verdict.Duplicates, verdict.Foreign, misplaced)
		s.problems = append(s.problems, verdict.Examples...)
	}
	s.problems = append(s.problems, s.events.Odd()...)
	conn, err := pgx.Connect(ctx, s.database.direct())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `select company_id || ' ' || event_id from event_fact`)
	if err != nil {
		return err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	stored := map[string]int{}
	for _, id := range ids {
		stored[id]++
	}
	for _, e := range sent {
		id := e.Company + " " + e.ID
		if e.Acked && stored[id] != 1 {
			s.wrong("event %s was acknowledged after %v and is stored %d times", id, e.Answered, stored[id])
		}
		delete(stored, id)
	}
	if len(stored) > 0 {
		s.wrong("%d stored events were never sent", len(stored))
	}
	var counted int
	if err := conn.QueryRow(ctx, `select coalesce(sum(events), 0)::bigint from delivery where outcome = 'stored'`).Scan(&counted); err != nil {
		return err
	}
	if counted != len(ids) {
		s.wrong("%d events are stored and %d are counted as stored", len(ids), counted)
	}
	return nil
}

// judgeOrders compares orders and what is owed for them with what was acknowledged.
func (s *stand) judgeOrders(ctx context.Context, o *outcome) error {
	conn, err := pgx.Connect(ctx, s.database.direct())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `select company_id, order_id, status, total_minor,
		(select coalesce(sum(amount_minor), 0)::bigint from ledger_entry l where l.company_id = o.company_id and l.order_id = o.order_id)
		from orders o where company_id = any ($1)`, s.companies())
	if err != nil {
		return err
	}
	type row struct {
		Company, ID   string
		Status        int
		Total, Earned int64
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
	if err != nil {
		return err
	}
	stored := map[[2]string]row{}
	for _, r := range list {
		stored[[2]string{r.Company, r.ID}] = r
	}
	var owed, earned int64
	for _, sale := range s.orders.sold { // its senders have ended
		got, there := stored[[2]string{sale.company, sale.id}]
		delete(stored, [2]string{sale.company, sale.id})
		o.Orders++
		if !sale.sure {
			continue // stored or not, in one version or the other
		}
		o.OrdersAcked++
		var want int64
		if sale.coupon && sale.status == commerce.OrderApproved {
			want = sale.total / 10
		}
		owed, earned = owed+want, earned+got.Earned
		if !there || got.Status != sale.status || got.Total != sale.total || got.Earned != want {
			s.wrong("order %s of %s was acknowledged with status %d, %d hundredths and %d to earn; there: %v, status %d, %d, %d", sale.id,
				sale.company, sale.status, sale.total, want, there, got.Status, got.Total, got.Earned)
		}
	}
	if owed != earned {
		s.wrong("%d hundredths are owed, and the ledger has %d", owed, earned)
	}
	if len(stored) > 0 {
		s.wrong("%d stored orders were never sent", len(stored))
	}
	s.problems = append(s.problems, s.orders.odd...)
	return nil
}
