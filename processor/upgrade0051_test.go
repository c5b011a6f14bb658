package processor

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/tributary-io/tributary/internal/facts"
)

// Explanations get a shorter form as they are written. The version before reads each in the
// form that it knows, and what it has written is read still.
func TestShortExplanationsAreReadByTheProgramBefore(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.coupon(ana, inverno, "ANA10")
	s.cost(ana, inverno, 100, "7.5")
	s.apply(s.randomFacts(rand.New(rand.NewPCG(5, 1))), func() int { return 50 })
	want, orders := s.outcomes(), s.int(`select count(*) from payout where explanation is not null`)
	texts := func() []byte {
		text, err := json.Marshal(s.explanations())
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	explanations := texts()
	inForm := func(form byte) int64 {
		return s.int(`select count(*) from payout where get_byte(explanation, 0) = $1`, form)
	}
	if n := inForm(3); n != orders || n < 5 {
		t.Fatalf("%d of %d explanations are short", n, orders)
	}
	up := s.takeBack(51)
	if n := inForm(2); n != orders {
		t.Errorf("%d of %d explanations are whole", n, orders)
	}
	up()
	if got := texts(); !bytes.Equal(got, explanations) {
		t.Errorf("explanations are %s, want %s", got, explanations)
	}
	s.exec(`update payout set outcome_hash = ''`) // as if other rules decided: each is written again
	s.exec(`insert into recompute (company_id, order_id, cause) select company_id, order_id, $1 from orders`, facts.Cause{Kind: facts.CauseUpgrade}.String())
	s.exec(`insert into recompute_company (company_id) values ($1) on conflict do nothing`, s.company)
	s.workOff()
	if n := inForm(3); n != orders {
		t.Errorf("%d of %d explanations are short", n, orders)
	}
	if got := s.outcomes(); got != want {
		t.Error(firstDifference(got, want))
	}
	s.wantSums("after the migration")
}
