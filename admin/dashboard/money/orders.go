package money

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/lang"
	"github.com/tributary-io/tributary/internal/uuidtext"
)

const (
	ordersPerPage = 50
	// creditedNobody, in the parameter "credited", leaves only orders that no influencer is paid for.
	creditedNobody = "nobody"
)

// ordersPage is what templates/orders.html shows.
type ordersPage struct {
	site.Head
	Text, From, To, Coupon, Influencer string // what was asked for
	InfluencerName, All                string // whose orders these are, and the path of all orders; empty: all
	Credited                           string // creditedNobody: only those that nobody is paid for; empty: all
	Statuses, Credits                  []site.Option
	List                               []site.OrderRow
	More, First                        string
	Searched                           bool
	Begins                             bool   // no order ever came
	Install                            string // path of the page that connects the shop
}

func (s *Pages) orderRoutes() []site.Route {
	return []site.Route{
		{Pattern: "GET /dashboard/order", Handle: s.order},
		{Pattern: "POST /dashboard/order/evidence", Owner: true, Handle: s.decideEvidence},
		{Pattern: "GET " + disputePath, Owner: true, Handle: s.disputePage},
		{Pattern: "POST " + disputePath, Owner: true, Handle: s.decideDispute},
		{Pattern: "GET " + site.OrdersPath, Handle: s.orders},
	}
}

// orders lists orders by filters, or looks for some by what a person knows of them:
// their number, or the customer's e-mail, of which only the keyed hash is looked up.
func (s *Pages) orders(w http.ResponseWriter, r *http.Request, v site.Request) {
	query := r.URL.Query()
	page := askedOrders(v.Lang, query)
	page.Head = v.Head(v.Lang.T("orders.title"), "orders")
	after, err := commerce.ParseCursor(query.Get("after"))
	if err != nil || !orderFiltersAreGood(&page, query.Get("status")) {
		s.ProblemOf(w, r, http.StatusBadRequest, "bad_address")
		return
	}
	page.Statuses = []site.Option{{Label: v.Lang.T("orders.any")}}
	for i, word := range site.StatusWords {
		n := strconv.Itoa(i)
		page.Statuses = append(page.Statuses, site.Option{Value: n, Label: v.Lang.T("status." + word), Chosen: n == query.Get("status")})
	}
	if err := s.ofInfluencer(r, v, &page, query.Get("status")); err != nil {
		s.Unavailable(w, r, err)
		return
	}
	page.Credits = []site.Option{{Label: v.Lang.T("orders.any")},
		{Value: creditedNobody, Label: v.Lang.T("overview.nobody"), Chosen: page.Credited != ""}}
	var list []commerce.Sale
	if page.Text == "" {
		page.File = site.StorePath(site.OrdersPath+site.CSVEnding, v.Current.CompanyID, "status", query.Get("status"), "from", page.From,
			"to", page.To, "coupon", page.Coupon, "influencer", page.Influencer, "credited", page.Credited)
	}
	if page.Text != "" {
		page.Searched = true
		list, err = s.findOrders(r, v, page.Text)
	} else {
		list, err = s.listOrders(r, v, &page, query.Get("status"), after)
	}
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	zone := site.ZoneOf(v.Current.Timezone)
	for _, sale := range list {
		row := site.ViewSale(v.Lang, sale, v.Current.CompanyID, zone)
		row.Time = v.Lang.Date(sale.CreatedAt.In(zone)) + " " + row.Time
		page.List = append(page.List, row)
	}
	page.Install = site.StorePath(site.InstallPath, v.Current.CompanyID)
	page.Begins = len(list) == 0 && after.IsZero() &&
		page.Text+page.From+page.To+page.Coupon+page.Influencer+page.Credited+query.Get("status") == ""
	s.Render(w, r, http.StatusOK, "orders.html", page)
}

// ofInfluencer tells whose orders the page shows.
func (s *Pages) ofInfluencer(r *http.Request, v site.Request, page *ordersPage, status string) error {
	if page.Influencer == "" || page.Text != "" {
		return nil
	}
	page.All = site.StorePath(site.OrdersPath, v.Current.CompanyID, "status", status, "from", page.From, "to", page.To, "coupon", page.Coupon)
	of, err := s.db.Influencer(r.Context(), v.Current.CompanyID, strings.ToLower(page.Influencer))
	page.InfluencerName = of.Name
	if errors.Is(err, commerce.ErrNotFound) {
		page.InfluencerName, err = v.Lang.T("orders.archived"), nil
	}
	return err
}

// askedOrders reads what the address asks for.
func askedOrders(l *lang.Printer, query url.Values) ordersPage {
	return ordersPage{Text: strings.TrimSpace(query.Get("q")), From: site.TypedDay(l, query.Get("from")),
		To:     site.TypedDay(l, query.Get("to")),
		Coupon: strings.TrimSpace(query.Get("coupon")), Influencer: query.Get("influencer"), Credited: query.Get("credited")}
}

// filter is what was asked for, as the database takes it.
func (page *ordersPage) filter(status string) commerce.OrderFilter {
	filter := commerce.OrderFilter{InfluencerID: page.Influencer, Uncredited: page.Credited != "",
		Coupon: fold.Code(page.Coupon), From: page.From, To: page.To}
	if n, err := strconv.Atoi(status); err == nil {
		filter.Status = &n
	}
	return filter
}

func orderFiltersAreGood(page *ordersPage, status string) bool {
	for _, day := range []string{page.From, page.To} {
		if _, err := commerce.ParseDay(day, time.UTC); day != "" && err != nil {
			return false
		}
	}
	known := status == "" || status == "0" || status == "1" || status == "2"
	known = known && (page.Credited == "" || page.Credited == creditedNobody && page.Influencer == "")
	return known && (page.Influencer == "" || uuidtext.Is(page.Influencer)) && (page.Coupon == "" || commerce.IsID(page.Coupon)) &&
		(page.Text == "" || commerce.IsID(page.Text))
}

func (s *Pages) findOrders(r *http.Request, v site.Request, text string) ([]commerce.Sale, error) {
	search := commerce.OrderSearch{Text: text, Limit: ordersPerPage}
	if s.hasher != nil {
		company, err := s.db.Company(r.Context(), v.Current.CompanyID)
		if err != nil {
			return nil, err
		}
		keys := s.hasher.Company(company.CompanyID, company.Country)
		if phone := keys.Phone(text); phone != "" && !strings.Contains(text, "@") {
			search.Phone = append(search.Phone, phone)
			if former, rotates := keys.Former(); rotates {
				search.Phone = append(search.Phone, former.Phone(text))
			}
		}
		if email := keys.Email(text); email != "" && strings.Contains(text, "@") {
			search.Email = append(search.Email, email)
			if former, rotates := keys.Former(); rotates {
				search.Email = append(search.Email, former.Email(text))
			}
		}
	}
	return s.db.FindOrders(r.Context(), v.Current.CompanyID, search)
}

// storedOrderID is an order's id, which its body has.
func storedOrderID(o commerce.StoredOrder) string {
	var body struct {
		OrderID string `json:"orderId"`
	}
	_ = json.Unmarshal(o.Body, &body) // it was marshalled by the processor
	return body.OrderID
}

func (s *Pages) listOrders(r *http.Request, v site.Request, page *ordersPage, status string,
	after commerce.Cursor) ([]commerce.Sale, error) {
	filter := page.filter(status)
	filter.After, filter.Limit = after, ordersPerPage+1
	found, err := s.db.Orders(r.Context(), v.Current.CompanyID, filter)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	here := func(cursor string) string {
		return site.StorePath(site.OrdersPath, v.Current.CompanyID, "status", status, "from", page.From, "to", page.To, "coupon", page.Coupon,
			"influencer", page.Influencer, "credited", page.Credited, "after", cursor)
	}
	if !after.IsZero() {
		page.First = here("")
	}
	ids := make([]string, 0, len(found))
	for _, o := range found[:min(len(found), ordersPerPage)] {
		ids = append(ids, storedOrderID(o))
	}
	if len(found) > ordersPerPage {
		last := found[ordersPerPage-1]
		page.More = here(commerce.Cursor{At: last.CreatedAt, OrderID: storedOrderID(last)}.String())
	}
	return s.db.SalesOf(r.Context(), v.Current.CompanyID, ids)
}
