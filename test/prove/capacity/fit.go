package capacity

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
)

// Fit finds the coefficients with which the model comes closest to what was measured: of each figure the least sum of squares of relative
// errors with no coefficient below zero. Transactions are counted, not predicted.
func Fit(list []Measured, machine string) (Coefficients, error) {
	c := Coefficients{Machine: machine, Units: map[string]map[string]float64{}, Memory: map[string]float64{}}
	if len(list) < len(units) {
		return c, errors.New("too few loads to fit the model to")
	}
	var memory []map[string]float64
	var work []float64
	for _, m := range list {
		memory, work = append(memory, m.Costs.figures()), append(work, m.Work)
	}
	slices.Sort(work)
	c.Work = work[len(work)/2]
	for _, figure := range slices.Sorted(maps.Keys(memory[0])) {
		if strings.HasSuffix(figure, "-memory") {
			values := make([]float64, len(memory))
			for i, of := range memory {
				values[i] = of[figure]
			}
			slices.Sort(values)
			c.Memory[figure] = values[len(values)/2]
			continue
		}
		var parts []unit
		for _, u := range units {
			if slices.Contains(strings.Fields(u.of), figure) {
				parts = append(parts, u)
			}
		}
		var rows [][]float64 // each of a load, divided by what was measured
		for _, m := range list {
			measured := m.Costs.figures()[figure]
			if strings.HasSuffix(figure, "-cpu") { // as long as it takes where a piece of work takes c.Work
				measured *= c.Work / m.Work
			}
			if measured <= 0 || m.Traffic.Events == 0 && !strings.HasSuffix(figure, "-cpu") {
				continue
			}
			row := make([]float64, len(parts))
			for i, u := range parts {
				n := u.count(m.Traffic, Reference)
				if u.name == "transaction" {
					n = m.Costs.Transactions
				}
				row[i] = n / measured
			}
			rows = append(rows, row)
		}
		for i, x := range nonNegative(rows, len(parts)) {
			if c.Units[parts[i].name] == nil {
				c.Units[parts[i].name] = map[string]float64{}
			}
			c.Units[parts[i].name][figure] = x
		}
	}
	return c, nil
}

// nonNegative finds x ≥ 0 with the least sum of squares of rows·x − 1, one coordinate after the other until none moves.
func nonNegative(rows [][]float64, n int) []float64 {
	scale := make([]float64, n) // the largest of each column: all unknowns are near one
	for j := range n {
		for _, row := range rows {
			scale[j] = max(scale[j], row[j])
		}
		scale[j] = cmp.Or(scale[j], 1)
	}
	x := make([]float64, n)
	const turns = 100_000
	for range turns {
		moved := 0.0
		for j := range n {
			var up, down float64
			for _, row := range rows {
				rest := 1.0
				for k := range n {
					if k != j {
						rest -= row[k] / scale[k] * x[k]
					}
				}
				up += row[j] / scale[j] * rest
				down += row[j] / scale[j] * row[j] / scale[j]
			}
			if down == 0 {
				continue
			}
			next := max(0, up/down)
			moved = max(moved, next-x[j], x[j]-next)
			x[j] = next
		}
		if moved < 1e-12 {
			break
		}
	}
	for j := range x {
		x[j] /= scale[j]
	}
	return x
}
