package rules

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
)

const (
	// influencersPerPage and maxInfluencerPage bound the list.
	influencersPerPage = 50
	maxInfluencerPage  = 100
	// salesDays is over how many days the list counts sales.
	salesDays = 30
)

// influencersPage is what templates/influencers.html shows.
type influencersPage struct {
	site.Head
	Text        string
	Sorts       []site.Option
	Form        *site.Form // to register one
	List        []influencerLine
	More, First string
	Archived    bool   // the list is of those who are archived
	Other       string // path of the other list: of those who are, or are not
	Import      string // path of the page on which a spreadsheet is uploaded
}

type influencerLine struct {
	Name, Category, Href   string
	Has                    []string // links, coupons and agreements: those that there are
	Orders, Total, Earning string
}

func (s *Pages) influencerRoutes() []site.Route {
	return []site.Route{
		{Pattern: "GET " + site.InfluencersPath, Handle: s.influencers},
		{Pattern: "POST " + site.InfluencersPath, Owner: true, Handle: s.register},
		{Pattern: "GET " + site.InfluencerPath, Handle: s.influencer},
		{Pattern: "POST " + site.InfluencerPath + "/category", Owner: true, Handle: s.ofOne(s.changeCategory)},
		{Pattern: "POST " + site.InfluencerPath + "/name", Owner: true, Handle: s.ofOne(s.rename)},
		{Pattern: "POST " + site.InfluencerPath + "/details", Owner: true, Handle: s.ofOne(s.setDetails)},
		{Pattern: "POST " + site.InfluencerPath + "/links", Owner: true, Handle: s.ofOne(s.addLinks)},
		{Pattern: "POST " + site.InfluencerPath + "/coupons", Owner: true, Handle: s.ofOne(s.addCoupon)},
		{Pattern: "POST " + site.InfluencerPath + "/coupons/remove", Owner: true, Handle: s.ofOne(s.removeCoupon)},
		{Pattern: "POST " + site.InfluencerPath + "/costs", Owner: true, Handle: s.ofOne(s.addCost)},
		{Pattern: "POST " + site.InfluencerPath + "/costs/remove", Owner: true, Handle: s.ofOne(s.removeInfluencerCost)},
		{Pattern: "POST " + site.InfluencerPath + "/entries", Owner: true, Handle: s.ofOne(s.addEntry)},
		{Pattern: "POST " + site.InfluencerPath + "/unproven", Owner: true, Handle: s.ofOne(s.setUnproven)},
		{Pattern: "POST " + site.InfluencerPath + "/archive", Owner: true, Handle: s.ofOne(s.archive)},
		{Pattern: "POST " + site.InfluencerPath + "/restore", Owner: true, Handle: s.restore},
		{Pattern: "POST " + site.InfluencerPath + "/erase", Owner: true, Handle: s.erase},
		{Pattern: "GET " + site.InfluencerPath + "/qr.svg", Handle: s.ofOne(s.linkCode)},
	}
}

func (s *Pages) influencers(w http.ResponseWriter, r *http.Request, v site.Request) {
	s.showInfluencers(w, r, v, http.StatusOK, s.registrationForm(v, nil))
}

func (s *Pages) showInfluencers(w http.ResponseWriter, r *http.Request, v site.Request, status int, f *site.Form) {
	query := r.URL.Query()
	if r.Method != http.MethodGet {
		query, v.Here = nil, v.Path(site.InfluencersPath)
	}
	number, text, sort := 1, strings.TrimSpace(query.Get("q")), query.Get("sort")
	var err error
	if query.Has("page") {
		number, err = strconv.Atoi(query.Get("page"))
	}
	if err != nil || number < 1 || number > maxInfluencerPage || sort != "" && !slices.Contains(commerce.InfluencerSorts, sort) ||
		text != "" && !commerce.IsID(text) || query.Get("state") != "" && query.Get("state") != stateArchived {
		s.ProblemOf(w, r, http.StatusBadRequest, "bad_address")
		return
	}
	page := influencersPage{Head: v.Head(v.Lang.T("influencers.title"), "influencers"), Text: text, Form: f, Import: v.Path(importPath)}
	for _, name := range commerce.InfluencerSorts {
		page.Sorts = append(page.Sorts,
			site.Option{Value: name, Label: v.Lang.T("influencers.sort_" + name), Chosen: name == cmp.Or(sort, commerce.SortByName)})
	}
	page.Archived = query.Get("state") == stateArchived
	state, other := query.Get("state"), stateArchived
	if page.Archived {
		other = ""
	}
	page.Other = v.Path(site.InfluencersPath, "state", other)
	page.File = v.Path(site.InfluencersPath+site.CSVEnding, "q", text, "sort", sort)
	search, err := s.influencerSearch(v, text, sort)
	var list []commerce.InfluencerSummary
	if err == nil {
		search.Archived = page.Archived
		search.Offset, search.Limit = (number-1)*influencersPerPage, influencersPerPage+1
		list, err = s.db.FindInfluencers(r.Context(), v.Current.CompanyID, search)
	}
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	at := func(number int) string {
		return v.Path(site.InfluencersPath, "q", text, "sort", query.Get("sort"), "state", state, "page", strconv.Itoa(number))
	}
	if len(list) > influencersPerPage {
		list = list[:influencersPerPage]
		if number < maxInfluencerPage {
			page.More = at(number + 1)
		}
	}
	if number > 1 {
		page.First = at(1)
	}
	for _, i := range list {
		var has []string
		for _, of := range []struct {
			key string
			n   int64
		}{{"influencers.n_links", i.Links}, {"influencers.n_coupons", i.Coupons}, {"influencers.n_costs", i.Costs}} {
			if of.n > 0 {
				has = append(has, v.Lang.N(of.key, of.n))
			}
		}
		page.List = append(page.List, influencerLine{
			Has: has, Name: i.Name, Category: i.Category, Href: v.Path(site.InfluencerPath, "id", i.InfluencerID),
			Orders: v.Lang.Count(i.Orders), Total: v.Lang.Sum(i.TotalMinor, v.Current.Currency),
			Earning: v.Lang.Sum(i.CommissionMinor, v.Current.Currency),
		})
	}
	s.Render(w, r, status, "influencers.html", page)
}

// influencerSearch looks for influencers with their sales of the last days. It returns
// site.ErrBadAddress for what no form of the page sends.
func (s *Pages) influencerSearch(v site.Request, text, sort string) (commerce.InfluencerSearch, error) {
	sort = cmp.Or(sort, commerce.SortByName)
	if !slices.Contains(commerce.InfluencerSorts, sort) || text != "" && !commerce.IsID(text) {
		return commerce.InfluencerSearch{}, site.ErrBadAddress
	}
	now := s.Now().In(v.Zone())
	return commerce.InfluencerSearch{Text: text, Sort: sort, From: now.AddDate(0, 0, 1-salesDays).Format(time.DateOnly),
		Today: now.Format(time.DateOnly), Currency: v.Current.Currency}, nil
}

// registrationForm asks for what POST /influencers takes: more links, coupons and
// costs are added on the influencer's own page.
func (s *Pages) registrationForm(v site.Request, typed map[string][]string) *site.Form {
	f := site.NewForm(v.Lang, "influencer", typed)
	f.Add(site.Field{Name: "name", Required: true, Max: commerce.MaxName})
	f.Add(site.Field{Name: "category", Max: commerce.MaxCategory})
	f.Add(site.Field{Name: "campaign", Max: commerce.MaxName})
	f.Add(site.Field{Name: "links", Type: "textarea"})
	s.couponFields(f, false)
	s.costFields(v, f, false)
	return f
}

func (s *Pages) couponFields(f *site.Form, required bool) {
	f.Add(site.Field{Name: "code", Required: required, Max: commerce.MaxCoupon, Group: f.Lang.T("influencer.coupon")})
	f.Add(site.Field{Name: "coupon_start", Type: "date"})
	f.Add(site.Field{Name: "coupon_end", Type: "date"})
}

func (s *Pages) costFields(v site.Request, f *site.Form, required bool) {
	f.Add(site.Field{Name: "var_fee", Group: f.Lang.T("influencer.cost")})
	f.Add(site.Field{Name: "fixed_fee"})
	f.Add(site.Field{Name: "value"})
	f.Add(site.Field{Name: "frequency", Type: "select", Options: f.Options("frequency", append([]string{""}, commerce.Frequencies...)...)})
	f.Add(site.Field{Name: "owed_from", Type: "date"})
	f.Add(site.Field{Name: "cost_start", Type: "date", Required: required, Value: s.DayOf(v)})
	f.Add(site.Field{Name: "cost_end", Type: "date"})
	f.Add(site.Field{Name: "coupon_only", Type: "check"})
}

// The fields of the forms, by the paths of violations.
var (
	couponNames = map[string]string{"coupons[0].cupom": "code", "coupons[0].start_date": "coupon_start", "coupons[0].end_date": "coupon_end",
		"cupom": "code", "campaign_id": "campaign_id", "start_date": "coupon_start", "end_date": "coupon_end"}
	costNames = map[string]string{"costs[0].var_fee": "var_fee", "costs[0].fixed_fee": "fixed_fee", "costs[0].value": "value",
		"costs[0].frequency":  "frequency",
		"costs[0].owed_from":  "owed_from",
		"costs[0].start_date": "cost_start", "costs[0].end_date": "cost_end", "costs[0]": "var_fee",
		"start_date": "cost_start", "end_date": "cost_end", "": "var_fee"}
)

// typedCoupon reads the coupon's fields. What cannot be read fails at its field.
func typedCoupon(r *http.Request, f *site.Form) commerce.CouponTerms {
	return commerce.CouponTerms{Code: strings.ToUpper(strings.TrimSpace(r.PostForm.Get("code"))), StartDate: f.Day("coupon_start"),
		EndDate: f.Day("coupon_end")}
}

// typedCost reads the cost's fields. What cannot be read fails at its field.
func (s *Pages) typedCost(r *http.Request, v site.Request, f *site.Form) commerce.CostTerms {
	get := func(name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }
	c := commerce.CostTerms{VarFee: f.Percent("var_fee"), FixedFeeMinor: f.Money("fixed_fee", commerce.BRL),
		ValueMinor: f.Money("value", commerce.BRL),
		Frequency:  get("frequency"), StartDate: f.Day("cost_start"), EndDate: f.Day("cost_end"), OwedFrom: f.Day("owed_from"),
		CouponCost: get("coupon_only") == "yes"}
	if c.ValueMinor > 0 && slices.Contains(commerce.Frequencies, c.Frequency) {
		f.Say("value", f.Lang.T("cost."+c.Frequency, f.Lang.Money(c.ValueMinor, commerce.BRL)))
	}
	if c.ValueMinor > 0 {
		f.Say("owed_from", f.Lang.Day(cmp.Or(c.OwedFrom, s.firstOfNextMonth(v))))
	}
	if len(f.Said) > 0 && c.VarFee.IsPositive() {
		f.Say("var_fee", f.Lang.T("cost.of_sales", f.Lang.Number(c.VarFee)))
	}
	return c
}

// firstOfNextMonth is from when a fixed amount is owed that says nothing else: YYYY-MM-DD, in the store's zone.
func (s *Pages) firstOfNextMonth(v site.Request) string {
	today := s.Now().In(v.Zone())
	return time.Date(today.Year(), today.Month()+1, 1, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
}

// register makes an influencer, or adds to the one of that name, as POST
// /influencers does.
func (s *Pages) register(w http.ResponseWriter, r *http.Request, v site.Request) {
	f := s.registrationForm(v, r.PostForm)
	get := func(name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }
	asked := commerce.Registration{Name: get("name"), Campaign: get("campaign"), Category: get("category"), Links: typedLinks(get("links"))}
	asked.CouponOnly = len(asked.Links) == 0
	if coupon := typedCoupon(r, f); coupon.Code != "" {
		asked.Coupons = []commerce.CouponTerms{coupon}
	}
	if get("var_fee")+get("fixed_fee")+get("value") != "" {
		asked.Costs = []commerce.CostTerms{s.typedCost(r, v, f)}
	}
	made, ok := s.tryRegister(w, r, v, f, v.Path(site.InfluencersPath), asked)
	if !ok {
		return
	}
	if f.Failed() {
		s.showInfluencers(w, r, v, http.StatusUnprocessableEntity, f)
		return
	}
	done := "influencer_registered"
	if i, err := s.db.Influencer(r.Context(), v.Current.CompanyID, made.InfluencerID); err == nil && len(i.Costs) == 0 {
		done = "influencer_unpaid"
	}
	site.Done(w, r, v.Path(site.InfluencerPath, "id", made.InfluencerID), done)
}

// tryRegister checks and stores a registration, after its preview. What is refused fails
// at the form's fields; false: the request is answered.
func (s *Pages) tryRegister(w http.ResponseWriter, r *http.Request, v site.Request, f *site.Form, back string,
	asked commerce.Registration) (made commerce.Registered, ok bool) {
	names := map[string]string{}
	for _, of := range []map[string]string{couponNames, costNames} {
		for path, name := range of {
			if strings.Contains(path, "[") {
				names[path] = name
			}
		}
	}
	bad := asked.Check()
	f.Refuse(bad, names)
	if !bad.Any() {
		s.refuseLinks(r, f, asked.Links)
	}
	if f.Failed() {
		return made, true
	}
	f.Warn(lateAgreement(f.Lang, asked, s.DayOf(v)))
	err := s.warnOfLinks(r.Context(), v, f, asked.Links)
	if err == nil {
		err = s.warnOfFee(r.Context(), v, f, asked.Costs...)
	}
	if err == nil {
		err = s.warnOfArchived(r.Context(), v, f, asked.Name)
	}
	if err != nil {
		s.Unavailable(w, r, err)
		return made, false
	}
	answered, err := s.save(w, r, v, f, back, func(ctx context.Context) (err error) {
		made, err = s.db.RegisterInfluencer(ctx, s.Author(v), asked, s.Random)
		return err
	})
	if err != nil && !s.refuseRule(r, f, err) {
		s.NotFoundOr(w, r, err, "no_influencer")
		return made, false
	}
	return made, !answered
}

// refuseLinks looks up the hosts of links, and refuses those that are not public.
func (s *Pages) refuseLinks(r *http.Request, f *site.Form, links []string) {
	for i, err := range s.checkLinks(r.Context(), links) {
		if err != nil {
			f.Fail("links", links[i]+" "+site.ViolationText(f.Lang, commerce.Violation{Message: err.Error()}))
		}
	}
}

// campaignName is a campaign's name, else the id that the merchant gave it.
func campaignName(v site.Request, c commerce.Campaign) string {
	switch {
	case c.Name != "":
		return c.Name
	case !strings.HasPrefix(c.CampaignID, "camp_"): // as ids that we make begin
		return c.CampaignID
	}
	return v.Lang.T("influencer.no_campaign")
}

// viewCosts are the agreements of an influencer, as lines.
func viewCost(l *lang.Printer, c commerce.Cost, campaign string) agreementLine {
	line := agreementLine{ID: c.CostID, Formula: costFormula(l, c.CostTerms), For: l.T("cost.any_sale"),
		Period: l.Period(c.StartDate, c.EndDate)}
	if c.Frequency == commerce.Specific {
		line.Period = l.Period(c.StartDate, c.StartDate)
	}
	whatever := c.FixedFeeMinor == 0 && !c.VarFee.IsPositive() // a value is owed whatever the evidence
	switch {
	case whatever && campaign != "":
		line.For = l.T("cost.campaign_whatever", campaign)
	case whatever:
		line.For = l.T("cost.whatever")
	case campaign != "":
		line.For = l.T("cost.campaign", campaign)
	}
	if c.OwedFrom != "" {
		line.For += ", " + l.T("cost.owed_from", l.Day(c.OwedFrom))
	}
	if c.CouponCost && !whatever {
		line.For += ", " + l.T("cost.coupon_only")
	}
	return line
}

// costFormula says what a cost pays: "R$ 5.00 an order + 10% of sales".
func costFormula(l *lang.Printer, c commerce.CostTerms) string {
	var parts []string
	if c.FixedFeeMinor > 0 {
		parts = append(parts, l.T("cost.per_order", l.Money(c.FixedFeeMinor, commerce.BRL)))
	}
	if c.VarFee.IsPositive() {
		parts = append(parts, l.T("cost.of_sales", l.Number(c.VarFee)))
	}
	if c.ValueMinor > 0 {
		parts = append(parts, l.T("cost."+c.Frequency, l.Money(c.ValueMinor, commerce.BRL)))
	}
	return strings.Join(parts, " + ")
}

// shortScheme returns the scheme of short links. Loopback addresses, which only
// `tributary dev` uses, have no certificate.
func (s *Pages) shortScheme() string {
	for _, local := range []string{"127.0.0.1", "localhost", "[::1]"} {
		if strings.HasPrefix(s.shortBase, local) {
			return "http://"
		}
	}
	return "https://"
}

// shortLink is a short link as people share it; copy has its scheme, and is empty
// where the short host is not known.
func (s *Pages) shortLink(code string) (shown, copied string) {
	if s.shortBase == "" {
		return code, ""
	}
	shown = strings.TrimSuffix(s.shortBase, "/") + "/" + code
	return shown, s.shortScheme() + shown
}
