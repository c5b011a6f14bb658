package capacity

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/tributary-io/tributary/test/prove"
)

// text is what the page says above the table.
const text = "" +
	"What [capacity.md](capacity.md) predicts of a load that its model was not fitted to: the events of eight hours sent in four minutes\n" +
	"to 50 stores, of other sizes. Real Kafka, PostgreSQL, edge, admin, processor. Each cell is what was predicted and what was measured:\n" +
	"CPU seconds, bytes that were added, memory at the end."

// most is how far a measured cost may be from the prediction, of it.
const most = 0.15

// point is the load that the model was not fitted to.
var point = Load{Name: "50 stores", Stores: 50, Visits: 5000, Requests: 3, Events: 4, Text: 420, OrderOf: 6, ClickOf: 4,
	Over: 4 * time.Minute, Represents: 8 * time.Hour}

// lines are what is compared, by the figures' names.
var lines = []struct{ name, title string }{
	{"edge-cpu", "CPU s of edge"},
	{"admin-cpu", "admin"},
	{"processor-cpu", "processor"},
	{"postgres-cpu", "PostgreSQL"},
	{"kafka-cpu", "Kafka"},
	{"tables", "MB of tables"},
	{"wal", "WAL"},
	{"log", "Kafka's log"},
	{"spool", "spool"},
	{"edge-memory", "memory: edge"},
	{"admin-memory", "admin"},
	{"processor-memory", "processor"},
}

// Section is the part of `make prove` about capacity.
func Section() prove.Section {
	section := prove.Section{Name: "capacity", Title: "Capacity", Text: text, Columns: []string{"events", "orders"}}
	for _, l := range lines {
		section.Columns = append(section.Columns, l.title)
	}
	section.Columns = append(section.Columns, "machine", "load", "**within 15 %**")
	section.Cases = []prove.Case{{Name: "point", Title: "50 stores", Run: run}}
	return section
}

func run(ctx context.Context, e prove.Env) (result prove.Result, err error) {
	list, err := (Run{Dir: e.Dir, Binary: e.Binary, Stores: point.Stores, Say: e.Say}).Do(ctx, point, reference())
	if err != nil {
		return result, err
	}
	m := list[0]
	on := m.machine(list[1])
	e.Say("  the machine: %+v", on)
	result.Cells = []string{fmt.Sprintf("%.0f", m.Traffic.Events), fmt.Sprintf("%.0f", m.Traffic.Orders)}
	predicted, measured := Predict(m.Traffic, on).figures(), m.Costs.figures()
	for _, l := range lines {
		cell, problem := compare(l.name, predicted[l.name], measured[l.name])
		e.Say("  %s: %s", l.name, cell)
		result.Cells = append(result.Cells, cell)
		if problem != "" {
			result.Problems = append(result.Problems, problem)
		}
	}
	result.Cells = append(result.Cells, fmt.Sprintf("%.2f", on.CPU), fmt.Sprintf("%.0f", m.Busy),
		map[bool]string{true: "yes", false: "**no**"}[len(result.Problems) == 0])
	return result, os.RemoveAll(e.Dir)
}

// compare is the cell of one figure, and what is wrong with it.
func compare(name string, predicted, measured float64) (cell, problem string) {
	unit := 1.0
	if !strings.HasSuffix(name, "-cpu") {
		unit = 1e6
	}
	cell = fmt.Sprintf("%.*f, %.*f", digits(predicted/unit), predicted/unit, digits(measured/unit), measured/unit)
	if predicted <= 0 || math.Abs(measured/predicted-1) > most {
		problem = fmt.Sprintf("%s: predicted, measured: %s", name, cell)
	}
	return cell, problem
}

// digits are those after the point.
func digits(x float64) int { return max(0, 2-int(math.Log10(max(x, 1)))) }
