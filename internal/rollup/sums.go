package rollup

import (
	"cmp"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/facts"
)

// The sums of a row of sale_day, in the order of SaleColumns.
const (
	Orders = iota
	Sales
	NewCustomers
	ReturningOrders
	Commission
	PendingOrders
	PendingSales
	PendingCommission
	CancelledOrders
	CancelledSales
	ReviewOrders
)

// SaleColumns are the columns of sale_day that are sums. Those of money end with _minor.
var SaleColumns = []string{"orders", "sales_minor", "new_customers", "returning_orders", "commission_minor",
	"pending_orders", "pending_minor",
	"pending_commission_minor", "cancelled_orders", "cancelled_minor", "review_orders"}

// The sums of a row of product_day. Sales are in currency units: prices may have more
// digits than their currency.
const (
	ProductOrders = iota
	ProductQuantity
	ProductSales
)

// ProductColumns are the columns of product_day and product_month that are sums.
var ProductColumns = []string{"orders", "quantity", "sales"}

// The sums of a row of path_day, path_month and journey_month.
const (
	PathOrders = iota
	PathSales
)

// PathColumns are the columns of path_day, path_month and journey_month that are sums.
var PathColumns = []string{"orders", "sales_minor"}

// CreditColumns are the columns of credit_day that are sums: of each model the orders, as
// the sum of shares, and the sales.
var CreditColumns = creditColumns()

func creditColumns() (columns []string) {
	for _, model := range facts.Models {
		columns = append(columns, model+"_orders", model+"_minor")
	}
	return columns
}

// IsCount reports whether a column of sums has whole numbers that fit 64 bits: those of
// orders and items. Amounts may be greater, and parts of orders are not whole.
func IsCount(column string) bool {
	return !strings.HasSuffix(column, "_minor") && column != "sales" && !slices.Contains(CreditColumns, column)
}

// Keys of the rows. Days are YYYY-MM-DD in the store's time zone; an empty text is none. Of
// the tables of months the day is the first of its month.
type (
	// SaleKey is of who is paid, and by which coupon. Amounts of a review are of nobody.
	SaleKey struct{ Day, Currency, InfluencerID, CampaignID, CouponID string }
	// CreditKey is of a channel, or of an influencer as a channel.
	CreditKey struct{ Day, Currency, Channel, InfluencerID, CampaignID string }
	// ProductKey has the product's or variant's id, as the order has it.
	ProductKey struct{ Day, Currency, Item string }
	// PathKey has a digest of a path of 16 bytes.
	PathKey struct{ Day, Currency, ID string }
	// JourneyKey is a part of paths, such as Markov and Shapley need them:
	//
	//   - Size 0, a step: paths that go from the channel Before ("": the start) to Channel
	//   - Size 0 and no Channel: paths that end after the channel Before
	//   - another Size: paths of so many distinct channels, of which Channel is one
	JourneyKey struct {
		Day, Currency   string
		Size            int
		Before, Channel string
	}
)

// Row is a row of one of the tables: its key, and its sums in the order of the columns.
type Row[K comparable] struct {
	Key  K
	Path []string // of path_day and path_month
	Sums []decimal.Decimal
}

func (r *Row[K]) add(column int, sum decimal.Decimal) { r.Sums[column] = r.Sums[column].Add(sum) }

// Sums are rows of all tables. The zero value has none.
type Sums struct {
	sales    map[SaleKey]*Row[SaleKey]
	credits  map[CreditKey]*Row[CreditKey]
	products map[ProductKey]*Row[ProductKey]
	paths    map[PathKey]*Row[PathKey]
	months   months
}

// months are the rows of the tables of months.
type months struct {
	products map[ProductKey]*Row[ProductKey]
	paths    map[PathKey]*Row[PathKey]
	journeys map[JourneyKey]*Row[JourneyKey]
}

// MonthOf returns the first day of a day's month.
func MonthOf(day string) string { return day[:len("2006-01-")] + "01" }

func row[K comparable](rows *map[K]*Row[K], key K, columns int) *Row[K] {
	if *rows == nil {
		*rows = map[K]*Row[K]{}
	}
	r := (*rows)[key]
	if r == nil {
		r = &Row[K]{Key: key, Sums: make([]decimal.Decimal, columns)}
		(*rows)[key] = r
	}
	return r
}

func (s *Sums) sale(k SaleKey) *Row[SaleKey]       { return row(&s.sales, k, len(SaleColumns)) }
func (s *Sums) credit(k CreditKey) *Row[CreditKey] { return row(&s.credits, k, len(CreditColumns)) }

// addProduct adds to an item's day and month.
func (s *Sums) addProduct(k ProductKey, column int, sum decimal.Decimal) {
	row(&s.products, k, len(ProductColumns)).add(column, sum)
	k.Day = MonthOf(k.Day)
	row(&s.months.products, k, len(ProductColumns)).add(column, sum)
}

// addTo adds what came of orders by a path, or by a part of one.
func addTo[K comparable](r *Row[K], orders, sales decimal.Decimal) *Row[K] {
	r.add(PathOrders, orders)
	r.add(PathSales, sales)
	return r
}

// changed returns the rows in which a sum is not 0, ordered by key, so that transactions
// lock them in one order.
func changed[K comparable](rows map[K]*Row[K], compare func(a, b K) int) (list []Row[K]) {
	for _, r := range rows {
		if slices.ContainsFunc(r.Sums, func(d decimal.Decimal) bool { return !d.IsZero() }) {
			list = append(list, *r)
		}
	}
	slices.SortFunc(list, func(a, b Row[K]) int { return compare(a.Key, b.Key) })
	return list
}

func compareProducts(a, b ProductKey) int {
	return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Currency, b.Currency), cmp.Compare(a.Item, b.Item))
}

func comparePaths(a, b PathKey) int {
	return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Currency, b.Currency), cmp.Compare(a.ID, b.ID))
}

// Sales returns the changed rows of sale_day.
func (s *Sums) Sales() []Row[SaleKey] {
	return changed(s.sales, func(a, b SaleKey) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Currency, b.Currency), cmp.Compare(a.InfluencerID, b.InfluencerID),
			cmp.Compare(a.CampaignID, b.CampaignID), cmp.Compare(a.CouponID, b.CouponID))
	})
}

// Credits returns the changed rows of credit_day.
func (s *Sums) Credits() []Row[CreditKey] {
	return changed(s.credits, func(a, b CreditKey) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Currency, b.Currency), cmp.Compare(a.Channel, b.Channel),
			cmp.Compare(a.InfluencerID, b.InfluencerID), cmp.Compare(a.CampaignID, b.CampaignID))
	})
}

// Products returns the changed rows of product_day.
func (s *Sums) Products() []Row[ProductKey] { return changed(s.products, compareProducts) }

// ProductMonths returns the changed rows of product_month.
func (s *Sums) ProductMonths() []Row[ProductKey] { return changed(s.months.products, compareProducts) }

// Paths returns the changed rows of path_day.
func (s *Sums) Paths() []Row[PathKey] { return changed(s.paths, comparePaths) }

// PathMonths returns the changed rows of path_month.
func (s *Sums) PathMonths() []Row[PathKey] { return changed(s.months.paths, comparePaths) }

// JourneyMonths returns the changed rows of journey_month.
func (s *Sums) JourneyMonths() []Row[JourneyKey] {
	return changed(s.months.journeys, func(a, b JourneyKey) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Currency, b.Currency), cmp.Compare(a.Size, b.Size),
			cmp.Compare(a.Before, b.Before), cmp.Compare(a.Channel, b.Channel))
	})
}
