package rules

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/internal/uuidtext"
	"github.com/tributary-io/tributary/internal/wire"
)

const (
	mostCosts = 2000
	// projectedDays is how many days the history shows, today included.
	projectedDays = 30
)

// costsPage is what templates/costs.html shows.
type costsPage struct {
	site.Head
	Form        *site.Form
	Edit        string // id of the cost that is changed; empty: a new one
	EditOf      string // its frequency
	List        []costRow
	History     *site.Chart
	Total       string
	From, Until string
	Marketing   []site.Tile // the total marketing cost of these days, and what it is made of
}

type costRow struct{ ID, Name, Category, Value, Frequency, FrequencyIs, Period, EditPath string }

func (s *Pages) costRoutes() []site.Route {
	return []site.Route{
		{Pattern: "GET " + site.CostsPath, Handle: s.costs},
		{Pattern: "POST " + site.CostsPath, Owner: true, Handle: s.saveCost},
		{Pattern: "POST " + site.CostsPath + "/remove", Owner: true, Handle: s.removeCost},
	}
}

func (s *Pages) costs(w http.ResponseWriter, r *http.Request, v site.Request) {
	page := costsPage{Form: s.costForm(v, commerce.AdditionalCost{Frequency: commerce.Monthly, StartDate: s.DayOf(v)}, nil)}
	if id := r.URL.Query().Get("edit"); id != "" {
		page.Edit = id
	}
	s.showCosts(w, r, v, http.StatusOK, page)
}

func (s *Pages) costForm(v site.Request, now commerce.AdditionalCost, typed map[string][]string) *site.Form {
	f := site.NewForm(v.Lang, "costs", typed)
	value := ""
	if now.ValueMinor > 0 {
		value = v.Lang.Plain(now.ValueMinor, commerce.BRL)
	}
	f.Add(site.Field{Name: "name", Required: true, Max: commerce.MaxName, Value: now.Name})
	f.Add(site.Field{Name: "category", Max: commerce.MaxCategory, Value: now.Category})
	f.Add(site.Field{Name: "value", Required: true, Value: value})
	f.Add(site.Field{Name: "frequency", Type: "select", Value: now.Frequency, Options: f.Options("frequency", commerce.Frequencies...)})
	f.Add(site.Field{Name: "start_date", Type: "date", Required: true, Value: now.StartDate})
	f.Add(site.Field{Name: "end_date", Type: "date", Value: now.EndDate})
	return f
}

func (s *Pages) showCosts(w http.ResponseWriter, r *http.Request, v site.Request, status int, page costsPage) {
	v.Here = site.StorePath(site.CostsPath, v.Current.CompanyID)
	page.Head = v.Head(v.Lang.T("costs.title"), "costs")
	page.File = site.StorePath(site.CostsPath+site.CSVEnding, v.Current.CompanyID)
	list, err := s.db.AdditionalCosts(r.Context(), v.Current.CompanyID, commerce.CostFilter{}, mostCosts)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	ids := make([]string, len(list))
	for i, c := range list {
		ids[i] = c.ID
	}
	if page.Versions, err = s.VersionsOf(r.Context(), v.Current.CompanyID, ids...); err != nil {
		s.Unavailable(w, r, err)
		return
	}
	found := page.Edit == ""
	for _, c := range list {
		period := v.Lang.Period(c.StartDate, c.EndDate)
		if c.Frequency == commerce.Specific {
			period = v.Lang.Day(c.StartDate)
		}
		if c.ID == page.Edit && r.Method == http.MethodGet {
			found, page.EditOf, page.Form = true, c.Frequency, s.costForm(v, c, nil)
		}
		page.List = append(page.List,
			costRow{ID: c.ID, Name: c.Name, Category: c.Category, Value: v.Lang.Money(c.ValueMinor, commerce.BRL),
				Frequency:   v.Lang.T("costs.frequency_" + c.Frequency),
				FrequencyIs: c.Frequency, Period: period,
				EditPath: site.StorePath(site.CostsPath, v.Current.CompanyID, "edit", c.ID)})
	}
	if !found && r.Method == http.MethodGet {
		s.ProblemOf(w, r, http.StatusNotFound, "no_cost")
		return
	}
	if err := s.projectCosts(r, v, &page); err != nil {
		s.Unavailable(w, r, err)
		return
	}
	if err := s.marketingCost(r, v, &page); err != nil {
		s.Refuse(w, r, err)
		return
	}
	s.Render(w, r, status, "costs.html", page)
}

// projectCosts fills the page's history: what the costs amount to on each day.
func (s *Pages) projectCosts(r *http.Request, v site.Request, page *costsPage) error {
	last, err := time.Parse(time.DateOnly, s.DayOf(v))
	if err != nil {
		return err
	}
	first := last.AddDate(0, 0, 1-projectedDays)
	filter := commerce.CostFilter{From: first.Format(time.DateOnly), To: last.Format(time.DateOnly)}
	list, err := s.db.AdditionalCostVersions(r.Context(), v.Current.CompanyID, filter, mostCosts)
	if err != nil {
		return err
	}
	sum, bars := decimal.Zero, []site.Bar{}
	for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
		minor := decimal.Zero
		for _, c := range list {
			if value, inForce := c.On(day); inForce {
				minor = minor.Add(decimal.NewFromInt(value))
			}
		}
		sum = sum.Add(minor)
		bars = append(bars, site.Bar{Label: v.Lang.Date(day), Value: minor, Text: v.Lang.Sum(minor, commerce.BRL)})
	}
	page.History = site.NewChart(v.Lang.T("costs.history"), v.Lang.T("costs.day"), v.Lang.T("costs.value"), bars)
	page.Total, page.From, page.Until = v.Lang.Sum(sum, commerce.BRL), v.Lang.Date(first), v.Lang.Date(last)
	return nil
}

// marketingCost fills the page's total marketing cost of the same days: the additional
// costs, what was agreed with influencers whatever they sell, and the commission of
// approved orders. All of it is in BRL, in which costs are.
func (s *Pages) marketingCost(r *http.Request, v site.Request, page *costsPage) error {
	last, err := time.Parse(time.DateOnly, s.DayOf(v))
	if err != nil {
		return err
	}
	q := reports.Query{CompanyID: v.Current.CompanyID, Name: reports.Costs, Start: last.AddDate(0, 0, 1-projectedDays).Format(time.DateOnly),
		End: last.Format(time.DateOnly),
		By:  reports.ByTotal, Currency: commerce.BRL}
	costs, err := s.db.Report(r.Context(), q)
	if err != nil {
		return err
	}
	sums, amount := map[string]decimal.Decimal{}, costs.Spec.Column("amount")
	for _, row := range costs.Rows {
		kind := row.Texts[0] // influencer | additional
		sums[kind] = sums[kind].Add(row.Sums[amount])
	}
	q.Name, q.Compare = reports.Sales, reports.NoComparison
	sales, err := s.db.Report(r.Context(), q)
	if err != nil {
		return err
	}
	sums["commission"] = sales.Totals.Sums[sales.Spec.Column("commission")]
	sums["total"] = sums["additional"].Add(sums["influencer"]).Add(sums["commission"])
	if sums["total"].IsZero() {
		return nil
	}
	for _, part := range []string{"total", "commission", "influencer", "additional"} {
		line := v.Lang.Sum(sums[part], commerce.BRL)
		page.Marketing = append(page.Marketing,
			site.Tile{ID: "cost-" + part, Label: v.Lang.T("costs.sum_" + part), Lines: []string{line}, Note: v.Lang.T("costs.note_" + part),
				Size: site.SizeOf(line)})
	}
	return nil
}

// saveCost adds a cost, or changes the one that is named.
func (s *Pages) saveCost(w http.ResponseWriter, r *http.Request, v site.Request) {
	f := s.costForm(v, commerce.AdditionalCost{}, r.PostForm)
	get := func(name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }
	cost := commerce.AdditionalCost{ID: get("id"), Name: get("name"), Category: get("category"), Frequency: get("frequency"),
		StartDate: f.Day("start_date"), EndDate: f.Day("end_date"), ValueMinor: f.Money("value", commerce.BRL)}
	f.Refuse(cost.Check(), nil)
	if !f.Failed() {
		f.Say("name", cost.Name)
		f.Say("value", v.Lang.T("cost."+cost.Frequency, v.Lang.Money(cost.ValueMinor, commerce.BRL)))
		f.Say("start_date", v.Lang.Day(cost.StartDate))
		if cost.EndDate != "" {
			f.Say("end_date", v.Lang.Day(cost.EndDate))
		}
		if s.sayBack(w, r, v, f, site.StorePath(site.CostsPath, v.Current.CompanyID)) {
			return
		}
	}
	var err error
	switch {
	case f.Failed():
	case cost.ID == "":
		var id uuid.UUID
		if id, err = uuid.NewV7FromReader(s.Random); err == nil {
			cost.ID = id.String()
			err = s.db.AddAdditionalCost(r.Context(), s.Author(v), cost)
		}
	case !uuidtext.Is(cost.ID):
		err = commerce.ErrNotFound
	default:
		change := commerce.CostChange{Name: wire.Some(cost.Name), Category: wire.Some(cost.Category), Frequency: wire.Some(cost.Frequency),
			StartDate: wire.Some(cost.StartDate), EndDate: wire.Some(cost.EndDate), ValueMinor: wire.Some(cost.ValueMinor)}
		err = s.db.ChangeAdditionalCost(r.Context(), s.Author(v), cost.ID, get("was"), func(now *commerce.AdditionalCost) error {
			change.Apply(now)
			return nil
		})
	}
	switch {
	case s.staleCost(r, v, f, cost.ID, err):
		s.showCosts(w, r, v, f.Status(), costsPage{Form: f, Edit: get("id"), EditOf: get("was")})
	case errors.Is(err, commerce.ErrNotFound):
		s.ProblemOf(w, r, http.StatusNotFound, "no_cost")
	case err != nil:
		s.Unavailable(w, r, err)
	case f.Failed():
		s.showCosts(w, r, v, http.StatusUnprocessableEntity, costsPage{Form: f, Edit: get("id"), EditOf: get("was")})
	default:
		site.Done(w, r, site.StorePath(site.CostsPath, v.Current.CompanyID), "cost_saved")
	}
}

// staleCost reports whether somebody changed the cost meanwhile: the form shows both.
func (s *Pages) staleCost(r *http.Request, v site.Request, f *site.Form, id string, err error) bool {
	if _, stale := s.StaleWords(r, err); !stale {
		return false
	}
	list, failed := s.db.AdditionalCosts(r.Context(), v.Current.CompanyID, commerce.CostFilter{}, mostCosts)
	for _, c := range list {
		if c.ID == id && failed == nil {
			f.Stored = s.costForm(v, c, nil)
			return s.Stale(r, f, err)
		}
	}
	return false // it is gone
}

func (s *Pages) removeCost(w http.ResponseWriter, r *http.Request, v site.Request) {
	id, err := r.PostForm.Get("id"), error(commerce.ErrNotFound)
	if uuidtext.Is(id) {
		err = s.db.DeleteAdditionalCost(r.Context(), s.Author(v), id, r.PostForm.Get("frequency"))
	}
	if err != nil {
		s.NotFoundOr(w, r, err, "no_cost")
		return
	}
	site.Done(w, r, site.StorePath(site.CostsPath, v.Current.CompanyID), "cost_removed")
}
