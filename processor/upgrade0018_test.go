package processor

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres/report"
)

// What explanations said before they were packed, they say still, before any is computed
// again.
func TestExplanationsOfBeforeAreServedAsTheyWere(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.coupon(ana, inverno, "ANA10")
	s.cost(ana, inverno, 100, "7.5")
	s.apply(s.randomFacts(rand.New(rand.NewPCG(3, 7))), func() int { return 50 })
	want := s.outcomes()
	texts := map[string][]byte{}
	for id, e := range s.explanations() {
		var err error
		if texts[id], err = json.Marshal(e); err != nil {
			t.Fatal(err)
		}
	}
	if len(texts) < 5 {
		t.Fatalf("only %d orders", len(texts))
	}
	up := s.takeBack(18)
	for id, text := range texts {
		s.exec(`update explanation set body = $2::text::jsonb where order_id = $1`, id, string(text))
	}
	s.exec(`truncate recompute, recompute_company`)
	up()
	reader := report.New(s.db)
	for id, text := range texts {
		var e facts.Explanation
		sale, err := reader.ExplainedSale(s.ctx, s.company, id)
		if err == nil {
			err = json.Unmarshal(sale.Explanation, &e)
		}
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		if got, err := json.Marshal(e); err != nil || string(got) != string(text) {
			t.Errorf("%s: %s, %v, want %s", id, got, err, text)
		}
	}
	s.workOff() // what later migrations have queued
	if got := s.outcomes(); got != want {
		t.Error(firstDifference(got, want))
	}
}

// Taking the schema back keeps nothing packed that the program before could not read: it
// computes those orders again.
func TestAPackedExplanationIsComputedAgainByTheProgramBefore(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.apply([]record{s.record(s.order("o1", noon, 1000, nil))}, func() int { return 1 })
	up := s.takeBack(18)
	wantTexts(t, "explanations", s.texts(`select order_id || ' ' || body from explanation where outcome_hash = ''`), "o1 {}")
	wantTexts(t, "queued", s.texts(`select order_id || ' ' || cause from recompute join recompute_company using (company_id)`), "o1 upgrade")
	up()
	s.workOff()
	if e := s.onlyExplanation(); e.Order.OrderID != "o1" {
		t.Errorf("%+v", e)
	}
}
