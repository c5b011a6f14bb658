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

// maxOrderID is the longest id of an order, product or variant, in bytes: the
// admin API takes 255 characters, of at most four bytes each.
const maxOrderID = 4 * 255

func checkID(id string) error {
	switch {
	case id == "":
		return ErrNoID
	case len(id) > maxOrderID:
		return ErrLongID
	}
	return nil
}

// ParseOrder reads the body of an order record.
func ParseOrder(c wire.Commerce) (OrderVersion, error) {
	var order wire.Order
	if err := json.Unmarshal(c.Body, &order); err != nil {
		return OrderVersion{}, fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	if err := checkID(order.OrderID); err != nil {
		return OrderVersion{}, err
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

// StoredVersion is one version of an order as the store gives it back.
type StoredVersion struct {
	At    time.Time // VersionAt
	Order wire.Order
}

// FoldedOrder is an order as it is now.
type FoldedOrder struct {
	Order     wire.Order
	Day       string    // of createdAt in the store's time zone, YYYY-MM-DD
	VersionAt time.Time // of its newest version
}

// Fold is the current order: the last version, with each optional field that
// it leaves out taken from the newest version that has it (a null counts as
// having it). Versions come oldest first and there is at least one.
func Fold(versions []StoredVersion) wire.Order {
	out := versions[len(versions)-1].Order
	for i := len(versions) - 2; i >= 0; i-- {
		old := &versions[i].Order
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
	add := func(kind KeyKind, value wire.Optional[string]) {
		if text := value.Or(""); text != "" {
			keys = append(keys, Key{kind, boundedID(text)})
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
	if err := checkID(p.ProductID); err != nil {
		return p, err
	}
	for _, v := range p.Variants {
		if len(v.VariantID) > maxOrderID {
			return p, ErrLongID
		}
	}
	if t, err := time.Parse(time.RFC3339, p.Product.UpdatedAt); err == nil {
		p.UpdatedAt = t.UTC().Truncate(storedPrecision)
	}
	if !commerce.Recordable(p.UpdatedAt) || !commerce.Recordable(p.AcceptedAt) {
		return p, ErrTime
	}
	return p, nil
}

// Variant is one variant of a product by which events name it.
type Variant struct{ VariantID, ProductID, SKU string }

// VariantsOf lists a product's variants that have an id, each id once.
func VariantsOf(p *Product) []Variant {
	var list []Variant
	seen := map[string]bool{"": true}
	for _, v := range p.Variants {
		if !seen[v.VariantID] {
			seen[v.VariantID] = true
			list = append(list, Variant{v.VariantID, p.ProductID, v.SKU})
		}
	}
	return list
}

// Concerned is an order to be computed, and why.
type Concerned struct {
	OrderID string
	Cause   Cause
}

// ChangedKey is a key of which orders came or went, and asks for orders around
// which it may be a hub now, or none any more.
type ChangedKey struct {
	Key
	From, To    time.Time // of the orders asked for
	Least, Most int       // how many orders share the key around them, inclusive
}

// FirstOrderCandidate is what tells whether an order is its customer's first.
type FirstOrderCandidate struct {
	OrderID   string
	CreatedAt time.Time
	Sent      *bool // isFirstOrder as the merchant sent it; nil where absent
	Keys      []CustomerKey
}

// CustomerKey is one customer, e-mail or phone key of an order.
type CustomerKey struct {
	Orders  int       // that share it, up to one more than the limit
	FirstID string    // the earliest approved order with it; empty where there is none, or too many orders
	FirstAt time.Time // its createdAt
}

// FirstOrder says whether an order is its customer's first; nil: nobody knows.
type FirstOrder struct {
	OrderID string
	First   *bool
}

// NewestProducts gives each product's newest version.
func NewestProducts(products []Product) []Product {
	return newest(products, func(p *Product) string { return p.ProductID }, (*Product).Newer)
}

// NewestPersonal gives, of each order that has personal fields, the newest
// version with them.
func NewestPersonal(versions []OrderVersion) []OrderVersion {
	var with []OrderVersion
	for _, v := range versions {
		if v.Personal != nil {
			with = append(with, v)
		}
	}
	return newest(with, func(v *OrderVersion) string { return v.OrderID }, func(v, other *OrderVersion) bool {
		return cmp.Or(v.VersionAt.Compare(other.VersionAt), v.AcceptedAt.Compare(other.AcceptedAt), bytes.Compare(v.PersonalDigest, other.PersonalDigest)) > 0
	})
}

// newest gives of each id the newest item, in the order in which ids come first.
func newest[T any](items []T, id func(*T) string, newer func(item, other *T) bool) []T {
	var list []T
	at := map[string]int{}
	for i := range items {
		item := &items[i]
		j, known := at[id(item)]
		switch {
		case !known:
			at[id(item)] = len(list)
			list = append(list, *item)
		case newer(item, &list[j]):
			list[j] = *item
		}
	}
	return list
}
