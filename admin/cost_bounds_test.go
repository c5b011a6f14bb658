package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/commerce"
)

// manyCosts has that many daily costs.
type manyCosts struct {
	Database
	n int
}

func (m *manyCosts) list(limit int) (list []commerce.AdditionalCost) {
	for i := range min(m.n, limit) {
		list = append(list, commerce.AdditionalCost{ID: fmt.Sprint(i), Name: "Frete", ValueMinor: 1, Frequency: "daily", StartDate: "2026-01-01"})
	}
	return list
}

func (m *manyCosts) AdditionalCosts(_ context.Context, _ string, _ commerce.CostFilter, limit int) ([]commerce.AdditionalCost, error) {
	return m.list(limit), nil
}

func (m *manyCosts) AdditionalCostVersions(_ context.Context, _ string, _ commerce.CostFilter,
	limit int) ([]commerce.AdditionalCost, error) {
	return m.list(limit), nil
}

// A total of some of the costs would be a wrong total, and a year of thousands of
// costs would take a gigabyte.
func TestCostsThatAreTooManyAreRefusedAndNotLeftOut(t *testing.T) {
	t.Parallel()
	store := &manyCosts{}
	s := rulesServer()
	s.config.defaults()
	s.deps.Database = store
	f := func(n int, what string, list func(context.Context, *http.Request, caller) (answer, error), query string, wrong string) {
		t.Helper()
		store.n = n
		got, err := list(t.Context(), httptest.NewRequest(http.MethodGet, "/?"+query, nil), caller{})
		if p := problemOf(err); err != nil &&
			(wrong == "" || p.status != http.StatusBadRequest || !strings.Contains(fmt.Sprint(p.details), wrong)) {
			t.Errorf("%d costs, %s %s: %+v", n, what, query, p)
		}
		if err == nil && wrong != "" {
			body, _ := json.Marshal(got.data)
			t.Errorf("%d costs, %s %s: %d bytes, want a refusal with %s", n, what, query, len(body), wrong)
		}
	}
	f(maxAdditionalCosts, "list", s.listCosts, "", "")
	f(maxAdditionalCosts+1, "list", s.listCosts, "", "too_many")
	const day, year = "start_date=2026-03-01&end_date=2026-03-01", "start_date=2026-01-01&end_date=2026-12-31"
	f(maxAdditionalCosts, "history", s.costHistory, day, "")
	f(maxAdditionalCosts+1, "history", s.costHistory, day, "too_many")
	f(100, "history", s.costHistory, year, "")
	f(maxAdditionalCosts, "history", s.costHistory, year, "too_many")
}
