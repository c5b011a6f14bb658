package report

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/admin/dashboard/site/texttest"
)

func TestJourneysFlowIntoTheirOrders(t *testing.T) {
	t.Parallel()
	l := texttest.English(t)
	list := newSankeys(l, []journey{
		{[]string{"Ana Prado"}, 60}, {[]string{"Organic Search", "Ana Prado"}, 25},
		{[]string{"A", "B", "C", "Organic Search", "Ana Prado", "Direct"}, 10}, {nil, 5}, {[]string{"Email"}, 0},
	})
	wide := list[0]
	told := map[string]string{}
	for _, f := range wide.Flows {
		told[fmt.Sprintf("%d %s > %s", f.Step, f.From, f.To)] = f.Orders + " " + f.Part
	}
	for flow, want := range map[string]string{
		"1 Ana Prado > Orders": "85 85.0%", "2 Organic Search > Ana Prado": "25 25.0%", "1 Direct > Orders": "10 10.0%",
		"2 Ana Prado > Direct":         "10 10.0%",
		"3 Organic Search > Ana Prado": "10 10.0%", "4 Earlier steps > Organic Search": "10 10.0%", "1 All other journeys > Orders": "5 5.0%",
	} {
		if told[flow] != want {
			t.Errorf("%s: %q, want %q", flow, told[flow], want)
		}
	}
	if len(told) != 7 {
		t.Errorf("%v", told)
	}
	if newSankeys(l, nil) != nil || newSankeys(l, []journey{{[]string{"Email"}, 0}}) != nil {
		t.Error("no orders are drawn")
	}
	// Short journeys take the whole width.
	for _, s := range newSankeys(l, []journey{{[]string{"Ana Prado"}, 60}, {[]string{"A", "B", "C"}, 0}}) {
		if got := s.Nodes[0].X; got != "0.0" {
			t.Errorf("%s: the only step is at %s", s.Class, got)
		}
	}
}

// Whatever the journeys are: each node's flows fit into it, nothing lies outside of the
// drawing, no two nodes of a column touch, and all orders arrive.
func TestASankeyHoldsAnyJourneys(t *testing.T) {
	t.Parallel()
	l := texttest.English(t)
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var journeys []journey
		var all int64
		for range 1 + r.IntN(60) {
			j := journey{Orders: int64(r.IntN(1 + r.IntN(5000)))}
			for range r.IntN(9) {
				j.Steps = append(j.Steps, strings.Repeat("x", 1+r.IntN(40))+fmt.Sprint(r.IntN(20)))
			}
			all += j.Orders
			journeys = append(journeys, j)
		}
		for _, s := range newSankeys(l, journeys) {
			bottom := map[int]float64{}
			last := map[int]int{}
			for i := range s.Nodes {
				n := &s.Nodes[i]
				if n.y < 0 || n.y+n.h > float64(s.Height) || n.out > n.h+.01 || n.inn > n.h+.01 {
					t.Fatalf("seed %d: %s from %.1f to %.1f of %d, %.1f go out, %.1f come in", seed, n.Label, n.y, n.y+n.h, s.Height, n.out, n.inn)
				}
				last[n.column] = max(last[n.column], n.place)
				bottom[n.column] += n.h + sankeyGap
				if n.key == nodeOrders && n.orders != all {
					t.Fatalf("seed %d: %d orders arrive, want %d", seed, n.orders, all)
				}
			}
			for column, places := range last {
				if places > sankeyColours+2 {
					t.Fatalf("seed %d: column %d has %d nodes", seed, column, places+1)
				}
			}
		}
	}
}
