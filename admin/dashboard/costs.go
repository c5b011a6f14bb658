package dashboard

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

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
	head
	Form        *form
	Edit        string // id of the cost that is changed; empty: a new one
	EditOf      string // its frequency
	List        []costRow
	History     *chart
	Total       string
	From, Until string
	Marketing   []tile // the total marketing cost of these days, and what it is made of
}

type costRow struct{ ID, Name, Category, Value, Frequency, FrequencyIs, Period, EditPath string }

func (s *rulePages) costRoutes() []route {
	return []route{
		{pattern: "GET " + costsPath, handle: s.costs},
		{pattern: "POST " + costsPath, owner: true, handle: s.saveCost},
		{pattern: "POST " + costsPath + "/remove", owner: true, handle: s.removeCost},
	}
}

func (s *rulePages) costs(w http.ResponseWriter, r *http.Request, v pageRequest) {
	page := costsPage{Form: s.costForm(v, commerce.AdditionalCost{Frequency: commerce.Monthly, StartDate: s.dayOf(v)}, nil)}
	if id := r.URL.Query().Get("edit"); id != "" {
		page.Edit = id
	}
	s.showCosts(w, r, v, http.StatusOK, page)
}

func (s *rulePages) costForm(v pageRequest, now commerce.AdditionalCost, typed map[string][]string) *form {
	f := newForm(v.lang, "costs", typed)
	value := ""
	if now.ValueMinor > 0 {
		value = s.localNumber(v, commerce.FormatSum(decimal.NewFromInt(now.ValueMinor), commerce.BRL))
	}
	f.add(field{Name: "name", Required: true, Max: commerce.MaxName, Value: now.Name})
	f.add(field{Name: "category", Max: commerce.MaxCategory, Value: now.Category})
	f.add(field{Name: "value", Required: true, Value: value})
	f.add(field{Name: "frequency", Type: "select", Value: now.Frequency, Options: f.options("frequency", commerce.Frequencies...)})
	f.add(field{Name: "start_date", Type: "date", Required: true, Value: now.StartDate})
	f.add(field{Name: "end_date", Type: "date", Value: now.EndDate})
	return f
}

func (s *rulePages) showCosts(w http.ResponseWriter, r *http.Request, v pageRequest, status int, page costsPage) {
	v.here = storePath(costsPath, v.current.CompanyID)
	page.head = v.head(v.lang.T("costs.title"), "costs")
	page.File = storePath(costsPath+csvEnding, v.current.CompanyID)
	list, err := s.db.AdditionalCosts(r.Context(), v.current.CompanyID, commerce.CostFilter{}, mostCosts)
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	found := page.Edit == ""
	for _, c := range list {
		if c.ID == page.Edit && r.Method == http.MethodGet {
			found, page.EditOf, page.Form = true, c.Frequency, s.costForm(v, c, nil)
		}
		page.List = append(page.List,
			costRow{ID: c.ID, Name: c.Name, Category: c.Category, Value: v.lang.Money(c.ValueMinor, commerce.BRL),
				Frequency:   v.lang.T("costs.frequency_" + c.Frequency),
				FrequencyIs: c.Frequency, Period: v.lang.Period(c.StartDate, c.EndDate),
				EditPath: storePath(costsPath, v.current.CompanyID, "edit", c.ID)})
	}
	if !found && r.Method == http.MethodGet {
		s.problemOf(w, r, http.StatusNotFound, "no_cost")
		return
	}
	if err := s.projectCosts(r, v, &page); err != nil {
		s.unavailable(w, r, err)
		return
	}
	if err := s.marketingCost(r, v, &page); err != nil {
		s.refuse(w, r, err)
		return
	}
	s.render(w, r, status, "costs.html", page)
}

// projectCosts fills the page's history: what the costs amount to on each day.
func (s *rulePages) projectCosts(r *http.Request, v pageRequest, page *costsPage) error {
	last, err := time.Parse(time.DateOnly, s.dayOf(v))
	if err != nil {
		return err
	}
	first := last.AddDate(0, 0, 1-projectedDays)
	filter := commerce.CostFilter{From: first.Format(time.DateOnly), To: last.Format(time.DateOnly)}
	list, err := s.db.AdditionalCostVersions(r.Context(), v.current.CompanyID, filter, mostCosts)
	if err != nil {
		return err
	}
	sum, bars := decimal.Zero, []bar{}
	for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
		minor := decimal.Zero
		for _, c := range list {
			if value, inForce := c.On(day); inForce {
				minor = minor.Add(decimal.NewFromInt(value))
			}
		}
		sum = sum.Add(minor)
		bars = append(bars, bar{Label: v.lang.Date(day), Value: minor, Text: v.lang.Sum(minor, commerce.BRL)})
	}
	page.History = newChart(v.lang.T("costs.history"), v.lang.T("costs.day"), v.lang.T("costs.value"), bars)
	page.Total, page.From, page.Until = v.lang.Sum(sum, commerce.BRL), v.lang.Date(first), v.lang.Date(last)
	return nil
}

// marketingCost fills the page's total marketing cost of the same days: the additional
// costs, what was agreed with influencers whatever they sell, and the commission of
// approved orders. All of it is in BRL, in which costs are.
func (s *rulePages) marketingCost(r *http.Request, v pageRequest, page *costsPage) error {
	last, err := time.Parse(time.DateOnly, s.dayOf(v))
	if err != nil {
		return err
	}
	q := reports.Query{CompanyID: v.current.CompanyID, Name: reports.Costs, Start: last.AddDate(0, 0, 1-projectedDays).Format(time.DateOnly),
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
		line := v.lang.Sum(sums[part], commerce.BRL)
		page.Marketing = append(page.Marketing,
			tile{ID: "cost-" + part, Label: v.lang.T("costs.sum_" + part), Lines: []string{line}, Note: v.lang.T("costs.note_" + part),
				Size: sizeOf(line)})
	}
	return nil
}

// saveCost adds a cost, or changes the one that is named.
func (s *rulePages) saveCost(w http.ResponseWriter, r *http.Request, v pageRequest) {
	f := s.costForm(v, commerce.AdditionalCost{}, r.PostForm)
	get := func(name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }
	cost := commerce.AdditionalCost{ID: get("id"), Name: get("name"), Category: get("category"), Frequency: get("frequency"),
		StartDate: get("start_date"), EndDate: get("end_date")}
	cost.ValueMinor = s.typedMoney(v, f, "value", get("value"))
	f.refuse(cost.Check(), nil)
	var err error
	switch {
	case f.Failed():
	case cost.ID == "":
		var id uuid.UUID
		if id, err = uuid.NewV7FromReader(s.Random); err == nil {
			cost.ID = id.String()
			err = s.db.AddAdditionalCost(r.Context(), s.author(v), cost)
		}
	case !uuidtext.Is(cost.ID):
		err = commerce.ErrNotFound
	default:
		change := commerce.CostChange{Name: wire.Some(cost.Name), Category: wire.Some(cost.Category), Frequency: wire.Some(cost.Frequency),
			StartDate: wire.Some(cost.StartDate), EndDate: wire.Some(cost.EndDate), ValueMinor: wire.Some(cost.ValueMinor)}
		err = s.db.ChangeAdditionalCost(r.Context(), s.author(v), cost.ID, get("was"), func(now *commerce.AdditionalCost) error {
			change.Apply(now)
			return nil
		})
	}
	switch {
	case errors.Is(err, commerce.ErrNotFound):
		s.problemOf(w, r, http.StatusNotFound, "no_cost")
	case err != nil:
		s.unavailable(w, r, err)
	case f.Failed():
		s.showCosts(w, r, v, http.StatusUnprocessableEntity, costsPage{Form: f, Edit: get("id"), EditOf: get("was")})
	default:
		done(w, r, storePath(costsPath, v.current.CompanyID), "cost_saved")
	}
}

// typedMoney reads an amount in BRL as people type it, in cents.
func (s *rulePages) typedMoney(v pageRequest, f *form, name, text string) int64 {
	if text == "" {
		return 0
	}
	minor, err := commerce.ParseMinor(commerce.TypedDecimal(text), commerce.BRL)
	if err != nil {
		f.fail(name, v.lang.T("form.money"))
	}
	return minor
}

func (s *rulePages) removeCost(w http.ResponseWriter, r *http.Request, v pageRequest) {
	id, err := r.PostForm.Get("id"), error(commerce.ErrNotFound)
	if uuidtext.Is(id) {
		err = s.db.DeleteAdditionalCost(r.Context(), s.author(v), id, r.PostForm.Get("frequency"))
	}
	if err != nil {
		s.notFoundOr(w, r, err, "no_cost")
		return
	}
	done(w, r, storePath(costsPath, v.current.CompanyID), "cost_removed")
}
