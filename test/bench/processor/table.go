package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/tributary-io/tributary/test/bench/copied"
)

// table holds the runs of each load.
type table struct{ lines []line }

type line struct {
	load load
	runs []measured
}

func (t *table) add(l load, m measured) {
	for i := range t.lines {
		if t.lines[i].load == l {
			t.lines[i].runs = append(t.lines[i].runs, m)
			return
		}
	}
	t.lines = append(t.lines, line{l, []measured{m}})
}

// median is the middle of the runs' values of one kind.
func median[T cmp.Ordered](runs []measured, of func(measured) T) T {
	values := make([]T, len(runs))
	for i, run := range runs {
		values[i] = of(run)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// figures are the medians of a load's runs.
type figures struct {
	rate, copyRate                    float64 // units a second
	processor, postgres, cpu, copyCPU time.Duration
	rateShare, cpuTimes               float64 // of COPY's, of each run
	bytes, copyBytes                  int
	eventBytes, orderBytes            int
	memory                            int
}

func (l line) figures() figures {
	perSecond := func(d time.Duration) float64 { return float64(time.Second) / float64(max(d, 1)) }
	return figures{
		rate:       median(l.runs, func(m measured) float64 { return perSecond(m.processor.wall) }),
		copyRate:   median(l.runs, func(m measured) float64 { return perSecond(m.copy.wall) }),
		processor:  median(l.runs, func(m measured) time.Duration { return m.processor.processor }),
		postgres:   median(l.runs, func(m measured) time.Duration { return m.processor.postgres }),
		cpu:        median(l.runs, func(m measured) time.Duration { return m.processor.cpu() }),
		copyCPU:    median(l.runs, func(m measured) time.Duration { return m.copy.cpu() }),
		rateShare:  median(l.runs, func(m measured) float64 { return float64(m.copy.wall) / float64(max(m.processor.wall, 1)) }),
		cpuTimes:   median(l.runs, func(m measured) float64 { return float64(m.processor.cpu()) / float64(max(m.copy.cpu(), 1)) }),
		bytes:      median(l.runs, func(m measured) int { return m.bytes }),
		copyBytes:  median(l.runs, func(m measured) int { return m.copyBytes }),
		eventBytes: median(l.runs, func(m measured) int { return m.eventBytes }),
		orderBytes: median(l.runs, func(m measured) int { return m.orderBytes }),
		memory:     median(l.runs, func(m measured) int { return m.memory }),
	}
}

// goal is one aim of a load, what was measured, and whether that is enough.
type goal struct {
	what, aim, measured string
	met                 bool
}

// goals are a load's aims (docs/adr/0016-speed-beside-copy-of-the-same-rows.md). "An order" is one with its ten events.
func (l load) goals(f figures) []goal {
	most := func(what string, measured float64, aim float64, unit string) goal {
		return goal{what, fmt.Sprintf("≤ %.1f%s", aim, unit), fmt.Sprintf("%.1f%s", measured, unit), measured <= aim}
	}
	if !l.orders {
		return []goal{
			{"rate, of COPY's", "≥ 50 %", fmt.Sprintf("%.0f %%", 100*f.rateShare), f.rateShare >= 0.5},
			most("on disk, an event", float64(f.eventBytes)/1000, 0.6, " KB"),
			most("memory of the processor", float64(f.memory)/(1<<20), 256, " MiB"),
		}
	}
	aim := 800.0
	if l.stores > 1 {
		aim = 1500
	}
	return []goal{
		{"orders a second", fmt.Sprintf("≥ %.0f", aim), fmt.Sprintf("%.0f", f.rate), f.rate >= aim},
		most("CPU of an order, of COPY's", f.cpuTimes, 3, " ×"),
		most("on disk, an order", float64(f.orderBytes)/1000, 4.4, " KB"),
		most("memory of the processor", float64(f.memory)/(1<<20), 256, " MiB"),
	}
}

// print writes the medians, and beside the goals what was measured.
func (t *table) print(to io.Writer) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "load\tway\ta second\tCPU µs processor\tCPU µs Postgres\tsum\t÷ COPY\tbytes on disk\tPSS MiB\truns\t")
	for _, l := range t.lines {
		f := l.figures()
		fmt.Fprintf(w, "%s\tprocessor\t%.0f\t%s\t%s\t%s\t%.1f\t%d\t%.0f\t%d\t\n", l.load.name, f.rate,
			digits(f.processor), digits(f.postgres), digits(f.cpu), f.cpuTimes, f.bytes, float64(f.memory)/(1<<20), len(l.runs))
		fmt.Fprintf(w, "\tCOPY\t%.0f\t\t%s\t%s\t\t%d\t\t\t\n", f.copyRate, digits(f.copyCPU), digits(f.copyCPU), f.copyBytes)
	}
	_ = w.Flush()
	fmt.Fprintln(to)
	w = tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "load\twhat\tgoal\tmeasured\t")
	for _, l := range t.lines {
		for _, g := range l.load.goals(l.figures()) {
			word := "missed"
			if g.met {
				word = "met"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", l.load.name, g.what, g.aim, g.measured, word)
		}
	}
	_ = w.Flush()
	if len(t.lines) > 0 {
		fmt.Fprintf(to, "\nA unit is an event (%d bytes on Kafka), or an order with its %d events.\n", t.lines[0].runs[0].record, eventsOfVisitor)
	}
}

// digits is a time in microseconds: a short one with a tenth.
func digits(d time.Duration) string {
	if d < 100*time.Microsecond {
		return fmt.Sprintf("%.1f", micro(d))
	}
	return fmt.Sprintf("%.0f", micro(d))
}

// micro is a time in microseconds.
func micro(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// printStatements writes the dearest statements of a run, and how its indexes were used.
func printStatements(ctx context.Context, db *copied.Database, l load, name string, units int) error {
	statements, err := db.Statements(ctx, name, 25)
	if err != nil {
		return err
	}
	indexes, err := db.Indexes(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s\nµs a unit\tplan µs\tcalls\trows\tpages a unit\tWAL bytes a unit\tstatement\n", l.name)
	for _, s := range statements {
		fmt.Fprintf(w, "%.1f\t%.1f\t%d\t%d\t%.1f\t%d\t%.110s\n", 1000*s.Exec/float64(units), 1000*s.Plan/float64(units), s.Calls, s.Rows,
			float64(s.Touched)/float64(units), s.WAL/int64(units), s.Text)
	}
	fmt.Fprintln(w, "scans\tbytes a unit\tindex")
	for _, i := range indexes {
		fmt.Fprintf(w, "%d\t%d\t%s\n", i.Scans, i.Bytes/int64(units), i.Name)
	}
	return w.Flush()
}
