package edgefault

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/test/prove/history"
)

// Shape is how much is sent, and how.
type Shape struct {
	Companies int
	Clients   int           // of each company
	Batch     int           // most events of a request
	Pause     time.Duration // mean wait of a client between two requests
	Slow      int           // clients more, over all companies, with slow connections
}

// Load is clients that send events until they are told to end. Each sends its
// next request once the last one is over. Three of four send a request again
// until it is acknowledged, as our SDK does; the fourth gives it up after the
// first failure, and nobody knows what became of it.
type Load struct {
	shape     Shape
	seed      uint64
	url       string
	companies []string
	began     time.Time
	lasted    time.Duration // until it was told to end
	clients   sync.WaitGroup
	ending    chan struct{} // closed: no new request
	cancel    context.CancelFunc

	Acked, Spooled, Refused atomic.Int64 // events; events; answers with 503

	mu     sync.Mutex
	events []history.Event
	acks   map[string][]time.Duration // by company: when requests were acknowledged
	odd    []string                   // answers that no fault explains
}

// settleTime bounds how long a request is sent again after the load has ended.
const settleTime = time.Minute

// NewLoad sends to an edge's, or a balancer's, address.
func NewLoad(s Shape, seed uint64, url string, companies []string) *Load {
	return &Load{shape: s, seed: seed, url: url, companies: companies, ending: make(chan struct{}), acks: map[string][]time.Duration{}}
}

// Events are those of the requests that are over. Call it after End.
func (l *Load) Events() []history.Event { return l.events }

// Odd are answers that no fault explains. Call it after End.
func (l *Load) Odd() []string { return l.odd }

// Start begins to send; End ends it.
func (l *Load) Start(ctx context.Context) {
	l.began = time.Now()
	ctx, l.cancel = context.WithCancel(ctx)
	for c, company := range l.companies {
		for n := range l.shape.Clients {
			number := c*l.shape.Clients + n
			l.clients.Go(func() { l.client(ctx, number, company, newQuick()) })
		}
	}
	for n := range l.shape.Slow {
		number := len(l.companies)*l.shape.Clients + n
		company := l.companies[n%len(l.companies)]
		l.clients.Go(func() { l.client(ctx, number, company, slow{random: l.random(number, 2)}) })
	}
}

// End returns once every client has ended.
func (l *Load) End() {
	l.lasted = time.Since(l.began)
	close(l.ending)
	bound := time.AfterFunc(settleTime, l.cancel)
	l.clients.Wait()
	bound.Stop()
	l.cancel()
}

// Stop ends all at once: what is under way is given up.
func (l *Load) Stop() {
	if l.cancel != nil {
		l.cancel()
		l.clients.Wait()
	}
}

func (l *Load) random(client int, purpose uint64) *rand.Rand {
	return rand.New(rand.NewPCG(l.seed, uint64(client)<<8|purpose)) //nolint:gosec // a run is repeated by its seed
}

// client is one client's life.
func (l *Load) client(ctx context.Context, number int, company string, by sender) {
	defer by.close()
	random := l.random(number, 1)
	givesUp := number%4 == 3
	sent, pause := 0, l.shape.Pause
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.ending:
			return
		case <-time.After(time.Duration(random.ExpFloat64() * float64(pause))):
		}
		events := l.newEvents(random, company, number, &sent)
		body := bodyOf(company, events)
		pause = l.shape.Pause
		if !l.request(ctx, random, events, body, by, givesUp) {
			pause = max(pause, time.Second) // an outage is not filled with what nobody sends again
		}
	}
}

// request sends a request until it is acknowledged or given up, and notes it. It
// tells whether it was acknowledged.
func (l *Load) request(ctx context.Context, random *rand.Rand, events []history.Event, body []byte, by sender, givesUp bool) bool {
	invoked := time.Since(l.began)
	for {
		answer, err := by.send(ctx, l.url, body)
		now := time.Since(l.began)
		acked := err == nil && answer.status == 200 && l.judge(events, answer)
		if acked {
			l.note(events, invoked, now, answer)
			return true
		}
		if err == nil {
			l.noteFailure(answer)
		}
		background.Sleep(ctx, 50*time.Millisecond+time.Duration(random.Int64N(int64(100*time.Millisecond))))
		if givesUp || ctx.Err() != nil {
			l.note(events, invoked, 0, answer)
			return false
		}
	}
}

// judge tells whether an answer acknowledges each of the events.
func (l *Load) judge(events []history.Event, a answer) bool {
	if len(a.results) != len(events) {
		l.strange(fmt.Sprintf("%d results for %d events", len(a.results), len(events)))
		return false
	}
	for i, r := range a.results {
		if r.EventID != events[i].ID || r.Status != "ok" && r.Status != "duplicate" {
			l.strange(fmt.Sprintf("event %s is answered %+v", events[i].ID, r))
			return false
		}
	}
	return true
}

func (l *Load) noteFailure(a answer) {
	switch {
	case a.status == 503:
		l.Refused.Add(1)
	case a.status == 408 || a.status == 200: // too slow; judged already
	default:
		l.strange(fmt.Sprintf("an answer with status %d", a.status))
	}
}

// strange keeps the first few.
func (l *Load) strange(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.odd) < 5 {
		l.odd = append(l.odd, what)
	}
}

// note keeps the events of a request that is over; answered is 0 if it was not
// acknowledged.
func (l *Load) note(events []history.Event, invoked, answered time.Duration, a answer) {
	for i := range events {
		events[i].Invoked, events[i].Answered, events[i].Acked = invoked, answered, answered > 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, events...)
	if answered == 0 {
		return
	}
	l.acks[events[0].Company] = append(l.acks[events[0].Company], answered)
	l.Acked.Add(int64(len(events)))
	if a.durability == "spool" {
		l.Spooled.Add(int64(len(events)))
	}
}

// newEvents makes a request's events; sent counts those of the client.
func (l *Load) newEvents(random *rand.Rand, company string, client int, sent *int) []history.Event {
	events := make([]history.Event, 1+random.IntN(l.shape.Batch))
	for i := range events {
		*sent++
		events[i] = history.Event{Company: company, ID: newID(random), Client: client, Number: *sent}
		if i > 0 {
			events[i].Before = events[i-1].ID
		}
	}
	return events
}

// reader reads random bytes from a seeded source.
type reader struct{ *rand.Rand }

func (r reader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return len(p), nil
}

func newID(random *rand.Rand) string {
	return uuid.Must(uuid.NewV7FromReader(reader{random})).String()
}

// payload is what an event carries beside its id, to be compared with what is
// stored.
type payload struct {
	Client int    `json:"client"`
	Number int    `json:"number"`
	Text   string `json:"text,omitempty"`
}

// sentEvent is an event as it goes to the edge.
type sentEvent struct {
	EventID   string  `json:"eventId"`
	Event     string  `json:"event"`
	Timestamp string  `json:"timestamp"`
	Payload   payload `json:"payload"`
}

// fill makes events about as long as a shop's.
var fill = string(bytes.Repeat([]byte("so much of a page "), 12))

func bodyOf(company string, events []history.Event) []byte {
	body := struct {
		CompanyID string      `json:"companyId"`
		Events    []sentEvent `json:"events"`
	}{CompanyID: company}
	for _, e := range events {
		body.Events = append(body.Events, sentEvent{
			EventID: e.ID, Event: "PAGE_VIEW", Timestamp: time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
			Payload: payload{Client: e.Client, Number: e.Number, Text: fill},
		})
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // texts and numbers marshal
	}
	return text
}

// silence tells in how many whole seconds of the load nothing at all was
// acknowledged, and the longest time in which nothing of one company was.
func (l *Load) silence() (seconds int, company time.Duration) {
	heard := map[time.Duration]bool{}
	for _, times := range l.acks {
		slices.Sort(times)
		before := time.Duration(0)
		for _, at := range append(times, l.lasted) {
			at = min(at, l.lasted)
			company, before = max(company, at-before), at
			heard[at/time.Second] = true
		}
	}
	for second := range l.lasted / time.Second {
		if !heard[second] {
			seconds++
		}
	}
	return seconds, company
}
