package processor

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tributary-io/tributary/internal/facts"
)

// Credits and explanations become columns of payout. What they said before any order is
// computed again, they say still.
func TestOutcomesOfBeforeBecomeOneRow(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.coupon(ana, inverno, "ANA10")
	s.cost(ana, inverno, 100, "7.5")
	s.apply(s.randomFacts(rand.New(rand.NewPCG(3, 8))), func() int { return 50 })
	want, hash := s.outcomes(), s.ledgerHash()
	rows := func() []string { return s.texts(`select credit::text from credit order by 1`) }
	texts := func() []string { return s.texts(`select order_id || ' ' || credits from payout order by 1`) }
	credits, stored := rows(), texts()
	if len(credits) < 10 || !slices.ContainsFunc(credits, func(c string) bool { return len(c) > 90 }) {
		t.Fatalf("few credits: %q", credits)
	}
	explanations := map[string][]byte{}
	for id, e := range s.explanations() {
		var err error
		if explanations[id], err = json.Marshal(e); err != nil {
			t.Fatal(err)
		}
	}
	up := s.takeBack(38)
	wantTexts(t, "credits of before", s.texts(`
		select row(company_id, order_id, position, channel, influencer_id, campaign_id, currency, first_minor, last_minor, last_non_direct_minor, linear_minor, position_minor, time_decay_minor)::text
		from credit order by 1`), credits...)
	if n, m := s.int(`select count(*) from explanation where body <> '' and outcome_hash = ''`), s.int(`select count(*) from recompute`); n == 0 || n != m {
		t.Errorf("%d explanations, %d orders to compute again", n, m)
	}
	for id, text := range explanations { // as the program before may have written them
		s.exec(`update explanation set body = '\x00'::bytea || convert_to($2, 'UTF8') where order_id = $1`, id, string(text))
	}
	s.exec(`update credit set campaign_id = 'verão ' || campaign_id where campaign_id is not null`)
	s.exec(`truncate recompute, recompute_company`)
	up()
	if n := s.int(`select count(*) from credit where campaign_id like 'verão %'`); n == 0 {
		t.Error("an id of a campaign that is no UUID is lost")
	}
	s.takeBack(38)
	s.exec(`update credit set campaign_id = substring(campaign_id from 7) where campaign_id is not null`)
	s.exec(`truncate recompute, recompute_company`)
	up()
	wantTexts(t, "credits", rows(), credits...)
	wantTexts(t, "credits as they are stored", texts(), stored...)
	if got := s.outcomes(); got != want {
		t.Errorf("before anything is computed again: %s", firstDifference(got, want))
	}
	s.exec(`truncate recompute_span, recompute_company`) // migration 0064 has queued all orders
	if got := s.ledgerHash(); got != hash {
		t.Errorf("the ledger hash is %s, was %s", got, hash)
	}
	s.exec(`insert into recompute (company_id, order_id, cause) select company_id, order_id, 'upgrade' from orders`)
	s.exec(`insert into recompute_company (company_id) values ($1)`, s.company)
	s.workOff()
	if got := s.outcomes(); got != want {
		t.Error(firstDifference(got, want))
	}
	s.wantSums("after the migration")
}

// The view has the rows that the program reads.
func TestTheViewOfCreditsHasWhatIsStored(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.cost(ana, inverno, 100, "7.5")
	s.apply(s.randomFacts(rand.New(rand.NewPCG(4, 8))), func() int { return 50 })
	compared := 0
	for _, id := range s.texts(`select order_id from payout`) {
		outcome := s.stored(id)
		if outcome == nil {
			t.Fatalf("%s has no outcome", id)
		}
		var rows []facts.Credit
		r, err := s.pool.Query(s.ctx, `
			select position, channel, coalesce(influencer_id::text, ''), coalesce(campaign_id, ''), array[first_minor, last_minor, last_non_direct_minor, linear_minor, position_minor, time_decay_minor]
			from credit where order_id = $1 and currency = $2 order by position`, id, outcome.Currency)
		if err != nil {
			t.Fatal(err)
		}
		for r.Next() {
			var c facts.Credit
			var parts []*int64
			if err := r.Scan(&c.Position, &c.Channel, &c.InfluencerID, &c.CampaignID, &parts); err != nil {
				t.Fatal(err)
			}
			for i, p := range parts {
				if p != nil {
					c.Parts[i] = facts.Part{Given: true, Minor: *p}
				}
			}
			rows = append(rows, c)
			compared++
		}
		if err := r.Err(); err != nil || !slices.Equal(rows, outcome.Credits) {
			t.Errorf("%s: the view has %+v, %v, want %+v", id, rows, err, outcome.Credits)
		}
	}
	if compared < 10 {
		t.Errorf("only %d credits", compared)
	}
}
