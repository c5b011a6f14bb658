package dashboard_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/internal/rollup"
	"github.com/tributary-io/tributary/internal/wire"
)

// sumDay puts what the processor sums of a day: an order of Ana's (R$ 1,000.00, of a new
// customer), one of nobody's (R$ 500.00), visits, clicks and a cost.
func (s *site) sumDay(day string) (ana string) {
	s.t.Helper()
	ana = s.Influencer(s.live, "Ana Prado "+day)
	spring := s.Campaign(s.live, ana, "Primavera "+day)
	yes, no := true, false
	credit := func(position int, channel, id string, minor int64) facts.Credit {
		c := facts.Credit{Position: position, Channel: channel, InfluencerID: id}
		if id != "" {
			c.CampaignID = spring
		}
		for i := range c.Parts {
			c.Parts[i] = facts.Part{Given: true, Minor: minor}
		}
		return c
	}
	counted := func(first *bool) rollup.Counted {
		return rollup.Counted{First: first,
			Items: []wire.Item{{ProductID: "p1", Quantity: 2, Price: "400"}, {ItemID: "unknown-7", Quantity: 1, Price: "200"}}}
	}
	hers := rollup.Order{Counted: counted(&yes), Outcome: &facts.Outcome{Day: day, Currency: commerce.BRL, TotalMinor: 100000,
		Credits: []facts.Credit{credit(1, "Ana Prado "+day, ana, 60000), credit(2, "Organic Search", "", 40000)},
		Payout:  facts.Payout{State: facts.PayoutEarned, InfluencerID: ana, CampaignID: spring, CommissionMinor: 12500}}}
	nobodys := rollup.Order{Counted: counted(&no), Outcome: &facts.Outcome{Day: day, Currency: commerce.BRL, TotalMinor: 50000,
		Credits: []facts.Credit{credit(1, "Direct", "", 50000)}, Payout: facts.Payout{State: facts.PayoutNone}}}
	s.Sum(s.live, hers, nobodys)
	code := "c" + strings.ReplaceAll(day, "-", "")
	s.Link(s.live, ana, spring, code)
	s.Traffic(s.live, []facts.Traffic{
		{Day: day, Subject: facts.OfStore, Visitors: [5]int64{80, 40, 20, 8, 2}},
		{Day: day, Subject: facts.OfItem("v1"), Visitors: [5]int64{30, 30, 12, 5, 2}},
		{Day: day, Subject: facts.OfItem("unknown-7"), Visitors: [5]int64{10, 10, 3, 1, 1}},
	}, []facts.Clicks{{Day: day, Code: code, Clicks: 25}})
	return ana
}

func TestTheOverviewShowsTheReportsNumbers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.setClock(time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC))
	s.sumDay("2026-11-19")
	s.sumDay("2026-11-18")
	s.stored("1001")
	ana := s.sumDay("2026-10-15") // in the 30 days before
	s.Cost(s.live, ana, "", 3000, commerce.Daily, "2026-11-19")
	q := reports.Query{CompanyID: s.live, Name: reports.Sales, Start: "2026-10-22", End: "2026-11-20", Compare: reports.ComparePrevious}
	r, err := s.DB.Report(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	value := func(name string) string {
		d, _ := r.Value(r.Totals, r.Spec.Column(name))
		return d.String()
	}
	if value("sales") != "300000" || value("commission") != "25000" || value("cost") != "6000" || value("clicks") != "50" ||
		value("visits") != "160" {
		t.Fatalf("the report is not the one of this test: %v", r.Totals)
	}
	client := s.loggedIn()
	page := s.readAs(client, "/dashboard/overview")
	f := func(page string, want ...string) {
		t.Helper()
		for _, text := range want {
			if !contains(page, text) {
				t.Errorf("no %q in %q", text, page)
			}
		}
	}
	f(page, "22 Oct 2026 – 20 Nov 2026", "compared with 22 Sep 2026 – 21 Oct 2026",
		"Sales R$ 3,000.00 before: R$ 1,500.00", "Orders 4 before: 2", "Credited to influencers 66.7% as before",
		"Commission R$ 250.00", "Costs without commission R$ 60.00 before: R$ 0.00", "MER (sales ÷ all costs) 9.68 before: 12", "CAC R$ 155.00",
		"New customers 2", "Returning orders 2", "Clicks 50 before: 25", "Visits 160 +100.0% · before: 80", "Conversion 2.5% as before")
	// Who is paid comes first, and adds up to all sales; then what the model gives.
	f(page, "Ana Prado 2026-11-19 1 – R$ 1,000.00 R$ 1,000.00 33.3% R$ 125.00", "Nobody 2 – – R$ 1,000.00 33.3% –",
		"All sales 4 R$ 0.00 R$ 2,000.00 R$ 3,000.00 100.0% R$ 250.00", "Ana Prado 2026-11-19 0.6 R$ 600.00 20.0%", "Direct 2 R$ 1,000.00 33.3%")
	// The address says everything.
	f(s.readAs(client, "/dashboard/overview?range=7d&by=week&model=linear&compare=year"), "14 Nov 2026 – 20 Nov 2026",
		"14 Nov 2025 – 20 Nov 2025", "Model Linear", "Sales R$ 3,000.00 before: R$ 0.00")
	f(s.readAs(client, "/dashboard/overview?from=2026-11-19&to=2026-11-19"), "Sales R$ 1,500.00", "compared with 18 Nov 2026")
	// Days that were typed count, also where the form still has the name of others.
	f(s.readAs(client, "/dashboard/overview?range=30d&from=2026-11-19&to=2026-11-19"), "Sales R$ 1,500.00")
	f(s.readAs(client, "/dashboard/overview?range=30d&currency=USD"), "Sales US$ 0.00",
		"There are also amounts in other currencies, which are not among these: BRL")
	f(s.readAs(client, "/dashboard/overview?from=2026-11-19&to=2026-11-01"), "These days cannot be shown", "22 Oct 2026 – 20 Nov 2026")
	f(s.readAs(client, "/dashboard/overview?range=today"), "Nothing happened in these days")

	// The compared days are columns: what a spreadsheet sums is one span.
	file := s.readRaw(client, "/dashboard/report.csv?report=sales&company="+s.live)
	if file != string(r.ComparedCSV()) || !strings.HasPrefix(file, "period,period_compared,") || strings.Count(file, "\n") != 1+30 {
		t.Errorf("the file has %q", file)
	}
	for _, bad := range []string{"range=ever", "by=total", "by=hour", "compare=none", "model=magic", "currency=X1", "report=nothing"} {
		path := overviewOrFile(bad)
		answer, err := client.Get(s.url + path + "?company=" + url.QueryEscape(s.live) + "&" + bad)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", bad, answer.Status)
		}
	}
}

// A shop that sells by coupons knows no visit of most orders: its first page says who brought them, and no ratio that is none.
func TestTheOverviewOfAShopOfCoupons(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.setClock(time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC))
	s.stored("1001")
	ana := s.Influencer(s.live, "Ana Prado")
	coupon := s.Coupon(s.live, ana, "", "ANA10")
	order := func(day string, minor int64, p facts.Payout, channel, id string) {
		c := facts.Credit{Channel: channel, InfluencerID: id}
		for i := range c.Parts {
			c.Parts[i] = facts.Part{Given: true, Minor: minor}
		}
		s.Sum(s.live, rollup.Order{Outcome: &facts.Outcome{Day: day, Currency: commerce.BRL, TotalMinor: minor,
			Credits: []facts.Credit{c}, Payout: p}})
	}
	paid := facts.Payout{State: facts.PayoutEarned, InfluencerID: ana, CouponID: coupon, CommissionMinor: 700}
	for range 8 {
		order("2026-11-19", 10000, paid, "coupon:Ana Prado", ana)
	}
	paid.CouponID = ""
	order("2026-11-19", 5000, paid, "Ana Prado", ana)
	order("2026-11-19", 2500, facts.Payout{State: facts.PayoutReview, InfluencerID: ana}, "unattributed", "")
	order("2026-10-19", 100, facts.Payout{State: facts.PayoutNone}, "unattributed", "")
	s.Traffic(s.live, []facts.Traffic{{Day: "2026-11-19", Subject: facts.OfStore, Visitors: [5]int64{4}}}, nil)
	client := s.loggedIn()
	page := s.readAs(client, "/dashboard/overview?range=month&model=markov")
	for _, want := range []string{
		"compared with 1 Oct 2026 – 20 Oct 2026", "Credited to influencers 97.1%", "Sales R$ 875.00 before: R$ 1.00", "Conversion –",
		"Ana Prado 9 R$ 800.00 R$ 50.00 R$ 850.00 97.1% R$ 63.00", "Nobody 1 order is in review 1 – – R$ 25.00 2.9% –",
		"All sales 10 R$ 800.00 R$ 50.00 R$ 875.00 100.0% R$ 63.00",
		"Ana Prado 1 R$ 50.00 5.7% Ana Prado: by coupon, no visit known 8 R$ 800.00 91.4% No visit known 1 R$ 25.00 2.9%",
	} {
		if !contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
	if page := s.readAs(client, "/dashboard/overview?range=last_month"); !contains(page, "compared with 1 Sep 2026 – 30 Sep 2026") {
		t.Error("last month is not compared with the month before")
	}
	for range 30 {
		order("2026-10-18", 100, facts.Payout{State: facts.PayoutNone}, "unattributed", "")
	}
	if page := s.readAs(client, "/dashboard/overview?range=month"); !contains(page, "Orders 10 −67.7% · before: 31") {
		t.Error("a change against 31 orders is no percentage")
	}
}

// stored stores that an order came.
func (s *site) stored(orderID string) {
	s.t.Helper()
	s.exec(`insert into orders (company_id, order_id, created_at, processed_at, day, status, currency, total_minor, body) values ($1, $2, `+
		`now(), now(), '2026-03-10', 0, 'BRL', 1000, '')`, s.live, orderID)
}

func (s *site) exec(sql string, arguments ...any) {
	s.t.Helper()
	db, err := pgx.Connect(context.Background(), s.DSN)
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close(context.Background())
	if _, err := db.Exec(context.Background(), sql, arguments...); err != nil {
		s.t.Fatal(err)
	}
}

// deliverDay stores what became of the events of a day.
func (s *site) deliverDay(day string) {
	s.t.Helper()
	s.exec(`insert into delivery (company_id, day, outcome, events) values ($1, $2, 'stored', 1200), ($1, $2, 'duplicate', 30), ($1, $2, `+
		`'late', 4), ($1, $2, 'rejected:invalid_json', 6)`, s.live, day)
}

func overviewOrFile(parameter string) string {
	if strings.HasPrefix(parameter, "report=") {
		return "/dashboard/report.csv"
	}
	return "/dashboard/overview"
}

func TestAnEmptyOverviewSaysHowToBegin(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if page := s.read("/dashboard/overview"); !contains(page, "Your numbers begin with the first order", "Prepare your shop") {
		t.Errorf("it reads %q", page)
	}
}
