package admin

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/uuidtext"
)

// Bounds of additional costs.
const (
	maxAdditionalCosts = 5000   // in a list or a history; more than a store has
	maxHistory         = 366    // days
	maxHistoryCosts    = 50_000 // in all days of a history together: about 5 MB of JSON
)

// allCosts refuses a list that is longer than maxAdditionalCosts: it was read with
// one more. A list that leaves costs out would make wrong totals.
func allCosts(costs []commerce.AdditionalCost, bad *commerce.Violations) error {
	if len(costs) > maxAdditionalCosts {
		bad.Add("start_date", commerce.CodeTooMany, "and the other filters find more than %d costs: ask for a shorter period", maxAdditionalCosts)
	}
	return brokenRules(bad)
}

// additionalCostRecord is a cost of GET /costs.
type additionalCostRecord struct {
	ID        string          `json:"additional_cost_id"`
	Name      string          `json:"name"`
	Category  string          `json:"category"`
	Value     commerce.Amount `json:"value"`
	StartDate string          `json:"start_date"`
	EndDate   string          `json:"end_date"` // "" while open
	Frequency string          `json:"frequency"`
}

type frequencyGroup struct {
	Frequency string                 `json:"frequency"`
	Details   []additionalCostRecord `json:"details"`
}

// listCosts is GET /costs: additional costs grouped by frequency.
func (s *Server) listCosts(ctx context.Context, r *http.Request, c caller) (answer, error) {
	o := queryObject(r.URL.Query())
	filter := commerce.CostFilter{Frequency: optional(o, "frequency", word).Value}
	filter.From, filter.To = readPeriod(o, false)
	o.bad.AddAll(filter.Check())
	if err := brokenRules(o.bad); err != nil {
		return answer{}, err
	}
	costs, err := s.deps.Database.AdditionalCosts(ctx, c.companyID, filter, maxAdditionalCosts+1)
	if err == nil {
		err = allCosts(costs, o.bad)
	}
	if err != nil {
		return answer{}, err
	}
	groups := []frequencyGroup{}
	for _, frequency := range commerce.Frequencies {
		group := frequencyGroup{Frequency: frequency}
		for _, cost := range costs {
			if cost.Frequency == frequency {
				group.Details = append(group.Details, additionalCostRecord{cost.ID, cost.Name, cost.Category,
					commerce.Amount{Minor: cost.ValueMinor, Currency: commerce.BRL}, cost.StartDate, cost.EndDate, cost.Frequency})
			}
		}
		if len(group.Details) > 0 {
			groups = append(groups, group)
		}
	}
	return answer{data: groups}, nil
}

// queryObject makes an object of query parameters, so that they are read as a
// body's fields are. All of them are strings.
func queryObject(query url.Values) object {
	values := make(map[string]any, len(query))
	for name := range query {
		values[name] = query.Get(name)
	}
	return object{values: values, bad: &commerce.Violations{}}
}

// createCost is POST /costs.
func (s *Server) createCost(ctx context.Context, _ *http.Request, c caller, o object) (answer, error) {
	cost := commerce.AdditionalCost{
		Name:       strings.TrimSpace(required(o, "name", text)),
		Category:   strings.TrimSpace(optional(o, "category", text).Value),
		ValueMinor: required(o, "value", money(commerce.BRL)),
		Frequency:  required(o, "frequency", word),
	}
	cost.StartDate, cost.EndDate = readPeriod(o, true)
	o.bad.AddAll(cost.Check())
	if err := o.broken(); err != nil {
		return answer{}, err
	}
	id, err := uuid.NewV7FromReader(s.random)
	if err != nil {
		return answer{}, err
	}
	cost.ID = id.String()
	if err := s.deps.Database.AddAdditionalCost(ctx, c.author(s.now()), cost); err != nil {
		return answer{}, err
	}
	return answer{data: map[string]string{"additional_cost_id": cost.ID}}, nil
}

// updateCost is PUT /costs: the fields that are sent change, from today on; the others
// stay.
func (s *Server) updateCost(ctx context.Context, _ *http.Request, c caller, o object) (answer, error) {
	id, frequency := readCostPair(o)
	change := commerce.CostChange{
		Name: optional(o, "name", text), Category: optional(o, "category", text), Frequency: optional(o, "new_frequency", word),
		StartDate: optional(o, "start_date", day), EndDate: optional(o, "end_date", day), ValueMinor: optional(o, "value", money(commerce.BRL)),
	}
	o.bad.AddAll(change.Check())
	if err := o.broken(); err != nil {
		return answer{}, err
	}
	return answer{}, withCost(id, func() error {
		return s.deps.Database.ChangeAdditionalCost(ctx, c.author(s.now()), id, frequency, func(cost *commerce.AdditionalCost) error {
			change.Apply(cost)
			o.bad.AddAll(cost.Check())
			return brokenRules(o.bad)
		})
	})
}

// deleteCost is DELETE /costs: the cost ends before today.
func (s *Server) deleteCost(ctx context.Context, _ *http.Request, c caller, o object) (answer, error) {
	id, frequency := readCostPair(o)
	if err := o.broken(); err != nil {
		return answer{}, err
	}
	return answer{}, withCost(id, func() error {
		return s.deps.Database.DeleteAdditionalCost(ctx, c.author(s.now()), id, frequency)
	})
}

func readCostPair(o object) (id, frequency string) {
	id, frequency = required(o, "additional_cost_id", given), required(o, "frequency", word)
	o.bad.AddAll(commerce.CostFilter{Frequency: frequency}.Check())
	return id, frequency
}

// withCost calls do for the id of a cost. An id that no cost has is answered 404.
func withCost(id string, do func() error) error {
	err := commerce.ErrNotFound // ids of costs are UUIDs
	if uuidtext.Is(id) {
		err = do()
	}
	return missing(err, notFound("there is no additional cost of that id and frequency"))
}

// costDay is one day of GET /costs/historical.
type costDay struct {
	Date  string          `json:"date"`
	Total commerce.Sum    `json:"total"`
	Costs []projectedCost `json:"costs"`
}

type projectedCost struct {
	ID        string          `json:"additional_cost_id"`
	Name      string          `json:"name"`
	Frequency string          `json:"frequency"`
	Value     commerce.Amount `json:"value"` // of that day
}

// costHistory is GET /costs/historical: what the additional costs amount to on
// each day of a period.
func (s *Server) costHistory(ctx context.Context, r *http.Request, c caller) (answer, error) {
	o := queryObject(r.URL.Query())
	from, to := readPeriod(o, true)
	o.bad.AddAll(commerce.CostFilter{From: from, To: to}.Check())
	if _, there := o.values["end_date"]; !there {
		o.bad.Add("end_date", commerce.CodeRequired, "is required")
	}
	// What is no date is a violation already.
	first, _ := time.Parse(time.DateOnly, from)
	last, _ := time.Parse(time.DateOnly, to)
	if !o.bad.Any() && last.Sub(first) >= maxHistory*24*time.Hour {
		o.bad.Add("end_date", commerce.CodeOutOfRange, "makes more than %d days", maxHistory)
	}
	if err := brokenRules(o.bad); err != nil {
		return answer{}, err
	}
	costs, err := s.deps.Database.AdditionalCostVersions(ctx, c.companyID, commerce.CostFilter{From: from, To: to}, maxAdditionalCosts+1)
	if err == nil {
		err = allCosts(costs, o.bad)
	}
	if err != nil {
		return answer{}, err
	}
	days, listed := []costDay{}, 0
	for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
		record := costDay{Date: day.Format(time.DateOnly), Total: commerce.Sum{Currency: commerce.BRL}, Costs: []projectedCost{}}
		for _, cost := range costs {
			if minor, inForce := cost.On(day); inForce {
				record.Total.Minor = record.Total.Minor.Add(decimal.NewFromInt(minor))
				record.Costs = append(record.Costs,
					projectedCost{cost.ID, cost.Name, cost.Frequency, commerce.Amount{Minor: minor, Currency: commerce.BRL}})
			}
		}
		if listed += len(record.Costs); listed > maxHistoryCosts {
			return answer{}, o.refuse("end_date", commerce.CodeTooMany,
				"makes a history of more than %d costs, counted on each day: ask for fewer days", maxHistoryCosts)
		}
		days = append(days, record)
	}
	return answer{data: days}, nil
}
