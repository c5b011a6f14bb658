package rules

import (
	"errors"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/internal/uuidtext"
	"github.com/tributary-io/tributary/internal/wire"
)

const mostCosts = 2000

// costsPage is what templates/costs.html shows.
type costsPage struct {
	site.Head
	Form    *site.Form
	Edit    string // id of the cost that is changed; empty: a new one
	EditOf  string // its frequency
	List    []costRow
	Span    any // the days of the page: report.Pages.Days
	Period  string
	History *site.Chart
	Total   string      // of additional costs in these days
	Sums    []site.Tile // all that was spent in these days, and what it is made of
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
	v.Here = v.Path(site.CostsPath)
	page.Head = v.Head(v.Lang.T("costs.title"), "costs")
	page.File = v.Path(site.CostsPath + site.CSVEnding)
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
			period = v.Lang.Period(c.StartDate, c.StartDate)
		}
		if c.ID == page.Edit && r.Method == http.MethodGet {
			found, page.EditOf, page.Form = true, c.Frequency, s.costForm(v, c, nil)
		}
		page.List = append(page.List,
			costRow{ID: c.ID, Name: c.Name, Category: c.Category, Value: v.Lang.Money(c.ValueMinor, commerce.BRL),
				Frequency:   v.Lang.T("costs.frequency_" + c.Frequency),
				FrequencyIs: c.Frequency, Period: period,
				EditPath: v.Path(site.CostsPath, "edit", c.ID)})
	}
	if !found && r.Method == http.MethodGet {
		s.ProblemOf(w, r, http.StatusNotFound, "no_cost")
		return
	}
	if err := s.spent(r, v, &page); err != nil {
		s.Refuse(w, r, err)
		return
	}
	s.Render(w, r, status, "costs.html", page)
}

// spent fills what the days of the page cost in all: the additional costs, also by period,
// what influencers are owed whatever they sell, and the commission of approved
// orders. All of it is in BRL, in which costs are.
func (s *Pages) spent(r *http.Request, v site.Request, page *costsPage) error {
	form, q, err := s.days(r, v, site.CostsPath)
	if err != nil {
		return err
	}
	page.Span, page.Period = form, v.Lang.Period(q.Start, q.End)
	q.Name, q.Currency, q.Compare = reports.Costs, commerce.BRL, reports.NoComparison
	costs, err := s.db.Report(r.Context(), q)
	if err != nil {
		return err
	}
	sums, amount := map[string]decimal.Decimal{}, costs.Spec.Column("amount")
	var bars []site.Bar
	for i, row := range costs.Rows {
		kind := row.Texts[0] // influencer | additional | bonus | adjustment | empty: nothing was spent
		sums[kind] = sums[kind].Add(row.Sums[amount])
		if i == 0 || row.Period != costs.Rows[i-1].Period {
			bars = append(bars, site.Bar{Label: v.Lang.Day(row.Period)})
		}
		if bar := &bars[len(bars)-1]; kind == "additional" {
			bar.Value = bar.Value.Add(row.Sums[amount])
		}
	}
	for i := range bars {
		bars[i].Text = v.Lang.Sum(bars[i].Value, commerce.BRL)
	}
	page.History = site.NewChart(v.Lang.T("costs.history_"+string(q.By)), v.Lang.T("report.by_"+string(q.By)), v.Lang.T("costs.value"), bars)
	page.Total = v.Lang.Sum(sums["additional"], commerce.BRL)
	q.Name, q.By = reports.Sales, reports.ByTotal
	sales, err := s.db.Report(r.Context(), q)
	if err != nil {
		return err
	}
	sums["commission"] = sales.Totals.Sums[sales.Spec.Column("commission")]
	sums["manual"] = sums[commerce.EntryBonus].Add(sums[commerce.EntryAdjustment])
	sums["total"] = sums["additional"].Add(sums["influencer"]).Add(sums["manual"]).Add(sums["commission"])
	if sums["total"].IsZero() {
		return nil
	}
	for _, part := range []string{"total", "commission", "influencer", "manual", "additional"} {
		if part == "manual" && sums[part].IsZero() {
			continue
		}
		line := v.Lang.Sum(sums[part], commerce.BRL)
		page.Sums = append(page.Sums,
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
		if s.sayBack(w, r, v, f, v.Path(site.CostsPath)) {
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
		site.Done(w, r, v.Path(site.CostsPath), "cost_saved")
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
	site.Done(w, r, v.Path(site.CostsPath), "cost_removed")
}
