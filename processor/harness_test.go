package processor

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/explained"
	"github.com/tributary-io/tributary/internal/postgres/factstore"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// seeds is how many seeds a test of random facts has: few, or all of them in `make prove` (test/prove/cmd/random.go).
func seeds(few, all uint64) uint64 {
	if os.Getenv("TRIBUTARY_TEST_SEEDS") == "all" {
		return all
	}
	return few
}

// shop is one store's company in a database of the test's own.
type shop struct {
	newFields bool // random orders have fields of today
	t         testing.TB
	ctx       context.Context
	db        *postgres.DB
	dsn       string
	store     *factstore.Store
	pool      *pgxpool.Pool
	company   string
	rev       int64

	influencers []string // the ids of those registered
}

func newShop(t testing.TB) *shop {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 15*await.Long)
	t.Cleanup(cancel)
	dsn := devtest.Postgres(t)
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	store, err := merchant.New(db).CreateStore(ctx,
		commerce.NewStore{Name: "Loja", Actor: "test", Random: rand.Reader, KeyCheck: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	return &shop{t: t, ctx: ctx, db: db, dsn: dsn, store: factstore.New(db), pool: pool, company: store.Live.CompanyID, rev: 1}
}

func (s *shop) exec(sql string, args ...any) {
	s.t.Helper()
	if _, err := s.pool.Exec(s.ctx, sql, args...); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
}

func (s *shop) int(sql string, args ...any) (n int64) {
	s.t.Helper()
	if err := s.pool.QueryRow(s.ctx, sql, args...).Scan(&n); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func (s *shop) texts(sql string, args ...any) []string {
	s.t.Helper()
	rows, err := s.pool.Query(s.ctx, sql, args...)
	if err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	return list
}

// events are the stored events, by id.
func (s *shop) events() []facts.Event {
	s.t.Helper()
	rows, err := s.pool.Query(s.ctx, `select company_id, event_id, name, visitor, at, record from event_fact order by event_id`)
	if err != nil {
		s.t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (facts.Event, error) {
		var e facts.StoredEvent
		if err := row.Scan(&e.CompanyID, (*[16]byte)(&e.EventID), &e.Name, &e.Visitor, &e.At, &e.Record); err != nil {
			return facts.Event{}, err
		}
		return e.Parse()
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

// bump moves the rules' revision, as admin does with every change.
func (s *shop) bump() {
	s.rev = s.int(`update company set rules_rev = rules_rev + 1 where company_id = $1 returning rules_rev`, s.company)
}

func (s *shop) influencer(name, campaign string) (influencerID, campaignID string) {
	influencerID, campaignID = uuid.NewString(), uuid.NewString()
	s.exec(`insert into influencer (company_id, influencer_id, name, name_folded, rev) values ($1, $2, $3, $4, 1)`, s.company, influencerID,
		name, fold.Name(name))
	s.exec(`insert into campaign (company_id, campaign_id, influencer_id, name, name_folded, rev) values ($1, $2, $3, $4, $5, 1)`, s.company,
		campaignID, influencerID, campaign, fold.Name(campaign))
	s.influencers = append(s.influencers, influencerID)
	s.bump()
	return influencerID, campaignID
}

func (s *shop) coupon(influencerID, campaignID, code string) {
	s.exec(`insert into coupon (company_id, coupon_id, influencer_id, campaign_id, code, code_folded, period, rev) values ($1, $2, $3, $4, `+
		`$5, $6, '(,)', 1)`,
		s.company, uuid.NewString(), influencerID, campaignID, code, fold.Code(code))
	s.bump()
}

// cost is percent of the base, from 2019 on; campaignID may be empty.
func (s *shop) cost(influencerID, campaignID string, fixedMinor int64, percent string) string {
	id := uuid.NewString()
	s.exec(`insert into cost (company_id, cost_id, influencer_id, campaign_id, fixed_fee_minor, var_fee, is_coupon_cost, start_date, rev)
		values ($1, $2, $3, nullif($4, ''), $5, $6::text::numeric, false, '2019-01-01', 1)`, s.company, id, influencerID,
		campaignID, fixedMinor, percent)
	s.bump()
	return id
}

func (s *shop) processor(log Log, results Results) *Processor {
	level := slog.LevelError
	if os.Getenv("TRIBUTARY_TEST_LOG") != "" {
		level = slog.LevelDebug
	}
	return New(Config{BatchRecords: 500},
		Deps{Store: StoreOf(s.store), Log: log, Results: results,
			Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))})
}

var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// uuid7 makes an event id of an instant; n tells ids of one instant apart.
func uuid7(at time.Time, n int) string {
	var id uuid.UUID
	ms := at.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (8 * (5 - i)))
	}
	id[6], id[8] = 0x70, 0x80
	id[14], id[15] = byte(n>>8), byte(n)
	return id.String()
}

// visitorID is the id of a shopper's browser, a UUID, by a short name.
func visitorID(name string) string {
	return uuid.NewHash(sha256.New(), uuid.NameSpaceURL, []byte(name), 4).String()
}

func (s *shop) event(visitor string, at time.Time, n int, change func(*wire.Event)) wire.Event {
	e := wire.Event{
		CompanyID: s.company, EventID: uuid7(at, n), Event: "PAGE_VIEW", Timestamp: at, VisitorID: visitorID(visitor),
		ReceivedAt: at.Add(time.Second), Bot: "none", Consent: "granted", Via: "sdk-js",
	}
	e.Context.Page.URL = "https://loja.example.com/p/1"
	if change != nil {
		change(&e)
	}
	return e
}

func landing(name, campaign string) func(*wire.Event) {
	return func(e *wire.Event) {
		e.Context.Page.URL = "https://loja.example.com/p/1?utm_source=influencer&utm_medium=link&utm_campaign=" + name +
			"&utm_content=" + campaign
	}
}

func checkout(cartKey string) func(*wire.Event) {
	return func(e *wire.Event) { e.Event, e.Identity.CartKey = "CHECKOUT_COMPLETED", cartKey }
}

func (s *shop) order(id string, at time.Time, minor int64, change func(*wire.Order)) wire.Commerce {
	o := wire.Order{OrderID: id, CreatedAt: at, Currency: "BRL", TotalMinor: minor, UpdatedAt: wire.Some(at)}
	if change != nil {
		change(&o)
	}
	return s.commerce(wire.KindOrder, id, at.Add(time.Second), o)
}

func (s *shop) commerce(kind wire.Kind, id string, acceptedAt time.Time, body any) wire.Commerce {
	text, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	return wire.Commerce{V: 1, Kind: kind, ID: id, Rev: s.rev, CompanyID: s.company, AcceptedAt: acceptedAt, Actor: "test", Body: text}
}

func cart(key string) func(*wire.Order) {
	return func(o *wire.Order) { o.CartKey = wire.Some(key) }
}

// payouts is "order influencer evidence commission", by order.
func (s *shop) payouts() []string {
	return s.texts(`
		select concat_ws(' ', p.order_id, coalesce(i.name, 'nobody'), coalesce(p.evidence, '-'), p.commission_minor)
		from payout p left join influencer i using (company_id, influencer_id) where p.company_id = $1 order by p.order_id`, s.company)
}

// explanations are all that are stored, by order id.
func (s *shop) explanations() map[string]facts.Explanation {
	s.t.Helper()
	rows, err := s.pool.Query(s.ctx, `select order_id, explanation from payout where explanation is not null`)
	if err != nil {
		s.t.Fatal(err)
	}
	list := map[string]facts.Explanation{}
	var id string
	var stored []byte
	if _, err := pgx.ForEachRow(rows, []any{&id, &stored}, func() error {
		var e facts.Explanation
		text, err := explained.Unpack(stored)
		if err == nil {
			err = json.Unmarshal(text, &e)
		}
		list[id] = e
		return err
	}); err != nil {
		s.t.Fatal(err)
	}
	return list
}

// onlyExplanation is that of the only order.
func (s *shop) onlyExplanation() facts.Explanation {
	s.t.Helper()
	list := s.explanations()
	if len(list) != 1 {
		s.t.Fatalf("%d explanations, want one", len(list))
	}
	return slices.Collect(maps.Values(list))[0]
}

// stack is a shop with a broker.
type stack struct {
	*shop
	broker   string
	client   *kafka.Client
	producer *kafka.Producer
}

func newStack(t testing.TB) *stack { return newStackOn(t, devtest.Kafka(t)) }

func newStackOn(t testing.TB, broker string) *stack {
	t.Helper()
	s := newShop(t)
	client, err := kafka.NewClient(kafka.Config{Brokers: []string{broker}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &stack{s, broker, client, kafka.NewProducer(client)}
}

// produce writes records (wire.Event, wire.Commerce or raw bytes to commerce.v1).
func (s *stack) produce(records ...any) {
	s.t.Helper()
	byTopic := map[string][]kafka.Record{}
	for _, r := range records {
		topic, company := wire.TopicCommerce, s.company
		if e, ok := r.(wire.Event); ok {
			topic, company = wire.TopicEvents, e.CompanyID
		}
		value, raw := r.([]byte)
		if !raw {
			var err error
			if value, err = json.Marshal(r); err != nil {
				s.t.Fatal(err)
			}
		}
		byTopic[topic] = append(byTopic[topic], kafka.Record{Key: []byte(company), Value: value})
	}
	for topic, list := range byTopic {
		for chunk := range slices.Chunk(list, 500) { // below the broker's limit on a batch's bytes
			if err := s.producer.Produce(s.ctx, topic, chunk...); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

// run starts a processor; stop ends it and waits.
func (s *stack) run() (stop func()) {
	s.t.Helper()
	_, stop = s.start()
	return stop
}

func (s *stack) start() (p *Processor, stop func()) {
	s.t.Helper()
	p = s.processor(s.group(), s.producer)
	return p, s.runs(p)
}

// group is a member of the processors' group.
func (s *stack) group() *kafka.Group {
	return kafka.NewGroup(s.client, "processor", nil, wire.TopicEvents, wire.TopicCommerce)
}

// runs runs a processor; stop ends it and waits, at the latest when the test ends.
func (s *stack) runs(p *Processor) (stop func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				s.t.Errorf("run: %v", err)
			}
		})
	}
	s.t.Cleanup(stop)
	return stop
}

// owned is how many partitions a processor owns now.
func (s *shop) owned(p *Processor) int { return s.metric(p, "tributary_processor_partitions") }

// metric is one of a processor's counters or gauges, summed over its labels.
func (s *shop) metric(p *Processor, name string) int {
	s.t.Helper()
	families, err := p.Registry.Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			n := 0.0
			for _, m := range f.GetMetric() {
				n += m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
			return int(n)
		}
	}
	s.t.Fatalf("no metric %s", name)
	return 0
}

// await polls until the condition holds: what it looks at has no event to wait for.
func (s *shop) await(what string, condition func() bool) {
	s.t.Helper()
	await.Until(s.t, await.Long, condition, func() string { return what })
}

// applied waits until all that was produced is in Postgres.
func (s *stack) applied() {
	s.t.Helper()
	group := kafka.NewGroup(s.client, "test", nil, wire.TopicEvents, wire.TopicCommerce)
	for _, topic := range wire.Processed {
		var produced int64
		for partition := range devtest.Partitions {
			var end int64
			s.await("the broker tells the log's end", func() (ok bool) { // it may have been restarted just now
				var err error
				_, end, err = group.Bounds(s.ctx, topic, partition)
				return err == nil
			})
			produced += end
		}
		s.await(fmt.Sprintf("%d records of %s applied", produced, topic), func() bool {
			return s.int(`select coalesce(sum(next), -1) from consumer_offset where topic = $1`, topic) == produced
		})
	}
	s.await("recompute queue empty", func() bool {
		return s.int(`select (select count(*) from recompute) + (select count(*) from recompute_span)`) == 0
	})
}

// owner is an owner of partition 0 whose records a test hands over itself. Its clock stands
// still, so that no turn ends by time however busy the machine is.
func (s *shop) owner() *owner {
	s.t.Helper()
	p := s.processor(nil, nil)
	now := time.Now()
	p.Now = func() time.Time { return now }
	o := &owner{
		Processor: p, clusterID: "test", epoch: map[string]int64{}, next: map[string]int64{}, progress: p.addProgress(0),
		batchLimit: p.config.BatchRecords, chunkLimit: p.config.RecomputeChunk, tooLong: map[string]int{}, queues: map[string]queueTurn{},
	}
	for _, topic := range wire.Processed {
		taken, err := s.store.TakeOver(s.ctx, topic, 0, o.clusterID, "", 0)
		if err != nil {
			s.t.Fatal(err)
		}
		o.epoch[topic], o.next[topic] = taken.Epoch, taken.Next
		o.progress.setStart(topic, taken.Next, taken.Next, p.Now())
	}
	return o
}

// workOff computes all orders that the shop's company has queued, as a new owner.
func (s *shop) workOff() {
	s.t.Helper()
	s.workOffBy(s.owner())
}

// workOffBy does what workOff does, as an owner that there is.
func (s *shop) workOffBy(o *owner) {
	s.t.Helper()
	rules, err := o.rulesOf(s.ctx, []string{s.company})
	if err != nil {
		s.t.Fatal(err)
	}
	for s.int(`select count(*) from recompute_company`) > 0 {
		b := batch{clusterID: o.clusterID, moves: o.moves(nil), now: o.Now().UTC(), companies: []companyBatch{{index: rules[s.company]}}}
		if _, err := o.recompute(s.ctx, b, 200); err != nil {
			s.t.Fatal(err)
		}
	}
}

// setCredits is a statement that sets a field of an order's credits, or of all orders' where
// orderID is empty. The fields are counted from 0, as facts.Credit has them; value is SQL of a text,
// in which f has the fields.
func setCredits(orderID string, field int, value string) string {
	return fmt.Sprintf(`
		update payout p set credits = (
			select json_agg(jsonb_set(f::jsonb, '{%d}', coalesce(%s, 'null')::jsonb) order by n)
			from json_array_elements(p.credits) with ordinality as l (f, n))
		where p.credits is not null and '%s' in ('', p.order_id)`, field, value, orderID)
}
