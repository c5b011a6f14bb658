package facts

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

// OrderVersion is one version of an order.
type OrderVersion struct {
	OrderID     string
	VersionAt   time.Time // updatedAt, else acceptedAt
	AcceptedAt  time.Time
	ContentHash []byte // SHA-256 of Body
	Body        []byte // wire.Order without personal
	Personal    []byte // personal alone; nil when absent
	// PersonalDigest is the SHA-256 of Personal: it settles equal times.
	PersonalDigest []byte
}

// ParseOrder reads the body of an order record.
func ParseOrder(c wire.Commerce) (OrderVersion, error) {
	var order wire.Order
	if err := json.Unmarshal(c.Body, &order); err != nil {
		return OrderVersion{}, fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	if order.OrderID == "" {
		return OrderVersion{}, ErrNoID
	}
	if _, err := commerce.Exponent(order.Currency); err != nil {
		return OrderVersion{}, ErrCurrency
	}
	v := OrderVersion{OrderID: order.OrderID, AcceptedAt: c.AcceptedAt.UTC().Truncate(storedPrecision), Personal: order.Personal}
	v.VersionAt = order.UpdatedAt.Or(v.AcceptedAt).UTC().Truncate(storedPrecision)
	if !commerce.Recordable(order.CreatedAt) || !commerce.Recordable(v.VersionAt) || !commerce.Recordable(v.AcceptedAt) {
		return OrderVersion{}, ErrTime
	}
	order.Personal = nil
	var err error
	if v.Body, err = json.Marshal(order); err != nil {
		return OrderVersion{}, fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	hash := sha256.Sum256(v.Body)
	v.ContentHash = hash[:]
	if v.Personal != nil {
		hash := sha256.Sum256(v.Personal)
		v.PersonalDigest = hash[:]
	}
	return v, nil
}

// Fold is the current order: the last version, with each optional field that
// it leaves out taken from the newest version that has it (a null counts as
// having it). Versions come oldest first and there is at least one.
func Fold(versions []wire.Order) wire.Order {
	out := versions[len(versions)-1]
	for i := len(versions) - 2; i >= 0; i-- {
		old := &versions[i]
		keep(&out.UpdatedAt, old.UpdatedAt)
		keep(&out.Number, old.Number)
		keep(&out.Name, old.Name)
		keep(&out.DiscountsMinor, old.DiscountsMinor)
		keep(&out.ShippingMinor, old.ShippingMinor)
		keep(&out.PaymentMethod, old.PaymentMethod)
		keep(&out.Installments, old.Installments)
		keep(&out.DiscountCode, old.DiscountCode)
		keep(&out.ProvinceCode, old.ProvinceCode)
		keep(&out.CountryCode, old.CountryCode)
		keep(&out.UTMSource, old.UTMSource)
		keep(&out.UTMMedium, old.UTMMedium)
		keep(&out.UTMCampaign, old.UTMCampaign)
		keep(&out.UTMContent, old.UTMContent)
		keep(&out.UTMTerm, old.UTMTerm)
		keep(&out.VisitorID, old.VisitorID)
		keep(&out.Source, old.Source)
		keep(&out.IsFirstOrder, old.IsFirstOrder)
		keep(&out.IsRecurring, old.IsRecurring)
		keep(&out.EmailKey, old.EmailKey)
		keep(&out.PhoneKey, old.PhoneKey)
		keep(&out.CustomerKey, old.CustomerKey)
		keep(&out.CartKey, old.CartKey)
		keep(&out.Items, old.Items)
	}
	return out
}

func keep[T any](field *wire.Optional[T], older wire.Optional[T]) {
	if !field.Present {
		*field = older
	}
}

// OrderKeys are the keys that join an order to visitors, strongest first.
func OrderKeys(o *wire.Order) []Key {
	var keys []Key
	add := func(kind string, value wire.Optional[string]) {
		if text := value.Or(""); text != "" {
			keys = append(keys, Key{kind, text})
		}
	}
	add(KeyCart, o.CartKey)
	add(KeyVisitor, o.VisitorID)
	add(KeyCustomer, o.CustomerKey)
	add(KeyEmail, o.EmailKey)
	add(KeyPhone, o.PhoneKey)
	return keys
}

// OrderCodes are the folded codes by which a coupon may match the order: the
// field whole, then its parts.
func OrderCodes(o *wire.Order) []string {
	field := o.DiscountCode.Or("")
	var codes []string
	seen := map[string]bool{"": true}
	for _, text := range append([]string{field}, commerce.SplitCodes(field)...) {
		if code := commerce.FoldCode(text); !seen[code] {
			seen[code] = true
			codes = append(codes, code)
		}
	}
	return codes
}

// Product is one version of a product.
type Product struct {
	wire.Product
	UpdatedAt  time.Time // updatedAt, else acceptedAt
	AcceptedAt time.Time
	Digest     []byte // SHA-256 of Body
	Body       []byte
}

// Newer tells which of two versions of one product counts: the greatest
// (UpdatedAt, AcceptedAt, Digest).
func (p *Product) Newer(other *Product) bool {
	return cmp.Or(p.UpdatedAt.Compare(other.UpdatedAt), p.AcceptedAt.Compare(other.AcceptedAt), bytes.Compare(p.Digest, other.Digest)) > 0
}

// ParseProduct reads the body of a product record.
func ParseProduct(c wire.Commerce) (Product, error) {
	digest := sha256.Sum256(c.Body)
	accepted := c.AcceptedAt.UTC().Truncate(storedPrecision)
	p := Product{Body: c.Body, Digest: digest[:], AcceptedAt: accepted, UpdatedAt: accepted}
	if err := json.Unmarshal(c.Body, &p.Product); err != nil {
		return p, fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	if p.ProductID == "" {
		return p, ErrNoID
	}
	if t, err := time.Parse(time.RFC3339, p.Product.UpdatedAt); err == nil {
		p.UpdatedAt = t.UTC().Truncate(storedPrecision)
	}
	if !commerce.Recordable(p.UpdatedAt) || !commerce.Recordable(p.AcceptedAt) {
		return p, ErrTime
	}
	return p, nil
}
