package platform

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"net/netip"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Bounds of POST /order (admin/openapi/openapi.yaml), in characters and elements.
const (
	maxShort   = 255
	maxText    = 512
	maxAgent   = 2048
	maxCodes   = 20
	maxItems   = 500
	maxRefunds = 100
	maxFields  = 100
	maxDetail  = 200
)

var (
	twoCapitals = regexp.MustCompile(`^[A-Z]{2}$`)
	earliest    = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	latest      = time.Date(2199, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Number writes minor units of a currency as an order has them: (1230, "BRL") is 12.30. What is below 0 is 0.
func Number(minor int64, currency string) json.Number {
	return json.Number(commerce.FormatMinor(max(minor, 0), currency))
}

// Text is a text as POST /order takes it: without control characters and space around it, cut after a number of characters.
func Text(s string, most int) string {
	s = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "")))
	if characters := []rune(s); len(characters) > most {
		return strings.TrimSpace(string(characters[:most]))
	}
	return s
}

// Tidy makes an order one that POST /order takes: what is optional and not valid is left out, texts are cut, lists shortened. It
// returns an *Error with commerce.ShopUnknownShape where a field that the sale needs is missing or not valid.
func (o *Order) Tidy() error {
	if id := Text(o.OrderID, maxShort); id == "" || id != o.OrderID {
		return Unread("the order's id")
	}
	if o.Status < 0 || o.Status > 2 {
		return Unread("the order's status")
	}
	if !o.CreatedAt.After(earliest) || !o.CreatedAt.Before(latest) {
		return Unread("when the order was created")
	}
	if !o.UpdatedAt.After(earliest) || !o.UpdatedAt.Before(latest) {
		return Unread("when the order was updated")
	}
	if _, err := commerce.Exponent(o.Currency); err != nil {
		return Unread("the order's currency")
	}
	total, ok := minorOf(o.TotalPrice, o.Currency)
	if !ok {
		return Unread("the order's total")
	}
	o.tidyMoney(total)
	o.tidyTexts()
	o.tidyItems()
	return nil
}

func (o *Order) tidyMoney(total int64) {
	shipping, ok := minorOf(o.Shipping, o.Currency)
	if shipping = min(shipping, total); ok {
		o.Shipping = Number(shipping, o.Currency)
	} else {
		o.Shipping = ""
	}
	if tax, ok := minorOf(o.Tax, o.Currency); ok {
		o.Tax = Number(min(tax, total-shipping), o.Currency)
	} else {
		o.Tax = ""
	}
	if _, ok := minorOf(o.Discounts, o.Currency); !ok {
		o.Discounts = ""
	}
	codes := make([]Code, 0, len(o.Codes))
	for _, code := range o.Codes {
		if code.Code = Text(code.Code, maxShort); code.Code == "" || len(codes) == maxCodes {
			continue
		}
		if _, ok := minorOf(code.Amount, o.Currency); !ok {
			code.Amount = ""
		}
		codes = append(codes, code)
	}
	o.Codes = codes
	refunds := make([]Refund, 0, len(o.Refunds))
	for _, refund := range o.Refunds {
		if _, ok := minorOf(refund.Amount, o.Currency); ok && len(refunds) < maxRefunds {
			refund.ID, refund.CreatedAt = Text(refund.ID, maxShort), refund.CreatedAt.UTC().Truncate(time.Second)
			refunds = append(refunds, refund)
		}
	}
	o.Refunds = refunds
}

func (o *Order) tidyTexts() {
	o.Name, o.CartToken, o.UserAgent = Text(o.Name, maxShort), Text(o.CartToken, maxShort), Text(o.UserAgent, maxAgent)
	for _, text := range []*string{&o.UTMSource, &o.UTMMedium, &o.UTMCampaign, &o.UTMContent, &o.UTMTerm} {
		*text = Text(*text, maxText)
	}
	if !twoCapitals.MatchString(o.Province) {
		o.Province = ""
	}
	if !twoCapitals.MatchString(o.Country) {
		o.Country = ""
	}
	if ip, err := netip.ParseAddr(o.BrowserIP); err != nil || ip.Zone() != "" {
		o.BrowserIP = ""
	}
	if o.Installments < 0 || o.Installments > 1000 {
		o.Installments = 0
	}
	if o.Source < 0 || o.Source > 3 {
		o.Source = 3
	}
	if o.DeliveredAt.After(latest) || o.DeliveredAt.Before(earliest) {
		o.DeliveredAt = time.Time{}
	}
	if c := o.Customer; c != nil {
		c.ID, c.Name, c.Email, c.Phone = Text(c.ID, maxShort), Text(c.Name, maxText), Text(c.Email, maxText), Text(c.Phone, maxShort)
		if *c == (Customer{}) {
			o.Customer = nil
		}
	}
}

func (o *Order) tidyItems() {
	items := make([]OrderItem, 0, len(o.Items))
	for _, item := range o.Items {
		item.ItemID, item.ProductID = Text(item.ItemID, maxShort), Text(item.ProductID, maxShort)
		item.VariantID = Text(item.VariantID, maxShort)
		price, err := commerce.ParseDecimal(string(item.Price))
		if item.ItemID == "" || item.Quantity <= 0 || err != nil || price.IsNegative() || len(items) == maxItems {
			continue
		}
		if item.Price = json.Number(price.String()); item.Quantity > 1_000_000 {
			item.Quantity = 1_000_000
		}
		items = append(items, item)
	}
	o.Items = items
}

// minorOf is an amount of POST /order in minor units; false where it is none.
func minorOf(n json.Number, currency string) (int64, bool) {
	minor, err := commerce.ParseMinor(string(n), currency)
	return minor, err == nil && minor >= 0 && minor <= commerce.MaxAmountMinor
}

// Unread is the error of a field that is missing, or not as the platform documents it. It names the field, never its value.
func Unread(field string) error { return &Error{Reason: commerce.ShopUnknownShape, Detail: field} }

// Unreadable is the item of an order that is set aside, with the names of its fields. err should be an *Error; of any other
// nothing is told, since its text could hold what the order says.
func Unreadable(item Item, raw []byte, err error) Item {
	aside := &Aside{Reason: commerce.ShopUnknownShape, Fields: FieldNames(raw)}
	if told, known := Failed(err); known {
		aside.Reason, aside.Detail = told.Reason, Text(told.Detail, maxDetail)
	}
	item.ID, item.Order, item.Aside = Text(item.ID, maxShort), nil, aside
	return item
}

// ReadItem is an order of a list as read reads it, or set aside.
func ReadItem[T any](raw []byte, read func(*T) (Item, error)) Item {
	var order T
	var item Item
	err := json.Unmarshal(raw, &order)
	if err == nil {
		item, err = read(&order)
	}
	if err != nil {
		return Unreadable(item, raw, err)
	}
	return item
}

// Digest is the item in short. The status of an order that is set aside is -1: it differs from whatever we have, so that it is
// read again.
func (i Item) Digest() Digest {
	if i.Order == nil {
		return Digest{ID: i.ID, Status: -1, Total: "0", CreatedAt: i.CreatedAt}
	}
	return Digest{ID: i.ID, Status: i.Order.Status, Total: string(i.Order.TotalPrice), Test: i.Order.Test, CreatedAt: i.CreatedAt}
}

// Digests are the orders of a page in short.
func (p Page) Digests() []Digest {
	digests := make([]Digest, 0, len(p.Items))
	for _, item := range p.Items {
		digests = append(digests, item.Digest())
	}
	return digests
}

// FieldNames are the names of the fields of a JSON object, in its order, at most 100. Names that are no plain words are left
// out: they would be values.
func FieldNames(raw []byte) []string {
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return nil
	}
	var names []string
	for decoder.More() && len(names) < maxFields {
		name, err := decoder.Token()
		if err != nil {
			break
		}
		if text, ok := name.(string); ok && plainName.MatchString(text) {
			names = append(names, text)
		}
		var value json.RawMessage
		if decoder.Decode(&value) != nil {
			break
		}
	}
	return names
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// Signed says whether one of the secrets makes the HMAC-SHA256 of a body. It takes the same time wherever the two differ. Empty
// secrets sign nothing.
func Signed(body, signature []byte, secrets ...string) bool {
	fits := false
	for _, secret := range secrets {
		if secret == "" {
			continue
		}
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		fits = hmac.Equal(mac.Sum(nil), signature) || fits
	}
	return fits
}
