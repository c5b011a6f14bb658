package rules

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
	"github.com/tributary-io/tributary/internal/preview"
	"github.com/tributary-io/tributary/internal/uuidtext"
)

// influencerPage is what templates/influencer.html shows.
type influencerPage struct {
	site.Head
	ID, Name, Category string
	Campaigns          []campaignBlock
	Costs              []agreementLine
	Coupons            *timeline
	Orders             string      // path of the influencer's orders
	Signs              string      // path of the signs that are about the influencer
	Clicks             *site.Chart // of all links, by day
	Clicked            string      // how many clicks these are
	Unproven           *site.Form  // the influencer's own setting
	Known              []detailLine
	KeyNote            string             // that the Pix key changed since the last payment; empty: it did not
	Tell               *site.PayeeMessage // to the former e-mail, for owners; nil: nothing changed lately
	Details            *site.Form         // of the person
	Rename             *site.Form
	Former             string     // names of before
	Links, Coupon      *site.Form // to add
	Erase              *site.Form // the person; nil: may not
	Cost, Entry        *site.Form
	Entries            []entryLine // by hand, of the ledger
	Results            any         // of chosen days
	Alert              string
	Archived           string // since when; empty: it is not
	Restores           bool   // the person may take it back
}

type campaignBlock struct {
	ID, Name string
	Links    []linkLine
	Coupons  []couponLine
}

type linkLine struct {
	Short       string // as people share it; the code alone where the short host is not known
	Copy        string // with https://; empty where it is not known
	Destination string
	Code        string // path of its QR code; empty where the short host is not known
	Clicks      string // in the last days
}

type couponLine struct {
	Code, Period string
	State        string // active | ahead | over: also a class
	StateText    string
}

type agreementLine struct{ ID, Formula, For, Period string }

// timeline is the coupons' periods on one line of time, for an SVG.
type timeline struct {
	Rows                   []timelineRow
	First, Last            string
	Today, Width, Height   int
	TodayText, Description string
}

type timelineRow struct {
	Code, Text, State string
	X, W, Y           int
}

func (s *Pages) influencer(w http.ResponseWriter, r *http.Request, v site.Request) {
	s.showInfluencer(w, r, v, http.StatusOK, influencerPage{})
}

// forms of the page, empty.
func (s *Pages) linksForm(v site.Request, typed map[string][]string) *site.Form {
	f := site.NewForm(v.Lang, "influencer", typed)
	f.IDs = "l-"
	f.Add(site.Field{Name: "campaign", Max: commerce.MaxName})
	f.Add(site.Field{Name: "links", Type: "textarea", Required: true})

	return f
}

func (s *Pages) couponForm(v site.Request, i commerce.Influencer, typed map[string][]string) *site.Form {
	f := site.NewForm(v.Lang, "influencer", typed)
	f.IDs = "k-"
	f.Add(site.Field{Name: "campaign_id", Type: "select", Options: s.campaignOptions(v, i, false)})
	s.couponFields(f, true)
	return f
}

func (s *Pages) agreementForm(v site.Request, i commerce.Influencer, typed map[string][]string) *site.Form {
	f := site.NewForm(v.Lang, "influencer", typed)
	f.IDs = "c-"
	f.Add(site.Field{Name: "campaign_id", Type: "select", Options: s.campaignOptions(v, i, true)})
	s.costFields(v, f, true)
	return f
}

// campaignOptions are an influencer's campaigns; with all, "any" is the first.
func (s *Pages) campaignOptions(v site.Request, i commerce.Influencer, all bool) (list []site.Option) {
	if all {
		list = append(list, site.Option{Label: v.Lang.T("influencer.any_campaign")})
	}
	for _, c := range i.Campaigns {
		list = append(list, site.Option{Value: c.CampaignID, Label: campaignName(v, c)})
	}
	return list
}

// showInfluencer shows the influencer whose id the address has. Forms that are nil
// are shown empty.
func (s *Pages) showInfluencer(w http.ResponseWriter, r *http.Request, v site.Request, status int, page influencerPage) {
	if i, ok := s.influencerOf(w, r, v); ok {
		s.showKnown(w, r, v, i, status, page)
	}
}

// showKnown shows an influencer, also one who is archived.
func (s *Pages) showKnown(w http.ResponseWriter, r *http.Request, v site.Request, i commerce.Influencer, status int,
	page influencerPage) {
	v.Here = v.Path(site.InfluencerPath, "id", i.InfluencerID)
	page.Head, page.ID, page.Name, page.Category = v.Head(i.Name, "influencers"), i.InfluencerID, i.Name, i.Category
	page.Orders = v.Path(site.OrdersPath, "influencer", i.InfluencerID)
	if page.Erase == nil && page.Owner {
		page.Erase = eraseForm(v, nil)
	}
	if page.Former = formerNames(i); page.Rename == nil {
		page.Rename = renameForm(v, i, nil)
	}
	if page.Links == nil {
		page.Links = s.linksForm(v, nil)
	}
	if page.Coupon == nil {
		page.Coupon = s.couponForm(v, i, nil)
	}
	if page.Cost == nil {
		page.Cost = s.agreementForm(v, i, nil)
	}
	if !i.ArchivedAt.IsZero() {
		page.Restores = page.Owner
		page.Archived, page.Owner = v.Lang.T("influencer.archived", v.Lang.Date(i.ArchivedAt.In(v.Zone()))), false
	}
	if v.MayChange() {
		page.Tell = site.TellPayee(v.Lang, v.Current.Name, i.Name, i.Details, s.Now())
	}
	if page.Known = viewDetails(v, i.Details); page.Details == nil {
		page.Details = s.detailsForm(v, i.Details, nil)
	}
	today := s.DayOf(v)
	clicks, err := s.clicksOf(r.Context(), v, i, today)
	if err == nil && page.Unproven == nil {
		var own string
		own, err = s.db.UnprovenOf(r.Context(), v.Current.CompanyID, i.InfluencerID)
		page.Unproven = s.unprovenForm(v, own, nil)
	}
	if err == nil && page.Entry == nil {
		page.Entry, err = s.entryForm(v, nil)
	}
	if err == nil {
		page.Entries, err = s.entriesOf(r, v, i.InfluencerID)
	}
	if err == nil {
		var paid map[string]time.Time
		paid, err = s.db.LastPaid(r.Context(), v.Current.CompanyID, []string{i.InfluencerID})
		if i.Details.PixChangedSince(paid[i.InfluencerID]) {
			page.KeyNote = v.Lang.T("pix.changed_since_payment")
		}
	}
	if err == nil {
		page.Versions, err = s.VersionsOf(r.Context(), v.Current.CompanyID, i.InfluencerID)
	}
	if err == nil {
		page.Results, err = s.results(r, v, i)
	}
	if err != nil {
		s.Refuse(w, r, err)
		return
	}
	page.File = v.Path(site.InfluencerPath+site.CSVEnding, "id", i.InfluencerID)
	page.Clicks, page.Clicked = clicks.chart, v.Lang.N("influencer.n_clicks", clicks.total)
	page.Signs = v.Path(site.SignsPath, "influencer", i.InfluencerID)
	names := map[string]string{}
	for _, c := range i.Campaigns {
		names[c.CampaignID] = campaignName(v, c)
		page.Campaigns = append(page.Campaigns, s.viewCampaign(v, i, c, clicks.byCode, today))
	}
	for _, c := range i.Costs {
		page.Costs = append(page.Costs, viewCost(v.Lang, c, names[c.CampaignID]))
	}
	page.Coupons = s.timelineOf(v, i.Coupons, today)
	s.Render(w, r, status, "influencer.html", page)
}

func (s *Pages) viewCampaign(v site.Request, i commerce.Influencer, c commerce.Campaign, clicks map[string]int64,
	today string) campaignBlock {
	block := campaignBlock{ID: c.CampaignID, Name: campaignName(v, c)}
	for _, link := range i.Links {
		if link.CampaignID == c.CampaignID {
			line := linkLine{Destination: link.URL, Clicks: v.Lang.N("influencer.n_clicks", clicks[link.Code])}
			if line.Short, line.Copy = s.shortLink(link.Code); line.Copy != "" {
				line.Code = v.Path(site.InfluencerPath+"/qr.svg", "id", i.InfluencerID, "code", link.Code)
			}
			block.Links = append(block.Links, line)
		}
	}
	for _, coupon := range i.Coupons {
		if coupon.CampaignID == c.CampaignID {
			state := stateOf(coupon.CouponTerms, today)
			block.Coupons = append(block.Coupons,
				couponLine{Code: coupon.Code, Period: v.Lang.Period(coupon.StartDate, coupon.EndDate), State: state,
					StateText: v.Lang.T("coupon." + state)})
		}
	}
	return block
}

// stateOf says whether a coupon is in force on a day: active, ahead or over.
func stateOf(c commerce.CouponTerms, today string) string {
	switch {
	case c.StartDate != "" && c.StartDate > today:
		return "ahead"
	case c.EndDate != "" && c.EndDate < today:
		return "over"
	}
	return "active"
}

// influencerOf returns the influencer whose id the address has, or answers that
// there is none.
func (s *Pages) influencerOf(w http.ResponseWriter, r *http.Request, v site.Request) (i commerce.Influencer, ok bool) {
	err := error(commerce.ErrNotFound)
	if id := r.URL.Query().Get("id"); uuidtext.Is(id) {
		i, err = s.db.Influencer(r.Context(), v.Current.CompanyID, strings.ToLower(id))
	}
	if err == nil && !i.ArchivedAt.IsZero() && r.Method != http.MethodGet {
		err = commerce.ErrNotFound // nothing of it can be changed
	}
	if err != nil {
		s.NotFoundOr(w, r, err, "no_influencer")
		return i, false
	}
	return i, true
}

// ofOne is the handler of a page or form of one influencer: the one that its address names.
func (s *Pages) ofOne(handle func(w http.ResponseWriter, r *http.Request, v site.Request, i commerce.Influencer),
) func(w http.ResponseWriter, r *http.Request, v site.Request) {
	return func(w http.ResponseWriter, r *http.Request, v site.Request) {
		if i, ok := s.influencerOf(w, r, v); ok {
			handle(w, r, v, i)
		}
	}
}

// Units of the timeline's SVG, and the days that it shows around today.
const (
	timelineWidth  = 1000
	rowHeight      = 22
	timelineBefore = 183
	timelineAfter  = 182
	mostTimeline   = 30
)

// timelineOf puts the coupons that are in force within a year around today on a
// line of time; nil where there are none.
func (s *Pages) timelineOf(v site.Request, coupons []commerce.Coupon, today string) *timeline {
	now, err := time.Parse(time.DateOnly, today)
	if err != nil || len(coupons) == 0 {
		return nil
	}
	first, last := now.AddDate(0, 0, -timelineBefore), now.AddDate(0, 0, timelineAfter)
	t := &timeline{First: v.Lang.Date(first), Last: v.Lang.Date(last), Width: timelineWidth, TodayText: v.Lang.T("sales.today")}
	at := func(day string, otherwise time.Time) int {
		when, err := time.Parse(time.DateOnly, day)
		if err != nil {
			when = otherwise
		}
		days := int(when.Sub(first) / (24 * time.Hour))
		return max(0, min(timelineWidth, days*timelineWidth/(timelineBefore+timelineAfter)))
	}
	t.Today = at(today, now)
	for _, c := range coupons {
		if c.EndDate != "" && c.EndDate < first.Format(time.DateOnly) || c.StartDate > last.Format(time.DateOnly) || len(t.Rows) == mostTimeline {
			continue
		}
		row := timelineRow{Code: c.Code, Text: c.Code + ": " + v.Lang.Period(c.StartDate, c.EndDate), State: stateOf(c.CouponTerms, today),
			X: at(c.StartDate, first), Y: len(t.Rows) * rowHeight}
		row.W = max(4, at(c.EndDate, last)-row.X)
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) == 0 {
		return nil
	}
	t.Height = len(t.Rows) * rowHeight
	return t
}

// influencerHere is the address of an influencer's page.
func (s *Pages) influencerHere(v site.Request, i commerce.Influencer) string {
	return v.Path(site.InfluencerPath, "id", i.InfluencerID)
}

// back leads to the influencer's page after a form.
func (s *Pages) back(w http.ResponseWriter, r *http.Request, v site.Request, what string) {
	site.Done(w, r, v.Path(site.InfluencerPath, "id", r.URL.Query().Get("id")), what)
}

// saveHere saves a form of an influencer's page, and answers: with page, which has the form,
// where something typed is wrong.
func (s *Pages) saveHere(w http.ResponseWriter, r *http.Request, v site.Request, i commerce.Influencer, f *site.Form,
	page influencerPage, change preview.Change) {
	if !f.Failed() {
		answered, err := s.save(w, r, v, f, s.influencerHere(v, i), change)
		if err != nil && !s.refuseRule(r, f, err) {
			s.NotFoundOr(w, r, err, "no_influencer")
			return
		}
		if answered {
			return
		}
	}
	if f.Failed() {
		s.showInfluencer(w, r, v, f.Status(), page)
		return
	}
	s.back(w, r, v, "influencer_saved")
}

// removeHere removes something of an influencer, and answers.
func (s *Pages) removeHere(w http.ResponseWriter, r *http.Request, v site.Request, i commerce.Influencer, what string,
	change preview.Change) {
	answered, err := s.save(w, r, v, nil, s.influencerHere(v, i), change)
	switch {
	case answered:
	case err != nil:
		s.NotFoundOr(w, r, err, "no_influencer")
	default:
		s.back(w, r, v, what)
	}
}

// refuseRule shows an error of the database that is the person's to correct; false
// for another error.
func (s *Pages) refuseRule(r *http.Request, f *site.Form, err error) bool {
	if s.Stale(r, f, err) {
		return true
	}
	field, words, known := refusalOf(f.Lang, err)
	if field == "name" && f.Field(field).Name == "" {
		field = "new_name"
	}
	for _, text := range words {
		f.Fail(field, text)
	}
	return known
}

// refusalOf says why the database refused a rule, and which field of the forms that is about. words are empty where what it
// conflicts with is gone meanwhile. known is false for an error that is not the person's to correct.
func refusalOf(l *lang.Printer, err error) (field string, words []string, known bool) {
	var conflict *commerce.CouponConflictError
	var taken *commerce.NameTakenError
	switch {
	case errors.As(err, &taken) && taken.Archived:
		return "name", []string{l.T("influencer.name_archived", taken.Influencer)}, true
	case errors.As(err, &taken):
		return "name", []string{l.T("influencer.name_taken", taken.Influencer)}, true
	case errors.As(err, &conflict):
		for _, c := range conflict.Conflicts {
			words = append(words, l.T("influencer.coupon_conflict", c.Code, c.Influencer, l.Period(c.StartDate, c.EndDate)))
		}
		return "code", words, true
	case errors.Is(err, commerce.ErrTooManyNames):
		return "name", []string{l.T("influencer.too_many_names", commerce.MaxNames)}, true
	case errors.Is(err, commerce.ErrTooManyCosts):
		return "var_fee", []string{l.T("influencer.too_many_costs", commerce.MaxLiveCosts)}, true
	case errors.Is(err, commerce.ErrOwedTooEarly):
		return "owed_from", []string{l.T("violation.is_more_than_d_days_ago", commerce.MaxEntryAge)}, true
	case errors.Is(err, commerce.ErrCampaignTaken), errors.Is(err, commerce.ErrCampaignName):
		return "campaign", []string{l.T("influencer.campaign_taken")}, true
	}
	return "", nil, false
}
