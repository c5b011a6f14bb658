package processor

import (
	"reflect"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres/factstore"
	"github.com/tributary-io/tributary/internal/wire"
)

// stored is what the store says of an order's outcome.
func (s *shop) stored(orderID string) (o *facts.Outcome) {
	s.t.Helper()
	if err := s.store.Transact(s.ctx, func(tx *factstore.Tx) error {
		found, err := tx.StoredOutcomes(s.ctx, s.company, []string{orderID, "another"})
		o = found[orderID]
		return err
	}); err != nil {
		s.t.Fatal(err)
	}
	return o
}

// What is stored of an outcome is read as it was written: that is what its successor is
// compared with.
func TestAnOutcomeIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.cost(ana, inverno, 100, "10")
	landed := s.event("v1", noon.Add(-time.Hour), 1, landing("Ana+Prado", "Inverno"))
	at := func(id string, change func(*wire.Order)) record {
		return s.record(s.order(id, noon, 1000, func(o *wire.Order) { o.VisitorID = wire.Some(visitorID("v1")); change(o) }))
	}
	s.apply([]record{
		s.record(landed),
		at("o1", func(o *wire.Order) { o.ShippingMinor = wire.Some[int64](200) }),
		at("pending", func(o *wire.Order) { o.Status = 1 }),
		s.record(s.order("nobody", noon, 5, nil)),
		s.record(s.order("own", noon, 5, func(o *wire.Order) { o.UTMSource = wire.Some("ig") })),
	}, func() int { return 10 })

	all := func(minor int64) (parts [facts.ModelCount]facts.Part) {
		for i := range parts {
			parts[i] = facts.Part{Given: true, Minor: minor}
		}
		return parts
	}
	f := func(id string, want facts.Outcome) {
		t.Helper()
		want.OrderID, want.Currency, want.Day = id, "BRL", "2026-03-10"
		if got := s.stored(id); got == nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: %+v, want %+v", id, got, want)
		}
	}
	paid := facts.Payout{
		State: facts.PayoutEarned, InfluencerID: ana, CampaignID: inverno, Evidence: facts.EvidenceLink, Proof: facts.Proof(facts.KeyVisitor),
		PayableOn: "2026-04-09", BaseMinor: 800, CommissionMinor: 180,
	}
	f("o1", facts.Outcome{
		TotalMinor: 1000, Payout: paid,
		Credits: []facts.Credit{{Position: 1, Channel: "Ana Prado", InfluencerID: ana, CampaignID: inverno, Parts: all(1000)}},
	})
	paid.State, paid.PayableOn, paid.BaseMinor, paid.CommissionMinor = facts.PayoutExpected, "", 1000, 200
	f("pending", facts.Outcome{Status: 1, TotalMinor: 1000, Payout: paid})
	none := facts.Payout{State: facts.PayoutNone, Reason: facts.ReasonNoWinner, BaseMinor: 5}
	f("nobody", facts.Outcome{TotalMinor: 5, Payout: none, Credits: []facts.Credit{{Channel: "unattributed", Parts: all(5)}}})
	f("own", facts.Outcome{TotalMinor: 5, Payout: none, Credits: []facts.Credit{{Position: 1, Channel: "Organic Social", Parts: all(5)}}})
	if o := s.stored("unknown"); o != nil {
		t.Errorf("an order without an outcome: %+v", o)
	}
}

// Credits are those of the order as it is now.
func TestCreditsFollowTheOrder(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.influencer("Beto Lima", "x")
	s.coupon(ana, inverno, "ANA10")
	visit := func(n int, name string) record {
		return s.record(s.event("v1", noon.Add(time.Duration(n-10)*time.Hour), n, landing(name, "Inverno")))
	}
	version := func(after time.Duration, change func(*wire.Order)) record {
		return s.record(s.order("o1", noon, 1000, func(o *wire.Order) {
			o.VisitorID, o.UpdatedAt = wire.Some(visitorID("v1")), wire.Some(noon.Add(after))
			change(o)
		}))
	}
	rows := func() []string {
		return s.texts(`select position || ' ' || channel || ' ' || linear_minor from credit order by position`)
	}
	var records []record
	apply := func(more ...record) {
		t.Helper()
		records = append(records, more...)
		numbered(records)
		if err := s.owner().applyRecords(s.ctx, records[len(records)-len(more):]); err != nil {
			t.Fatal(err)
		}
	}
	apply(visit(1, "Ana+Prado"), visit(2, "beto+lima"), visit(3, "Nobody"), version(0, func(*wire.Order) {}))
	before := rows()
	if len(before) != 3 {
		t.Fatalf("%d credits, want 3", len(before))
	}
	apply(version(time.Minute, func(o *wire.Order) { o.DiscountCode = wire.Some("ANA10") }))
	wantTexts(t, "another payout", s.payouts(), "o1 Ana Prado coupon 0")
	wantTexts(t, "credits after another payout", rows(), before...)

	apply(version(2*time.Minute, func(o *wire.Order) { o.DiscountCode, o.Status = wire.Some("ANA10"), 2 }))
	wantTexts(t, "credits of a cancelled order", rows())

	// A version that clears userId has no touches; the one after it sends the same userId
	// again, in another currency.
	apply(version(3*time.Minute, func(o *wire.Order) { o.Status = 0; o.VisitorID = wire.Null[string]() }))
	wantTexts(t, "without touches", s.texts(`select position || ' ' || channel || ' ' || first_minor || ' ' || linear_minor from credit`),
		"0 coupon:Ana Prado 1000 1000")
	apply(version(4*time.Minute, func(o *wire.Order) { o.Currency = "USD" }))
	wantTexts(t, "in another currency",
		s.texts(`select position || ' ' || channel || ' ' || currency || ' ' || coalesce(first_minor, 0) || ' ' || linear_minor from credit `+
			`order by position`),
		"1 Ana Prado USD 1000 334", "2 Beto Lima USD 0 333", "3 Referral USD 0 333")
}
