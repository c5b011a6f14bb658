package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
)

// A stranger, who has no key, sends events with the e-mail of a customer: so many visitors,
// so many events of each, and so many orders with the e-mail. Then single events, each of
// which concerns all of these orders.
const (
	strangersVisitors = 20
	strangersEvents   = 4000
	strangersOrders   = 40
	strangersPokes    = 50
	strangersEmail    = -1 // number of the key
)

// strangersName is the name of this measurement, for -only.
const strangersName = "a stranger"

// strangers is what was measured of a stranger beside honest traffic.
type strangers struct {
	event, order   cost // honest: a page view; an order with its ten events
	hostile, poked cost // an event of the stranger, with all that it makes be computed; an order that is computed again since one event came
}

// timesHonest is the goal: how much dearer a stranger's may be.
const timesHonest = 5

// measureStranger measures, in one run of one processor, honest page views, honest orders, the
// stranger's events, and the orders that single events of the stranger concern.
func (b *bench) measureStranger(ctx context.Context) (s strangers, err error) {
	dsn, err := b.migrated(ctx, "stranger")
	if err != nil {
		return s, err
	}
	at, stop, err := b.openPlace(ctx, dsn)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	pid, end, err := b.startProcessor(ctx, at.broker.Addr(), dsn)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, end()) }()
	r := &attack{bench: b, place: at, pid: pid, now: time.Now().UTC().Truncate(time.Millisecond)}
	for _, part := range []struct {
		to    *cost
		units int
		send  func(ctx context.Context) error
	}{
		{nil, 1, func(ctx context.Context) error { return r.views(ctx, 0, 500) }}, // caches are warm
		{&s.event, 10 * 5000, func(ctx context.Context) error { return r.views(ctx, 500, 5000) }},
		{&s.order, 1000, func(ctx context.Context) error { return r.sales(ctx, 1000) }},
		{nil, 1, func(ctx context.Context) error { return r.ordersOfOneEmail(ctx) }},
		{&s.hostile, strangersVisitors * strangersEvents, r.flood},
		{nil, 1, func(ctx context.Context) error { return at.db.Checkpoint(ctx) }},
		{&s.poked, strangersPokes * strangersOrders, r.poke},
	} {
		found, err := r.costOf(ctx, part.units, part.send)
		if err != nil {
			return s, err
		}
		if part.to != nil {
			*part.to = found
		}
	}
	return s, nil
}

// attack is one run of measureStranger.
type attack struct {
	*bench
	*place
	pid  int // of the processor
	now  time.Time
	sent int64 // records
	made int   // events of the stranger
}

// costOf is what a unit of what was sent cost until all of it was applied and no order waited.
func (r *attack) costOf(ctx context.Context, units int, send func(ctx context.Context) error) (unit cost, err error) {
	before, err := r.costSoFar(r.pid)
	if err != nil {
		return unit, err
	}
	began := time.Now()
	if err := send(ctx); err != nil {
		return unit, err
	}
	if err := r.applied(ctx); err != nil {
		return unit, err
	}
	after, err := r.costSoFar(r.pid)
	n := time.Duration(units)
	return cost{(after.processor - before.processor) / n, (after.postgres - before.postgres) / n, time.Since(began) / n}, err
}

// applied returns once all that was sent is applied, and no order waits.
func (r *attack) applied(ctx context.Context) error {
	for {
		progress, err := r.db.Progress(ctx)
		if err != nil || progress.Records == r.sent && progress.Queued == 0 {
			return err
		}
		if !background.Sleep(ctx, pause) {
			return fmt.Errorf("%d of %d records are applied: %w", progress.Records, r.sent, ctx.Err())
		}
	}
}

// send writes records of a topic.
func (r *attack) send(ctx context.Context, topic string, values ...[]byte) error {
	for len(values) > 0 {
		n := min(len(values), perBatch)
		records := make([]kafka.Record, n)
		for i, value := range values[:n] {
			records[i] = kafka.Record{Key: []byte(r.company), Value: value}
		}
		if err := r.producer.Produce(ctx, topic, records...); err != nil {
			return err
		}
		values, r.sent = values[n:], r.sent+int64(n)
	}
	return nil
}

// views sends page views of visitors, ten of each.
func (r *attack) views(ctx context.Context, first, visitors int) error {
	return r.events(ctx, loads[0], first, visitors)
}

func (r *attack) events(ctx context.Context, l load, first, visitors int) error {
	var list [][]byte
	for n := range eventsOfVisitor {
		for i := range visitors {
			value, err := json.Marshal(l.event(r.company, first+i, n, r.now))
			if err != nil {
				return err
			}
			list = append(list, value)
		}
	}
	return r.send(ctx, wire.TopicEvents, list...)
}

// sales sends visitors' events and then an order of each.
func (r *attack) sales(ctx context.Context, orders int) error {
	const first = 100_000
	if err := r.events(ctx, loads[1], first, orders); err != nil {
		return err
	}
	if err := r.applied(ctx); err != nil {
		return err
	}
	var list [][]byte
	for i := range orders {
		value, err := order(r.company, first+i, r.now)
		if err != nil {
			return err
		}
		list = append(list, value)
	}
	return r.send(ctx, wire.TopicCommerce, list...)
}

// ordersOfOneEmail sends the orders with the customer's e-mail.
func (r *attack) ordersOfOneEmail(ctx context.Context) error {
	var list [][]byte
	for i := range strangersOrders {
		id := fmt.Sprint("of-one-email-", i)
		body, err := json.Marshal(&wire.Order{OrderID: id, CreatedAt: r.now, Currency: "BRL", TotalMinor: 25_000, UpdatedAt: wire.Some(r.now),
			EmailKey: wire.Some(key("email", strangersEmail))})
		if err != nil {
			return err
		}
		value, err := json.Marshal(&wire.Commerce{V: wire.CommerceVersion, Kind: wire.KindOrder, ID: id, CompanyID: r.company, AcceptedAt: r.now,
			Actor: "key/bench", Body: body})
		if err != nil {
			return err
		}
		list = append(list, value)
	}
	return r.send(ctx, wire.TopicCommerce, list...)
}

// flood sends the stranger's events.
func (r *attack) flood(ctx context.Context) error {
	var list [][]byte
	for range strangersVisitors * strangersEvents {
		value, err := r.hostile()
		if err != nil {
			return err
		}
		list = append(list, value)
	}
	return r.send(ctx, wire.TopicEvents, list...)
}

// poke sends single events of the stranger, each when the orders that the one before concerns
// are computed.
func (r *attack) poke(ctx context.Context) error {
	for range strangersPokes {
		value, err := r.hostile()
		if err != nil {
			return err
		}
		if err := r.send(ctx, wire.TopicEvents, value); err != nil {
			return err
		}
		if err := r.applied(ctx); err != nil {
			return err
		}
	}
	return nil
}

// hostile is the stranger's next event: an arrival by a campaign of its own.
func (r *attack) hostile() ([]byte, error) {
	n := r.made
	r.made++
	e := loads[0].event(r.company, 200_000+n%strangersVisitors, 0, r.now)
	at := r.now.Add(-3*time.Hour + time.Duration(n)*100*time.Millisecond)
	e.EventID, e.Timestamp, e.ReceivedAt, e.Seq = eventID(at, 200_000+n, 0), at, at.Add(150*time.Millisecond), int64(n+1)
	e.Identity.EmailKey, e.NetKey = key("email", strangersEmail), key("net", strangersEmail)
	e.Context.Page.URL = fmt.Sprintf("https://demo.example.com/p/bolsa?utm_source=x&utm_medium=link&utm_campaign=Ana+Prado&utm_term=%d", n)
	return json.Marshal(e)
}

// print writes what was measured, beside the goal.
func (s strangers) print(to io.Writer) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\n"+strangersName+" against the processor\tCPU µs processor\tCPU µs Postgres\tsum\tof the honest one's\tgoal\t")
	line := func(what string, c, honest cost) {
		times := float64(c.cpu()) / float64(max(honest.cpu(), 1))
		word := "missed"
		if times <= timesHonest {
			word = "met"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.1f ×\t≤ %d ×, %s\t\n", what, digits(c.processor), digits(c.postgres), digits(c.cpu()),
			times, timesHonest, word)
	}
	fmt.Fprintf(w, "an honest page view\t%s\t%s\t%s\t\t\t\n", digits(s.event.processor), digits(s.event.postgres), digits(s.event.cpu()))
	line("an event of the stranger", s.hostile, s.event)
	fmt.Fprintf(w, "an honest order, with its ten events\t%s\t%s\t%s\t\t\t\n", digits(s.order.processor), digits(s.order.postgres),
		digits(s.order.cpu()))
	line("an order that one event of the stranger concerns", s.poked, s.order)
	_ = w.Flush()
	fmt.Fprintf(to, "\nThe stranger sends %d events, of %d visitors and one e-mail, which %d orders have; then %d single events.\n",
		strangersVisitors*strangersEvents, strangersVisitors, strangersOrders, strangersPokes)
}
