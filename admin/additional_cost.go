package admin

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Bounds of additional costs.
const (
	maxAdditionalCosts = 5000 // of a list or history; more than a store has
	maxHistory         = 366  // days
)

var frequencies = []string{commerce.Specific, commerce.Daily, commerce.Weekly, commerce.Monthly}

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
func (s *Server) listCosts(_ http.ResponseWriter, r *http.Request, c caller) (answer, error) {
	o := queryObject(r.URL.Query())
	filter := commerce.CostFilter{Frequency: optional(o, "frequency", oneWord(frequencies...)).Value}
	filter.From, filter.To = readPeriod(o, false)
	if err := o.bad.problem(); err != nil {
		return answer{}, err
	}
	costs, err := s.additionalCosts(r.Context(), c, filter)
	if err != nil {
		return answer{}, err
	}
	groups := []frequencyGroup{}
	for _, frequency := range frequencies {
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

// queryObject lets the readers of bodies read query parameters, all of them strings.
func queryObject(query url.Values) object {
	values := make(map[string]any, len(query))
	for name := range query {
		values[name] = query.Get(name)
	}
	return object{values: values, bad: &violations{}}
}

func (s *Server) additionalCosts(ctx context.Context, c caller, filter commerce.CostFilter) ([]commerce.AdditionalCost, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.DependencyTimeout)
	defer cancel()
	return s.deps.Store.AdditionalCosts(ctx, c.companyID, filter, maxAdditionalCosts)
}

// createCost is POST /costs.
func (s *Server) createCost(w http.ResponseWriter, r *http.Request, c caller) (answer, error) {
	o, err := readObject(w, r)
	if err != nil {
		return answer{}, err
	}
	cost := commerce.AdditionalCost{
		Name:       strings.TrimSpace(required(o, "name", filled(maxName))),
		Category:   strings.TrimSpace(optional(o, "category", text(maxCategory)).Value),
		ValueMinor: required(o, "value", positiveMoney),
		Frequency:  required(o, "frequency", oneWord(frequencies...)),
	}
	cost.StartDate, cost.EndDate = readPeriod(o, true)
	if err := o.bad.problem(); err != nil {
		return answer{}, err
	}
	id, err := uuid.NewV7FromReader(s.random)
	if err != nil {
		return answer{}, err
	}
	cost.ID = id.String()
	ctx, cancel := context.WithTimeout(r.Context(), s.config.DependencyTimeout)
	defer cancel()
	if err := s.deps.Store.AddAdditionalCost(ctx, c.author(s.now()), cost); err != nil {
		return answer{}, err
	}
	return answer{data: map[string]string{"additional_cost_id": cost.ID}}, nil
}

// positiveMoney reads an amount of BRL above zero.
func positiveMoney(value any) (int64, *fault) {
	minor, f := money(commerce.BRL)(value)
	if f == nil && minor == 0 {
		f = &fault{"out_of_range", "must be greater than 0"}
	}
	return minor, f
}

// updateCost is PUT /costs: the fields that are there change, the rest stay.
func (s *Server) updateCost(w http.ResponseWriter, r *http.Request, c caller) (answer, error) {
	o, err := readObject(w, r)
	if err != nil {
		return answer{}, err
	}
	id, frequency := readCostPair(o)
	name, value := optional(o, "name", filled(maxName)), optional(o, "value", positiveMoney)
	category, newFrequency := optional(o, "category", text(maxCategory)), optional(o, "new_frequency", oneWord(frequencies...))
	start, end := optional(o, "start_date", date), optional(o, "end_date", date)
	if err := o.bad.problem(); err != nil {
		return answer{}, err
	}
	err = s.withCost(r.Context(), id, func(ctx context.Context) error {
		return s.deps.Store.ChangeAdditionalCost(ctx, c.author(s.now()), id, frequency, func(cost *commerce.AdditionalCost) error {
			cost.Name, cost.ValueMinor, cost.Frequency, cost.StartDate = strings.TrimSpace(name.Or(cost.Name)), value.Or(cost.ValueMinor), newFrequency.Or(cost.Frequency), start.Or(cost.StartDate)
			if category.Present { // null clears, as for an order
				cost.Category = strings.TrimSpace(category.Value)
			}
			if end.Present {
				cost.EndDate = end.Value
			}
			if cost.EndDate != "" && cost.EndDate < cost.StartDate {
				o.bad.add("end_date", codeInvalidDate, "would be before start_date")
			}
			return o.bad.problem()
		})
	})
	return answer{}, err
}

// deleteCost is DELETE /costs.
func (s *Server) deleteCost(w http.ResponseWriter, r *http.Request, c caller) (answer, error) {
	o, err := readObject(w, r)
	if err != nil {
		return answer{}, err
	}
	id, frequency := readCostPair(o)
	if err := o.bad.problem(); err != nil {
		return answer{}, err
	}
	return answer{}, s.withCost(r.Context(), id, func(ctx context.Context) error {
		return s.deps.Store.DeleteAdditionalCost(ctx, c.author(s.now()), id, frequency)
	})
}

func readCostPair(o object) (id, frequency string) {
	return required(o, "additional_cost_id", filled(maxID)), required(o, "frequency", oneWord(frequencies...))
}

// withCost does something with the cost of an id, within the bound.
func (s *Server) withCost(ctx context.Context, id string, do func(ctx context.Context) error) error {
	err := error(commerce.ErrNotFound) // what is no UUID is no cost's id
	if commerce.IsUUID(id) {
		ctx, cancel := context.WithTimeout(ctx, s.config.DependencyTimeout)
		defer cancel()
		err = do(ctx)
	}
	if errors.Is(err, commerce.ErrNotFound) {
		return notFound("there is no additional cost of that id and frequency")
	}
	return err
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

// costHistory is GET /costs/historical: additional costs projected to days,
// every day present.
func (s *Server) costHistory(_ http.ResponseWriter, r *http.Request, c caller) (answer, error) {
	o := queryObject(r.URL.Query())
	from, to := readPeriod(o, true)
	if _, there := o.values["end_date"]; !there {
		o.bad.add("end_date", "required", "is required")
	}
	// Both were read as real dates, or are violations already.
	first, _ := time.Parse(time.DateOnly, from)
	last, _ := time.Parse(time.DateOnly, to)
	if len(o.bad.details) == 0 && last.Sub(first) >= maxHistory*24*time.Hour {
		o.bad.add("end_date", "out_of_range", "makes more than %d days", maxHistory)
	}
	if err := o.bad.problem(); err != nil {
		return answer{}, err
	}
	costs, err := s.additionalCosts(r.Context(), c, commerce.CostFilter{From: from, To: to})
	if err != nil {
		return answer{}, err
	}
	days := []costDay{}
	for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
		record := costDay{Date: day.Format(time.DateOnly), Total: commerce.Sum{Currency: commerce.BRL}, Costs: []projectedCost{}}
		for _, cost := range costs {
			if minor, inForce := cost.On(day); inForce {
				record.Total.Minor = record.Total.Minor.Add(decimal.NewFromInt(minor))
				record.Costs = append(record.Costs, projectedCost{cost.ID, cost.Name, cost.Frequency, commerce.Amount{Minor: minor, Currency: commerce.BRL}})
			}
		}
		days = append(days, record)
	}
	return answer{data: days}, nil
}
