package facts

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/packed"
	"github.com/tributary-io/tributary/internal/wire"
)

// OrderVersion is one version of an order.
type OrderVersion struct {
	OrderID     string
	VersionAt   time.Time  // updatedAt, else acceptedAt; UTC, microseconds
	AcceptedAt  time.Time  // UTC, microseconds
	ContentHash []byte     // of Order as JSON
	Order       wire.Order // without its personal part
	Personal    []byte     // wire.Personal alone, JSON; nil where absent
	// PersonalDigest is a digest of Personal. Of two versions with equal times the
	// one with the greater digest counts.
	PersonalDigest []byte
	Actor          string // who sent it, as in wire.Commerce; not stored
}

// How much of a SHA-256 is stored, in bytes. A content hash tells the versions of an order
// with equal times apart; the digest only settles which of two is the newer one.
const (
	contentHashLength    = 16
	personalDigestLength = 8
)

// maxOrderID is the longest id of an order, product or variant, in bytes: the
// admin API takes 255 characters, of at most four bytes each.
const maxOrderID = 4 * 255

// checkID returns ErrNoID for an empty id and ErrLongID for one above maxOrderID.
func checkID(id string) error {
	switch {
	case id == "" || commerce.IsAccount(id):
		return ErrNoID
	case len(id) > maxOrderID:
		return ErrLongID
	}
	return nil
}

// ParseOrder parses the body of an order's record. It returns one of the errors of
// event.go for a record that can never be applied.
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
	v := OrderVersion{OrderID: order.OrderID, AcceptedAt: c.AcceptedAt.UTC().Truncate(StoredPrecision),
		Personal: order.Personal, Actor: c.Actor}
	v.VersionAt = order.UpdatedAt.Or(v.AcceptedAt).UTC().Truncate(StoredPrecision)
	if !commerce.Recordable(order.CreatedAt) || !commerce.Recordable(v.VersionAt) || !commerce.Recordable(v.AcceptedAt) {
		return OrderVersion{}, ErrTime
	}
	order.Personal = nil
	var err error
	v.Order = order
	body, err := json.Marshal(order)
	if err != nil {
		return OrderVersion{}, fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	hash := sha256.Sum256(body)
	v.ContentHash = hash[:contentHashLength]
	if v.Personal != nil {
		hash := sha256.Sum256(v.Personal)
		v.PersonalDigest = hash[:personalDigestLength]
	}
	return v, nil
}

// moved returns an amount with so many more minor-unit digits, or fewer where digits is
// negative; then it is rounded half to even.
func moved(minor int64, digits int) int64 {
	return decimal.New(minor, int32(digits)).RoundBank(0).IntPart()
}

// StoredVersion is one version of an order, as the store returns it.
type StoredVersion struct {
	At          time.Time // VersionAt
	AcceptedAt  time.Time
	ContentHash []byte
	Order       wire.Order
	Packed      []byte // Order as it is stored (PackOrder); nil: it is not stored yet
}

// compare orders versions: the greatest counts.
func (v *StoredVersion) compare(other *StoredVersion) int {
	return cmp.Or(v.At.Compare(other.At), v.AcceptedAt.Compare(other.AcceptedAt), bytes.Compare(v.ContentHash, other.ContentHash))
}

// AddVersions adds versions to stored ones of the same order, which are ordered, oldest
// first, and returns all in that order. Those that are there already are left out.
func AddVersions(stored []StoredVersion, versions []OrderVersion) []StoredVersion {
	all := slices.Clone(stored)
	for i := range versions {
		v := &versions[i]
		all = append(all, StoredVersion{At: v.VersionAt, AcceptedAt: v.AcceptedAt, ContentHash: v.ContentHash, Order: v.Order})
	}
	slices.SortStableFunc(all, func(a, b StoredVersion) int { return a.compare(&b) })
	return slices.CompactFunc(all, func(a, b StoredVersion) bool { return a.compare(&b) == 0 })
}

// Searched is what a stored order has in columns of its own, as the merchant sent it; nil:
// it was not sent, or is empty.
type Searched struct {
	Name, Number, DiscountCode *string
	First                      *bool // isFirstOrder
	Test                       *bool // true; nil: the order is no test
}

// SearchedOf returns what a stored order has in columns of its own.
func SearchedOf(o *wire.Order) (s Searched) {
	if name := o.Name.Or(""); name != "" {
		s.Name = &name
	}
	if code := CodesText(o).Or(""); code != "" {
		s.DiscountCode = &code
	}
	if o.Number.Valid {
		number := strconv.FormatInt(o.Number.Value, 10)
		s.Number = &number
	}
	if o.IsFirstOrder.Valid {
		s.First = &o.IsFirstOrder.Value
	}
	if o.Test.Or(false) {
		s.Test = &o.Test.Value
	}
	return s
}

// PackOrder returns an order as it is stored.
func PackOrder(o *wire.Order) ([]byte, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("order %s: %w", o.OrderID, err)
	}
	return packed.AppendOrder(make([]byte, 0, len(text)/2), text), nil
}

// UnpackOrder returns the order that PackOrder was given.
func UnpackOrder(stored []byte) (o wire.Order, err error) {
	text, err := packed.Order(stored)
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		return o, fmt.Errorf("a stored order: %w", err)
	}
	return o, nil
}

// FoldedOrder is a current order: the fold of its versions.
type FoldedOrder struct {
	Order     wire.Order
	Day       string    // of createdAt in the store's time zone, YYYY-MM-DD
	VersionAt time.Time // of its newest version

	ApprovedSince time.Time // see ApprovedSince

	Only *StoredVersion // its version, where it has only one; nil: it has several
}

// OnlyVersion returns the version of a list that has no other, else nil.
func OnlyVersion(versions []StoredVersion) *StoredVersion {
	if len(versions) == 1 {
		return &versions[0]
	}
	return nil
}

// ApprovedSince returns when the unbroken run of approved versions began to which
// the newest belongs, and zero where the newest is not approved. A version of a test
// breaks the run: the order counts since it is none. versions is ordered, oldest first.
func ApprovedSince(versions []StoredVersion) (since time.Time) {
	test := false
	for i := range versions {
		o := &versions[i].Order
		if o.Test.Present {
			test = o.Test.Or(false)
		}
		switch {
		case test || o.Status != commerce.OrderApproved:
			since = time.Time{}
		case since.IsZero():
			since = versions[i].At
		}
	}
	return since
}

// Fold returns the current order: the newest version, with each optional field that
// it leaves out taken from the newest version that has it. A version that sets a
// field to null has it. An amount of a version in another currency stays the number
// that the store sent: 20.00 is 20.00. versions is ordered, oldest first, and not empty.
func Fold(versions []StoredVersion) wire.Order {
	out := versions[len(versions)-1].Order
	for i := len(versions) - 2; i >= 0; i-- {
		old := &versions[i].Order
		fillFrom(&out.UpdatedAt, old.UpdatedAt)
		fillFrom(&out.Number, old.Number)
		fillFrom(&out.Name, old.Name)
		fillFrom(&out.DiscountsMinor, inCurrency(old.DiscountsMinor, old.Currency, out.Currency))
		fillFrom(&out.ShippingMinor, inCurrency(old.ShippingMinor, old.Currency, out.Currency))
		fillFrom(&out.PaymentMethod, old.PaymentMethod)
		fillFrom(&out.Installments, old.Installments)
		foldCodes(&out, old)
		fillFrom(&out.ProvinceCode, old.ProvinceCode)
		fillFrom(&out.CountryCode, old.CountryCode)
		fillFrom(&out.UTMSource, old.UTMSource)
		fillFrom(&out.UTMMedium, old.UTMMedium)
		fillFrom(&out.UTMCampaign, old.UTMCampaign)
		fillFrom(&out.UTMContent, old.UTMContent)
		fillFrom(&out.UTMTerm, old.UTMTerm)
		fillFrom(&out.Source, old.Source)
		fillFrom(&out.IsFirstOrder, old.IsFirstOrder)
		fillFrom(&out.IsRecurring, old.IsRecurring)
		fillFrom(&out.DeliveredAt, old.DeliveredAt)
		fillFrom(&out.Items, old.Items)
		fillFrom(&out.Test, old.Test)
		fillFrom(&out.NoCommission, old.NoCommission)
		foldRefunds(&out, old)
	}
	foldTax(&out, versions)
	foldKeys(&out, versions)
	return out
}

// fillFrom sets a field that is absent to its value in an older version.
func fillFrom[T any](field *wire.Optional[T], older wire.Optional[T]) {
	if !field.Present {
		*field = older
	}
}

// inCurrency writes an amount of one currency in the minor units of another.
func inCurrency(amount wire.Optional[int64], from, to string) wire.Optional[int64] {
	before, errBefore := commerce.Exponent(from)
	after, errAfter := commerce.Exponent(to)
	if errBefore == nil && errAfter == nil {
		amount.Value = moved(amount.Value, after-before)
	}
	return amount
}

// Product is one version of a product.
type Product struct {
	wire.Product
	UpdatedAt  time.Time // updatedAt, else acceptedAt
	AcceptedAt time.Time
	Digest     []byte // SHA-256 of Body
	Body       []byte // as it came, JSON
}

// Newer reports whether p counts and not other, of two versions of one product: the
// one with the greatest (UpdatedAt, AcceptedAt, Digest) counts.
func (p *Product) Newer(other *Product) bool {
	return cmp.Or(p.UpdatedAt.Compare(other.UpdatedAt), p.AcceptedAt.Compare(other.AcceptedAt), bytes.Compare(p.Digest, other.Digest)) > 0
}

// ParseProduct parses the body of a product's record. It returns one of the errors
// of event.go for a record that can never be applied. An updatedAt that cannot be
// parsed counts as absent.
func ParseProduct(c wire.Commerce) (Product, error) {
	digest := sha256.Sum256(c.Body)
	accepted := c.AcceptedAt.UTC().Truncate(StoredPrecision)
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
		p.UpdatedAt = t.UTC().Truncate(StoredPrecision)
	}
	if !commerce.Recordable(p.UpdatedAt) || !commerce.Recordable(p.AcceptedAt) {
		return p, ErrTime
	}
	return p, nil
}

// Variant is one variant of a product. Events name products by VariantID.
type Variant struct{ VariantID, ProductID, SKU string }

// VariantsOf returns a product's variants that have an id, each id once.
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

// QueuePlace is where a company's queue has come to.
type QueuePlace struct {
	After string   // id of the last order that was taken
	First []string // ids of orders that were taken and put back: they come before those behind it
}

// ChangedKey is a key that orders got or lost. It asks for the orders around which
// the key may have become a hub, or ceased to be one.
type ChangedKey struct {
	Key
	From, To    time.Time // asks for orders created between them, both inclusive
	Least, Most int       // asks for orders with so many orders of the key in their interval, both inclusive
	Lost        bool      // an order lost the key, so it may have ceased to be a hub
}

// FirstOrderCandidate is what is known to decide whether an order is its
// customer's first.
type FirstOrderCandidate struct {
	OrderID   string
	CreatedAt time.Time
	Sent      *bool // isFirstOrder as the merchant sent it; nil where absent
	Test      bool  // the order is a test
	Keys      []CustomerKey
}

// CustomerKey is one customer, e-mail or phone key of an order.
type CustomerKey struct {
	Kind    KeyKind
	Orders  int       // of the order's interval that have it, counted up to one more than the limit
	FirstID string    // id of the earliest approved order with it; empty where there is none, or Orders is above the limit
	FirstAt time.Time // createdAt of that order
}

// FirstOrder says whether an order is its customer's first. First is nil where that
// is not known.
type FirstOrder struct {
	OrderID string
	First   *bool
}

// NewestProducts returns the newest version of each product.
func NewestProducts(products []Product) []Product {
	return newest(products, func(p *Product) string { return p.ProductID }, (*Product).Newer)
}

// NewestPersonal returns, of each order with a personal part, the newest version
// that has one.
func NewestPersonal(versions []OrderVersion) []OrderVersion {
	var with []OrderVersion
	for _, v := range versions {
		if v.Personal != nil {
			with = append(with, v)
		}
	}
	return newest(with, func(v *OrderVersion) string { return v.OrderID }, func(v, other *OrderVersion) bool {
		return cmp.Or(v.VersionAt.Compare(other.VersionAt), v.AcceptedAt.Compare(other.AcceptedAt),
			bytes.Compare(v.PersonalDigest, other.PersonalDigest)) > 0
	})
}

// newest returns the newest item of each id, in the order in which the ids first
// appear.
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
