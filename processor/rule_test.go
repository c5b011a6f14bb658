package processor

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
)

func TestAChangeOfRulesReachesTheOrdersItConcerns(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.run()
	s.produce(
		s.event("v1", noon, 1, landing("Ana+Prado", "Inverno")), s.event("v1", noon, 2, checkout("k1:a")),
		s.order("o1", noon.Add(time.Minute), 10000, cart("k1:a")),
		s.order("o2", noon.Add(time.Minute), 10000, func(o *wire.Order) { o.DiscountCode = wire.Some("beto") }),
		s.order("o3", time.Date(2026, 3, 11, 2, 0, 0, 0, time.UTC), 10000, nil),
	)
	s.applied()
	wantTexts(t, "no rules", s.payouts(), "o1 nobody - 0", "o2 nobody - 0", "o3 nobody - 0")

	changed := func(rule wire.Rule) {
		rule.At = noon
		s.produce(s.commerce(wire.KindRule, string(rule.Type)+"/x", noon, rule))
		s.applied()
	}
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	changed(wire.Rule{Type: "influencer", Change: "created", InfluencerID: ana})
	wantTexts(t, "a new influencer", s.payouts(), "o1 Ana Prado link 0", "o2 nobody - 0", "o3 nobody - 0")

	cost := s.cost(ana, inverno, 0, "10")
	changed(wire.Rule{Type: "cost", Change: "created", InfluencerID: ana, CampaignID: inverno, From: "2019-01-01"})
	wantTexts(t, "a new cost", s.payouts(), "o1 Ana Prado link 1000", "o2 nobody - 0", "o3 nobody - 0")

	beto, verao := s.influencer("Beto Lima", "Verão")
	s.coupon(beto, verao, "BETO")
	changed(wire.Rule{Type: "coupon", Change: "created", InfluencerID: beto, CampaignID: verao, Code: "BETO",
		From: "2026-03-10", To: "2026-03-10"})
	wantTexts(t, "a new coupon", s.payouts(), "o1 Ana Prado link 1000", "o2 Beto Lima coupon 0", "o3 nobody - 0")

	s.exec(`update cost set var_fee = 20 where cost_id = $1`, cost)
	s.bump()
	changed(wire.Rule{Type: "cost", Change: "updated", InfluencerID: ana})
	wantTexts(t, "ledger", s.texts(`select concat_ws(' ', entry, kind, amount_minor, reverses, cause) from ledger_entry order by entry`),
		"1 earned 1000 rule 3 cost", "2 reversed -1000 1 rule 6 cost", "3 adjusted 2000 rule 6 cost")

	s.exec(`update company set timezone = 'UTC' where company_id = $1`, s.company)
	s.bump()
	days := func() []string { return s.texts(`select day::text from orders order by order_id`) }
	wantTexts(t, "days in São Paulo", days(), "2026-03-10", "2026-03-10", "2026-03-10")
	s.produce(s.commerce(wire.KindSettings, "settings", noon, struct{}{}))
	s.applied()
	wantTexts(t, "days in UTC", days(), "2026-03-10", "2026-03-10", "2026-03-11")
}

func TestFirstOrdersAreInferredWhereTheMerchantDoesNotSendThem(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.run()
	of := func(email string, status int) func(*wire.Order) {
		return func(o *wire.Order) { o.EmailKey, o.Status = wire.Some(email), status }
	}
	first := func() []string {
		return s.texts(`select order_id || ' ' || coalesce(is_first_order::text, '?') from orders left join payout using (company_id, ` +
			`order_id) order by order_id`)
	}
	s.produce(s.order("o2", noon.Add(time.Hour), 1, of("k1:a", 0)), s.order("o4", noon, 1, nil),
		s.order("o5", noon, 1, func(o *wire.Order) { o.IsFirstOrder = wire.Some(false) }))
	s.applied()
	wantTexts(t, "alone", first(), "o2 true", "o4 ?", "o5 false")
	s.produce(s.order("o1", noon, 1, of("k1:a", 0)), s.order("o3", noon.Add(2*time.Hour), 1, of("k1:a", 0)))
	s.applied()
	wantTexts(t, "an earlier one arrives", first(), "o1 true", "o2 false", "o3 false", "o4 ?", "o5 false")
	cancelled := s.order("o1", noon.Add(time.Minute), 1, of("k1:a", 2))
	s.produce(cancelled)
	s.applied()
	wantTexts(t, "the first is cancelled", first(), "o1 true", "o2 true", "o3 false", "o4 ?", "o5 false")
}

func TestResultsNameTheOrdersThatHaveANewOutcome(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.run()
	s.produce(s.order("o1", noon, 100, nil))
	done := errorString("seen")
	err := s.client.Follow(s.ctx, wire.TopicResults, 0, kafka.FromFirst, func(_ int64, r kafka.Record) error {
		var result wire.Result
		if err := json.Unmarshal(r.Value, &result); err != nil {
			return err
		}
		wantTexts(t, "orders", result.OrderIDs, "o1")
		if result.CompanyID != s.company || s.int(`select count(*) from payout where order_id = 'o1'`) != 1 {
			t.Errorf("hint %s came before its outcome or for another company", r.Value)
		}
		return done
	}, nil)
	if !errors.Is(err, done) {
		t.Error(err)
	}
}

type errorString string

func (e errorString) Error() string { return string(e) }
