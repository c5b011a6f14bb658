package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/live"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// todayPage is what templates/today.html shows.
type todayPage struct {
	head
	dayView
	Day       string // YYYY-MM-DD
	DayText   string
	LastDay   string // today: later days cannot be picked
	IsToday   bool
	EndsIn    int64 // milliseconds until the day ends; then the page reloads
	Watch     bool  // open the websocket
	Previous  string
	Next      string
	Older     string // path of the orders before these
	Newest    string // path back to the newest, on a page of older ones
	FeedLimit int
	APIPath   string // for the empty state's example
	Install   string // path of the page that connects a shop
	BlankRow  orderRow
	BlankLine influencerRow
}

func (s *moneyPages) salesRoutes() []route {
	return []route{{pattern: "GET /dashboard/{$}", handle: s.today}}
}

func (s *moneyPages) today(w http.ResponseWriter, r *http.Request, v pageRequest) {
	zone := zoneOf(v.current.Timezone)
	now := s.Now().In(zone)
	today := now.Format(time.DateOnly)
	query := r.URL.Query()
	day := query.Get("day")
	if day == "" {
		day = today
	}
	date, err := commerce.ParseDay(day, zone)
	if err != nil {
		s.problemOf(w, r, http.StatusBadRequest, "no_day")
		return
	}
	before, err := commerce.ParseCursor(query.Get("before"))
	if err != nil {
		s.problemOf(w, r, http.StatusBadRequest, "bad_address")
		return
	}
	d, err := s.db.DaySales(r.Context(), v.current.CompanyID, day, before, feedLength)
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	page := todayPage{
		head: v.head(v.lang.T("sales.today"), "today"), dayView: viewDay(v.lang, d, v.current, zone),
		Day: day, DayText: v.lang.LongDate(date), LastDay: today, IsToday: day == today,
		EndsIn:   time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 1, 0, zone).Sub(now).Milliseconds(),
		Watch:    before.IsZero(),
		Previous: dayPath(v.current.CompanyID, date.AddDate(0, 0, -1).Format(time.DateOnly)), FeedLimit: feedLength,
		APIPath: apiPath(v.current.Environment, "order"), Install: storePath(installPath, v.current.CompanyID),
	}
	page.File = storePath(ordersPath+csvEnding, v.current.CompanyID, "from", day, "to", day)
	if !page.IsToday {
		page.Title = v.lang.Date(date)
	}
	if day < today {
		page.Next = dayPath(v.current.CompanyID, date.AddDate(0, 0, 1).Format(time.DateOnly))
	}
	if d.More {
		last := d.Sales[len(d.Sales)-1]
		older := commerce.Cursor{At: last.CreatedAt, OrderID: last.OrderID}
		page.Older = dayPath(v.current.CompanyID, day) + "&before=" + url.QueryEscape(older.String())
	}
	if !before.IsZero() {
		page.Newest = dayPath(v.current.CompanyID, day)
	}
	s.render(w, r, http.StatusOK, "today.html", page)
}

// Changed implements live.Feed.
func (s *moneyPages) Changed(ctx context.Context, companyID, day string, since commerce.Cursor) ([]commerce.Sale, error) {
	return s.db.SalesSince(ctx, companyID, day, since, feedLength)
}

// Update implements live.Feed: it returns the day's sums and some of its orders
// as texts of the page.
func (s *moneyPages) Update(ctx context.Context, company account.Access, day, tag string, orderIDs []string) (live.Update, error) {
	l := s.Languages.Of(tag)
	if l == nil {
		l = s.Languages.All()[0]
	}
	d, err := s.db.DaySalesOf(ctx, company.CompanyID, day, orderIDs)
	if err != nil {
		return live.Update{}, err
	}
	var gone []string
	ofDay := d.Sales[:0]
	for _, sale := range d.Sales {
		switch {
		case sale.Day != day:
			gone = append(gone, sale.OrderID)
		case len(ofDay) < feedLength:
			ofDay = append(ofDay, sale)
		}
	}
	d.Sales = ofDay
	view := viewDay(l, d, company, zoneOf(company.Timezone))
	view.Gone = gone
	body, err := json.Marshal(view)
	if err != nil {
		return live.Update{}, fmt.Errorf("dashboard: update: %w", err)
	}
	return live.Update{Cursor: d.Cursor, Body: body}, nil
}
