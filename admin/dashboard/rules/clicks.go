package rules

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/uuidtext"
)

const (
	// clickDays is over how many days an influencer's page counts clicks, today included.
	clickDays = 30
	// mostClickedLinks bounds the links whose clicks are read, the first ones.
	mostClickedLinks = 500
	ownSetting       = "store" // of an influencer's own "unproven": what the store does
)

// clickCount is how often an influencer's links were opened.
type clickCount struct {
	byCode map[string]int64
	chart  *site.Chart
	total  int64
}

// clicksOf reads how often an influencer's links were opened in the last days.
func (s *Pages) clicksOf(ctx context.Context, v site.Request, i commerce.Influencer, today string) (count clickCount, err error) {
	last, err := time.Parse(time.DateOnly, today)
	if err != nil {
		return count, err
	}
	first := last.AddDate(0, 0, 1-clickDays)
	clicks, err := s.readClicks(ctx, v, i, first.Format(time.DateOnly), today)
	if err != nil {
		return count, err
	}
	count.byCode = map[string]int64{}
	byDay := map[string]int64{}
	for _, c := range clicks {
		count.byCode[c.Code] += c.Clicks
		byDay[c.Day] += c.Clicks
		count.total += c.Clicks
	}
	bars := []site.Bar{}
	for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
		n := byDay[day.Format(time.DateOnly)]
		bars = append(bars, site.Bar{Label: v.Lang.Date(day), Value: decimal.NewFromInt(n), Text: v.Lang.Count(n)})
	}
	count.chart = site.NewChart(v.Lang.T("influencer.clicks"), v.Lang.T("report.by_day"), v.Lang.T("overview.clicks"), bars)
	return count, nil
}

// readClicks reads how often an influencer's links were opened on each of some days.
func (s *Pages) readClicks(ctx context.Context, v site.Request, i commerce.Influencer, first, last string) ([]facts.Clicks, error) {
	codes := make([]string, 0, len(i.Links))
	for _, link := range i.Links[:min(len(i.Links), mostClickedLinks)] {
		codes = append(codes, link.Code)
	}
	if len(codes) == 0 {
		return nil, nil
	}
	return s.db.LinkClicks(ctx, v.Current.CompanyID, codes, first, last)
}

// clicksFile lists how often each link of an influencer was opened on each of the last days.
func (s *Pages) clicksFile(ctx context.Context, r *http.Request, v site.Request, f *site.ListFile) error {
	id, today := r.URL.Query().Get("id"), s.Now().In(v.Zone())
	if !uuidtext.Is(id) {
		return commerce.ErrNotFound
	}
	i, err := s.db.Influencer(ctx, v.Current.CompanyID, strings.ToLower(id))
	if err != nil {
		return err
	}
	clicks, err := s.readClicks(ctx, v, i, today.AddDate(0, 0, 1-clickDays).Format(time.DateOnly), today.Format(time.DateOnly))
	if err != nil {
		return err
	}
	links := map[string]commerce.Link{}
	for _, link := range i.Links {
		links[link.Code] = link
	}
	slices.SortFunc(clicks, func(x, y facts.Clicks) int {
		return cmp.Or(strings.Compare(x.Day, y.Day), strings.Compare(x.Code, y.Code))
	})
	for _, c := range clicks {
		_, short := s.shortLink(c.Code)
		f.Add(c.Day, c.Code, short, links[c.Code].URL, links[c.Code].CampaignID, strconv.FormatInt(c.Clicks, 10))
	}
	return nil
}

// unprovenForm says what is done with this influencer's links that nothing proves.
func (s *Pages) unprovenForm(v site.Request, now string, typed map[string][]string) *site.Form {
	f := site.NewForm(v.Lang, "influencer", typed)
	f.IDs = "u-"
	if now == "" {
		now = ownSetting
	}
	f.Add(site.Field{Name: "own_unproven", Type: "select", Value: now,
		Options: f.Options("unproven", append([]string{ownSetting}, commerce.UnprovenRules...)...)})
	return f
}

// setUnproven changes what is done with one influencer's links that nothing proves.
func (s *Pages) setUnproven(w http.ResponseWriter, r *http.Request, v site.Request, i commerce.Influencer) {
	f, unproven := s.unprovenForm(v, "", r.PostForm), r.PostForm.Get("own_unproven")
	if unproven != ownSetting && !slices.Contains(commerce.UnprovenRules, unproven) {
		f.Fail("own_unproven", v.Lang.T("form.choose"))
	}
	if unproven == ownSetting {
		unproven = ""
	}
	own, err := s.db.UnprovenOf(r.Context(), v.Current.CompanyID, i.InfluencerID)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	f.Stored = s.unprovenForm(v, own, nil)
	s.saveHere(w, r, v, i, f, influencerPage{Unproven: f}, func(ctx context.Context) error {
		return s.db.SetUnproven(ctx, s.Author(v), i.Name, unproven)
	})
}

// linkCode is the QR code of a short link, as SVG.
func (s *Pages) linkCode(w http.ResponseWriter, r *http.Request, v site.Request, i commerce.Influencer) {
	address := ""
	for _, link := range i.Links {
		if link.Code == r.URL.Query().Get("code") {
			_, address = s.shortLink(link.Code)
		}
	}
	if address == "" {
		s.ProblemOf(w, r, http.StatusNotFound, "no_influencer")
		return
	}
	s.SendQR(w, r, address)
}
