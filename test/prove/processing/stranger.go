package processing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/bench/procstat"
)

// StrangerRun proves that a stranger, who sends very many events with a customer's e-mail,
// makes the processor neither run out of memory nor hold up another store of the partition.
type StrangerRun struct {
	Place
	Visitors int           // of the stranger
	Events   int           // of each of them, in each round
	Orders   int           // with the e-mail, in each round
	Rounds   int           // each after a kill of the processor
	Pokes    int           // single events after a round, each of which concerns all of these orders
	MaxData  int           // bytes: the hard limit on the processor's data (RLIMIT_DATA)
	Pace     time.Duration // at which perBatch events are sent
	Verify   bool
}

// StrangerOutcome is what a run saw.
type StrangerOutcome struct {
	Events, Orders int // of the stranger
	Kills          int
	Memory         int             // the processor's most, in bytes (VmHWM)
	Flooded, Poked []time.Duration // orders of the second store, from Kafka's acknowledgement to the credit
	Problems       []string
}

// mostMemory is the most that the processor may have, in bytes (docs/operations.md).
const mostMemory = 256 << 20

// Do runs the rounds.
func (r StrangerRun) Do(ctx context.Context) (o StrangerOutcome, err error) {
	s, err := newStand(ctx, r.Place, 1)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	s.maxData = r.MaxData
	for n := 1; len(s.companies) == 1 || partitionOf(s.companies[n-1]) != partitionOf(s.companies[0]); n++ {
		if err := s.addStore(ctx, n); err != nil {
			return o, err
		}
	}
	if err := s.db.Truncate(ctx, "outbox"); err != nil { // as newStand
		return o, err
	}
	t, err := s.newTopics(ctx)
	if err != nil {
		return o, err
	}
	defer t.close()
	other := &live{stand: s, topics: t, of: s.companies[len(s.companies)-1]}
	for range r.Rounds {
		p, err := s.startProcessor(t)
		if err != nil {
			return o, err
		}
		// Until the group gives the partitions of a killed processor to the next one, nothing is
		// applied: other cases measure that. The times of this one begin when it has them.
		var taken []time.Duration
		if err := r.sell(ctx, other, &taken); err != nil {
			return o, err
		}
		if err := r.round(ctx, t, other, &o); err != nil {
			return o, err
		}
		memory, err := procstat.PeakRSS(p.child.Pid())
		if err != nil {
			return o, err
		}
		o.Memory = max(o.Memory, memory)
		p.kill()
		o.Kills++
	}
	if o.Memory > mostMemory {
		o.Problems = append(o.Problems, fmt.Sprintf("the processor had %d MiB", o.Memory>>20))
	}
	if r.Verify {
		if _, _, err := s.verify(ctx); err != nil {
			o.Problems = append(o.Problems, err.Error())
		}
	}
	return o, nil
}

func partitionOf(c company) int { return kafka.PartitionFor(c.id, partitions) }

// round sends the stranger's orders and events, and orders of the second store meanwhile.
func (r StrangerRun) round(ctx context.Context, t *topics, other *live, o *StrangerOutcome) error {
	sent, ended := make(chan int64, 1), make(chan error, 1)
	go func() { // round waits for it
		n, err := r.flood(ctx, t, other.companies[0], o.Events, o.Orders)
		sent <- n
		ended <- err
	}()
	var err error
	flooding := true
	for flooding && err == nil {
		err = r.sell(ctx, other, &o.Flooded)
		select {
		case n := <-sent:
			t.produced += n
			flooding = false
		default:
		}
	}
	if flooding {
		t.produced += <-sent
	}
	if err := errors.Join(err, <-ended); err != nil {
		return err
	}
	o.Events, o.Orders = o.Events+r.Visitors*r.Events, o.Orders+r.Orders
	for range r.Pokes {
		g, of := &generator{}, other.companies[0]
		g.add(wire.TopicEvents, of, r.event(of, o.Events))
		if err := t.produce(ctx, g.records); err != nil {
			return err
		}
		o.Events++
		if err := r.sell(ctx, other, &o.Poked); err != nil {
			return err
		}
	}
	return other.awaitApplied(ctx, t)
}

// sell sends an order of the second store and waits until it is credited.
func (r StrangerRun) sell(ctx context.Context, other *live, to *[]time.Duration) error {
	id := fmt.Sprintf("other-%07d", other.made)
	other.made++
	took, err := other.send(ctx, other.order(id, func(o *wire.Order) { o.DiscountCode = wire.Some(codes[0]) }), id, nil)
	*to = append(*to, took)
	return err
}

// flood sends the stranger's events and, one after the other among them, the orders; first
// are the numbers of the first of both. It returns how many records were sent.
func (r StrangerRun) flood(ctx context.Context, t *topics, of company, firstEvent, firstOrder int) (sent int64, err error) {
	own := &topics{producer: kafka.NewProducer(t.client)}
	next := time.NewTicker(r.Pace)
	defer next.Stop()
	seller := &live{of: of}
	events, orders := r.Visitors*r.Events, 0
	for n := 0; n < events; n += perBatch {
		g := &generator{}
		for i := n; i < min(n+perBatch, events); i++ {
			g.add(wire.TopicEvents, of, r.event(of, firstEvent+i))
		}
		for ; orders < r.Orders*(n+perBatch)/events && orders < r.Orders; orders++ {
			g.records = append(g.records, seller.order(fmt.Sprintf("stranger-%05d", firstOrder+orders), func(o *wire.Order) {
				o.EmailKey, o.CreatedAt = wire.Some(strangersMail), start.Add(24*time.Hour)
			}))
		}
		if err := own.produce(ctx, g.records); err != nil {
			return own.produced, err
		}
		select {
		case <-next.C:
		case <-ctx.Done():
			return own.produced, ctx.Err()
		}
	}
	return own.produced, nil
}

const strangersMail = "k1:mail"

// event is the stranger's nth event: an arrival by a campaign of its own.
func (r StrangerRun) event(of company, n int) *wire.Event {
	at := start.Add(time.Duration(n) * 100 * time.Millisecond)
	e := &wire.Event{
		CompanyID: of.id, EventID: eventID(at, n), Event: "PAGE_VIEW", Timestamp: at, VisitorID: shopperID(1_000_000 + n%r.Visitors),
		ReceivedAt: at.Add(300 * time.Millisecond), NetKey: "net of the stranger", Bot: wire.BotNone, Consent: wire.ConsentGranted,
		Via: wire.ViaJS, Trust: wire.TrustOpen,
	}
	e.Identity.EmailKey = strangersMail
	e.Context.Page.URL = fmt.Sprintf("https://loja.example.com/p/1?utm_source=s&utm_medium=link&utm_campaign=%d&utm_term=%s", n, padding)
	return e
}

// padding makes an event as large as one with much on its page.
var padding = fmt.Sprintf("%0500d", 7)
