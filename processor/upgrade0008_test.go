package processor

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

// takeBack takes the schema back to what it was before a migration, and returns a
// function that brings it up again.
func (s *shop) takeBack(before int64) (up func()) {
	s.t.Helper()
	s.exec(`create table kept as table evidence_decision`) // the table is younger than some migrations
	if err := postgres.MigrateBack(s.ctx, s.dsn, before-1); err != nil {
		s.t.Fatal(err)
	}
	return func() {
		s.t.Helper()
		if err := postgres.Migrate(s.ctx, s.dsn); err != nil {
			s.t.Fatal(err)
		}
		s.exec(`insert into evidence_decision select * from kept on conflict do nothing`)
		s.exec(`drop table kept`)
		s.pool.Reset() // the statements' plans are of other tables
		s.db.Pool().Reset()
	}
}

// The amounts of before 0008 had the digits of CLDR. They become what the same
// orders' amounts are now, and every outcome is what it is now.
func TestAmountsOfBeforeGetTheDigitsOfISO(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.coupon(ana, inverno, "ANA10")
	s.cost(ana, inverno, 100, "10")
	order := func(id, currency string, total, shipping int64, status int) record {
		return s.record(s.order(id, noon, total, func(o *wire.Order) {
			o.Currency, o.Status, o.DiscountCode, o.ShippingMinor, o.DiscountsMinor = currency, status, wire.Some("ANA10"), wire.Some(shipping), wire.Null[int64]()
		}))
	}
	s.apply([]record{
		order("cop", "COP", 1_234_500, 100_000, 0), order("cancelled", "COP", 500_000, 0, 0), order("pending", "COP", 500_000, 0, 1),
		order("iqd", "IQD", 5_000_000, 1000_000, 0), order("brl", "BRL", 1230, 30, 0), order("jpy", "JPY", 1230, 30, 0),
	}, func() int { return 2 })
	want := s.outcomes()
	up := s.takeBack(8)
	for currency, factor := range map[string]int{"COP": 100, "IQD": 1000} {
		for _, table := range []string{"order_version", "orders"} {
			s.exec(`update `+table+` set body = body || jsonb_build_object('totalMinor', (body->>'totalMinor')::bigint / $2, 'shippingMinor', (body->>'shippingMinor')::bigint / $2)
				where body->>'currency' = $1`, currency, factor)
		}
		s.exec(`update payout p set base_minor = base_minor / $2, commission_minor = commission_minor / $2 from orders o
			where o.order_id = p.order_id and o.currency = $1`, currency, factor)
		s.exec(`update orders set total_minor = total_minor / $2, shipping_minor = shipping_minor / $2 where currency = $1`, currency, factor)
		s.exec(`update credit set amount_minor = amount_minor / $2 where currency = $1`, currency, factor)
		s.exec(`update ledger_entry set amount_minor = amount_minor / $2 where currency = $1`, currency, factor)
	}
	s.exec(`update ledger_entry set at = $1`, noon) // 0010 makes payable_on of it
	up()
	s.workOff()
	if got := s.outcomes(); got != want {
		t.Error(firstDifference(got, want))
	}
	wantTexts(t, "entries of before stay", s.texts(`select distinct kind from ledger_entry`), "earned")
}

// Codes and names of before 0008 were compared with more of their characters.
func TestCodesAndNamesOfBeforeAreComparedAsNow(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana", "Inverno")
	made := noon
	coupon := func(code, folded string) {
		made = made.Add(time.Minute)
		s.exec(`insert into coupon (company_id, coupon_id, influencer_id, campaign_id, code, code_folded, period, rev, created_at) values ($1, $2, $3, $4, $5, $6, '(,)', 1, $7)`,
			s.company, uuid.NewString(), ana, inverno, code, folded, made)
	}
	coupon("HEART\u2764\uFE0F", "HEART\u2764\uFE0F")
	coupon("STRASSE", "STRASSE")
	coupon("STRAßE", "STRAßE")         // taken by the one before
	coupon("\u2800 BIA", "\u2800 BIA") // made before the plain one, and displaced by it all the same
	coupon("BIA", "BIA")
	coupon("A\u034FB", "A\u034FB") // the first of two
	coupon("A\u2800B", "A\u2800B")
	coupon("PLAIN", "PLAIN")
	influencer := func(name, folded string) string {
		id := uuid.NewString()
		made = made.Add(time.Minute)
		s.exec(`insert into influencer (company_id, influencer_id, name, name_folded, rev, created_at) values ($1, $2, $3, $4, 1, $5)`, s.company, id, name, folded, made)
		return id
	}
	influencer("Bia\u3164 Sá", "bia\u1160 sa")
	influencer("An\u2800a", "an\u2800a") // Ana has the name
	s.exec(`insert into campaign (company_id, campaign_id, influencer_id, name, name_folded, rev) values ($1, 'v', $2, 'x', $3, 1)`, s.company, ana, "ver\u2800 ao")
	s.apply([]record{s.record(s.order("o1", noon, 1000, func(o *wire.Order) { o.DiscountCode = wire.Some("x; heart\u2764\uFE0F") }))}, func() int { return 1 })
	up := s.takeBack(8)
	s.exec(`delete from order_key where kind = 'code' and key = $1`, codeKey("HEART\u2764"))
	up()

	for _, folded := range s.texts(`select code_folded from coupon where deleted_at is null`) {
		if commerce.FoldCode(folded) != folded {
			t.Errorf("%q is not folded", folded)
		}
	}
	wantTexts(t, "live coupons", s.texts(`select code_folded from coupon where deleted_at is null order by code_folded collate "C"`), "AB", "BIA", "HEART\u2764", "PLAIN", "STRASSE")
	wantTexts(t, "displaced coupons", s.texts(`select code_folded from coupon where deleted_at is not null order by created_at`), "STRAßE", "\u2800 BIA", "A\u2800B")
	wantTexts(t, "the audit log", s.texts(`select detail->>'code' from audit_log where action = 'coupon.delete' order by detail->>'code' collate "C"`), "A\u2800B", "STRAßE", "\u2800 BIA")
	wantTexts(t, "influencers", s.texts(`select name_folded from influencer order by name_folded collate "C"`), "ana", "an\u2800a", "bia sa")
	wantTexts(t, "campaigns", s.texts(`select name_folded from campaign order by name_folded collate "C"`), "inverno", "ver ao")
	if n := s.int(`select count(*) from order_key where kind = $1 and key = $2`, facts.KeyCode.Code(), facts.RuleKey(facts.KeyCode, "HEART\u2764").Pack()); n != 1 {
		t.Errorf("%d orders are found by the code as it is compared now, want 1", n)
	}
	s.workOff()
	wantTexts(t, "the order", s.payouts(), "o1 Ana coupon 0")
}

// codeKey is the key by which orders of a folded code are found.
func codeKey(folded string) string { return facts.RuleKey(facts.KeyCode, folded).Value }
