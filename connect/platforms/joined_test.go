package platforms

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/fakes"
	"github.com/tributary-io/tributary/test/fixtures/shoptest"
)

// joined is a platform's client of a fake, which somebody else made of the platform's documentation.
type joined struct {
	fake     *fakes.Shop
	platform platform.Platform
	shop     platform.Shop
}

// join opens a fake with the keys that a merchant would paste; names are those of the fake's keys by those of ours.
func join(t *testing.T, name string) joined {
	t.Helper()
	fake, err := fakes.Start(t.Context(), fakes.Options{Platform: name, Seed: 7, RetryScale: 1e-5, LimitScale: 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	credentials, hosts := fakes.Pasted(fake)
	led := map[string]string{}
	for _, host := range hosts {
		led[host] = fake.URL()
	}
	at := slices.IndexFunc(All(), func(p platform.Platform) bool { return p.Offer().Name == name })
	p := All()[at]
	limits := p.Limits()
	limits.PerSecond, limits.Burst = limits.PerSecond*20, limits.Burst*20 // as the fake's
	client := platform.NewClient(limits, platform.Options{UserAgent: "Tributary (test@example.com)", Rewrite: led})
	t.Cleanup(client.Close)
	shop, err := p.Open(credentials, client)
	if err != nil {
		t.Fatal(err)
	}
	return joined{fake: fake, platform: p, shop: shop}
}

func each(t *testing.T, test func(t *testing.T, j joined)) {
	t.Helper()
	for _, name := range []string{"shopify", "vtex", "yampi"} {
		t.Run(name, func(t *testing.T) { test(t, join(t, name)) })
	}
}

func (j joined) created(t *testing.T) map[string]platform.Item {
	t.Helper()
	found, token := map[string]platform.Item{}, ""
	from, to := time.Now().Add(-24*time.Hour), time.Now().Add(time.Hour)
	for {
		page, err := j.shop.Created(t.Context(), from, to, token)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			if _, twice := found[item.ID]; twice {
				t.Errorf("%s comes twice", item.ID)
			}
			found[item.ID] = item
		}
		if token = page.Next; token == "" {
			return found
		}
	}
}

// changed reads changes until there are none, as the service does, into what is known.
func (j joined) changed(t *testing.T, after time.Time, known map[string]platform.Item) {
	t.Helper()
	token := ""
	for {
		page, err := j.shop.Changed(t.Context(), after, token)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			if old, there := known[item.ID]; !there || !item.UpdatedAt.Before(old.UpdatedAt) {
				known[item.ID] = item
			}
		}
		if page.Stored != nil {
			if err := page.Stored(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if token = page.Next; token == "" {
			return
		}
	}
}

// hold compares what was read with what is so in the fake, to the cent.
func (j joined) hold(t *testing.T, read map[string]platform.Item) {
	t.Helper()
	statuses := map[string]int{"approved": 0, "pending": 1, "cancelled": 2}
	truths := j.fake.Orders()
	if len(read) != len(truths) {
		t.Errorf("%d orders, of %d", len(read), len(truths))
	}
	for _, truth := range truths {
		item := read[truth.ID]
		if item.Order == nil {
			t.Errorf("%s (%s): %+v", truth.ID, truth.PlatformStatus, item.Aside)
			continue
		}
		o := item.Order
		shoptest.CheckOrder(t, o)
		if o.Status != statuses[truth.Status] || o.Test != truth.Test || o.Currency != truth.Currency {
			t.Errorf("%s (%s): status %d, test %v", truth.ID, truth.PlatformStatus, o.Status, o.Test)
		}
		if o.Status != 2 && string(o.TotalPrice) != truth.Total {
			t.Errorf("%s (%s): total %s, not %s", truth.ID, truth.PlatformStatus, o.TotalPrice, truth.Total)
		}
		var codes []string
		for _, code := range o.Codes {
			codes = append(codes, strings.ToUpper(code.Code))
			for _, took := range truth.Discounts {
				if strings.EqualFold(took.Code, code.Code) && code.Amount != "" && string(code.Amount) != took.Amount.String() {
					t.Errorf("%s: %s took %s off, not %s", truth.ID, code.Code, code.Amount, took.Amount)
				}
			}
		}
		wanted := truth.Codes
		if j.platform.Offer().Name != "shopify" { // VTEX and Yampi show the first code alone
			wanted = wanted[:min(len(wanted), 1)]
		}
		if !slices.Equal(codes, wanted) {
			t.Errorf("%s: codes %v, not %v", truth.ID, codes, wanted)
		}
	}
}

func TestWhatIsReadIsWhatIsInTheShop(t *testing.T) {
	each(t, func(t *testing.T, j joined) {
		about, err := j.shop.About(t.Context())
		if err != nil || about.ID == "" {
			t.Fatalf("%+v %v", about, err)
		}
		if err := j.fake.Live(t.Context(), 3, 120, 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond) // VTEX's list has an order four minutes later, here that much
		read := j.created(t)
		j.hold(t, read)
		digests, token := map[string]string{}, ""
		for {
			list, next, err := j.shop.Digests(t.Context(), time.Now().Add(-24*time.Hour), time.Now().Add(time.Hour), token)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range list {
				digests[d.ID] = d.Total
			}
			if token = next; token == "" {
				break
			}
		}
		if len(digests) != len(read) {
			t.Errorf("%d digests of %d orders", len(digests), len(read))
		}
		for id, total := range digests {
			if item := read[id]; total != item.Digest().Total {
				t.Errorf("%s: digest %s, order %s", id, total, item.Digest().Total)
			}
		}
		if stats := j.fake.Stats(); stats.Beyond != 0 {
			t.Errorf("%d requests beyond the limit", stats.Beyond)
		}
	})
}

func TestWhatChangesIsRead(t *testing.T) {
	each(t, func(t *testing.T, j joined) {
		begun := time.Now().Add(-time.Minute)
		known := map[string]platform.Item{}
		j.changed(t, begun, known) // makes VTEX's feed
		for seed := range uint64(3) {
			if err := j.fake.Live(t.Context(), seed+20, 40, 0); err != nil {
				t.Fatal(err)
			}
			j.changed(t, begun, known)
		}
		j.hold(t, known)
		if stats := j.fake.Stats(); stats.Beyond != 0 {
			t.Errorf("%d requests beyond the limit", stats.Beyond)
		}
	})
}

// TestAStormLosesNothing: pages that fail are read again; what a platform answers torn, late or not at all is never taken for less.
func TestAStormLosesNothing(t *testing.T) {
	each(t, func(t *testing.T, j joined) {
		if j.platform.Offer().Name == "vtex" {
			return // its events come again only after four minutes
		}
		begun, known, failed := time.Now().Add(-time.Minute), map[string]platform.Item{}, 0
		j.fake.SetFaults(fakes.Faults{
			Seed: 7, TooMany: 0.15, ServerError: 0.15, Timeout: 0.1, Torn: 0.15, Expired: 0.5, EditBetweenPages: 0.5, Hang: 50 * time.Millisecond,
		})
		for seed := range uint64(4) {
			if err := j.fake.Live(t.Context(), seed+50, 6, 0); err != nil {
				t.Fatal(err)
			}
			page, err := j.shop.Changed(t.Context(), begun, "")
			if told := new(platform.Error); err != nil && (!errors.As(err, &told) || told.Reason == "") {
				t.Errorf("an error without a reason: %v", err)
			}
			if err != nil {
				failed++
			}
			for _, item := range page.Items {
				if item.Aside != nil {
					t.Errorf("%s is set aside: %+v", item.ID, item.Aside)
				}
			}
		}
		t.Logf("%d of 4 polls failed: %v", failed, j.fake.Stats().Faults)
		j.fake.SetFaults(fakes.Faults{})
		j.changed(t, begun, known)
		j.hold(t, known)
	})
}

func TestNoticesOfTheFakeAreUnderstood(t *testing.T) {
	each(t, func(t *testing.T, j joined) {
		about, err := j.shop.About(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		secret := "a secret of the connection"
		if signer, ok := j.platform.(platform.Signer); ok {
			secret = signer.NoticeSecret(platform.Credentials{"client_secret": j.fake.Key("client_secret")})
		}
		var mutex sync.Mutex
		told := map[string]int{}
		forged := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := make([]byte, 0, 4096)
			for chunk := make([]byte, 4096); ; {
				n, err := r.Body.Read(chunk)
				body = append(body, chunk[:n]...)
				if err != nil {
					break
				}
			}
			notices, err := j.platform.Notices(platform.Delivery{Header: r.Header, Body: body, Secret: secret, Shop: about.ID, ShopURL: about.URL})
			mutex.Lock()
			defer mutex.Unlock()
			if errors.Is(err, platform.ErrForged) {
				forged++
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			for _, n := range notices {
				told[n.OrderID]++
			}
		}))
		defer server.Close()
		if j.platform.Offer().Name == "yampi" { // the merchant makes the webhook, and pastes its secret
			secret = j.fake.Subscribe(fakes.Subscription{
				Topics: []string{"order.created", "order.paid", "order.status.updated"}, URL: server.URL + "/connect/x", Name: "x", Secret: "wh_1",
			}).Secret
		} else {
			for range 2 {
				if err := j.shop.Subscribe(t.Context(), server.URL+"/connect/x", secret); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := j.fake.Live(t.Context(), 5, 30, 0); err != nil {
			t.Fatal(err)
		}
		if err := j.fake.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		mutex.Lock()
		defer mutex.Unlock()
		if forged != 0 {
			t.Errorf("%d true notices are refused", forged)
		}
		for _, truth := range j.fake.Orders() {
			if told[truth.ID] == 0 {
				t.Errorf("%s was not told of; told: %v", truth.ID, slices.Sorted(maps.Keys(told)))
			}
		}
		err = j.shop.Unsubscribe(t.Context(), server.URL+"/connect/x")
		if err != nil || len(j.fake.Subscriptions()) != 0 && j.platform.Offer().Name != "yampi" {
			t.Errorf("%d subscriptions are left: %v", len(j.fake.Subscriptions()), err)
		}
	})
}

func TestCouponsOfTheFake(t *testing.T) {
	each(t, func(t *testing.T, j joined) {
		if j.platform.Offer().Name == "yampi" {
			return // the fake has no promocodes: its engineer found no documentation of them
		}
		if _, err := j.fake.AddCoupon(fakes.Coupon{Code: "ANA10", Kind: fakes.CouponPercent, Value: 1000}); err != nil {
			t.Fatal(err)
		}
		got, found, err := j.shop.Coupon(t.Context(), "ANA10")
		if err != nil || !found || !got.Enabled || cmp.Or(got.Percent, "10") != "10" {
			t.Errorf("%+v %v %v", got, found, err)
		}
		if _, found, err := j.shop.Coupon(t.Context(), "NOBODYS"); found || err != nil {
			t.Errorf("%v %v", found, err)
		}
		wanted := commerce.ShopCoupon{Code: "BIA7", Percent: "7.5", MaxUses: 3, OnePerPerson: true, EndsAt: time.Now().Add(48 * time.Hour)}
		err = j.shop.CreateCoupon(t.Context(), wanted)
		if j.platform.Offer().Name == "vtex" {
			if err == nil {
				t.Error("a coupon is made that VTEX cannot have")
			}
			return
		}
		got, found, err = j.shop.Coupon(t.Context(), "bia7")
		if err != nil || !found || got.Percent != "7.5" || got.MaxUses != 3 || !got.OnePerPerson || !got.Enabled {
			t.Errorf("%+v %v %v", got, found, err)
		}
	})
}
