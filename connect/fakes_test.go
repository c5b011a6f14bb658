package connect_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/connect"
	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/connect/platforms"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/fakes"
)

// A shop of a fake is connected, sells with a coupon, edits an order, cancels one and refunds a part of one: all that was accepted
// is what is so in the shop, to the cent, by notices and by polling alone.
func TestAFakeShopIsConnected(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		platform string
		notices  bool
	}{{"nuvemshop", true}, {"nuvemshop", false}, {"shopify", true}, {"shopify", false}, {"vtex", true}, {"vtex", false},
		{"woocommerce", true}, {"woocommerce", false}, {"yampi", false}} {
		notices := c.notices
		t.Run(fmt.Sprint(c.platform, ", notices ", notices), func(t *testing.T) {
			t.Parallel()
			fake, err := fakes.Start(t.Context(), fakes.Options{Platform: c.platform, Seed: 7, RetryScale: 0.001, LimitScale: 10,
				Faults: fakes.Faults{ClockSkew: 90 * time.Second}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { fake.Close() })
			w := newWorld(t)
			w.platform = c.platform
			credentials, hosts := fakes.Pasted(fake)
			w.credentials = credentials
			_, err = fake.AddCoupon(fakes.Coupon{Code: "ANA10", Kind: fakes.CouponPercent, Value: 1000})
			w.must(err)
			buy := func(cart fakes.Cart) int64 {
				cart.Lines, cart.Codes = []fakes.CartLine{{Product: 0, Quantity: 2}, {Product: 1, Quantity: 1}}, []string{"ANA10"}
				order, err := fake.Place(cart)
				w.must(err)
				w.must(fake.Pay(order.ID))
				return order.ID
			}
			for day := range 4 {
				buy(fakes.Cart{At: time.Now().Add(-time.Duration(day+1) * 20 * time.Hour)})
			}
			buy(fakes.Cart{}) // just now, and so later than now by our clock
			front := httptest.NewUnstartedServer(nil)
			server, _ := w.run(func(c *connect.Config, d *connect.Deps) {
				d.Platforms = platforms.All()
				if c.PublicURL = ""; notices {
					c.PublicURL = "http://" + front.Listener.Addr().String()
				}
				c.Options = platform.Options{UserAgent: "Tributary (nobody@example.com)", Rewrite: map[string]string{}}
				for _, host := range hosts {
					c.Options.Rewrite[host] = fake.URL()
				}
			})
			front.Config.Handler = server.Handler()
			front.Start()
			t.Cleanup(front.Close)
			w.connect(10, time.Now())
			w.checks.begin = time.Time{} // of the tests' own shop
			if c := w.connection(); c.NoticesOn != notices {
				t.Fatalf("notices on %t, want %t", c.NoticesOn, notices)
			}
			w.wantTruth(fake)
			if c := w.connection(); c.Backfill.Total < 4 || c.Backfill.Total > 5 { // the last was made just now
				t.Errorf("%d orders are told to be earlier ones", c.Backfill.Total)
			}
			paid, refunded, edited, cancelled := buy(fakes.Cart{}), buy(fakes.Cart{}), buy(fakes.Cart{}), buy(fakes.Cart{})
			if c.platform != "yampi" { // which has neither edits nor refunds of a part
				w.must(fake.Edit(edited, 1, 1))
				w.must(fake.RefundPart(refunded, 1234))
			}
			w.must(fake.Cancel(cancelled))
			if !notices {
				w.poll()
			}
			w.wantTruth(fake)
			bought, _ := fake.Order(paid)
			order, _ := w.kafka.get(fake.Truth(bought).ID)
			if codes := order.DiscountCodes.Value; len(codes) != 1 ||
				!strings.EqualFold(codes[0].Code, "ANA10") || order.Status != commerce.OrderApproved {
				t.Errorf("the order has %+v", order)
			}
		})
	}
}

// wantTruth waits until all that was taken is what is so in the shop.
func (w *world) wantTruth(fake *fakes.Shop) {
	w.t.Helper()
	differs := func() string {
		status := map[string]int{fakes.StatusApproved: commerce.OrderApproved, fakes.StatusPending: commerce.OrderPending,
			fakes.StatusCancelled: commerce.OrderCancelled}
		for _, truth := range fake.Orders() {
			got, found := w.kafka.get(truth.ID)
			switch {
			case !found:
				return "order " + truth.ID + " did not come"
			case got.Status != status[truth.Status]:
				return fmt.Sprintf("order %s has status %d and is %s", truth.ID, got.Status, truth.Status)
			case got.Status != commerce.OrderCancelled && commerce.FormatMinor(got.TotalMinor, got.Currency) != truth.Total:
				return fmt.Sprintf("order %s has %d and is %s", truth.ID, got.TotalMinor, truth.Total)
			}
		}
		return ""
	}
	await.Until(w.t, await.Long, func() bool { return differs() == "" }, func() string {
		return fmt.Sprintf("%s; aside: %+v; %+v", differs(), w.aside(), w.connection())
	})
}
