package money

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/lang"
	"github.com/tributary-io/tributary/internal/wire"
)

// mostItems bounds the lines of an order that its page shows.
const mostItems = 200

// boughtLine is one line of an order: what, how much of it, and the price of one.
type boughtLine struct{ Name, Quantity, Price string }

// boughtSum is one of an order's amounts.
type boughtSum struct{ Label, Amount string }

// bought tells what was bought, and of what the order's total is made.
func (s *Pages) bought(r *http.Request, v site.Request, page *orderPage, sale commerce.Sale) error {
	stored, err := s.db.Order(r.Context(), v.Current.CompanyID, sale.OrderID)
	if err != nil {
		return err
	}
	var o wire.Order
	if err := json.Unmarshal(stored.Body, &o); err != nil {
		s.Log.Error("dashboard: an order is not in its shape", "company", v.Current.CompanyID, "order", sale.OrderID, "error", err)
		return nil // the page still shows who is paid
	}
	items := o.Items.Value
	page.MoreItems = max(0, len(items)-mostItems)
	items = items[:min(len(items), mostItems)]
	var ids []string
	for _, item := range items {
		if item.ProductID != "" {
			ids = append(ids, item.ProductID)
		}
	}
	var names map[string]string
	if ids != nil {
		if names, err = s.db.ProductNames(r.Context(), v.Current.CompanyID, ids); err != nil {
			return err
		}
	}
	for _, item := range items {
		line := boughtLine{Name: names[item.ProductID], Quantity: item.Measure}
		for _, id := range []string{item.ProductID, item.VariantID, item.ItemID} {
			if line.Name == "" {
				line.Name = id
			}
		}
		if line.Quantity == "" {
			line.Quantity = strconv.FormatInt(item.Quantity, 10)
		}
		if item.Price != "" {
			line.Price = amount(v.Lang, json.Number(item.Price), o.Currency)
		}
		page.Items = append(page.Items, line)
	}
	sum := func(key string, minor wire.Optional[int64]) {
		if minor.Valid {
			page.Sums = append(page.Sums, boughtSum{v.Lang.T("order." + key), v.Lang.Money(minor.Value, o.Currency)})
		}
	}
	sum("sum_discount", o.DiscountsMinor)
	sum("sum_shipping", o.ShippingMinor)
	sum("sum_tax", o.TaxMinor)
	page.Sums = append(page.Sums, boughtSum{v.Lang.T("sales.total"), v.Lang.Money(o.TotalMinor, o.Currency)})
	return nil
}

// typedCode says of the one code that an order has whose it is. Of several, the explanation
// tells each (orderDetails).
func typedCode(l *lang.Printer, x facts.Explanation, sale commerce.Sale) []string {
	if sale.DiscountCode == "" || len(x.Order.Codes) > 0 {
		return nil
	}
	if w := x.Payout.Winner; w != nil && w.Evidence == facts.EvidenceCoupon && w.Proof == facts.ProofOrder {
		return []string{l.T("order.typed_of", sale.DiscountCode, w.Influencer)}
	}
	for _, other := range x.Payout.Losers {
		if other.Evidence == facts.EvidenceCoupon {
			return []string{l.T("order.typed_of", sale.DiscountCode, other.Influencer)}
		}
	}
	if slices.ContainsFunc(x.Decisions, func(d facts.ExplainedDecision) bool { return d.Decision != commerce.DisputeRelease }) {
		return []string{l.T("order.typed", sale.DiscountCode)} // whose it is, was not looked at
	}
	return []string{l.T("order.typed_nobody", sale.DiscountCode)}
}

// cameFrom returns the list from which a person came to the order, and its name: the orders of
// the day where it is none of the lists that lead here.
func cameFrom(r *http.Request, v site.Request, sale commerce.Sale) (path, name string) {
	_, from, _ := strings.Cut(r.Referer(), "://")
	if _, local, ok := strings.Cut(from, "/"); ok && strings.HasPrefix(from, r.Host+"/") {
		for _, list := range []struct{ path, key string }{{site.OrdersPath, "orders.title"}, {site.ReviewsPath, "reviews.title"},
			{site.SignsPath, "signs.title"}, {site.InfluencerPath, "sales.influencer"}} {
			if strings.HasPrefix("/"+local, list.path+"?") {
				return "/" + local, v.Lang.T(list.key)
			}
		}
	}
	return site.DayPath(v.Current.CompanyID, sale.Day), v.Lang.T("order.of_the_day")
}
