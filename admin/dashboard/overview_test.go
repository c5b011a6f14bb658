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
		"Sales R$ 3,000.00 +100.0% · before: R$ 1,500.00", "Orders 4 +100.0% · before: 2", "Attributed share 66.7% as before",
		"Commission R$ 250.00 +100.0%", "Costs R$ 60.00 before: R$ 0.00", "ROAS 9.68 −19.4% · before: 12", "CAC R$ 155.00",
		"New customers 2", "Returning orders 2", "Clicks 50 +100.0%", "Visits 160", "Conversion 2.5% as before")
	// The model's credit stands beside what the contract pays.
	f(page, "Ana Prado 2026-11-19 0.6 R$ 600.00 20.0% R$ 1,000.00 R$ 125.00", "Direct 2 R$ 1,000.00 33.3% – –")
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

	if file := s.readRaw(client, "/dashboard/report.csv?report=sales&company="+s.live); file != string(r.CSV()) {
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
	if page := s.read("/dashboard/overview"); !contains(page, "Your numbers begin with the first order", "Connect your shop") {
		t.Errorf("it reads %q", page)
	}
}
