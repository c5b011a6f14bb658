package dashboard_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/models"
	"github.com/tributary-io/tributary/internal/preview"
	"github.com/tributary-io/tributary/internal/rollup"
	"github.com/tributary-io/tributary/test/bench/procstat"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// BenchmarkPages opens every page of a small store, as the demo's is, and of one with a
// million orders in a year and a statement for each of ten influencers. A page is to take
// 100 ms of the small one and 300 ms of the large one, in CPU time of the dashboard and
// of PostgreSQL together. Each page is opened once before it is measured.
func BenchmarkPages(b *testing.B) {
	b.Run("small", func(b *testing.B) {
		s := newBenchSite(b)
		fillSite(s)
		s.Analyze()
		s.benchPages(b)
	})
	b.Run("large", func(b *testing.B) {
		s := newBenchSite(b)
		fillSite(s)
		s.fillYear()
		s.benchPages(b)
	})
}

// newBenchSite is a site whose pages wait for reports of signs as long as the product's do.
func newBenchSite(b *testing.B) *site {
	b.Helper()
	return newSiteWith(b, preview.Limits{}, func(c *dashboard.Config) { c.SignsWait = 0 })
}

// warm opens a page that nobody has opened yet, as often as a browser would that waits for a
// report of signs, and makes the report meanwhile, as the admin's job does.
func (s *site) warm(b *testing.B, client *http.Client, path string) {
	b.Helper()
	for range 10 {
		if answer := s.open(b, client, path); answer.Header.Get("Refresh") == "" {
			return
		}
		if err := s.DB.RenewSigns(b.Context(), 1); err != nil {
			b.Fatal(err)
		}
	}
	b.Fatalf("%s still waits for its report", path)
}

// open reads a page whole.
func (s *site) open(b *testing.B, client *http.Client, path string) *http.Response {
	b.Helper()
	answer, err := client.Get(s.url + path)
	if err != nil {
		b.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	if answer.Body.Close(); answer.StatusCode != http.StatusOK {
		b.Fatal(answer.Status)
	}
	return answer
}

// yearKinds are the kinds of orders of the large store, with how many there are of each.
// Of each kind a half are credited to influencers by a coupon.
var yearKinds = []struct {
	orders int
	status int
	state  string // of a credited order's payout; empty: nothing waits
}{
	{930_000, commerce.OrderApproved, ""},
	{20_000, commerce.OrderApproved, "review"},
	{40, commerce.OrderPending, "expected"}, // fewer than a page has
	{50_000, commerce.OrderCancelled, ""},
}

// yearInfluencers is among how many the large store's credited orders are divided.
const yearInfluencers = 10

// fillYear puts a year's orders, half of which are credited, to ten influencers, with
// their sums by day. What may be paid is closed into statements.
func (s *site) fillYear() {
	s.t.Helper()
	now := time.Now()
	const span = 364 * 24 * time.Hour
	sums := map[string][]rollup.Order{}
	var influencers []string
	for i := range yearInfluencers {
		influencers = append(influencers, s.Influencer(s.live, fmt.Sprint("Parceiro ", i)))
	}
	for k, kind := range yearKinds {
		each := kind.orders / yearInfluencers / 2
		for i := range 2 * yearInfluencers {
			o := reporttest.Order{CompanyID: s.live, ID: fmt.Sprintf("year%d-%d", k, i), CreatedAt: now.Add(time.Duration(i) * -time.Second),
				TotalMinor: int64(8990 + 731*i), Status: kind.status, EmailKey: fmt.Sprint("k1:", i)}
			credit := facts.Credit{Position: 1, Channel: "Organic Search"}
			payout := facts.Payout{State: facts.PayoutNone}
			if i%2 == 0 {
				o.InfluencerID, o.Evidence, o.CommissionMinor, o.State, o.DiscountCode = influencers[i/2], "coupon", 899, kind.state,
					fmt.Sprint("YEAR", i/2)
				credit.Channel, credit.InfluencerID = fmt.Sprint("Parceiro ", i/2), o.InfluencerID
				payout = facts.Payout{State: facts.PayoutEarned, InfluencerID: o.InfluencerID, CommissionMinor: 899}
			}
			s.Put(o)
			if o.DiscountCode != "" {
				s.FindBy(s.live, o.ID, o.DiscountCode)
			}
			s.Multiply(s.live, o.ID, each-1, span)
			for m := range credit.Parts {
				credit.Parts[m] = facts.Part{Given: true, Minor: o.TotalMinor}
			}
			for n := range each {
				day := now.Add(-time.Duration(n) * span / time.Duration(each)).Format(time.DateOnly)
				sums[day] = append(sums[day],
					rollup.Order{Outcome: &facts.Outcome{Day: day, Currency: "BRL", Status: kind.status, TotalMinor: o.TotalMinor, Payout: payout,
						Credits: []facts.Credit{credit}}})
			}
		}
	}
	for _, orders := range sums {
		s.Sum(s.live, orders...)
	}
	for _, influencer := range influencers {
		s.Ask(s.live, influencer, "BRL", now.AddDate(0, 0, -1).Format(time.DateOnly), 0)
	}
	s.Analyze()
	s.Close(s.live)
	s.Analyze()
}

// benchPages opens every page as it is first seen, then lists with their filters and
// reports with their choices.
func (s *site) benchPages(b *testing.B) {
	client := s.loggedIn()
	list := []string{}
	for _, path := range s.pages() {
		list = append(list, path+"?company="+s.live)
	}
	found, err := s.DB.FindInfluencers(b.Context(), s.live,
		commerce.InfluencerSearch{Text: "Parceiro", From: "2020-01-01", Today: "2026-01-01", Currency: "BRL", Limit: 1})
	if err != nil {
		b.Fatal(err)
	}
	of := ""
	if len(found) > 0 {
		of = found[0].InfluencerID
	}
	year := "&from=" + time.Now().AddDate(0, 0, -364).Format(time.DateOnly) + "&to=" + time.Now().Format(time.DateOnly)
	more := []string{"/orders?q=year1-2-77", "/orders?q=maria%40example.com", "/orders?status=0", "/orders?status=1", "/orders?status=2",
		"/orders?coupon=YEAR3", "/orders?coupon=YEAR3&status=2",
		"/orders?coupon=NONE", "/orders?status=2" + year, "/order?id=waits", "/influencers?sort=sales", "/influencers?q=year3",
		"/?day=" + time.Now().AddDate(0, 0, -100).Format(time.DateOnly)}
	if of != "" {
		more = append(more, "/influencer?id="+of, "/orders?influencer="+of, "/orders?influencer="+of+"&status=1",
			"/orders?influencer="+of+"&status=2", "/orders?influencer="+of+"&coupon=YEAR3")
	}
	for _, model := range models.All {
		more = append(more, "/overview?model="+model, "/overview?model="+model+year)
	}
	for _, path := range more {
		path, query, _ := strings.Cut(path, "?")
		list = append(list, "/dashboard"+path+"?company="+s.live+"&"+query)
	}
	for _, path := range list {
		name := strings.ReplaceAll(path, "company="+s.live, "")
		if of != "" {
			name = strings.ReplaceAll(name, of, "one")
		}
		b.Run(name, func(b *testing.B) {
			s.warm(b, client, path)
			before := s.cpu(b)
			for b.Loop() {
				s.open(b, client, path)
			}
			b.ReportMetric(float64((s.cpu(b)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// cpu is the CPU time so far of this process and of PostgreSQL for its connections.
func (s *site) cpu(b *testing.B) (sum time.Duration) {
	b.Helper()
	for _, pid := range append(s.Backends(), os.Getpid()) {
		used, err := procstat.CPU(pid)
		if err != nil {
			b.Skip("no CPU times here: ", err)
		}
		sum += used
	}
	return sum
}

// BenchmarkImport imports 5,000 lines of 16 columns into a store with 40,000 orders, and then the same file again, of which nothing is
// new. Each is to take less than the time that an import has, on two busy cores.
func BenchmarkImport(b *testing.B) {
	s := newBenchSite(b)
	beto := s.Influencer(s.live, "Beto")
	for i, influencer := range []string{beto, ""} {
		o := reporttest.Order{CompanyID: s.live, ID: fmt.Sprint("many", i), TotalMinor: 8990, EmailKey: fmt.Sprint("k1:", i)}
		if influencer != "" {
			o.InfluencerID, o.Evidence, o.CommissionMinor = influencer, "coupon", 899
		}
		s.Put(o)
		s.Multiply(s.live, o.ID, 20_000-1, 90*24*time.Hour)
	}
	s.Analyze()
	var file strings.Builder
	file.WriteString("name,category,campaign,links,coupon,coupon_start,var_fee,fixed_fee,value,frequency,email,phone,pix_type,pix_key," +
		"handles,notes\n")
	for i := range 5000 {
		fmt.Fprintf(&file, "Partner %d,Fashion,Summer,https://loja.example.com/%d,CODE%d,2026-11-01,10,2.50,500.00,monthly,p%d@example.com,"+
			"+55119%08d,email,p%d@example.com,@partner%d,a note\n", i, i, i, i, i, i, i)
	}
	client := s.loggedIn()
	client.Timeout = 0
	for _, want := range []int{http.StatusSeeOther, http.StatusUnprocessableEntity} { // nothing is stored of what says nothing new
		b.Run(http.StatusText(want), func(b *testing.B) {
			began, before := time.Now(), s.cpu(b)
			for range 1 { // b.N imports of the same lines would be the second case
				if status, text := s.upload(client, file.String(), "step", "save"); status != want {
					b.Fatalf("%d: %.3000s", status, text)
				}
			}
			b.ReportMetric(time.Since(began).Seconds(), "s/import")
			b.ReportMetric((s.cpu(b) - before).Seconds(), "cpu-s/import")
		})
	}
}
