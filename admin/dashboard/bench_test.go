package dashboard_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/devstack/procstat"
	"github.com/tributary-io/tributary/internal/postgres/report/reporttest"
)

// yearOrders is how many orders the large store of BenchmarkPages has in a year.
const yearOrders = 1_000_000

// BenchmarkPages opens every page of a small store, as the demo's is, and of one with a
// million orders in a year and a statement for each of ten influencers. A page is to take
// 100 ms of the small one and 300 ms of the large one, in CPU time of the dashboard and
// of PostgreSQL together.
func BenchmarkPages(b *testing.B) {
	b.Run("small", func(b *testing.B) {
		s := newSite(b)
		fillSite(s)
		s.benchPages(b)
	})
	b.Run("large", func(b *testing.B) {
		s := newSite(b)
		fillSite(s)
		s.fillYear()
		s.benchPages(b)
	})
}

// fillYear puts a year's orders, half of which are credited, to ten influencers. What may
// be paid is closed into statements.
func (s *site) fillYear() {
	s.t.Helper()
	now := time.Now()
	for i := range 20 {
		o := reporttest.Order{CompanyID: s.live, ID: fmt.Sprint("year", i), CreatedAt: now.Add(time.Duration(i) * -time.Second), TotalMinor: int64(8990 + 731*i), EmailKey: fmt.Sprint("k1:", i)}
		if i%2 == 0 {
			o.InfluencerID, o.Evidence, o.CommissionMinor = s.Influencer(s.live, fmt.Sprint("Parceiro ", i)), "coupon", 899
		}
		s.Put(o)
		s.Multiply(s.live, o.ID, yearOrders/20-1, 364*24*time.Hour)
		if o.InfluencerID != "" {
			s.Ask(s.live, o.InfluencerID, "BRL", now.AddDate(0, 0, -1).Format(time.DateOnly), 0)
		}
	}
	s.Analyze()
	s.Close(s.live)
	s.Analyze()
}

func (s *site) benchPages(b *testing.B) {
	client := s.loggedIn()
	list := []string{}
	for _, path := range s.pages() {
		list = append(list, path+"?company="+s.live)
	}
	list = append(list, "/dashboard/orders?q=year1-77&company="+s.live, "/dashboard/order?id=waits&company="+s.live)
	for _, path := range list {
		b.Run(path, func(b *testing.B) {
			before := s.cpu(b)
			for b.Loop() {
				answer, err := client.Get(s.url + path)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, answer.Body)
				if answer.Body.Close(); answer.StatusCode != http.StatusOK {
					b.Fatal(answer.Status)
				}
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
