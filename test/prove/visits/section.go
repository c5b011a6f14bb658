package visits

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/tributary-io/tributary/test/prove"
)

const text = "" +
	"Visits to a page of a shop that end right after an event, in a real Chromium. A collector takes events as the edge does. *lost* " +
	"are events\n" +
	"that never arrived, also not by a later page of the shop; *copies* is how often an event went over the wire; *asked* are events " +
	"that went by\n" +
	"beacon, which has no answer, and that a later page found known by their ids, instead of sending them again."

// many is how many visits each line makes: 1,000 in all.
const many = 200

// Section is the browser SDK's part of `make prove`.
func Section() prove.Section {
	section := prove.Section{Name: "visits", Title: "Visits that are left at once", Text: text,
		Columns: []string{"visits", "lost", "copies", "asked"}}
	for _, kind := range Kinds() {
		section.Cases = append(section.Cases,
			prove.Case{Name: kind.Name, Title: kind.Title, Run: func(ctx context.Context, e prove.Env) (result prove.Result, err error) {
				dist := filepath.Join(e.Dir, "dist")
				//nolint:gosec // ours
				if out, err := exec.CommandContext(ctx, "go", "run", "./sdk-js/build", "-quick", "-out", dist).CombinedOutput(); err != nil {
					return result, fmt.Errorf("build the SDK: %w: %s", err, out)
				}
				o, err := Do(ctx, kind, many, dist, InChromium(filepath.Join(e.Dir, "profile")))
				if err != nil {
					return result, err
				}
				result.Cells = []string{fmt.Sprint(o.Visits), fmt.Sprint(o.Lost), fmt.Sprintf("%.3f", o.Copies), fmt.Sprint(o.Beacons)}
				if !o.Good() {
					result.Problems = append(result.Problems, fmt.Sprintf("%d of %d lost, %.3f copies of an event", o.Lost, o.Visits, o.Copies))
				}
				return result, nil
			}})
	}
	return section
}
