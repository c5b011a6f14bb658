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
	MaxItems        = 500
	MaxQuantity     = 1_000_000
	MaxInstallments = 1000
	MaxVariants     = 2048      // what the largest platforms allow
	MaxStatus       = 1_000_000 // of a product; the specification does not say what its values mean

	// MaxAhead is how far updatedAt may lie in the future (docs/attribution.md,
	// "Facts"): further would make it win over every later version.
	MaxAhead = 24 * time.Hour
)

// CheckOrder returns every rule that an order breaks. The order is as the store
// sent it, before what names the shopper is removed; person becomes its Personal.
func CheckOrder(order *wire.Order, person *wire.Personal, now time.Time) (bad Violations) {
	var body place
	bad.filled(body, "orderId", order.OrderID, MaxID)
	bad.choice("orderStatus", order.Status, OrderApproved, OrderPending, OrderCancelled)
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
	if order.DeliveredAt.Valid {
		bad.instant("deliveredAt", order.DeliveredAt.Value)
	}
	bad.text(body, "name", order.Name.Value, MaxID)
	if order.PaymentMethod.Valid {
		bad.choice("paymentMethod", order.PaymentMethod.Value, 1, 2, 3, 4, 15)
	}
	bad.between(body, "installments", int64(order.Installments.Value), MaxInstallments)
	bad.text(body, "discountCode", order.DiscountCode.Value, MaxText)
	if order.ProvinceCode.Valid {
		bad.capitals("provinceCode", order.ProvinceCode.Value)
	}
	if order.CountryCode.Valid {
		bad.country("countryCode", order.CountryCode.Value)
	}
	bad.text(body, "utmSource", order.UTMSource.Value, MaxText)
	bad.text(body, "utmMedium", order.UTMMedium.Value, MaxText)
	bad.text(body, "utmCampaign", order.UTMCampaign.Value, MaxText)
	bad.text(body, "utmContent", order.UTMContent.Value, MaxText)
	bad.text(body, "utmTerm", order.UTMTerm.Value, MaxText)
	bad.text(body, "userId", order.VisitorID.Value, MaxID)
	if order.Source.Valid {
		bad.choice("source", order.Source.Value, SourceWeb, SourceMarketplace, SourceApp, SourceOther)
	}
	bad.atMost("items", len(order.Items.Value), MaxItems)
	for i := range order.Items.Value {
		bad.item(element("items", i), &order.Items.Value[i], order.Currency)
	}
	bad.person(person)
	return bad
}

func (v *Violations) item(at place, item *wire.Item, currency string) {
	v.text(at, "item_id", item.ItemID, MaxID)
	v.text(at, "productId", item.ProductID, MaxID)
	v.text(at, "variantId", item.VariantID, MaxID)
	v.between(at, "quantity", item.Quantity, MaxQuantity)
	v.price(at, "price", item.Price, currency)
	v.price(at, "discount", item.Discount, currency)
}

// person checks what names or describes the shopper.
func (v *Violations) person(p *wire.Personal) {
	var body place
	v.text(body, "userAgent", p.UserAgent.Value, MaxUserAgent)
	v.text(body, "cartToken", p.CartToken.Value, MaxID)
	customer, c := place{name: "customer"}, &p.Customer.Value
	v.text(customer, "customerId", c.CustomerID.Value, MaxID)
	v.text(customer, "name", c.Name.Value, MaxText)
	v.text(customer, "email", c.Email.Value, MaxText)
	v.text(customer, "phone", c.Phone.Value, MaxID)
	v.text(customer, "provinceCode", c.ProvinceCode.Value, MaxID)
	v.text(customer, "countryCode", c.CountryCode.Value, MaxID)
	v.text(customer, "zip", c.Zip.Value, MaxID)
	v.text(customer, "city", c.City.Value, MaxText)
	if c.Birthdate.Valid && c.Birthdate.Value == "" {
		v.Add(customer.field("birthdate"), CodeInvalidDate, "must be a real date written YYYY-MM-DD")
	}
	v.date(customer, "birthdate", c.Birthdate.Value)
}

// CheckProduct returns every rule that a product breaks.
func CheckProduct(product *wire.Product) (bad Violations) {
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
		bad.text(at, "title", variant.Title, MaxText)
		bad.text(at, "sku", variant.SKU, MaxID)
		if variant.Currency != "" {
			bad.currency(at, variant.Currency)
		}
		bad.price(at, "price", variant.Price, variant.Currency)
	}
	return bad
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
		v.Add(at.field("currency"), CodeInvalidValue, "must be an ISO 4217 currency code in capitals, such as BRL")
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
