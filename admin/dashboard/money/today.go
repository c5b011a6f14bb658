package money

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/live"
	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// todayPage is what templates/today.html shows.
type todayPage struct {
	site.Head
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
	APIPath   string      // for the empty state's example
	Install   string      // path of the page that connects a shop
	Failing   []site.Link // the pages of connections that fail
	BlankRow  site.OrderRow
	BlankLine influencerRow
}

func (s *Pages) salesRoutes() []site.Route {
	return []site.Route{{Pattern: "GET /dashboard/{$}", Handle: s.today}}
}

func (s *Pages) today(w http.ResponseWriter, r *http.Request, v site.Request) {
	zone := v.Zone()
	now := s.Now().In(zone)
	today := now.Format(time.DateOnly)
	query := r.URL.Query()
	day := query.Get("day")
	if day == "" {
		day = today
	}
	date, err := commerce.ParseDay(day, zone)
	if err != nil {
		s.ProblemOf(w, r, http.StatusBadRequest, "no_day")
		return
	}
	before, err := commerce.ParseCursor(query.Get("before"))
	if err != nil {
		s.ProblemOf(w, r, http.StatusBadRequest, "bad_address")
		return
	}
	d, err := s.db.DaySales(r.Context(), v.Current.CompanyID, day, before, feedLength)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	page := todayPage{
		Head: v.Head(v.Lang.T("sales.today"), "today"), dayView: viewDay(v.Lang, d, v.Current, zone),
		Day: day, DayText: v.Lang.LongDate(date), LastDay: today, IsToday: day == today,
		EndsIn:   time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 1, 0, zone).Sub(now).Milliseconds(),
		Watch:    before.IsZero(),
		Previous: site.DayPath(v.Current.CompanyID, date.AddDate(0, 0, -1).Format(time.DateOnly)), FeedLimit: feedLength,
		APIPath: site.APIPath(v.Current.Environment, "order"), Install: v.Path(site.InstallPath),
	}
	if page.Failing, err = s.Failing(r, v); err != nil {
		s.Unavailable(w, r, err)
		return
	}
	page.File = v.Path(site.OrdersPath+site.CSVEnding, "from", day, "to", day)
	if !page.IsToday {
		page.Title = v.Lang.Date(date)
	}
	if day < today {
		page.Next = site.DayPath(v.Current.CompanyID, date.AddDate(0, 0, 1).Format(time.DateOnly))
	}
	if d.More {
		last := d.Sales[len(d.Sales)-1]
		older := commerce.Cursor{At: last.CreatedAt, OrderID: last.OrderID}
		page.Older = site.DayPath(v.Current.CompanyID, day) + "&before=" + url.QueryEscape(older.String())
	}
	if !before.IsZero() {
		page.Newest = site.DayPath(v.Current.CompanyID, day)
	}
	s.Render(w, r, http.StatusOK, "today.html", page)
}

// Changed implements live.Feed.
func (s *Pages) Changed(ctx context.Context, companyID, day string, since commerce.Cursor) ([]commerce.Sale, error) {
	return s.db.SalesSince(ctx, companyID, day, since, feedLength)
}

// Update implements live.Feed: it returns the day's sums and some of its orders
// as texts of the page.
func (s *Pages) Update(ctx context.Context, company account.Access, day, tag string, orderIDs []string) (live.Update, error) {
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
	view := viewDay(l, d, company, site.ZoneOf(company.Timezone))
	view.Gone = gone
	body, err := json.Marshal(view)
	if err != nil {
		return live.Update{}, fmt.Errorf("dashboard: update: %w", err)
	}
	return live.Update{Cursor: d.Cursor, Body: body}, nil
}
