package processor

import (
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/wire"
)

// An order is decided by the settings that were in force when it was created, however
// late it comes (docs/attribution.md, "Facts").
func TestSettingsCountForOrdersCreatedSinceTheyWereMade(t *testing.T) {
	t.Parallel()
	j := newJourneys(t)
	rules := merchant.New(j.db)
	author := commerce.Author{CompanyID: j.company, Actor: "test", At: time.Now()}
	before := time.Now()
	set := func(change func(s *commerce.Settings)) time.Time {
		t.Helper()
		if _, _, err := rules.ChangeSettings(j.ctx, commerce.SettingsChange{CompanyID: j.company, Actor: "test", Change: change}); err != nil {
			t.Fatal(err)
		}
		return time.Now()
	}
	unproven := func(name, what string) {
		t.Helper()
		if err := rules.SetUnproven(j.ctx, author, name, what); err != nil {
			t.Fatal(err)
		}
	}
	first := set(func(s *commerce.Settings) { s.PayoutRule, s.HoldDays, s.WindowDays = commerce.LastTouch, 5, 2 })
	second := set(func(s *commerce.Settings) {
		s.Unproven, s.PayRecurring, s.CountDirect, s.HalfLifeDays, s.WithoutTax = commerce.UnprovenPay, true, true, 1, true
	})
	unproven("Beto Lima", commerce.UnprovenIgnore)
	third := time.Now()
	unproven("Beto Lima", "")
	last := set(func(s *commerce.Settings) { s.Unproven = commerce.UnprovenIgnore })
	unproven("Ana Prado", commerce.UnprovenReview)
	now := time.Now()

	// f wants an order that was created at an instant to end so.
	f := func(name string, created time.Time, want string, what func(j *journey, at time.Time)) {
		t.Helper()
		if got := j.run(func(j *journey) { what(j, created.UTC()) }); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	sees := func(j *journey, at time.Time, changes ...func(e *wire.Event)) {
		j.sees("v", noon.Sub(at), append(changes, func(e *wire.Event) { e.Trust, e.ReceivedAt = wire.TrustImport, at })...)
	}
	buys := func(j *journey, at time.Time, changes ...func(o *wire.Order)) {
		j.buysAt(at, append(changes, func(o *wire.Order) { o.CreatedAt = at })...)
	}
	both := func(j *journey, at time.Time) {
		sees(j, at.Add(-hours), of("beto+lima"), secret)
		buys(j, at, hasCart, hasCode("ANA10"))
	}
	f("a coupon first", before, "earned Ana coupon order, Ana has 1000", both)
	f("the last touch, since", first, "earned Beto link cart, Beto has 1000", both)
	old := func(j *journey, at time.Time) {
		sees(j, at.Add(-10*days), of("ana+prado"), secret)
		sees(j, at.Add(-hours), secret)
		buys(j, at, hasCart)
	}
	f("a window of 30 days", before, "earned Ana link cart, Ana has 1000", old)
	f("a window of 2 days, since", first, none, old)
	again := func(j *journey, at time.Time) {
		sees(j, at.Add(-hours), of("ana+prado"), secret)
		buys(j, at, hasCart, recurring)
	}
	f("recurring orders", first, "none Ana link cart recurring_excluded", again)
	f("recurring orders, since", second, "earned Ana link cart, Ana has 1000", again)
	taxed := func(j *journey, at time.Time) {
		sees(j, at.Add(-hours), of("ana+prado"), secret)
		buys(j, at, hasCart, func(o *wire.Order) { o.TaxMinor = wire.Some[int64](1000) })
	}
	f("a base with tax", first, "earned Ana link cart, Ana has 1000", taxed)
	f("a base without tax, since", second, "earned Ana link cart, Ana has 900", taxed)
	claimed := func(name string) func(j *journey, at time.Time) {
		return func(j *journey, at time.Time) {
			sees(j, at.Add(-hours), of(name), mail)
			buys(j, at, hasMail)
		}
	}
	f("what nothing proves waits", first, review, claimed("ana+prado"))
	f("… is paid", second, "earned Ana link claimed, Ana has 1000", claimed("ana+prado"))
	f("… not that of an influencer", third, none, claimed("beto+lima"))
	f("… is ignored", last, none, claimed("ana+prado"))
	f("… and of one influencer waits", now, review, claimed("ana+prado"))
	f("… not of the others", now, none, claimed("beto+lima"))

	held := func(created time.Time, want int) {
		t.Helper()
		j.run(func(j *journey) {
			sees(j, created.Add(-hours), of("ana+prado"), secret)
			buys(j, created.UTC(), hasCart)
		})
		if n := j.int(`select payable_on - (o.approved_since at time zone 'America/Sao_Paulo')::date from payout join orders o using ` +
			`(company_id, order_id)`); n != int64(want) {
			t.Errorf("held for %d days, want %d", n, want)
		}
	}
	held(before, 30)
	held(first, 5)
}
