// Package simulated is the simulation's part of `make prove`: 200 hours of worlds
// that keep what is promised, and every planted bug found.
//
// What may enter: test/sim's worlds as lines of the page.
package simulated

import (
	"context"
	"fmt"
	"time"

	"github.com/tributary-io/tributary/test/prove"
	"github.com/tributary-io/tributary/test/sim"
)

// text is what the page says above the table.
const text = "" +
	"The real SDK, edge, spool and processor, compiled to WebAssembly, on models of disk, network, Kafka and store that fail and " +
	"lie, with a\n" +
	"virtual clock (`test/sim`). In each hour faults and traffic come for four minutes, often several at once; then all heals, and " +
	"all must\n" +
	"settle. An acknowledged event must be in Kafka or durable on a disk at that instant, and stored once in the end; first copies in " +
	"order; no event\n" +
	"dropped without a word; what Kafka acknowledged is not sent again after a crash; spools bounded; drains end under traffic; no " +
	"goroutine left.\n" +
	"\n" +
	"The other lines are bugs that are planted in the code, one by one: each must be found. The hours are those until it was."

// Worlds of the first line: 200 hours.
const (
	worlds = 50
	hours  = 4
)

// root is where make runs: the module's.
const root = "."

// Section is the simulation's part of `make prove`: test/prove/cmd has it once its lines were run.
func Section() prove.Section {
	section := prove.Section{
		Name: "sim", Title: "Simulated hours", Text: text,
		Columns: []string{"hours", "CPU", "events", "acked", "faults", "kills", "power lost", "leader changes", "copies", "found"},
		Cases:   []prove.Case{{Name: "hours", Title: "nothing planted", Run: live}},
	}
	for i, bug := range sim.Planted() {
		section.Cases = append(section.Cases, prove.Case{
			Name: fmt.Sprintf("bug-%d", i+1), Title: bug.Name,
			Run: func(ctx context.Context, _ prove.Env) (prove.Result, error) {
				found, cpu, err := bug.Find(ctx, root)
				if err != nil {
					return prove.Result{}, err
				}
				return prove.Result{Cells: cells(found, cpu, fmt.Sprintf("seed %d", found.Seed))}, nil
			},
		})
	}
	return section
}

// live lets worlds without a planted bug live.
func live(ctx context.Context, e prove.Env) (result prove.Result, err error) {
	w, err := sim.Build(ctx, root)
	if err != nil {
		return result, err
	}
	defer func() {
		if removed := w.Remove(); err == nil {
			err = removed
		}
	}()
	reports, cpu, err := w.Run(ctx, e.Seed, worlds, hours, nil)
	if err != nil {
		return result, err
	}
	var all sim.Report
	for _, r := range reports {
		all.Add(r)
		for _, v := range r.Violations {
			result.Problems = append(result.Problems, fmt.Sprintf("seed %d, %s", r.Seed, v))
		}
	}
	result.Cells = cells(all, cpu, "nothing")
	if len(all.Violations) > 0 {
		result.Cells[len(result.Cells)-1] = fmt.Sprintf("**%d**", len(all.Violations))
	}
	return result, nil
}

func cells(r sim.Report, cpu time.Duration, found string) []string {
	return []string{
		fmt.Sprintf("%.1f", r.Hours), fmt.Sprintf("%.0f s", cpu.Seconds()), fmt.Sprint(r.Tracked), fmt.Sprint(r.Acked), fmt.Sprint(r.Faults),
		fmt.Sprint(r.Kills), fmt.Sprint(r.PowerLost), fmt.Sprint(r.Leaders), fmt.Sprint(r.Copies), found,
	}
}
