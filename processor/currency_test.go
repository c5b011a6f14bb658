package processor

import (
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

func TestAFixedFeeIsKeptBesideAnotherCurrency(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.coupon(ana, inverno, "ANA10")
	s.cost(ana, inverno, 1250, "10")
	s.run()
	dollars := func(status int) func(o *wire.Order) {
		return func(o *wire.Order) {
			o.Currency, o.DiscountCode, o.Status, o.UpdatedAt = "USD", wire.Some("ANA10"), status,
				wire.Some(noon.Add(time.Duration(status)*time.Minute))
		}
	}
	f := func(name string, status int, want ...string) {
		t.Helper()
		s.produce(s.order("o1", noon, 10000, dollars(status)))
		s.applied()
		wantTexts(t, name, s.texts(`select concat_ws(' ', commission_minor, fixed_brl_minor) from payout
			union all select concat_ws(' ', currency, sum(amount_minor)) from ledger_entry group by currency order by 1`), want...)
	}
	f("approved", 0, "1000 1250", "BRL 1250", "USD 1000")
	f("pending again", 1, "1000 1250", "BRL 0", "USD 0")
	f("cancelled", 2, "0 0", "BRL 0", "USD 0")
}
