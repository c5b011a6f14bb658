package report_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// BenchmarkSigns makes the report of signs of 30 days in which a store has more orders than one
// report looks at, half of them credited by a link, and reads it where it is kept.
func BenchmarkSigns(b *testing.B) {
	fix := reporttest.New(b)
	company, now := fix.Store.Live.CompanyID, time.Now()
	for i := range 10 {
		o := reporttest.Order{CompanyID: company, ID: fmt.Sprint("month", i), CreatedAt: now.Add(time.Duration(i) * -time.Second),
			TotalMinor: int64(8990 + 731*i), EmailKey: fmt.Sprint("k1:", i)}
		if i%2 == 0 {
			name := fmt.Sprint("Influencer ", i)
			o.InfluencerID, o.Evidence, o.CommissionMinor = fix.Influencer(company, name), commerce.EvidenceLink, 899
			explanation := touchBy(o.InfluencerID, name, "")
			for n := range 3 {
				explanation.Touches = append(explanation.Touches,
					facts.ExplainedTouch{At: "2026-03-01T12:00:00.000Z", ID: uuid.NewString(), Channel: "Organic Search", Source: fmt.Sprint("google ", n),
						Medium: "organic", Arrival: facts.ByReferrer, Proof: facts.Proof(facts.KeyCart), MatchedBy: string(facts.KeyCart), Used: true})
			}
			o.Explanation = explanation
		}
		fix.Put(o)
		fix.Multiply(company, o.ID, 6_000-1, 30*24*time.Hour)
	}
	fix.MultiplyExplanations(company)
	fix.Analyze()
	from, to := now.AddDate(0, 0, -29).Format(time.DateOnly), now.AddDate(0, 0, 1).Format(time.DateOnly)
	read := func(b *testing.B) {
		report, err := fix.DB.Signs(context.Background(), company, from, to)
		if err != nil || report.Orders != 50_000 {
			b.Fatalf("%+v, %v", report, err)
		}
	}
	b.Run("made", func(b *testing.B) {
		before := cpu(b, fix)
		for b.Loop() {
			fix.Changed(company)
			fix.SignsDue(company)
			fix.SignsDue(company)
			read(b)
		}
		b.ReportMetric(float64((cpu(b, fix)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
	})
	b.Run("kept", func(b *testing.B) {
		before := cpu(b, fix)
		for b.Loop() {
			read(b)
		}
		b.ReportMetric(float64((cpu(b, fix)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
	})
}
