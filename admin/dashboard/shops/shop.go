package shops

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
)

const (
	asidePerPage = 50
	mostNames    = 12 // of an order's fields that are shown
	mostCoupons  = 200
)

// keysFail are the reasons that other keys may mend.
var keysFail = []string{commerce.ShopRefusedKey, commerce.ShopLacksScope, commerce.ShopNotFound}

// shopPage is what templates/shop.html shows.
type shopPage struct {
	site.Head
	ID, Name, PlatformIs  string
	URL                   string // where shoppers see it; empty: not known
	State, StateIs, About string
	Since                 string
	Reason, Mend, Detail  string // of one that fails, or has ended
	Draft, Started, Over  bool   // not connected yet; it was connected, and has not ended; it has ended
	Paused, Installing    bool
	KeysFail              bool   // the connection fails since its keys do
	Untested              bool   // a draft whose test is not on the page
	Runs                  bool   // a connect service does
	Again                 string // path of this page while it waits or reads earlier orders; empty: nothing changes by itself
	TaskID                string // of the address; may be empty
	Keys                  string // path of the page where the keys are given anew
	Task                  *taskView
	Form                  *site.Form // days and the first day of commissions, of a draft that was tested; else of what can be changed
	Earlier               *site.Form // how many days of earlier orders are read again
	Tiles                 []site.Tile
	Facts                 []string
	Backfill              *backfillView
	Aside                 []asideRow
	AsideNext             string // path of further ones; empty: these are the last
	Days                  *daysView
	Coupons               []couponRow
	CouponNew, List       string // paths
	Requests              []requestRow
	Privacy               string // path of the page of personal data
}

// requestRow is what a customer asked the shop for, and the owner has to do.
type requestRow struct{ ID, What, Customer string }

// backfillView is how far earlier orders are read.
type backfillView struct {
	Text, Done string
	Percent    int
	Ended      bool
}

// asideRow is an order that was set aside.
type asideRow struct{ ID, Reason, Detail, Fields, When, Attempts string }

// daysView is how the last days compare.
type daysView struct {
	Said   string
	Differ []dayRow
	All    []dayRow
}

type dayRow struct {
	Day, Theirs, Ours, TheirTotal, OurTotal, What string
	Differs                                       bool
}

// couponRow is a coupon that is not the same on both sides.
type couponRow struct{ Code, Influencer, Theirs, Ours, What string }

func (s *Pages) shopRoutes() []site.Route {
	return []site.Route{{Pattern: "GET " + site.ShopPath, Handle: s.shop}}
}

func (s *Pages) shop(w http.ResponseWriter, r *http.Request, v site.Request) {
	c, ok := s.connectionOf(w, r, v, r.URL.Query().Get("id"))
	if ok {
		s.showShop(w, r, v, http.StatusOK, c, shopPage{})
	}
}

// connectionOf reads the connection that a page or form names. Else the request is answered.
func (s *Pages) connectionOf(w http.ResponseWriter, r *http.Request, v site.Request, id string) (c commerce.Connection, ok bool) {
	if !isID(id) {
		s.ProblemOf(w, r, http.StatusNotFound, "no_connection")
		return c, false
	}
	c, err := s.db.Connection(r.Context(), v.Current.CompanyID, id)
	if err != nil {
		s.NotFoundOr(w, r, err, "no_connection")
	}
	return c, err == nil
}

// isID reports whether a text can be a connection's id.
func isID(text string) bool { return commerce.IsID(text) && len(text) <= 64 }

// showShop shows the page of a connection; page has the forms that are shown again.
func (s *Pages) showShop(w http.ResponseWriter, r *http.Request, v site.Request, status int, c commerce.Connection, page shopPage) {
	task, after := r.URL.Query().Get("task"), r.URL.Query().Get("after")
	v.Here = shopPath(v.Current.CompanyID, c.ID, "task", task, "after", after)
	offer, err := s.db.ConnectOffer(r.Context())
	page.Head = v.Head(nameOf(v.Lang, c), "shops")
	if err == nil {
		page.Versions, err = s.VersionsOf(r.Context(), v.Current.CompanyID, c.ID)
	}
	if err == nil {
		err = s.taskOf(r, v, offer, c, task, &page)
	}
	if err == nil && after != "" && !commerce.IsID(after) {
		err = site.ErrBadAddress
	}
	if err == nil && c.State != commerce.ConnectionDraft && c.State != commerce.ConnectionInstalling {
		err = s.fill(r, v, c, after, &page)
	}
	if err != nil {
		s.Refuse(w, r, err)
		return
	}
	l, zone := v.Lang, v.Zone()
	page.ID, page.Name, page.PlatformIs, page.URL = c.ID, nameOf(l, c), titleOf(offer, c.Platform), shopURL(c.ShopURL)
	page.State, page.StateIs = stateWords(l, c.State)
	page.About, page.Since = site.TextOf(l, "shops.about_"+string(c.State), ""), l.T("shops.since", l.Time(c.Since.In(zone)))
	page.Runs = s.runs(offer)
	page.Draft = c.State == commerce.ConnectionDraft || c.State == commerce.ConnectionInstalling
	page.Over, page.Paused = c.State == commerce.ConnectionEnded, c.State == commerce.ConnectionPaused
	page.Started = !page.Draft && !page.Over
	if c.State == commerce.ConnectionFailing || page.Over {
		page.Reason, page.Mend = reasonWords(l, c.Reason)
		page.Detail = detailWords(l, c.Detail)
	}
	if page.Over {
		page.Mend = "" // nothing mends it: the shop is connected anew
	}
	page.TaskID, page.List = task, v.Path(site.ShopsPath)
	page.Installing = c.State == commerce.ConnectionInstalling
	page.Keys = v.Path(site.ConnectPath, "platform", c.Platform, "again", map[bool]string{false: c.ID}[page.Over])
	if page.Draft && page.Task != nil && page.Task.Preview != nil && page.Task.Preview.Name != "" {
		page.Name = page.Task.Preview.Name
	}
	page.KeysFail = slices.Contains(keysFail, c.Reason) && c.State == commerce.ConnectionFailing
	page.Untested = c.State == commerce.ConnectionDraft && page.Task == nil
	page.CouponNew = shopCouponPath(v.Current.CompanyID, c.ID)
	page.Again = page.again(c, v.Here)
	s.Render(w, r, status, "shop.html", page)
}

// shopButton is a form of one button: the template "shop-button".
type shopButton struct {
	Page shopPage
	Do   string // the last part of the form's path; its text is "shops.do_<what>"
}

// Button is called by the template.
func (p shopPage) Button(do string) shopButton { return shopButton{p, do} }

// again is the path at which the page asks for itself, while something goes on.
func (p *shopPage) again(c commerce.Connection, here string) string {
	waits := p.Task != nil && p.Task.Waits
	reads := c.State == commerce.ConnectionConnecting || c.State == commerce.ConnectionBackfilling
	if !waits && !reads {
		return ""
	}
	return here
}

// shopURL is an address to which the page may lead.
func shopURL(address string) string {
	if strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://") {
		return address
	}
	return ""
}

// fill reads what is shown of a connection that was connected.
func (s *Pages) fill(r *http.Request, v site.Request, c commerce.Connection, after string, page *shopPage) error {
	l := v.Lang
	aside, err := s.db.Aside(r.Context(), c.CompanyID, c.ID, after, asidePerPage+1)
	if err != nil {
		return err
	}
	days, err := s.db.ConnectionDays(r.Context(), c.CompanyID, c.ID)
	if err != nil {
		return err
	}
	coupons, err := s.db.ConnectionCoupons(r.Context(), c.CompanyID, c.ID)
	if err != nil {
		return err
	}
	zone := v.Zone()
	if v.MayChange() {
		requests, err := s.db.ShopRequests(r.Context(), c.CompanyID, c.ID)
		if err != nil {
			return err
		}
		for _, asked := range requests {
			page.Requests = append(page.Requests, requestRow{ID: asked.ID, Customer: asked.Customer,
				What: l.T("shops.request_"+asked.Kind, l.Date(asked.AskedAt.In(zone)))})
		}
		page.Privacy = site.StorePath(site.PrivacyPath, c.CompanyID)
	}
	if len(aside) > asidePerPage {
		aside = aside[:asidePerPage]
		page.AsideNext = shopPath(c.CompanyID, c.ID, "after", aside[len(aside)-1].OrderID)
	}
	for _, o := range aside {
		page.Aside = append(page.Aside, viewAside(l, o, zone))
	}
	page.Days = viewDays(l, c, days)
	for _, coupon := range coupons {
		if coupon.Difference != "" && len(page.Coupons) < mostCoupons {
			page.Coupons = append(page.Coupons, viewCoupon(l, c, coupon))
		}
	}
	page.Tiles, page.Facts = s.tilesOf(l, c, zone), factsOf(l, c, zone)
	page.Backfill = viewBackfill(l, c, zone)
	if page.Form == nil {
		page.Form = changeForm(v, c, nil)
	}
	if page.Earlier == nil {
		page.Earlier = earlierForm(v, nil)
	}
	return nil
}

// tilesOf are the figures of a connection.
func (s *Pages) tilesOf(l *lang.Printer, c commerce.Connection, zone *time.Location) []site.Tile {
	tile := func(id, text, note string) site.Tile {
		return site.Tile{ID: "shop-" + id, Label: l.T("shops." + id), Lines: []string{text}, Note: note, Size: site.SizeOf(text)}
	}
	last, read, compared := l.T("shops.never"), l.T("shops.never"), l.T("shops.never")
	if !c.LastOrderAt.IsZero() {
		last = l.Time(c.LastOrderAt.In(zone))
	}
	if !c.PolledAt.IsZero() {
		read = agoWords(l, s.Now().Sub(c.PolledAt))
	}
	if !c.Reconciled.IsZero() {
		compared = l.Time(c.Reconciled.In(zone))
	}
	sent := ""
	if c.Tests > 0 {
		sent = l.N("shops.tests", c.Tests)
	}
	return []site.Tile{tile("last_order", last, ""), tile("read", read, ""), tile("orders", l.Count(c.Orders), sent),
		tile("aside", l.Count(c.AsideCount), ""), tile("compared", compared, "")}
}

// agoWords says how long ago something was.
func agoWords(l *lang.Printer, ago time.Duration) string {
	switch {
	case ago < 2*time.Minute:
		return l.T("shops.just_now")
	case ago < 2*time.Hour:
		return l.N("shops.minutes_ago", int64(ago/time.Minute))
	case ago < 48*time.Hour:
		return l.N("shops.hours_ago", int64(ago/time.Hour))
	}
	return l.N("shops.days_ago", int64(ago/(24*time.Hour)))
}

// factsOf says in sentences how a connection works, or worked.
func factsOf(l *lang.Printer, c commerce.Connection, zone *time.Location) (list []string) {
	if c.State != commerce.ConnectionEnded {
		list = append(list, changesWords(l, c, zone)...)
	}
	if !c.CommissionsFrom.IsZero() {
		list = append(list, l.T("shops.commissions", l.Date(c.CommissionsFrom.In(zone))))
	}
	if c.Currency != "" {
		list = append(list, l.T("shops.currency_is", c.Currency))
	}
	return list
}

// changesWords says how what changes in a shop comes.
func changesWords(l *lang.Printer, c commerce.Connection, zone *time.Location) (list []string) {
	if c.NoticesOn {
		list = append(list, l.T("shops.notices_on"))
		if !c.NoticeAt.IsZero() {
			list = append(list, l.T("shops.notice_at", l.Time(c.NoticeAt.In(zone))))
		}
	} else {
		list = append(list, l.T("shops.notices_off"))
	}
	if c.PollEvery > 0 {
		list = append(list, l.T("shops.polls", everyWords(l, c.PollEvery)))
	}
	return list
}

// everyWords says how often changes are read.
func everyWords(l *lang.Printer, every time.Duration) string {
	if every%time.Minute == 0 {
		return l.N("shops.minutes", int64(every/time.Minute))
	}
	return l.N("shops.seconds", int64(every/time.Second))
}

// viewBackfill is nil where no earlier orders were asked for.
func viewBackfill(l *lang.Printer, c commerce.Connection, zone *time.Location) *backfillView {
	b := c.Backfill
	if b.Days == 0 || b.From.IsZero() {
		return nil
	}
	view := &backfillView{Ended: !b.Ended.IsZero()}
	view.Text = l.T("shops.backfill_span", l.Period(b.From.In(zone).Format(time.DateOnly), b.To.In(zone).Format(time.DateOnly)))
	if view.Ended {
		view.Percent, view.Done = 100, l.N("shops.backfill_ended", b.Done)
		return view
	}
	if span := b.To.Sub(b.From); span > 0 && b.At.After(b.From) {
		view.Percent = min(int(100*b.At.Sub(b.From)/span), 99)
	}
	if view.Done = l.N("shops.backfill_done", b.Done); b.Total > 0 {
		view.Percent = min(max(view.Percent, int(100*b.Done/b.Total)), 99)
		view.Done = l.N("shops.backfill_of", b.Done, b.Total)
	}
	return view
}

func viewAside(l *lang.Printer, o commerce.AsideOrder, zone *time.Location) asideRow {
	row := asideRow{ID: o.OrderID, Detail: detailWords(l, o.Detail), When: l.Time(o.At.In(zone)),
		Attempts: l.N("shops.attempts", int64(o.Attempts))}
	row.Reason = site.TextOf(l, "shops.aside_"+o.Reason, site.TextOf(l, "shops.reason_"+o.Reason, o.Reason))
	names := o.Fields[:min(len(o.Fields), mostNames)]
	if row.Fields = strings.Join(names, ", "); len(o.Fields) > mostNames {
		row.Fields += " …"
	}
	return row
}

// viewDays is nil where no days were compared.
func viewDays(l *lang.Printer, c commerce.Connection, days []commerce.ConnectionDay) *daysView {
	if len(days) == 0 {
		return nil
	}
	view := &daysView{}
	for _, d := range days {
		row := dayRow{Day: l.Day(d.Day), Theirs: l.Count(d.ShopOrders), Ours: l.Count(d.Orders),
			TheirTotal: totalWords(l, d.ShopTotal, c.Currency), OurTotal: totalWords(l, d.Total, c.Currency),
			Differs: d.Missing+d.Differ+d.OursAlone > 0}
		var what []string
		for _, n := range []struct {
			key   string
			count int64
		}{{"shops.day_missing", d.Missing}, {"shops.day_differ", d.Differ}, {"shops.day_new", d.OursAlone}} {
			if n.count > 0 {
				what = append(what, l.N(n.key, n.count))
			}
		}
		row.What = strings.Join(what, ", ")
		if view.All = append(view.All, row); row.Differs {
			view.Differ = append(view.Differ, row)
		}
	}
	view.Said = l.N("shops.days_same", int64(len(days)))
	if len(view.Differ) > 0 {
		view.Said = l.N("shops.days_differ", int64(len(view.Differ)), len(days))
	}
	return view
}

// totalWords writes a decimal amount of the shop's currency; as it came where it cannot be read.
func totalWords(l *lang.Printer, text, currency string) string {
	if text == "" {
		return "–"
	}
	minor, err := commerce.ParseMinor(text, currency)
	if err != nil {
		return strings.TrimSpace(currency + " " + text)
	}
	return l.Money(minor, currency)
}

func viewCoupon(l *lang.Printer, c commerce.Connection, coupon commerce.ShopCoupon) couponRow {
	return couponRow{Code: coupon.Code, Influencer: coupon.InfluencerOur, Theirs: discountWords(l, c.Currency, coupon),
		Ours: coupon.OurDiscount, What: site.TextOf(l, "shops.coupon_"+coupon.Difference, coupon.Difference)}
}

// discountWords is what a coupon of the shop takes off.
func discountWords(l *lang.Printer, currency string, c commerce.ShopCoupon) string {
	switch {
	case c.Percent != "":
		return l.T("shops.percent_off", percentWords(l, c.Percent))
	case c.Amount != "":
		return totalWords(l, c.Amount, currency)
	}
	return "–"
}

// percentWords writes a decimal percentage as the language does; as it came where it is none.
func percentWords(l *lang.Printer, text string) string {
	d, err := commerce.ParseDecimal(text)
	if err != nil {
		return text
	}
	return l.Number(d)
}
