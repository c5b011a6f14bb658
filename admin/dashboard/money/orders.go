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
	// mostCounted bounds the orders that a page counts: more are "more than" so many.
	mostCounted = 10_000
	// mostNamed bounds the influencers to choose from.
	mostNamed = 200
)

// ordersPage is what templates/orders.html shows.
type ordersPage struct {
	site.Head
	Text, From, To, Coupon, Influencer string // what was asked for
	InfluencerName, All                string // whose orders these are, and the path of all orders; empty: all
	Credited                           string // creditedNobody: only those that nobody is paid for; empty: all
	Statuses, Credits                  []site.Option
	List                               []site.OrderRow
	More, Newer, First                 string
	Sum                                string // how many orders fit, and what they add up to
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
		{Pattern: "GET " + proposalPath, Handle: s.proposal},
		{Pattern: "POST " + proposalPath + "/confirm", Owner: true, Pays: true, Handle: s.confirmProposal},
		{Pattern: "POST " + proposalPath + "/end", Owner: true, Pays: true, Handle: s.endProposal},
		{Pattern: "POST " + proposalPath + "/off", Owner: true, Handle: s.proposeOff},
		{Pattern: "GET " + site.OrdersPath, Handle: s.orders},
	}
}

// orders lists orders by filters, or looks for some by what a person knows of them:
// their number, or the customer's e-mail, of which only the keyed hash is looked up.
func (s *Pages) orders(w http.ResponseWriter, r *http.Request, v site.Request) {
	query := r.URL.Query()
	page := askedOrders(v.Lang, query)
	page.Head = v.Head(v.Lang.T("orders.title"), "orders")
	at, err := askedPlace(query)
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
	var list []commerce.Sale
	if page.Text == "" {
		page.File = v.Path(site.OrdersPath+site.CSVEnding, "status", query.Get("status"), "from", page.From,
			"to", page.To, "coupon", page.Coupon, "influencer", page.Influencer, "credited", page.Credited)
	}
	if page.Text != "" {
		page.Searched = true
		list, err = s.findOrders(r, v, page.Text)
	} else {
		list, err = s.listOrders(r, v, &page, query.Get("status"), at)
	}
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	zone := v.Zone()
	for _, sale := range list {
		row := site.ViewSale(v.Lang, sale, v.Current.CompanyID, zone)
		row.Time = v.Lang.Date(sale.CreatedAt.In(zone)) + " " + row.Time
		if sale.CreatedAt.After(s.Now()) {
			row.Time += " · " + v.Lang.T("orders.ahead")
		}
		page.List = append(page.List, row)
	}
	page.Install = v.Path(site.InstallPath)
	page.Begins = len(list) == 0 && at.first() &&
		page.Text+page.From+page.To+page.Coupon+page.Influencer+page.Credited+query.Get("status") == ""
	s.Render(w, r, http.StatusOK, "orders.html", page)
}

// ofInfluencer tells whose orders the page shows, and whose it can show.
func (s *Pages) ofInfluencer(r *http.Request, v site.Request, page *ordersPage, status string) error {
	page.Credits = []site.Option{{Label: v.Lang.T("orders.any")},
		{Value: creditedNobody, Label: v.Lang.T("overview.nobody"), Chosen: page.Credited != ""}}
	today := s.DayOf(v)
	list, err := s.db.FindInfluencers(r.Context(), v.Current.CompanyID, commerce.InfluencerSearch{Sort: commerce.SortByName,
		From: today, Today: today, Currency: v.Current.Currency, Limit: mostNamed})
	if err != nil {
		return err
	}
	listed := false
	for _, of := range list {
		chosen := strings.EqualFold(of.InfluencerID, page.Influencer)
		listed = listed || chosen
		page.Credits = append(page.Credits, site.Option{Value: of.InfluencerID, Label: of.Name, Chosen: chosen})
	}
	if page.Influencer == "" || page.Text != "" {
		return nil
	}
	page.All = v.Path(site.OrdersPath, "status", status, "from", page.From, "to", page.To, "coupon", page.Coupon)
	of, err := s.db.Influencer(r.Context(), v.Current.CompanyID, strings.ToLower(page.Influencer))
	page.InfluencerName = of.Name
	if errors.Is(err, commerce.ErrNotFound) {
		page.InfluencerName, err = v.Lang.T("orders.archived"), nil
	}
	if !listed {
		page.Credits = append(page.Credits, site.Option{Value: page.Influencer, Label: page.InfluencerName, Chosen: true})
	}
	return err
}

// place is where in the list a page stands: after an order, or before one.
type place struct{ after, before commerce.Cursor }

func (p place) first() bool { return p.after.IsZero() && p.before.IsZero() }

func askedPlace(query url.Values) (at place, err error) {
	if at.after, err = commerce.ParseCursor(query.Get("after")); err != nil {
		return at, err
	}
	at.before, err = commerce.ParseCursor(query.Get("before"))
	if err == nil && !at.after.IsZero() && !at.before.IsZero() {
		err = commerce.ErrBadCursor
	}
	return at, err
}

// askedOrders reads what the address asks for.
func askedOrders(l *lang.Printer, query url.Values) ordersPage {
	page := ordersPage{Text: strings.TrimSpace(query.Get("q")), From: site.TypedDay(l, query.Get("from")),
		To:     site.TypedDay(l, query.Get("to")),
		Coupon: strings.TrimSpace(query.Get("coupon")), Influencer: query.Get("influencer"), Credited: query.Get("credited")}
	if uuidtext.Is(page.Credited) { // chosen in the form
		page.Influencer, page.Credited = page.Credited, ""
	}
	return page
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

func (s *Pages) listOrders(r *http.Request, v site.Request, page *ordersPage, status string, at place) ([]commerce.Sale, error) {
	filter := page.filter(status)
	if err := s.addUp(r, v, page, filter); err != nil {
		return nil, err
	}
	filter.After, filter.Before, filter.Limit = at.after, at.before, ordersPerPage+1
	found, err := s.db.Orders(r.Context(), v.Current.CompanyID, filter)
	if err != nil {
		return nil, err
	}
	here := func(name string, cursor commerce.Cursor) string {
		return v.Path(site.OrdersPath, "status", status, "from", page.From, "to", page.To, "coupon", page.Coupon,
			"influencer", page.Influencer, "credited", page.Credited, name, cursor.String())
	}
	older, newer := !at.before.IsZero(), !at.after.IsZero()
	if len(found) > ordersPerPage {
		if newer = newer || older; older {
			found = found[1:]
		} else {
			found, older = found[:ordersPerPage], true
		}
	}
	if !at.first() {
		page.First = here("", commerce.Cursor{})
	}
	if len(found) == 0 {
		return nil, nil
	}
	if newer {
		page.Newer = here("before", found[0].Cursor(storedOrderID(found[0]), false))
	}
	if last := found[len(found)-1]; older {
		page.More = here("after", last.Cursor(storedOrderID(last), false))
	}
	ids := make([]string, 0, len(found))
	for _, o := range found {
		ids = append(ids, storedOrderID(o))
	}
	return s.db.SalesOf(r.Context(), v.Current.CompanyID, ids)
}

// addUp writes how many orders fit, and what they add up to.
func (s *Pages) addUp(r *http.Request, v site.Request, page *ordersPage, filter commerce.OrderFilter) error {
	filter.Limit = mostCounted + 1
	totals, err := s.db.OrderTotals(r.Context(), v.Current.CompanyID, filter)
	if err != nil {
		return err
	}
	var n int64
	all, approved := sums{}, sums{}
	for _, t := range totals {
		n += t.Orders
		all.add(t.Currency, t.TotalMinor)
		if t.Status == commerce.OrderApproved {
			approved.add(t.Currency, t.TotalMinor)
		}
	}
	written := func(of sums) string { return strings.Join(of.lines(v.Lang, v.Current.Currency), " + ") }
	switch {
	case n == 0:
	case n > mostCounted:
		page.Sum = v.Lang.T("orders.too_many", v.Lang.Count(mostCounted))
	case len(totals) == 1:
		page.Sum = v.Lang.N("orders.n", n) + " · " + written(all)
	default:
		page.Sum = v.Lang.N("orders.n", n) + " · " + written(all) + " · " + v.Lang.T("orders.approved", written(approved))
	}
	return nil
}
