package report_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/fraud"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/report"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// touchBy is one touch of an influencer in an explanation.
func touchBy(id, name string, reason facts.Reason) facts.Explanation {
	return facts.Explanation{Touches: []facts.ExplainedTouch{{
		At: "2026-03-01T12:00:00.000Z", Channel: name, Influencer: name, InfluencerID: id, Arrival: facts.ByClick,
		Proof: facts.Proof(facts.KeyCart),
		Used:  true, Reason: reason.Words(),
	}}}
}

// What the processor wrote of orders shows the signs that are in them.
func TestSignsAreFoundInWhatIsStored(t *testing.T) {
	t.Parallel()
	f := reporttest.New(t)
	company := f.Store.Live.CompanyID
	ana, ext := f.Influencer(company, "Ana Prado"), f.Influencer(company, "Extension")
	code := f.Coupon(company, ana, "", "ANA10")
	first := time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)
	sell := func(n int, day int, set func(i int, o *reporttest.Order)) {
		t.Helper()
		for i := range n {
			o := reporttest.Order{CompanyID: company, CreatedAt: first.AddDate(0, 0, day).Add(time.Duration(i) * time.Second), TotalMinor: 10_000,
				CommissionMinor: 1_000, State: "earned", Evidence: commerce.EvidenceLink, EmailKey: fmt.Sprintf("k1:%d-%d-%p", day, i, set)}
			o.ID = fmt.Sprintf("o%02d-%03d", day, i)
			set(i, &o)
			f.Put(o)
		}
	}
	byCode := func(touched bool) func(int, *reporttest.Order) {
		return func(_ int, o *reporttest.Order) {
			o.InfluencerID, o.Evidence, o.CouponID = ana, commerce.EvidenceCoupon, code
			o.Explanation = facts.Explanation{Touches: []facts.ExplainedTouch{{Channel: "Referral", Source: "coupons.example.com",
				Arrival: facts.ByReferrer}}}
			if touched {
				o.Explanation, o.ID = touchBy(ana, "Ana Prado", ""), "t"+o.ID
			}
		}
	}
	for day := range 10 {
		sell(8, day, byCode(true))
		sell(1, day, byCode(false))
	}
	for day := range 10 {
		sell(6, 10+day, byCode(true))
		sell(9, 10+day, byCode(false))
	}
	sell(9, 21, func(i int, o *reporttest.Order) { // opened in the middle of the checkout
		o.InfluencerID, o.Explanation = ext, touchBy(ext, "Extension", facts.ReasonAfterCheckout)
	})
	sell(7, 22, func(i int, o *reporttest.Order) { // one buyer; nobody is paid
		o.EmailKey, o.CommissionMinor, o.State, o.Evidence = "k1:same", 0, "none", ""
	})
	sell(3, 23, func(i int, o *reporttest.Order) { // cancelled orders are not looked at
		o.Status, o.InfluencerID, o.Explanation = commerce.OrderCancelled, ext, touchBy(ext, "Extension", "")
	})

	report, err := f.DB.Signs(t.Context(), company, "2026-03-01", "2026-03-31")
	if err != nil {
		t.Fatal(err)
	}
	if report.Orders != 10*9+10*15+9+7 || report.Cut || report.AsOf.IsZero() {
		t.Errorf("%d orders, cut %t, as of %v", report.Orders, report.Cut, report.AsOf)
	}
	var got []string
	for _, s := range report.Signs {
		got = append(got, fmt.Sprintf("%s %s %s %s %v %v %d %v %v", s.Kind, report.Names[s.Influencer], s.Code, s.Since, s.Observed, s.Usual,
			s.Total, s.Sources, s.Costs))
	}
	want := []string{
		"coupon_spread Ana Prado ANA10 2026-03-11 {90 150} {10 90} 90 [{Referral: coupons.example.com 90}] [{BRL 73333 733333}]",
		"after_checkout Extension  2026-03-22 {9 9} {0 140} 9 [] [{BRL 9000 90000}]",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}

	// Days are the store's, and another company's orders are not there.
	for _, days := range [][2]string{{"2026-03-22", "2026-03-22"}, {"2026-03-25", "2026-03-25"}} {
		report, err := f.DB.Signs(t.Context(), company, days[0], days[1])
		if err != nil || report.Orders != map[string]int{"2026-03-22": 9}[days[0]] {
			t.Errorf("%v: %+v, %v", days, report, err)
		}
	}
	other, err := f.DB.Signs(t.Context(), f.Store.Sandbox.CompanyID, "2026-03-01", "2026-03-31")
	if err != nil || other.Orders != 0 || len(other.Signs) != 0 {
		t.Errorf("%+v, %v", other, err)
	}
}

// Buyers of one postal code are told apart from those of others, however it is written.
func TestSignsKnowPlaces(t *testing.T) {
	t.Parallel()
	f := reporttest.New(t)
	company := f.Store.Live.CompanyID
	ana := f.Influencer(company, "Ana Prado")
	code := f.Coupon(company, ana, "", "ANA10")
	at := time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)
	for i := range 80 {
		o := reporttest.Order{CompanyID: company, ID: fmt.Sprint(i), CreatedAt: at, TotalMinor: 100, EmailKey: fmt.Sprint("k1:", i),
			Zip: fmt.Sprintf("%05d-000", 10_000+i), NetKey: fmt.Sprint("n", i)}
		if i < 8 {
			o.InfluencerID, o.Evidence, o.CouponID, o.Zip = ana, commerce.EvidenceCoupon, code, "01310-100"
			if i%2 == 0 {
				o.Zip = "01310100"
			}
		}
		f.Put(o)
	}
	report, err := f.DB.Signs(t.Context(), company, "2026-03-01", "2026-03-01")
	if err != nil || len(report.Signs) != 1 || report.Signs[0].Kind != fraud.SharedPlace ||
		report.Signs[0].Observed != (fraud.Rate{Count: 8, Of: 8}) {
		t.Errorf("%+v, %v", report, err)
	}
}

// In a small shop the rates of all are high: that one buyer made 14 of 34 orders within five days is a sign by itself.
func TestSignsKnowTheBuyerOfASmallShop(t *testing.T) {
	t.Parallel()
	f := reporttest.New(t)
	company := f.Store.Live.CompanyID
	at := time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)
	sell := func(name string, orders, ofOne int) {
		id := f.Influencer(company, name)
		coupon := f.Coupon(company, id, "", name+"10")
		for i := range orders {
			o := reporttest.Order{CompanyID: company, ID: fmt.Sprint(name, i), CreatedAt: at.Add(time.Duration(i) * 3 * time.Hour),
				TotalMinor: 10_000, CommissionMinor: 1_000, State: "earned", InfluencerID: id, Evidence: commerce.EvidenceCoupon,
				CouponID: coupon, EmailKey: fmt.Sprint("k1:", name, i)}
			if i < ofOne {
				o.EmailKey = "k1:" + name
			}
			f.Put(o)
		}
	}
	sell("Bia", 4, 2)
	sell("Caio", 1, 1)
	sell("Ana", 34, 14)
	report, err := f.DB.Signs(t.Context(), company, "2026-03-01", "2026-03-31")
	if err != nil || len(report.Signs) != 1 || report.Signs[0].Kind != fraud.SameBuyer ||
		report.Signs[0].Observed != (fraud.Rate{Count: 14, Of: 34}) || report.Signs[0].Usual != (fraud.Rate{Count: 3, Of: 5}) {
		t.Errorf("%+v, %v", report, err)
	}
}

// Of an influencer's newest visit the stored event tells when it was received, whether its
// visitor looked at a page, and from which network it came.
func TestSignsReadTheEventsOfVisits(t *testing.T) {
	t.Parallel()
	f := reporttest.New(t)
	company := f.Store.Live.CompanyID
	at := time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)
	n := 0
	// sell puts orders by an influencer's visit a day before, of which a person's event is
	// stored. change alters that event and may add others.
	sell := func(name string, orders int, by facts.KeyKind, change func(e *wire.Event)) {
		t.Helper()
		id := f.Influencer(company, name)
		for range orders {
			n++
			o := reporttest.Order{CompanyID: company, ID: fmt.Sprintf("o%03d", n), CreatedAt: at.Add(time.Duration(n) * time.Minute),
				TotalMinor: 10_000, CommissionMinor: 1_000,
				State: "earned", Evidence: commerce.EvidenceLink, EmailKey: fmt.Sprint("k1:", n), InfluencerID: id}
			visit := wire.Event{CompanyID: company, EventID: eventID(o.CreatedAt, n), Event: "PAGE_VIEW",
				Timestamp: o.CreatedAt.Add(-24 * time.Hour), VisitorID: fmt.Sprintf("0195b2c0-0000-4000-8000-%012d", n),
				ReceivedAt: o.CreatedAt.Add(-24*time.Hour + time.Second), NetKey: fmt.Sprint("net", n), Trust: wire.TrustOpen, Via: wire.ViaJS}
			explanation := touchBy(id, name, "")
			explanation.Touches[0].ID, explanation.Touches[0].MatchedBy = visit.EventID, string(by)
			o.Explanation = explanation
			if change != nil {
				change(&visit)
			}
			f.Put(o)
			f.Came(visit)
		}
	}
	sell("Honest", 60, facts.KeyCart, nil)
	sell("Logged in", 20, facts.KeyEmail, nil)
	sell("Late", 8, facts.KeyCart, func(e *wire.Event) { e.ReceivedAt = e.ReceivedAt.Add(25 * time.Hour) })
	sell("Backend", 8, facts.KeyCart, func(e *wire.Event) { e.ReceivedAt, e.Trust = e.ReceivedAt.Add(26*time.Hour), wire.TrustKey })
	sell("Claims", 8, facts.KeyEmail, func(e *wire.Event) { e.Event = "LOG_IN" })
	sell("Proven", 8, facts.KeyCart, func(e *wire.Event) { e.Event = "LOG_IN" })
	sell("Looks later", 8, facts.KeyPhone, func(e *wire.Event) {
		page := *e
		page.EventID, page.Timestamp, page.ReceivedAt = eventID(e.Timestamp, n+1_000), e.Timestamp.Add(time.Hour), e.ReceivedAt.Add(time.Hour)
		f.Came(page)
		e.Event = "LOG_IN"
	})
	sell("Farm", 12, facts.KeyCart, func(e *wire.Event) { e.NetKey = "farm" })

	report, err := f.DB.Signs(t.Context(), company, "2026-03-01", "2026-03-31")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range report.Signs {
		got = append(got, fmt.Sprintf("%s %s %v %v %d %v", s.Kind, report.Names[s.Influencer], s.Observed, s.Usual, s.Total, s.Costs))
	}
	want := []string{
		"after_order Late {8 8} {0 124} 8 [{BRL 8000 80000}]",
		"no_page_views Claims {8 8} {0 124} 8 [{BRL 8000 80000}]",
		"one_network Farm {12 12} {0 112} 12 [{BRL 12000 120000}]",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

// eventID is a UUIDv7 of an instant.
func eventID(at time.Time, n int) string {
	id := facts.FirstID(at)
	id[6], id[8], id[14], id[15] = 0x70, 0x80, byte(n>>8), byte(n)
	return id.String()
}

// Visitors who came by an influencer and completed checkouts that became no orders are a
// sign, with the influencer's name though no order tells it.
func TestSignsReadCheckouts(t *testing.T) {
	t.Parallel()
	f := reporttest.New(t)
	company := f.Store.Live.CompanyID
	ana, beto := f.Influencer(company, "Ana Prado"), f.Influencer(company, "Beto Lima")
	at := time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)
	n := 0
	come := func(count int, influencer string, ordered bool, network string) {
		t.Helper()
		for range count {
			n++
			when := at.Add(time.Duration(n) * time.Minute)
			visitor := fmt.Sprintf("0195b2c0-0000-4000-8000-%012d", n)
			f.Came(wire.Event{CompanyID: company, EventID: eventID(when, n), Event: "CHECKOUT_COMPLETED", Timestamp: when,
				ReceivedAt: when, VisitorID: visitor,
				NetKey: fmt.Sprint(network, n%3), Trust: wire.TrustOpen, Via: wire.ViaJS, Identity: wire.Identity{CartKey: fmt.Sprint("k1:cart", n)}})
			f.Visited(company, facts.Shopper{ShopperKey: facts.ShopperKey{Day: "2026-03-01", Visitor: facts.PackedShopper(visitor),
				Subject: facts.OfInfluencer(influencer, "")}, Stages: facts.StageVisited})
			if ordered {
				id := fmt.Sprint("o", n)
				f.Put(reporttest.Order{CompanyID: company, ID: id, CreatedAt: when, TotalMinor: 100})
				f.Key(company, id, facts.Key{Kind: facts.KeyCart, Value: fmt.Sprint("k1:cart", n)}, when)
			}
		}
	}
	come(60, ana, true, "n")
	come(4, ana, false, "n")
	come(10, beto, true, "n")
	come(20, beto, false, "n")
	report, err := f.DB.Signs(t.Context(), company, "2026-03-01", "2026-03-01")
	if err != nil || len(report.Signs) != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	s := report.Signs[0]
	if s.Kind != fraud.NoOrder || report.Names[s.Influencer] != "Beto Lima" || s.Observed != (fraud.Rate{Count: 20, Of: 30}) ||
		s.Usual != (fraud.Rate{Count: 4, Of: 64}) || s.Since != "2026-03-01" {
		t.Errorf("%+v of %v", s, report.Names)
	}
}

// A report is made once, however many ask for it at once, and anew when an order has come or
// a rule has changed.
func TestSignsAreMadeOnceAndAnewWhenOrdersCome(t *testing.T) {
	t.Parallel()
	var made atomic.Int64
	f := reporttest.New(t, postgres.WithTracer(counter{&made, "left join order_personal"}))
	company := f.Store.Live.CompanyID
	put := func(id string) {
		f.Put(reporttest.Order{CompanyID: company, ID: id, CreatedAt: time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC), TotalMinor: 100})
	}
	put("1")
	read := func() *fraud.Report {
		report, err := f.DB.Signs(t.Context(), company, "2026-03-01", "2026-03-31")
		if err != nil {
			t.Error(err)
			return &fraud.Report{}
		}
		return report
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { read() })
	}
	all.Wait()
	first := read()
	if n := made.Load(); n != 1 || first.Orders != 1 {
		t.Errorf("made %d times, of %d orders", n, first.Orders)
	}
	put("2")
	if second := read(); made.Load() != 2 || second.Orders != 2 || !second.AsOf.After(first.AsOf) {
		t.Errorf("made %d times; %+v", made.Load(), second)
	}
	f.Influencer(company, "Ana Prado")
	f.Changed(company)
	if read(); made.Load() != 3 {
		t.Errorf("made %d times after a rule has changed", made.Load())
	}
	// The job makes those anew that were asked for and are not as new as the orders.
	if err := f.DB.RenewSigns(t.Context(), 9); err != nil || made.Load() != 3 {
		t.Errorf("made %d times, %v", made.Load(), err)
	}
	f.SignsDue(company)
	if err := f.DB.RenewSigns(t.Context(), 9); err != nil || made.Load() != 3 {
		t.Errorf("nothing has changed: made %d times, %v", made.Load(), err)
	}
	put("3")
	f.SignsDue(company)
	if err := f.DB.RenewSigns(t.Context(), 9); err != nil || made.Load() != 4 {
		t.Errorf("an order has come: made %d times, %v", made.Load(), err)
	}
	if third := read(); made.Load() != 4 || third.Orders != 3 {
		t.Errorf("made %d times; %+v", made.Load(), third)
	}
}

// Who may not wait for a report is told that it is being made, and RenewSigns makes it, once.
func TestALongReportOfSignsIsMadeInTheBackground(t *testing.T) {
	t.Parallel()
	var made atomic.Int64
	f := reporttest.New(t, postgres.WithTracer(counter{&made, "left join order_personal"}))
	company := f.Store.Live.CompanyID
	f.Put(reporttest.Order{CompanyID: company, ID: "1", CreatedAt: time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC), TotalMinor: 100})
	hurried, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	for range 2 {
		for day := 1; day <= 20; day++ {
			if _, err := f.DB.Signs(hurried, company, "2026-03-01", fmt.Sprintf("2026-03-%02d", day)); !errors.Is(err, fraud.ErrBeingMade) {
				t.Fatal(err)
			}
		}
	}
	if n := f.Count(`select count(*) from sign_report`); n != 12 || made.Load() != 0 {
		t.Errorf("%d reports are to be made; made %d", n, made.Load())
	}
	select {
	case <-f.DB.SignsWanted():
	default:
		t.Error("nobody is told to make them")
	}
	// Who may wait longer begins no other.
	patient, cancel := context.WithTimeout(t.Context(), await.Long)
	defer cancel()
	read := make(chan error, 1)
	go func() {
		report, err := f.DB.Signs(patient, company, "2026-03-01", "2026-03-20")
		if err == nil && report.Orders != 1 {
			err = fmt.Errorf("%+v", report)
		}
		read <- err
	}()
	if err := f.DB.RenewSigns(t.Context(), 9); err != nil {
		t.Fatal(err)
	}
	if err := <-read; err != nil || made.Load() != 12 {
		t.Errorf("made %d times, %v", made.Load(), err)
	}
}

// A company keeps the reports that were asked for last.
func TestFewReportsOfSignsAreKept(t *testing.T) {
	t.Parallel()
	f := reporttest.New(t)
	company := f.Store.Live.CompanyID
	for day := 1; day <= 20; day++ {
		if _, err := f.DB.Signs(t.Context(), company, "2026-03-01", fmt.Sprintf("2026-03-%02d", day)); err != nil {
			t.Fatal(err)
		}
	}
	if n := f.Count(`select count(*) from sign_report`); n != 12 {
		t.Errorf("%d reports are kept", n)
	}
}

// counter counts statements that have a text.
type counter struct {
	n    *atomic.Int64
	text string
}

func (c counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if strings.Contains(data.SQL, c.text) {
		c.n.Add(1)
	}
	return ctx
}

func (counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// A long time has as many pages of orders as a short one: none reads all orders of the days.
// PostgreSQL plans a statement that it has run some times for any values.
func TestSignsOfALongTimeReadThePagesOrdersOnly(t *testing.T) {
	t.Parallel()
	f := reporttest.New(t)
	company, now := f.Store.Live.CompanyID, time.Date(2026, 3, 1, 15, 0, 0, 0, time.UTC)
	f.Put(reporttest.Order{CompanyID: company, ID: "1", CreatedAt: now, TotalMinor: 100})
	f.Multiply(company, "1", 6_000-1, 300*24*time.Hour)
	f.Analyze()
	db, err := postgres.Open(t.Context(), f.DSN+"&plan_cache_mode=force_generic_plan")
	if err != nil {
		t.Fatal(err)
	}
	found, err := report.New(db).Signs(t.Context(), company, "2025-03-05", "2026-03-01")
	db.Close() // its connections' counts are written when they end
	if err != nil || found.Orders != 6_000 {
		t.Fatalf("%+v, %v", found, err)
	}
	var reads int
	await.Until(t, await.Long, func() bool {
		reads = f.IndexReads("orders_created")
		return reads > 0
	}, func() string { return "nothing was read by orders_created" })
	if days := f.IndexReads("orders_day"); days != 0 || reads > 2*6_000 {
		t.Errorf("%d orders were read by time, and %d by day", reads, days)
	}
}

// A sign counts what an influencer bought, also where it earned nothing.
func TestSelfPurchasesAreASignAlsoWhereTheyAreDenied(t *testing.T) {
	t.Parallel()
	f := reporttest.New(t)
	company := f.Store.Live.CompanyID
	ana, beto := f.Influencer(company, "Ana Prado"), f.Influencer(company, "Beto Lima")
	put := func(n int, influencer, state string, customers ...string) {
		t.Helper()
		x := facts.Explanation{}
		for _, id := range customers {
			x.Order.CustomerIs = append(x.Order.CustomerIs, facts.ExplainedCustomer{Influencer: "named", InfluencerID: id})
		}
		o := reporttest.Order{CompanyID: company, ID: fmt.Sprint("o", n), TotalMinor: 10_000, CommissionMinor: 1_000, State: state,
			CreatedAt: time.Date(2026, 3, 1+n, 15, 0, 0, 0, time.UTC), InfluencerID: influencer, Evidence: commerce.EvidenceCoupon, Explanation: x}
		if influencer == "" {
			o.Reason, o.Evidence, o.CommissionMinor = string(facts.ReasonSelfPurchase), "", 0
		}
		f.Put(o)
	}
	put(0, ana, "earned", ana)
	put(1, ana, "review", ana)
	put(2, "", "none", ana)
	put(3, ana, "earned")
	put(4, beto, "earned", beto)
	put(5, beto, "earned", ana) // by Ana's link, but Beto's coupon counts
	found, err := f.DB.Signs(t.Context(), company, "2026-03-01", "2026-03-31")
	if err != nil || len(found.Signs) != 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	s := found.Signs[0]
	want := "In 4 of 5 orders by named the influencer is the customer; with other influencers in 1 of 2."
	if s.Kind != fraud.SelfPurchase || s.Influencer != ana || s.Total != 4 || s.Text("named") != want {
		t.Errorf("%+v: %s", s, s.Text("named"))
	}
	if len(s.Costs) != 1 || s.Costs[0].Commission != 2_000 || s.Costs[0].Turnover != 20_000 {
		t.Errorf("costs %+v", s.Costs)
	}
}
