package processor

import (
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/wire"
)

// docs/attribution.md, "Touches": which hosts a shopper only passes through is a setting;
// those count that were in force when the order was created.
func TestPassingHostsAreASettingOfTheOrdersTime(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	before := time.Now().Add(-time.Second)
	if _, _, err := merchant.New(s.db).ChangeSettings(s.ctx, commerce.SettingsChange{CompanyID: s.company, Actor: "test",
		Change: func(s *commerce.Settings) { s.PassingHosts = []string{"pay.example.org", "-hotmart.com"} }}); err != nil {
		t.Fatal(err)
	}
	s.rev++
	after := time.Now().Add(time.Second)
	var records []record
	n := 0
	f := func(id, referrer string, created time.Time) {
		n++
		visitor, cart := "v"+id, "k1:"+id
		from := func(e *wire.Event) {
			e.Context.Page.Referrer, e.Identity.CartKey, e.Trust = referrer, cart, wire.TrustImport
		}
		records = append(records, s.record(s.event(visitor, created.Add(-time.Minute).UTC().Truncate(time.Millisecond), n, from)),
			s.record(s.order(id, created.UTC().Truncate(time.Second), 1000, func(o *wire.Order) { o.CartKey = wire.Some(cart) })))
	}
	f("added-before", "https://pay.example.org/", before)
	f("added-since", "https://pay.example.org/", after)
	f("taken-before", "https://pay.hotmart.com/", before)
	f("taken-since", "https://pay.hotmart.com/", after)
	f("known-since", "https://www.asaas.com/", after)
	s.apply(records, func() int { return 3 })
	wantTexts(t, "channels", s.texts(`select order_id || ' ' || channel from credit where first_minor is not null order by 1`),
		"added-before Referral", "added-since Direct", "known-since Direct", "taken-before Direct", "taken-since Referral")
}
