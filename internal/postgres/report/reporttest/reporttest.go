// Package reporttest puts stores, influencers and processed orders into a test
// database, in the shape in which the processor writes them, for tests of what
// reads them.
//
// What belongs here: rows for tests. No rule of attribution: a test says who is
// credited.
package reporttest

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tributary-io/tributary/internal/await"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/devstack/devtest"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/cases"
	"github.com/tributary-io/tributary/internal/postgres/explained"
	"github.com/tributary-io/tributary/internal/postgres/factstore"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/postgres/report"
	"github.com/tributary-io/tributary/internal/postgres/trial"
	"github.com/tributary-io/tributary/internal/preview"
	"github.com/tributary-io/tributary/internal/rollup"
	"github.com/tributary-io/tributary/internal/wire"
)

// Stores is what the dashboard reads and writes.
type Stores struct {
	*merchant.Store
	*report.Reader
}

// Fixture is one isolated database with one store.
type Fixture struct {
	DB    Stores
	DSN   string // its connection string
	Store commerce.Store

	t    testing.TB
	db   *postgres.DB
	pool *pgxpool.Pool
}

// New makes the database and the store "Loja Exemplo" (America/Sao_Paulo, BRL).
func New(t testing.TB, options ...postgres.Option) *Fixture {
	t.Helper()
	ctx, dsn := context.Background(), devtest.Postgres(t)
	db, err := postgres.Open(ctx, dsn, options...)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close(); db.Close() })
	f := &Fixture{DSN: dsn, DB: Stores{merchant.New(db), report.New(db)}, t: t, db: db, pool: pool}
	f.Store = f.NewStore("Loja Exemplo")
	return f
}

// NewStore makes another store.
func (f *Fixture) NewStore(name string) commerce.Store {
	f.t.Helper()
	store, err := f.DB.CreateStore(context.Background(), commerce.NewStore{
		Name: name, Actor: "test", Random: rand.Reader, KeyCheck: func(string) string { return "" },
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return store
}

// Queue queues an order to be computed again.
func (f *Fixture) Queue(companyID, orderID string) {
	f.t.Helper()
	if _, err := f.pool.Exec(context.Background(), `insert into recompute (company_id, order_id, cause) values ($1, $2, 'rule 1 settings')`, companyID, orderID); err != nil {
		f.t.Fatal(err)
	}
}

// Event stores an event, as the processor does, that was received at an instant.
func (f *Fixture) Event(companyID, name string, at time.Time) {
	f.t.Helper()
	id, err := uuid.NewV7()
	if err != nil {
		f.t.Fatal(err)
	}
	f.storeEvent(companyID, id.String(), name, at)
}

// StoredEvent stores a page view with an id.
func (f *Fixture) StoredEvent(companyID, eventID string) {
	f.t.Helper()
	f.storeEvent(companyID, eventID, "PAGE_VIEW", time.Now())
}

// Erased stores that the person with a key is erased, with the events until an instant, as
// the processor does.
func (f *Fixture) Erased(companyID string, key facts.Key, until time.Time) {
	f.t.Helper()
	if err := factstore.New(f.db).Transact(context.Background(), func(tx *factstore.Tx) error {
		return tx.AddErasedKeys(context.Background(), companyID, until, []facts.Key{key})
	}); err != nil {
		f.t.Fatal(err)
	}
}

// Came stores events as the processor does, with which keys their visitors were seen.
func (f *Fixture) Came(events ...wire.Event) {
	f.t.Helper()
	for i := range events {
		raw, err := json.Marshal(&events[i])
		if err != nil {
			f.t.Fatal(err)
		}
		e, err := facts.ParseEvent(raw)
		if err != nil {
			f.t.Fatal(err)
		}
		e.Pack()
		list := []facts.Event{e}
		if err := factstore.New(f.db).Transact(context.Background(), func(tx *factstore.Tx) error {
			if _, err := tx.InsertEvents(context.Background(), e.CompanyID, list); err != nil {
				return err
			}
			return tx.WidenSightings(context.Background(), e.CompanyID, facts.Sightings(list))
		}); err != nil {
			f.t.Fatal(err)
		}
	}
}

func (f *Fixture) storeEvent(companyID, eventID, name string, at time.Time) {
	f.t.Helper()
	f.exec(`insert into event_fact (company_id, event_id, class, name, at, record) values (@company_id, @event_id, 1, @name, @at, '')`,
		pgx.NamedArgs{"company_id": companyID, "at": at, "event_id": eventID, "name": name})
}

// Key makes an order be found by a key.
func (f *Fixture) Key(companyID, orderID string, key facts.Key, createdAt time.Time) {
	f.t.Helper()
	if slices.Contains(facts.NameKinds, key.Kind) {
		f.exec(`update payout set names = array_append(coalesce(names, '{}'), @digest::bigint) where company_id = @company_id and order_id = @order_id`,
			pgx.NamedArgs{"company_id": companyID, "order_id": orderID, "digest": facts.NameDigest(companyID, key)})
		return
	}
	f.exec(`insert into order_key (company_id, digest, kind, key, hub, created_at, order_id) values (@company_id, @digest, @kind, @key, 0, @created_at, @order_id)`,
		pgx.NamedArgs{"company_id": companyID, "kind": key.Kind.Code(), "digest": facts.KeyDigest(companyID, key), "key": key.Pack(), "created_at": createdAt, "order_id": orderID})
}

// Influencer makes an influencer and returns the id.
func (f *Fixture) Influencer(companyID, name string) string {
	f.t.Helper()
	id := uuid.NewString()
	f.exec(`insert into influencer (company_id, influencer_id, name, name_folded, rev) values (@company_id, @id, @name, @folded, 1)`,
		pgx.NamedArgs{"company_id": companyID, "id": id, "name": name, "folded": commerce.FoldName(name)})
	return id
}

// Archive archives an influencer: the name may be given to another.
func (f *Fixture) Archive(companyID, influencerID string) {
	f.t.Helper()
	f.exec(`update influencer set archived_at = now() where company_id = @company_id and influencer_id = @id`,
		pgx.NamedArgs{"company_id": companyID, "id": influencerID})
}

// Campaign makes a campaign of an influencer and returns the id.
func (f *Fixture) Campaign(companyID, influencerID, name string) string {
	f.t.Helper()
	id := uuid.NewString()
	f.exec(`insert into campaign (company_id, campaign_id, influencer_id, name, name_folded, rev)
		values (@company_id, @id, @influencer_id, @name, @folded, 1)`,
		pgx.NamedArgs{"company_id": companyID, "id": id, "influencer_id": influencerID, "name": name, "folded": commerce.FoldName(name)})
	return id
}

// Order is one processed order. The zero values are an approved order in BRL,
// created now, credited to nobody.
type Order struct {
	CompanyID, ID, Name string
	CreatedAt           time.Time
	ProcessedAt         time.Time // zero: the transaction's time
	Status              int
	Currency            string
	TotalMinor          int64
	InfluencerID        string
	CampaignID          string
	Evidence            commerce.Evidence
	CouponID            string // by which the influencer is paid; empty: none
	CommissionMinor     int64
	FixedFeeMinor       int64 // in BRL, beside the commission of an order in another currency
	DiscountCode        string
	EmailKey, NetKey    string // keyed hashes; empty: none
	Zip                 string // of the buyer
	State, Reason       string // of the payout; empty: "none" and no reason
	Explanation         any    // marshalled; nil: none
}

// Put writes an order as the processor does: in one transaction, a new version
// replacing the old.
func (f *Fixture) Put(o Order) {
	f.t.Helper()
	ctx := context.Background()
	if o.Currency == "" {
		o.Currency = commerce.BRL
	}
	if o.CreatedAt.IsZero() {
		o.CreatedAt = time.Now()
	}
	err := pgx.BeginFunc(ctx, f.pool, func(tx pgx.Tx) error {
		order := wire.Order{OrderID: o.ID, Status: o.Status, CreatedAt: o.CreatedAt, Currency: o.Currency, TotalMinor: o.TotalMinor,
			Name: wire.Some(o.Name), DiscountCode: wire.Some(o.DiscountCode), EmailKey: wire.Some(o.EmailKey),
			VisitorID: wire.Some(VisitorOfOrders), CartKey: wire.Some(cartOfOrders), NetKey: wire.Some(o.NetKey)}
		body, err := facts.PackOrder(&order)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			insert into orders (company_id, order_id, created_at, day, status, currency, total_minor, name, discount_code, body, processed_at)
			select @company_id, @order_id, @created_at, (@created_at::timestamptz at time zone c.timezone)::date, @status, @currency,
				@total_minor, @name, @discount_code, @body, coalesce(@processed_at, now())
			from company c where c.company_id = @company_id
			on conflict (company_id, order_id) do update set created_at = excluded.created_at, day = excluded.day,
				status = excluded.status, currency = excluded.currency, total_minor = excluded.total_minor,
				name = excluded.name, discount_code = excluded.discount_code, body = excluded.body, processed_at = excluded.processed_at`,
			pgx.NamedArgs{"company_id": o.CompanyID, "order_id": o.ID, "created_at": o.CreatedAt, "status": o.Status, "currency": o.Currency,
				"total_minor": o.TotalMinor, "name": postgres.NullIfEmpty(o.Name), "discount_code": postgres.NullIfEmpty(o.DiscountCode), "body": body, "processed_at": postgres.NullIfZero(o.ProcessedAt)}); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			insert into payout (company_id, order_id, influencer_id, campaign_id, coupon_id, evidence, state, reason, base_minor, commission_minor, fixed_brl_minor, day, status, currency, total_minor, processed_at)
			select company_id, order_id, @influencer_id, @campaign_id, @coupon_id, @evidence, @state, @reason, @base, @commission, @fixed, day, status, currency, total_minor, processed_at
			from orders where company_id = @company_id and order_id = @order_id
			on conflict (company_id, order_id) do update set influencer_id = excluded.influencer_id,
				campaign_id = excluded.campaign_id, coupon_id = excluded.coupon_id, evidence = excluded.evidence,
				state = excluded.state, reason = excluded.reason, base_minor = excluded.base_minor, commission_minor = excluded.commission_minor,
				fixed_brl_minor = excluded.fixed_brl_minor,
				day = excluded.day, status = excluded.status, currency = excluded.currency, total_minor = excluded.total_minor, processed_at = excluded.processed_at`,
			pgx.NamedArgs{"company_id": o.CompanyID, "order_id": o.ID, "influencer_id": postgres.NullIfEmpty(o.InfluencerID),
				"campaign_id": postgres.NullIfEmpty(o.CampaignID), "coupon_id": postgres.NullIfEmpty(o.CouponID), "evidence": postgres.NullIfEmpty(string(o.Evidence)),
				"state": cmp.Or(o.State, "none"), "reason": o.Reason, "base": o.TotalMinor, "commission": o.CommissionMinor, "fixed": o.FixedFeeMinor}); err != nil {
			return err
		}
		if o.InfluencerID != "" && o.Status == commerce.OrderApproved && o.State != "review" {
			post := func(currency string, minor int64) error {
				_, err := tx.Exec(ctx, `
					insert into ledger_entry (company_id, order_id, entry, at, kind, influencer_id, cost_id, amount_minor, currency, payable_on, rule_rev, cause)
					select @company_id, @order_id, coalesce(max(entry), 0) + 1, now(), 'earned', @influencer_id, @cost_id, @minor, @currency, @payable_on, 1, 'order 2026-11-21T15:00:00Z'
					from ledger_entry where company_id = @company_id and order_id = @order_id`,
					pgx.NamedArgs{"company_id": o.CompanyID, "order_id": o.ID, "influencer_id": o.InfluencerID, "cost_id": uuid.NewString(),
						"minor": minor, "currency": currency, "payable_on": o.CreatedAt.AddDate(0, 0, 30)})
				return err
			}
			if o.CommissionMinor != 0 {
				if err := post(o.Currency, o.CommissionMinor); err != nil {
					return err
				}
			}
			if o.FixedFeeMinor != 0 {
				if err := post(commerce.BRL, o.FixedFeeMinor); err != nil {
					return err
				}
			}
		}
		personal := wire.Personal{CartToken: wire.Some(TokenOfOrders), BrowserIP: wire.Some(addressOfOrders)}
		if o.Zip != "" {
			personal.Customer = wire.Some(wire.Customer{Zip: wire.Some(o.Zip)})
		}
		person, err := json.Marshal(personal)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `insert into order_personal (company_id, order_id, version_at, accepted_at, digest, body) values ($1, $2, now(), now(), '', $3)
			on conflict (company_id, order_id) do update set body = excluded.body`, o.CompanyID, o.ID, person); err != nil {
			return err
		}
		if o.Explanation == nil {
			return nil
		}
		text, err := json.Marshal(o.Explanation)
		if err != nil {
			return err
		}
		explanation, err := explained.Pack(text)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `update payout set explanation = $3 where company_id = $1 and order_id = $2`, o.CompanyID, o.ID, explanation)
		return err
	})
	if err != nil {
		f.t.Fatal(fmt.Errorf("put order %s: %w", o.ID, err))
	}
}

// FindBy stores the keys by which an order is found: those of a discount code.
func (f *Fixture) FindBy(companyID, orderID, discountCode string) {
	f.t.Helper()
	var keys []facts.Key
	for _, code := range facts.OrderCodes(&wire.Order{DiscountCode: wire.Some(discountCode)}) {
		keys = append(keys, facts.RuleKey(facts.KeyCode, code))
	}
	for _, k := range keys {
		f.exec(`insert into order_key (company_id, digest, kind, key, hub, created_at, order_id)
			select company_id, @digest::bigint, @kind, @key, 0, created_at, order_id from orders where company_id = @company_id and order_id = @order_id`,
			pgx.NamedArgs{"company_id": companyID, "order_id": orderID, "digest": facts.KeyDigest(companyID, k), "kind": k.Kind.Code(), "key": k.Pack()})
	}
}

// Product stores a product with variants, the SKU of each of which is "sku-" and its id.
func (f *Fixture) Product(companyID, productID, name string, variantIDs ...string) {
	f.t.Helper()
	product := wire.Product{ProductID: productID, Name: name, Variants: []wire.Variant{}}
	for _, id := range variantIDs {
		product.Variants = append(product.Variants, wire.Variant{VariantID: id, SKU: "sku-" + id})
		f.exec(`insert into product_variant (company_id, variant_id, product_id, sku) values (@company_id, @variant_id, @product_id, @sku)`,
			pgx.NamedArgs{"company_id": companyID, "variant_id": id, "product_id": productID, "sku": "sku-" + id})
	}
	body, err := json.Marshal(product)
	if err != nil {
		f.t.Fatal(err)
	}
	f.exec(`insert into product (company_id, product_id, name, updated_at, accepted_at, digest, body) values (@company_id, @product_id, @name, now(), now(), '', @body)`,
		pgx.NamedArgs{"company_id": companyID, "product_id": productID, "name": name, "body": body})
}

// Sum adds orders to the sums by day, as the processor does.
func (f *Fixture) Sum(companyID string, orders ...rollup.Order) {
	f.t.Helper()
	var sums rollup.Sums
	for _, o := range orders {
		sums.Add(o, 1)
	}
	if err := factstore.New(f.db).Transact(context.Background(), func(tx *factstore.Tx) error { return tx.AddSums(context.Background(), companyID, &sums) }); err != nil {
		f.t.Fatal(err)
	}
}

// Traffic adds to the numbers of visitors and clicks by day, as the processor does.
func (f *Fixture) Traffic(companyID string, traffic []facts.Traffic, clicks []facts.Clicks) {
	f.t.Helper()
	if err := factstore.New(f.db).Transact(context.Background(), func(tx *factstore.Tx) error {
		return errors.Join(tx.AddTraffic(context.Background(), companyID, traffic), tx.AddClicks(context.Background(), companyID, clicks))
	}); err != nil {
		f.t.Fatal(err)
	}
}

// Nulls stores the null journeys of a day, as the processor does once they are counted in a
// round.
func (f *Fixture) Nulls(companyID, day string, round facts.NullRound, paths ...[]string) {
	f.t.Helper()
	var steps rollup.NullSteps
	left := 0
	for _, path := range paths {
		if !steps.Add(path) {
			left++
		}
	}
	f.exec(`
		insert into null_day (company_id, day, round, journeys, left_out, steps) values (@company_id, @day, @round, @journeys, @left_out, @steps)`,
		pgx.NamedArgs{"company_id": companyID, "day": day, "round": round, "journeys": len(paths), "left_out": left, "steps": steps.Pack()})
}

// Link makes a short link of an influencer's campaign.
func (f *Fixture) Link(companyID, influencerID, campaignID, code string) {
	f.t.Helper()
	f.exec(`insert into link (company_id, link_id, influencer_id, campaign_id, url, code, rev) values (@company_id, @id, @influencer_id, @campaign_id, 'https://loja.example.com/', @code, 1)`,
		pgx.NamedArgs{"company_id": companyID, "id": uuid.NewString(), "influencer_id": influencerID, "campaign_id": campaignID, "code": code})
}

// Forget makes the reader forget what it remembers of earlier reports.
func (f *Fixture) Forget() { f.DB.Reader = report.New(f.db) }

// Backends returns the process ids of PostgreSQL's connections to the database.
func (f *Fixture) Backends() []int {
	f.t.Helper()
	pids, err := postgres.Collect(context.Background(), f.pool, pgx.RowTo[int], `select pid from pg_stat_activity where datname = current_database() order by pid`)
	if err != nil {
		f.t.Fatal(err)
	}
	return pids
}

// AwaitWaiting returns once n of the database's connections wait for a lock.
func (f *Fixture) AwaitWaiting(n int) {
	f.t.Helper()
	var waiting int
	await.Until(f.t, await.Long, func() bool {
		err := f.pool.QueryRow(context.Background(), `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`).Scan(&waiting)
		return err == nil && waiting == n
	}, func() string { return fmt.Sprintf("%d connections wait for a lock, want %d", waiting, n) })
}

// HoldRules keeps other changes of a company's rules waiting, as one that is being made
// does, until release is called.
func (f *Fixture) HoldRules(companyID string) (release func()) {
	f.t.Helper()
	tx, err := f.pool.Begin(context.Background())
	if err == nil {
		_, err = tx.Exec(context.Background(), `select 1 from company where company_id = $1 for no key update`, companyID)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return func() { _ = tx.Rollback(context.Background()) }
}

// Rules reads the companies' rules.
func (f *Fixture) Rules() *cases.Reader { return cases.NewReader(f.db) }

// Previews is what previews changes on this database. They end after an hour.
func (f *Fixture) Previews(limits preview.Limits) *preview.Previewer {
	limits.Time = cmp.Or(limits.Time, time.Hour)
	return preview.New(trial.New(f.db), limits)
}

// Coupon makes a coupon without bounds and returns the id. campaignID may be empty.
func (f *Fixture) Coupon(companyID, influencerID, campaignID, code string) string {
	f.t.Helper()
	id := uuid.NewString()
	f.exec(`insert into coupon (company_id, coupon_id, influencer_id, campaign_id, code, code_folded, period, rev)
		values (@company_id, @id, @influencer_id, @campaign_id, @code, @folded, '(,)', 1)`,
		pgx.NamedArgs{"company_id": companyID, "id": id, "influencer_id": influencerID, "campaign_id": campaignID, "code": code, "folded": commerce.FoldCode(code)})
	return id
}

// Cost makes an influencer's cost with a value, in BRL cents.
func (f *Fixture) Cost(companyID, influencerID, campaignID string, valueMinor int64, frequency, start string) {
	f.t.Helper()
	f.exec(`insert into cost (company_id, cost_id, influencer_id, campaign_id, value_minor, frequency, is_coupon_cost, start_date, rev)
		values (@company_id, @id, @influencer_id, @campaign_id, @value, @frequency, false, @start, 1)`,
		pgx.NamedArgs{"company_id": companyID, "id": uuid.NewString(), "influencer_id": influencerID, "campaign_id": postgres.NullIfEmpty(campaignID),
			"value": valueMinor, "frequency": frequency, "start": start})
}

// Decisions stores n decisions that accept an influencer's evidence for an order.
func (f *Fixture) Decisions(companyID, orderID, influencerID string, n int) {
	f.t.Helper()
	f.exec(`insert into evidence_decision (company_id, order_id, influencer_id, rev, decision, accepted_at, actor)
		select $1, $2, $3, n, 'accept', now(), 'test' from generate_series(1, $4::int) n`, companyID, orderID, influencerID, n)
}

func (f *Fixture) exec(sql string, arguments ...any) {
	f.t.Helper()
	if _, err := f.pool.Exec(context.Background(), sql, arguments...); err != nil {
		f.t.Fatal(err)
	}
}

// Visited stores visitors' days.
func (f *Fixture) Visited(companyID string, shoppers ...facts.Shopper) {
	f.t.Helper()
	if err := factstore.New(f.db).Transact(context.Background(), func(tx *factstore.Tx) error {
		return tx.PutShoppers(context.Background(), companyID, shoppers)
	}); err != nil {
		f.t.Fatal(err)
	}
}

// Changed lets a rule of a company have changed.
func (f *Fixture) Changed(companyID string) {
	f.t.Helper()
	f.exec(`update company set rules_rev = rules_rev + 1 where company_id = @company_id`, pgx.NamedArgs{"company_id": companyID})
}

// Count returns the number that a statement counts.
func (f *Fixture) Count(sql string) (n int) {
	f.t.Helper()
	if err := f.pool.QueryRow(context.Background(), sql).Scan(&n); err != nil {
		f.t.Fatal(err)
	}
	return n
}

// SignsDue lets the reports of signs of a company be as old as those that are made anew.
func (f *Fixture) SignsDue(companyID string) {
	f.t.Helper()
	const before = `now() - interval '6 minutes'`
	f.exec(`update sign_report set as_of = `+before+`, asked_at = `+before+` where company_id = @company_id`, pgx.NamedArgs{"company_id": companyID})
	f.exec(`update sign_job set done_at = `+before+` where company_id = @company_id`, pgx.NamedArgs{"company_id": companyID})
}
