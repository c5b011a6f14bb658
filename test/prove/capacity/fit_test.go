package capacity

import (
	"math"
	"testing"
)

// What a known model makes of the loads is fitted back to that model.
func TestTheFitFindsTheModelThatMadeTheFigures(t *testing.T) {
	want := map[string]float64{"hour": 200, "transaction": 2e-3, "request": 3e-4, "event": 1e-5, "order": 1e-3, "click": 5e-4}
	var list []Measured
	for n, l := range Fitted() {
		r := float64(l.Visits * l.Requests)
		m := Measured{Load: l, Traffic: Traffic{Seconds: l.Over.Seconds(), Stores: l.Stores, Visits: float64(l.Visits), Requests: r,
			Events: r * float64(l.Events), EventBytes: r * float64(l.Events*(700+l.Text)), Orders: share(l.Visits, l.OrderOf),
			Clicks: share(l.Visits, l.ClickOf)}, Work: 0.01 * (1 + 0.05*float64(n))}
		m.Costs.Transactions = (r + m.Traffic.Orders + m.Traffic.Clicks) * (1 - 0.02*float64(n))
		for _, u := range units {
			count := u.count(m.Traffic, Reference)
			if u.name == "transaction" {
				count = m.Costs.Transactions
			}
			m.Costs.ProcessorCPU += count * want[u.name]
		}
		m.Costs.ProcessorCPU *= m.Work / (0.01 * (1 + 0.05*float64(len(Fitted())/2))) // of a machine that gets slower
		list = append(list, m)
	}
	got, err := Fit(list, "none")
	if err != nil {
		t.Fatal(err)
	}
	for name, w := range want {
		if x := got.Units[name]["processor-cpu"]; math.Abs(x/w-1) > 0.01 {
			t.Errorf("%s: %g, want %g", name, x, w)
		}
	}
	if _, err := Fit(list[:3], "none"); err == nil {
		t.Error("three loads are enough for eight units")
	}
}

func share(visits, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(visits / of)
}

// No coefficient is below zero, also where that would come closer.
func TestNoCoefficientIsBelowZero(t *testing.T) {
	x := nonNegative([][]float64{{1, 1}, {2, 1}, {4, 1}}, 2)
	if x[0] < 0 || x[1] < 0 || x[0]+x[1] == 0 {
		t.Error(x)
	}
}
