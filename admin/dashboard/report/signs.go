package report

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/fraud"
	"github.com/tributary-io/tributary/internal/lang"
	"github.com/tributary-io/tributary/internal/uuidtext"
)

const (
	signsCSVPath = "/dashboard/signs.csv"
	// mostSignOrders is how many orders of a sign are linked, the newest.
	mostSignOrders = 12
)

// signsPage is what templates/signs.html shows.
type signsPage struct {
	site.Head
	Span       spanForm
	Looked     string // at how many orders
	AsOf       string // when
	Influencer string // whose signs these are; empty: all
	All        string // path of all signs; empty: these are all
	BeingMade  bool   // the report is not there yet: nothing of it is shown
	Cut        string // from which day on, where there were too many; empty: all were looked at
	List       []signRow
}

// signRow is a sign with its evidence.
type signRow struct {
	Kind, Text, About   string // what it is, what was seen, and what else may explain it
	Influencer, Href    string
	Code                string
	Since               string
	Seen, Usual         string
	SeenPart, UsualPart int
	Count               string // orders that it is about
	Orders              []site.Link
	Sources             []signSource
	Costs               []signCost
}

type signSource struct{ Name, Orders string }

type signCost struct{ Commission, Turnover string }

func (s *Pages) signRoutes() []site.Route {
	return []site.Route{
		{Pattern: "GET " + site.SignsPath, Handle: s.signs},
		{Pattern: "GET " + signsCSVPath, Handle: s.signsCSV},
	}
}

// signsRefresh is how often a page loads itself while its report of signs is being made.
const signsRefresh = 3 * time.Second

// readSigns looks for signs.
func (s *Pages) readSigns(ctx context.Context, a asked) (*fraud.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, s.signsWait)
	defer cancel()
	found, err := s.db.Signs(ctx, a.CompanyID, a.Start, a.End)
	if err == nil && a.Influencer != "" {
		found.Signs = slices.DeleteFunc(found.Signs, func(sign fraud.Signal) bool { return sign.Influencer != a.Influencer })
	}
	return found, err
}

// askedSigns reads what the address of a page of signs asks for: those about one
// influencer, or all.
func (s *Pages) askedSigns(r *http.Request, v site.Request) (asked, error) {
	a, err := s.askedOf(r, v, nil)
	if of := r.URL.Query().Get("influencer"); err == nil && of != "" {
		if !uuidtext.Is(of) {
			return a, site.ErrBadAddress
		}
		a.Influencer = strings.ToLower(of)
	}
	return a, err
}

func (s *Pages) signs(w http.ResponseWriter, r *http.Request, v site.Request) {
	a, err := s.askedSigns(r, v)
	var found *fraud.Report
	if err == nil {
		found, err = s.readSigns(r.Context(), a)
	}
	page := signsPage{Head: v.Head(v.Lang.T("signs.title"), "signs"), Span: a.formOf(v, site.SignsPath, false, false, nil)}
	if errors.Is(err, fraud.ErrBeingMade) {
		page.BeingMade = true
		w.Header().Set("Refresh", strconv.Itoa(site.Seconds(signsRefresh)))
		s.Render(w, r, http.StatusOK, "signs.html", page)
		return
	}
	if err != nil {
		s.Refuse(w, r, err)
		return
	}
	page.Looked, page.AsOf = v.Lang.N("signs.looked", int64(found.Orders)), v.Lang.T("signs.as_of", v.Lang.Time(found.AsOf.In(v.Zone())))
	page.Span.CSV = a.address(signsCSVPath)
	if a.Influencer != "" {
		of, err := s.db.Influencer(r.Context(), v.Current.CompanyID, a.Influencer)
		if err != nil {
			s.NotFoundOr(w, r, err, "no_influencer")
			return
		}
		page.Influencer, page.All = of.Name, a.address(site.SignsPath, "influencer", "")
	}
	if found.Cut {
		page.Cut = v.Lang.T("signs.cut", v.Lang.Day(found.Start), fraud.MostOrders)
	}
	for i := range found.Signs {
		page.List = append(page.List, viewSign(v, &found.Signs[i], found.Names))
	}
	s.Render(w, r, http.StatusOK, "signs.html", page)
}

func viewSign(v site.Request, s *fraud.Signal, names map[string]string) signRow {
	l, name := v.Lang, names[s.Influencer]
	row := signRow{
		Kind: l.T("signs.kind_" + string(s.Kind)), About: l.T("signs.about_" + string(s.Kind)),
		Text:       l.T("signs.text_"+string(s.Kind), s.Observed.Count, s.Observed.Of, name, s.Usual.Count, s.Usual.Of, s.Code, l.Day(s.Since)),
		Influencer: name, Code: s.Code, Since: l.Day(s.Since), Count: l.N("sales.n_orders", int64(s.Total)),
	}
	if s.Influencer != "" {
		row.Href = v.Path(site.InfluencerPath, "id", s.Influencer)
	}
	row.Seen, row.SeenPart = rateWords(l, s.Observed)
	row.Usual, row.UsualPart = rateWords(l, s.Usual)
	for i := len(s.Orders) - 1; i >= 0 && len(row.Orders) < mostSignOrders; i-- {
		row.Orders = append(row.Orders, site.Link{Name: s.Orders[i], Path: site.OrderPath(v.Current.CompanyID, s.Orders[i])})
	}
	for _, source := range s.Sources {
		row.Sources = append(row.Sources, signSource{sourceWords(l, source.Name), l.N("sales.n_orders", int64(source.Orders))})
	}
	for _, c := range s.Costs {
		row.Costs = append(row.Costs, signCost{l.Money(c.Commission, c.Currency), l.Money(c.Turnover, c.Currency)})
	}
	return row
}

// rateWords writes a rate with its percentage: "90 of 150 (60.0%)".
func rateWords(l *lang.Printer, r fraud.Rate) (words string, percent int) {
	count, of := decimal.NewFromInt(int64(r.Count)), decimal.NewFromInt(int64(r.Of))
	return l.T("signs.rate", r.Count, r.Of, l.Share(count, of)), part(count, of)
}

// sourceWords writes where orders came from: a channel, and the site where it is known.
func sourceWords(l *lang.Printer, source string) string {
	if source == "" {
		return l.T("signs.no_source")
	}
	channel, host, found := strings.Cut(source, ": ")
	if found {
		return site.ChannelWords(l, channel) + ": " + host
	}
	return site.ChannelWords(l, channel)
}

// signsCSV is the signs of a page's days as a file.
func (s *Pages) signsCSV(w http.ResponseWriter, r *http.Request, v site.Request) {
	a, err := s.askedSigns(r, v)
	if err == nil && a.Alert != "" {
		err = site.ErrBadAddress
	}
	var found *fraud.Report
	if err == nil {
		found, err = s.readSigns(r.Context(), a)
	}
	if err != nil {
		s.Refuse(w, r, err)
		return
	}
	s.SendFile(w, r, v, fileOf("signs", a), found.CSV())
}
