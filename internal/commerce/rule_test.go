package commerce

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/wire"
)

// told lists violations as "field code" lines.
func told(bad Violations) string {
	var lines []string
	for _, v := range bad.List {
		lines = append(lines, strings.TrimSpace(v.Field+" "+v.Code))
	}
	return strings.Join(lines, "; ")
}

func TestCostsTellEveryRuleTheyBreak(t *testing.T) {
	t.Parallel()
	f := func(want string, change func(c *CostTerms)) {
		t.Helper()
		c := CostTerms{FixedFeeMinor: 1, StartDate: "2026-01-01"}
		change(&c)
		if got := told(c.Check()); got != want {
			t.Errorf("%+v: %s; want %s", c, got, want)
		}
	}
	f("", func(*CostTerms) {})
	f("no_rate; start_date required", func(c *CostTerms) { *c = CostTerms{} })
	f("fixed_fee out_of_range", func(c *CostTerms) { c.FixedFeeMinor = -1 })
	f("", func(c *CostTerms) { c.FixedFeeMinor = MaxAmountMinor })
	f("fixed_fee out_of_range", func(c *CostTerms) { c.FixedFeeMinor = MaxAmountMinor + 1 })
	f("value out_of_range; var_fee out_of_range; frequency required", func(c *CostTerms) {
		c.ValueMinor, c.VarFee = math.MaxInt64, decimal.New(10001, -2)
	})
	f("", func(c *CostTerms) { c.VarFee = decimal.New(100, 0) })
	f("var_fee too_many_digits", func(c *CostTerms) { c.VarFee = decimal.New(1, -7) })
	f("", func(c *CostTerms) { c.VarFee = decimal.New(1, -6) })
	f("frequency invalid_value", func(c *CostTerms) { c.Frequency = "yearly" })
	f("start_date invalid_date", func(c *CostTerms) { c.StartDate = "0000-01-01" })
	f("end_date invalid_date", func(c *CostTerms) { c.EndDate = "2025-12-31" })
	f("", func(c *CostTerms) { c.EndDate = "2026-01-01" })
	f("", func(c *CostTerms) { c.CampaignCost = true }) // the campaign stands beside it
	if got := told(NewCost{InfluencerRef{}, CostTerms{CampaignCost: true}}.Check()); got !=
		"name empty; no_rate; start_date required; campaign_id required" {
		t.Errorf("an empty cost of a campaign: %s", got)
	}
}

func TestRegistrationsTellEveryRuleTheyBreak(t *testing.T) {
	t.Parallel()
	f := func(want string, change func(r *Registration)) {
		t.Helper()
		r := Registration{Name: "Ana", Links: []string{"https://loja.example.com/"}}
		change(&r)
		if got := told(r.Check()); got != want {
			t.Errorf("%s; want %s", got, want)
		}
	}
	f("", func(*Registration) {})
	f("name empty; links too_few", func(r *Registration) { *r = Registration{} })
	f("name empty", func(r *Registration) { r.Name = "\u200b" })
	f("name invalid_characters", func(r *Registration) { r.Name = "a\x00" })
	f("name too_long", func(r *Registration) { r.Name = strings.Repeat("é", MaxName+1) })
	f("", func(r *Registration) { r.Name = strings.Repeat("é", MaxName) })
	f("links[1].url invalid_url", func(r *Registration) { r.Links = append(r.Links, "http://loja.example.com/") })
	f("links too_many", func(r *Registration) { r.Links = make([]string, maxElements+1) })
	f("coupons[1].cupom empty; coupons[1].end_date invalid_date", func(r *Registration) {
		r.Coupons = []CouponTerms{{Code: "ANA10"}, {Code: " ", StartDate: "2026-01-02", EndDate: "2026-01-01"}}
	})
	f("costs[0] no_rate; campaign_id required", func(r *Registration) { r.Costs = []CostTerms{{StartDate: "2026-01-01", CampaignCost: true}} })
	f("campaign_id too_long; category too_long", func(r *Registration) {
		r.CampaignID, r.Category = strings.Repeat("x", MaxCampaignID+1), strings.Repeat("x", MaxCategory+1)
	})
}

func TestAdditionalCostsTellEveryRuleTheyBreak(t *testing.T) {
	t.Parallel()
	f := func(want string, got Violations) {
		t.Helper()
		if got := told(got); got != want {
			t.Errorf("%s; want %s", got, want)
		}
	}
	good := AdditionalCost{Name: "rent", ValueMinor: 1, Frequency: Monthly, StartDate: "2026-01-01"}
	f("", good.Check())
	f("name empty; value out_of_range; frequency invalid_value; start_date required", AdditionalCost{}.Check())
	f("value out_of_range", AdditionalCost{Name: "rent", ValueMinor: -1, Frequency: Monthly, StartDate: "2026-01-01"}.Check())
	f("", CostFilter{}.Check())
	f("frequency invalid_value; end_date invalid_date", CostFilter{Frequency: "x", From: "2026-01-02", To: "2026-01-01"}.Check())

	f("", CostChange{EndDate: wire.Some("2025-12-31")}.Check()) // against the stored start, after Apply
	f("name empty; value out_of_range; frequency invalid_value; start_date invalid_date", CostChange{
		Name: wire.Some(" "), ValueMinor: wire.Some[int64](0), Frequency: wire.Some("x"), StartDate: wire.Some("x")}.Check())
	changed := good
	changed.Category, changed.EndDate = "x", "2026-12-31"
	CostChange{Name: wire.Some(" hall "), Category: wire.Null[string](), EndDate: wire.Some("2025-12-31")}.Apply(&changed)
	if want := (AdditionalCost{Name: "hall", ValueMinor: 1, Frequency: Monthly, StartDate: "2026-01-01",
		EndDate: "2025-12-31"}); changed != want {
		t.Errorf("%+v, want %+v", changed, want)
	}
	f("end_date invalid_date", changed.Check())
}

func TestSettingsTellEveryRuleTheyBreak(t *testing.T) {
	t.Parallel()
	f := func(want string, change func(s *NewStore)) {
		t.Helper()
		s := NewStore{Name: "Loja"}
		s.Defaults()
		change(&s)
		if got := told(s.Check()); got != want {
			t.Errorf("%s; want %s", got, want)
		}
	}
	f("", func(*NewStore) {})
	f("name empty; country invalid_value; timezone invalid_value; currency invalid_value; consent_policy invalid_value; "+
		"payout_rule invalid_value; window_days out_of_range; half_life_days out_of_range; unproven invalid_value; "+
		"self_purchase invalid_value; minimum_payout out_of_range",
		func(s *NewStore) { *s = NewStore{} })
	f("country invalid_value", func(s *NewStore) { s.Country = "br" })
	f("timezone invalid_value", func(s *NewStore) { s.Timezone = "Local" })
	f("window_days out_of_range", func(s *NewStore) { s.WindowDays = 366 })
	f("minimum_payout out_of_range", func(s *NewStore) { s.MinimumPayout = "-1" })
	f("minimum_payout out_of_range", func(s *NewStore) { s.MinimumPayout = "many" })
	f("minimum_payout out_of_range", func(s *NewStore) { s.MinimumPayout = "10000000000.01" })
	f("", func(s *NewStore) { s.MinimumPayout = "49.90" })
	f("retention_days out_of_range", func(s *NewStore) { s.RetentionDays = 69 }) // 30 and 30 and 10
	f("", func(s *NewStore) { s.RetentionDays = 70 })
	f("", func(s *NewStore) { s.RetentionDays, s.WindowDays, s.HoldDays = 17, 7, 0 })
	f("retention_days out_of_range", func(s *NewStore) { s.RetentionDays, s.WindowDays = 90, 60 })
	f("retention_days out_of_range", func(s *NewStore) { s.RetentionDays = MaxRetentionDays + 1 })
	f("retention_days out_of_range", func(s *NewStore) { s.RetentionDays = -1 })
	f("unproven invalid_value; hold_days out_of_range", func(s *NewStore) { s.Unproven, s.HoldDays = "maybe", 366 })
	f("delivered_hold_days out_of_range", func(s *NewStore) { s.DeliveredHoldDays = -1 })
	f("", func(s *NewStore) { s.Unproven, s.HoldDays = UnprovenPay, 0 })
	f("", func(s *NewStore) { s.WindowDays, s.HalfLifeDays = 365, 1 })
	f("", func(s *NewStore) { s.Origins = []string{"https://loja.example.com", "http://127.0.0.1:8080"} })
	f("origins[1] invalid_value; origins[2] invalid_value; origins[3] invalid_value", func(s *NewStore) {
		s.Origins = []string{"https://a.example", "https://a.example/", "a.example", "ftp://a.example"}
	})
	f("origins[0] invalid_value; origins[1] invalid_value; origins[2] invalid_value; origins[3] invalid_value; origins[4] too_long",
		func(s *NewStore) {
			s.Origins = []string{"https://*.a.example", "https://açaí.example", "https://ana@a.example", "https://",
				"https://" + strings.Repeat("a", 300)}
		})
	f("", func(s *NewStore) { s.Origins = []string{"https://a.example", "null"} }) // of frames in a sandbox
	f("", func(s *NewStore) { s.Origins, s.Hosts = []string{"https://[2001:db8::1]:8443"}, make([]string, 0, 1) })
	f("origins too_many; hosts too_many", func(s *NewStore) {
		s.Origins, s.Hosts = slices.Repeat([]string{"https://a.example"}, 101), slices.Repeat([]string{"a.example"}, 101)
	})
	limits := func(perSecond float64, burst int) func(*NewStore) {
		return func(s *NewStore) { s.Limits = wire.Limits{EventsPerSecond: perSecond, Burst: burst} }
	}
	f("", limits(1, 512))
	f("", limits(1_000_000, 10_000_000))
	f("events_per_second out_of_range; burst out_of_range", limits(0.5, 511))
	f("events_per_second out_of_range; burst out_of_range", limits(1_000_001, 10_000_001))
	f("events_per_second out_of_range; burst out_of_range", limits(math.NaN(), -1))
	f("hosts[0] invalid_value; hosts[1] invalid_value", func(s *NewStore) { s.Hosts = []string{"", "a.example:80", "a.example"} })
	f("hosts[0] invalid_value; hosts[1] invalid_value; hosts[2] invalid_value", func(s *NewStore) {
		// a host under which others have theirs is no store's
		s.Hosts = []string{"COM", "com.br", "myshopify.com", "loja.myshopify.com", "localhost", "127.0.0.1", "127.1"}
	})
}

func TestOrdersTellEveryRuleTheyBreak(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC)
	f := func(want string, change func(o *wire.Order, p *wire.Personal)) {
		t.Helper()
		o, p := wire.Order{OrderID: "1", CreatedAt: now, Currency: BRL}, wire.Personal{}
		change(&o, &p)
		bad, doubtful := CheckOrder(&o, &p, now)
		if got := strings.Trim(told(bad)+" | "+told(doubtful), " |"); got != want {
			t.Errorf("%s; want %s", got, want)
		}
		// What was doubtful is cleared, so that nothing is left to doubt.
		if _, again := CheckOrder(&o, &p, now); again.Any() {
			t.Errorf("left: %s", told(again))
		}
	}
	long := wire.Some(strings.Repeat("x", 3000))
	f("", func(*wire.Order, *wire.Personal) {})
	f("orderId empty; orderStatus invalid_value; createdAt out_of_range; currency invalid_value; totalPrice out_of_range",
		func(o *wire.Order, _ *wire.Personal) {
			*o = wire.Order{Status: 3, TotalMinor: -1}
		})
	f("totalDiscounts out_of_range; shippingPrice out_of_range; updatedAt out_of_range | installments out_of_range",
		func(o *wire.Order, _ *wire.Personal) {
			o.DiscountsMinor, o.ShippingMinor = wire.Some(MaxAmountMinor+1), wire.Some[int64](-1)
			o.UpdatedAt, o.Installments = wire.Some(now.Add(MaxAhead+1)), wire.Some(MaxInstallments+1)
		})
	f("", func(o *wire.Order, _ *wire.Personal) { o.UpdatedAt = wire.Some(now.Add(MaxAhead)) })
	f("paymentMethod invalid_value; provinceCode invalid_format; countryCode invalid_format; source invalid_value; name too_long; "+
		"discountCode too_long; "+
		"utmSource too_long; utmMedium too_long; utmCampaign too_long; utmContent too_long; utmTerm too_long; userId too_long; discountCodes "+
		"empty; refunds[1].reason too_long",
		func(o *wire.Order, _ *wire.Personal) {
			o.Name, o.PaymentMethod, o.DiscountCode, o.ProvinceCode, o.CountryCode = long, wire.Some(5), long, wire.Some("sp"), wire.Some("BRA")
			o.UTMSource, o.UTMMedium, o.UTMCampaign, o.UTMContent, o.UTMTerm, o.VisitorID, o.Source = long, long, long, long,
				long, long, wire.Some(4)
			o.DiscountCodes = wire.Some([]wire.DiscountCode{{Code: "A"}, {Code: " "}, {Code: long.Value}}) // one is told, and none counts
			o.Refunds = wire.Some([]wire.Refund{{Reason: "damaged"}, {Reason: long.Value}})
		})
	f("userAgent too_long; cartToken too_long; customer.customerId too_long; customer.name too_long; customer.email too_long; "+
		"customer.phone too_long; "+
		"customer.provinceCode too_long; customer.countryCode too_long; customer.zip too_long; customer.city too_long; customer.birthdate "+
		"invalid_date",
		func(_ *wire.Order, p *wire.Personal) {
			p.UserAgent, p.CartToken = long, long
			p.Customer = wire.Some(wire.Customer{CustomerID: long, Name: long, Email: long, Phone: long, ProvinceCode: long, CountryCode: long,
				Zip: long, City: long, Birthdate: wire.Some("x")})
		})
	delivered := func(at time.Time) func(*wire.Order, *wire.Personal) {
		return func(o *wire.Order, _ *wire.Personal) { o.DeliveredAt = wire.Some(at) }
	}
	f("", delivered(now.Add(MaxAhead)))
	f("deliveredAt out_of_range", delivered(now.Add(MaxAhead+1)))
	f("deliveredAt out_of_range", delivered(now.AddDate(173, 0, 0)))
	f("", delivered(now.Add(-MaxAhead)))
	f("deliveredAt out_of_range", delivered(now.Add(-MaxAhead-1))) // the order was created later
	items := func(items ...wire.Item) func(*wire.Order, *wire.Personal) {
		return func(o *wire.Order, _ *wire.Personal) { o.Items = wire.Some(items) }
	}
	f("", items(wire.Item{Quantity: MaxQuantity, Price: "10000000000", Discount: "9999999999.999"}))
	f("items[1].item_id too_long; items[1].productId too_long; items[1].variantId too_long; items[1].quantity out_of_range; items[1].price "+
		"out_of_range; items[1].discount out_of_range",
		items(wire.Item{}, wire.Item{ItemID: long.Value, ProductID: long.Value, VariantID: long.Value, Quantity: -1, Price: "-1",
			Discount: "10000000000.001"}))
	f("items too_many", items(make([]wire.Item, MaxItems+1)...))
}

func TestViolationsAreBoundedAndOneAField(t *testing.T) {
	t.Parallel()
	var bad Violations
	bad.Add("items[1]", CodeInvalidType, "must be an object")
	bad.Add("items[1].price", CodeOutOfRange, "is out of range")
	bad.Add("items[1]", CodeRequired, "is required")
	bad.Add("items[10].price", CodeOutOfRange, "is out of range")
	bad.Add("itemsX", CodeRequired, "is required")
	if got, want := told(bad), "items[1] invalid_type; items[10].price out_of_range; itemsX required"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
	bad = Violations{}
	for i := range maxViolations + 7 {
		bad.Add(fmt.Sprint("f", i), CodeRequired, "is required")
	}
	if len(bad.List) != maxViolations || bad.More != 7 {
		t.Errorf("%d and %d more", len(bad.List), bad.More)
	}
}

// What could not be read counts as absent to a check, and must not be told twice.
func TestWhatCouldNotBeReadIsToldOnce(t *testing.T) {
	t.Parallel()
	var bad Violations
	bad.Add("costs[0].var_fee", CodeInvalidType, "must be a number")
	bad.AddAll(Registration{Name: "Ana", Links: []string{"https://loja.example.com/"},
		Costs: []CostTerms{{StartDate: "2026-01-01"}, {StartDate: "2026-01-01"}}}.Check())
	if got, want := told(bad), "costs[0].var_fee invalid_type; costs[1] no_rate"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}
