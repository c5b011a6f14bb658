package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/live"
	"github.com/tributary-io/tributary/internal/commerce"
)

// head is what every page of a store shows above its content.
type head struct {
	Title           string
	Notice          string // may be empty
	Store           string
	Role            string
	Live            string // path of the same page in each environment; empty where there is none
	Sandbox         string
	IsLive          bool
	Stores          []storeLink // other stores of this person
	Timezone        string
	Page            string // today | influencers | empty: which page this is
	TodayPath       string
	InfluencersPath string
}

type storeLink struct {
	Name string
	Path string
}

func (v pageRequest) head(title, page string) head {
	h := head{Page: page, TodayPath: dayPath(v.current.CompanyID, ""),
		InfluencersPath: "/dashboard/influencers?" + url.Values{"company": {v.current.CompanyID}}.Encode(),
		Title:           title, Notice: v.notice, Store: v.current.Name, Role: v.current.Role, IsLive: v.current.Environment == commerce.Live, Timezone: v.current.Timezone}
	seen := map[string]bool{v.current.StoreID: true}
	for _, a := range v.accesses {
		switch {
		case a.StoreID == v.current.StoreID && a.Environment == commerce.Live:
			h.Live = v.samePage(page, a.CompanyID)
		case a.StoreID == v.current.StoreID:
			h.Sandbox = v.samePage(page, a.CompanyID)
		case !seen[a.StoreID]:
			seen[a.StoreID] = true
			h.Stores = append(h.Stores, storeLink{a.Name, dayPath(a.CompanyID, "")})
		}
	}
	return h
}

// samePage is a page's path in another environment.
func (v pageRequest) samePage(page, companyID string) string {
	if page == "influencers" {
		return "/dashboard/influencers?" + url.Values{"company": {companyID}}.Encode()
	}
	return dayPath(companyID, "")
}

// todayPage is what templates/today.html shows.
type todayPage struct {
	head
	dayView
	Company   string
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
	BlankRow  orderRow
	BlankLine influencerRow
}

func (s *Server) today(w http.ResponseWriter, r *http.Request, v pageRequest) {
	zone := zoneOf(v.current.Timezone)
	now := s.now().In(zone)
	today := now.Format(time.DateOnly)
	query := r.URL.Query()
	day := query.Get("day")
	if day == "" {
		day = today
	}
	date, err := commerce.ParseDay(day, zone)
	if err != nil {
		s.problemOf(w, r, v.access, http.StatusBadRequest, "No such day", "A day is written like 2026-11-21.")
		return
	}
	before, err := commerce.ParseCursor(query.Get("before"))
	if err != nil {
		s.problemOf(w, r, v.access, http.StatusBadRequest, "Bad address", "The address does not say which orders to show.")
		return
	}
	d, err := s.db.DaySales(r.Context(), v.current.CompanyID, day, before, feedLength)
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	page := todayPage{
		head: v.head("Today", "today"), dayView: viewDay(d, v.current, zone),
		Company: v.current.CompanyID, Day: day, DayText: date.Format("Monday, 2 January 2006"), LastDay: today, IsToday: day == today,
		EndsIn:   time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 1, 0, zone).Sub(now).Milliseconds(),
		Watch:    before.IsZero(),
		Previous: dayPath(v.current.CompanyID, date.AddDate(0, 0, -1).Format(time.DateOnly)), FeedLimit: feedLength,
		APIPath: apiPath(v.current.Environment, "order"),
	}
	if !page.IsToday {
		page.Title = date.Format("2 January 2006")
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
	s.render(w, http.StatusOK, "today.html", page)
}

// zoneOf returns a store's time zone, or UTC where this machine does not know it.
func zoneOf(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	return zone
}

// Changed implements live.Feed.
func (s *Server) Changed(ctx context.Context, companyID, day string, since commerce.Cursor) ([]commerce.Sale, error) {
	return s.db.SalesSince(ctx, companyID, day, since, feedLength)
}

// Update implements live.Feed: it returns the day's sums and some of its orders
// as texts of the page.
func (s *Server) Update(ctx context.Context, company commerce.Access, day string, orderIDs []string) (live.Update, error) {
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
	view := viewDay(d, company, zoneOf(company.Timezone))
	view.Gone = gone
	body, err := json.Marshal(view)
	if err != nil {
		return live.Update{}, fmt.Errorf("dashboard: update: %w", err)
	}
	return live.Update{Cursor: d.Cursor, Body: body}, nil
}
