package commerce

import (
	"strings"
	"time"

	"github.com/shopspring/decimal"
	"golang.org/x/text/language"

	"github.com/tributary-io/tributary/internal/wire"
)

// Bounds of orders and products.
const (
	MaxItems       = 500
	MaxRefundItems = 100 // of one refund
	MaxRefunds     = 100
	// MaxDiscountCodes is more than any platform lets be combined.
	MaxDiscountCodes = 20
	MaxQuantity      = 1_000_000
	MaxInstallments  = 1000
	MaxVariants      = 2048      // what the largest platforms allow
	MaxStatus        = 1_000_000 // of a product; nothing is known of what its values mean

	// MaxAhead is how far updatedAt may lie in the future (docs/attribution.md,
	// "Facts"): further would make it win over every later version. A createdAt that lies
	// further is warned of.
	MaxAhead = 24 * time.Hour
)

// CheckOrder returns every rule that an order breaks. Fields without which the sale is still
// right do not break it: those that are wrong are cleared, and doubtful says why. The order is
// as the store sent it, before what names the shopper is removed; person becomes its Personal.
func CheckOrder(order *wire.Order, person *wire.Personal, now time.Time) (bad, doubtful Violations) {
	var body place
	bad.filled(body, "orderId", order.OrderID, MaxID)
	if order.Status < OrderApproved || order.Status > OrderCancelled {
		bad.Add("orderStatus", CodeInvalidValue, "must be %s", OrderStatuses)
	}
	bad.instant("createdAt", order.CreatedAt)
	bad.currency(body, order.Currency)
	bad.amount(body, "totalPrice", order.TotalMinor, order.Currency)
	bad.amount(body, "totalDiscounts", order.DiscountsMinor.Value, order.Currency)
	bad.amount(body, "shippingPrice", order.ShippingMinor.Value, order.Currency)
	if order.UpdatedAt.Valid {
		bad.instant("updatedAt", order.UpdatedAt.Value)
		if order.UpdatedAt.Value.After(now.Add(MaxAhead)) {
			bad.Add("updatedAt", CodeOutOfRange, "is more than 24 hours ahead")
		}
	}
	bad.atMost("items", len(order.Items.Value), MaxItems)
	for i := range order.Items.Value {
		bad.item(element("items", i), &order.Items.Value[i], order.Currency)
	}
	bad.extensions(order)

	unless(&doubtful, &order.DeliveredAt, func(v *Violations, at time.Time) { v.delivered(order.CreatedAt, at, now) })
	unless(&doubtful, &order.PaymentMethod, func(v *Violations, method int) { v.choice("paymentMethod", method, 1, 2, 3, 4, 15) })
	unless(&doubtful, &order.Installments, func(v *Violations, n int) { v.between(body, "installments", int64(n), MaxInstallments) })
	unless(&doubtful, &order.ProvinceCode, func(v *Violations, code string) { v.capitals("provinceCode", code) })
	unless(&doubtful, &order.CountryCode, func(v *Violations, code string) { v.country("countryCode", code) })
	unless(&doubtful, &order.Source, func(v *Violations, source int) {
		v.choice("source", source, SourceWeb, SourceMarketplace, SourceApp, SourceOther)
	})
	doubtful.texts(body, []boundText{
		{"name", &order.Name, MaxID}, {"discountCode", &order.DiscountCode, MaxText},
		{"utmSource", &order.UTMSource, MaxText}, {"utmMedium", &order.UTMMedium, MaxText}, {"utmCampaign", &order.UTMCampaign, MaxText},
		{"utmContent", &order.UTMContent, MaxText}, {"utmTerm", &order.UTMTerm, MaxText}, {"userId", &order.VisitorID, MaxID},
	})
	unless(&doubtful, &order.DiscountCodes, (*Violations).codes)
	for i := range order.Refunds.Value {
		doubtful.clear(element("refunds", i), "reason", &order.Refunds.Value[i].Reason, MaxText)
	}
	doubtful.person(person)
	return bad, doubtful
}

// codes checks the texts of an order's codes. Where one is wrong, none of them counts.
func (v *Violations) codes(list []wire.DiscountCode) {
	for i, c := range list {
		var wrong Violations
		if wrong.filled(element("discountCodes", i), "code", c.Code, MaxID); wrong.Any() {
			v.Add("discountCodes", wrong.List[0].Code, "cannot be read: %s %s", wrong.List[0].Field, wrong.List[0].Message)
			return
		}
	}
}

// clear clears a text that breaks a rule.
func (v *Violations) clear(at place, name string, text *string, max int) {
	field := wire.Some(*text)
	v.texts(at, []boundText{{name, &field, max}})
	*text = field.Value
}

// unless clears a field that breaks a rule.
func unless[T any](v *Violations, field *wire.Optional[T], check func(v *Violations, value T)) {
	if !field.Valid {
		return
	}
	before := len(v.List) + v.More
	if check(v, field.Value); len(v.List)+v.More > before {
		*field = wire.Optional[T]{}
	}
}

// boundText is a text of at most max characters, which may be empty.
type boundText struct {
	name  string
	field *wire.Optional[string]
	max   int
}

// texts clears those that break a rule.
func (v *Violations) texts(at place, texts []boundText) {
	for _, text := range texts {
		unless(v, text.field, func(v *Violations, value string) { v.text(at, text.name, value, text.max) })
	}
}

// delivered checks when an order was delivered: it decides from when its commission may be paid.
func (v *Violations) delivered(created, delivered, now time.Time) {
	v.instant("deliveredAt", delivered)
	if delivered.After(now.Add(MaxAhead)) {
		v.Add("deliveredAt", CodeOutOfRange, "is more than 24 hours ahead")
	}
	if delivered.Before(created.Add(-MaxAhead)) {
		v.Add("deliveredAt", CodeOutOfRange, "is more than 24 hours before createdAt")
	}
}

// extensions checks the fields that we have added.
func (v *Violations) extensions(order *wire.Order) {
	var body place
	v.atMost("discountCodes", len(order.DiscountCodes.Value), MaxDiscountCodes)
	for i, c := range order.DiscountCodes.Value {
		v.amount(element("discountCodes", i), "amount", c.AmountMinor.Value, order.Currency)
	}
	v.amount(body, "taxPrice", order.TaxMinor.Value, order.Currency)
	v.atMost("refunds", len(order.Refunds.Value), MaxRefunds)
	for i := range order.Refunds.Value {
		at, r := element("refunds", i), &order.Refunds.Value[i]
		v.known(at, "id", r.ID, MaxID)
		v.amount(at, "amount", r.AmountMinor, order.Currency)
		v.atMost(at.field("items"), len(r.Items), MaxRefundItems)
		for k, item := range r.Items {
			in := element(at.field("items"), k)
			v.known(in, "item_id", item.ItemID, MaxID)
			v.between(in, "quantity", item.Quantity, MaxQuantity)
		}
	}
}

func (v *Violations) item(at place, item *wire.Item, currency string) {
	v.known(at, "item_id", item.ItemID, MaxID)
	v.known(at, "productId", item.ProductID, MaxID)
	v.known(at, "variantId", item.VariantID, MaxID)
	v.between(at, "quantity", item.Quantity, MaxQuantity)
	v.price(at, "price", item.Price, currency)
	v.price(at, "discount", item.Discount, currency)
}

// person clears what is wrong of what names or describes the shopper.
func (v *Violations) person(p *wire.Personal) {
	var body place
	customer, c := place{name: "customer"}, &p.Customer.Value
	v.texts(body, []boundText{{"userAgent", &p.UserAgent, MaxUserAgent}, {"cartToken", &p.CartToken, MaxID}})
	v.texts(customer, []boundText{
		{"customerId", &c.CustomerID, MaxID}, {"name", &c.Name, MaxText}, {"email", &c.Email, MaxText}, {"phone", &c.Phone, MaxID},
		{"provinceCode", &c.ProvinceCode, MaxID}, {"countryCode", &c.CountryCode, MaxID}, {"zip", &c.Zip, MaxID}, {"city", &c.City, MaxText},
	})
	unless(v, &c.Birthdate, func(v *Violations, date string) {
		if date == "" {
			v.Add(customer.field("birthdate"), CodeInvalidDate, "must be a real date written YYYY-MM-DD")
		}
		v.date(customer, "birthdate", date)
	})
}

// CheckProduct returns every rule that a product breaks. A title or SKU that is wrong does not
// break it: it is cleared, and doubtful says why.
func CheckProduct(product *wire.Product) (bad, doubtful Violations) {
	var body place
	bad.filled(body, "productId", product.ProductID, MaxID)
	bad.filled(body, "productName", product.Name, MaxText)
	if product.Status != nil {
		bad.between(body, "status", int64(*product.Status), MaxStatus)
	}
	bad.atMost("variants", len(product.Variants), MaxVariants)
	for i := range product.Variants {
		at, variant := element("variants", i), &product.Variants[i]
		bad.filled(at, "variantId", variant.VariantID, MaxID)
		doubtful.clear(at, "title", &variant.Title, MaxText)
		doubtful.clear(at, "sku", &variant.SKU, MaxID)
		if variant.Currency != "" {
			bad.currency(at, variant.Currency)
		}
		bad.price(at, "price", variant.Price, variant.Currency)
	}
	return bad, doubtful
}

// choice checks a number that is one of a few.
func (v *Violations) choice(name string, number int, allowed ...int) {
	for _, n := range allowed {
		if number == n {
			return
		}
	}
	v.Add(name, CodeInvalidValue, "must be one of %s", numbers(allowed))
}

// between checks a number of zero or more.
func (v *Violations) between(at place, name string, number, most int64) {
	if number < 0 || number > most {
		v.Add(at.field(name), CodeOutOfRange, "must be between 0 and %d", most)
	}
}

func (v *Violations) instant(name string, at time.Time) {
	if !Recordable(at) {
		v.Add(name, CodeOutOfRange, "must lie between the years 1970 and 2199")
	}
}

func (v *Violations) currency(at place, code string) {
	if _, err := Exponent(code); err != nil {
		v.Add(at.field("currency"), CodeInvalidValue, "must be an ISO 4217 currency code, such as BRL")
	}
}

// capitals checks `^[A-Z]{2}$`.
func (v *Violations) capitals(name, text string) {
	if len(text) != 2 || text[0] < 'A' || text[0] > 'Z' || text[1] < 'A' || text[1] > 'Z' {
		v.Add(name, CodeInvalidFormat, "must be two capital letters")
	}
}

// country checks ISO 3166-1 alpha-2, in capitals.
func (v *Violations) country(name, text string) {
	v.capitals(name, text)
	if region, err := language.ParseRegion(text); err != nil || !region.IsCountry() || region.Canonicalize().String() != text {
		v.Add(name, CodeInvalidValue, "must be an ISO 3166-1 alpha-2 country code, such as BR")
	}
}

// CountryCode returns the ISO 3166-1 code of two letters of a country whose code of three
// letters is given, and any other text as it is.
func CountryCode(code string) string {
	if region, err := language.ParseRegion(code); err == nil && region.IsCountry() && region.ISO3() == code {
		return region.String()
	}
	return code
}

// price checks a decimal of any number of places, written without an exponent,
// against MaxAmountMinor of its currency. An unknown currency has no cents here.
func (v *Violations) price(at place, name, text, currency string) {
	whole, _, _ := strings.Cut(text, ".")
	if len(whole) < shortPrice && !strings.HasPrefix(text, "-") {
		return // the usual case, which needs no decimal
	}
	d, err := ParseDecimal(text)
	exponent, unknown := Exponent(currency)
	if unknown != nil {
		exponent = 0
	}
	switch {
	case err != nil:
		v.Add(at.field(name), CodeOutOfRange, "is out of range")
	case d.IsNegative():
		v.Add(at.field(name), CodeOutOfRange, "must not be negative")
	case d.GreaterThan(decimal.New(MaxAmountMinor, -int32(exponent))):
		v.Add(at.field(name), CodeOutOfRange, "must be at most %s", Amount{MaxAmountMinor, currency})
	}
}

// shortPrice is a length below which a price is below the bound in any currency:
// those with the smallest unit have four decimal places (ISO 4217: CLF, UYW).
const shortPrice = 9

func numbers(list []int) string {
	var text strings.Builder
	for i, n := range list {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(decimal.New(int64(n), 0).String())
	}
	return text.String()
}
