package processing

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres/report"
	"github.com/tributary-io/tributary/internal/wire"
)

// JobRun proves that live orders and events do not wait for a job: a coupon's period
// that concerns very many orders of the same store.
type JobRun struct {
	Place
	Orders int // that the coupon concerns
	Live   int // live orders, and as many live events, before the job and at most during it
	Kills  int // of the processor during the job
}

// JobOutcome is what a run saw.
type JobOutcome struct {
	Alone, Beside Latencies // of live traffic before the job and during it
	BeforeTheEnd  int       // live orders and events that were credited while orders of the job waited
	MostWaiting   int64     // the first live order of the job was credited when so many orders waited
	Kills         int
	Job           time.Duration // from the coupon's acknowledgement to the last order
	Problems      []string
}

// Latencies are times from a record's acknowledgement by Kafka to its credit.
type Latencies struct{ Orders, Events []time.Duration }

// percentile returns the least time that p % of the times do not exceed.
func percentile(times []time.Duration, p int) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

// wide is the code of the job's orders: no influencer has it at first.
const wide = "WIDE"

// Do runs live traffic alone, and then beside the job.
func (r JobRun) Do(ctx context.Context) (o JobOutcome, err error) {
	s, err := newStand(ctx, r.Place, 1)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	t, err := s.newTopics(ctx)
	if err != nil {
		return o, err
	}
	defer t.close()
	p, err := s.startProcessor(t)
	if err != nil {
		return o, err
	}
	defer func() { p.terminate() }()
	l := &live{stand: s, topics: t, of: s.companies[0]}
	if err := l.begin(ctx, r.Orders, 2*r.Live); err != nil {
		return o, err
	}
	for range r.Live {
		if err := l.one(ctx, &o.Alone, nil); err != nil {
			return o, err
		}
	}
	began, err := l.widen(ctx)
	if err != nil {
		return o, err
	}
	if err := l.recomputing(ctx, r.Orders); err != nil {
		return o, err
	}
	for n := range r.Live {
		waiting, err := l.waiting(ctx)
		if err != nil {
			return o, err
		}
		if waiting == 0 {
			break
		}
		if waiting > int64(r.Orders) {
			o.Problems = append(o.Problems, fmt.Sprintf("%d orders wait: some are there twice", waiting))
		}
		if err := l.one(ctx, &o.Beside, func(queued int64) {
			if queued > 0 {
				o.BeforeTheEnd++
			}
			o.MostWaiting = max(o.MostWaiting, queued)
		}); err != nil {
			return o, err
		}
		if n%3 == 2 && o.Kills < r.Kills {
			p.kill()
			o.Kills++
			if p, err = s.startProcessor(t); err != nil {
				return o, err
			}
			if err := until(ctx, "the processor owns its partitions", func() (bool, error) {
				return p.partitionsOwned(ctx) == partitions, s.alive()
			}); err != nil {
				return o, err
			}
		}
	}
	if err := s.awaitApplied(ctx, t); err != nil {
		return o, err
	}
	o.Job = time.Since(began)
	if _, _, err := s.verify(ctx); err != nil {
		o.Problems = append(o.Problems, err.Error())
	}
	if o.MostWaiting < int64(r.Orders)/2 {
		o.Problems = append(o.Problems,
			fmt.Sprintf("when the first live order was credited, %d orders of the job waited: it waited for the others", o.MostWaiting))
	}
	return o, l.check(ctx, r.Orders, &o)
}

// live is the traffic of one store.
type live struct {
	*stand
	topics *topics
	of     company
	made   int // live orders
}

// begin stores the orders that the job will concern, and those that live events credit.
func (l *live) begin(ctx context.Context, orders, events int) error {
	var records []record
	for i := range orders {
		records = append(records, l.order(fmt.Sprintf("wide-%07d", i), func(o *wire.Order) { o.DiscountCode = wire.Some(wide) }))
	}
	for i := range events {
		records = append(records, l.order(fmt.Sprintf("seen-%07d", i), func(o *wire.Order) { o.CartKey = wire.Some(fmt.Sprint("k1:cart-", i)) }))
	}
	if err := l.topics.produce(ctx, records); err != nil {
		return err
	}
	return l.awaitApplied(ctx, l.topics)
}

func (l *live) order(id string, change func(o *wire.Order)) record {
	o := wire.Order{OrderID: id, CreatedAt: start, Currency: "BRL", TotalMinor: 10_000, UpdatedAt: wire.Some(start)}
	change(&o)
	g := &generator{}
	body, err := json.Marshal(o)
	if err != nil {
		panic(err) // of a type of our own
	}
	g.add(wire.TopicCommerce, l.of,
		&wire.Commerce{V: wire.CommerceVersion, Kind: wire.KindOrder, ID: id, CompanyID: l.of.id, AcceptedAt: start.Add(time.Second),
			Actor: "key/prove", Body: body})
	return g.records[0]
}

// one sends a live order, and a live event that credits an order, each when the one
// before is credited, and adds how long each took. credited is told how many orders of
// the queue waited then.
func (l *live) one(ctx context.Context, to *Latencies, credited func(queued int64)) error {
	n := l.made
	l.made++
	took, err := l.send(ctx, l.order(fmt.Sprintf("live-%07d", n), func(o *wire.Order) { o.DiscountCode = wire.Some(codes[0]) }),
		fmt.Sprintf("live-%07d", n), credited)
	if err != nil {
		return err
	}
	to.Orders = append(to.Orders, took)
	g := &generator{event: n}
	at := start.Add(-time.Hour)
	e := &wire.Event{CompanyID: l.of.id, EventID: eventID(at, n), Event: "PAGE_VIEW", Timestamp: at, VisitorID: shopperID(n),
		ReceivedAt: at.Add(time.Second),
		Bot:        wire.BotNone, Consent: wire.ConsentGranted, Via: wire.ViaJS, Trust: wire.TrustOpen}
	e.Identity.CartKey, e.Context.Page.URL = fmt.Sprint("k1:cart-", n), "https://loja.example.com/"+arrivals[0].query
	g.add(wire.TopicEvents, l.of, e)
	took, err = l.send(ctx, g.records[0], fmt.Sprintf("seen-%07d", n), credited)
	to.Events = append(to.Events, took)
	return err
}

// send writes a record, and returns how long it took from its acknowledgement until an
// order is credited.
func (l *live) send(ctx context.Context, r record, orderID string, credited func(queued int64)) (time.Duration, error) {
	if err := l.topics.produce(ctx, []record{r}); err != nil {
		return 0, err
	}
	acked := time.Now()
	for {
		queued, err := l.db.WaitingOnceCredited(ctx, orderID)
		took := time.Since(acked)
		if err := errors.Join(err, l.alive()); err != nil {
			return took, err
		}
		if queued >= 0 {
			if credited != nil {
				credited(queued)
			}
			return took, nil
		}
		if took > patience {
			return took, fmt.Errorf("order %s was not credited in %v", orderID, patience)
		}
		if !background.Sleep(ctx, 2*time.Millisecond) {
			return took, ctx.Err()
		}
	}
}

// widen makes the coupon of the job's orders, and tells the processor as the relay does.
func (l *live) widen(ctx context.Context) (acked time.Time, err error) {
	page, err := l.rules.Influencers(ctx, l.of.id, commerce.InfluencerCursor{}, 1)
	if err != nil || len(page) == 0 || len(page[0].Campaigns) == 0 {
		return acked, errors.Join(err, errNoCampaign)
	}
	if _, err := l.rules.AddCoupon(ctx, l.author(l.of), page[0].Campaigns[0].CampaignID, commerce.CouponTerms{Code: wide},
		rand.Reader); err != nil {
		return acked, err
	}
	relay, err := l.rules.AcquireRelay(ctx)
	if err != nil {
		return acked, err
	}
	defer relay.Close()
	pending, err := relay.Pending(ctx, 100)
	if err != nil {
		return acked, err
	}
	var ids []int64
	for _, r := range pending {
		if r.Topic == wire.TopicCommerce {
			told := record{r.Topic, r.Key, r.Value}
			// Twice, as a relay that was killed does: the job is one all the same.
			if err := l.topics.produce(ctx, []record{told, told}); err != nil {
				return acked, err
			}
		}
		ids = append(ids, r.ID)
	}
	return time.Now(), relay.Published(ctx, ids)
}

var errNoCampaign = errors.New("the store has no campaign")

func (l *live) waiting(ctx context.Context) (int64, error) {
	p, err := l.db.Progress(ctx)
	return p.Queued, errors.Join(err, l.alive())
}

// recomputing returns once the job has begun, and an order of it is shown as recomputing.
func (l *live) recomputing(ctx context.Context, orders int) error {
	reader := report.New(l.postgres)
	return until(ctx, "an order of the job is shown as recomputing", func() (bool, error) {
		// The queue is worked off by order id: the last order waits longest.
		sale, err := reader.ExplainedSale(ctx, l.of.id, fmt.Sprintf("wide-%07d", orders-1))
		return sale.Recomputing, errors.Join(err, l.alive())
	})
}

// check looks whether the job's orders are all paid by the coupon.
func (l *live) check(ctx context.Context, orders int, o *JobOutcome) error {
	reader := report.New(l.postgres)
	for _, i := range []int{0, orders / 2, orders - 1} {
		id := fmt.Sprintf("wide-%07d", i)
		sale, err := reader.ExplainedSale(ctx, l.of.id, id)
		if err != nil {
			return err
		}
		if sale.Recomputing || len(sale.Ledger) != 1 || sale.Ledger[0].AmountMinor != 1000 {
			o.Problems = append(o.Problems, fmt.Sprintf("order %s: recomputing %t, ledger %+v", id, sale.Recomputing, sale.Ledger))
		}
	}
	return nil
}
