package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// table holds the runs of each line.
type table struct{ lines []line }

type line struct {
	server string
	load   load
	runs   []measured
}

func (t *table) add(server string, l load, m measured) {
	for i := range t.lines {
		if t.lines[i].server == server && t.lines[i].load == l {
			t.lines[i].runs = append(t.lines[i].runs, m)
			return
		}
	}
	t.lines = append(t.lines, line{server, l, []measured{m}})
}

// find returns the line of a server and load, or one without runs.
func (t *table) find(server string, l load) line {
	for _, found := range t.lines {
		if found.server == server && found.load == l {
			return found
		}
	}
	return line{}
}

// median is the middle of the runs' values of one kind, 0 for no runs.
func median[T cmp.Ordered](runs []measured, of func(measured) T) T {
	var zero T
	if len(runs) == 0 {
		return zero
	}
	values := make([]T, len(runs))
	for i, run := range runs {
		values[i] = of(run)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func cpuOf(m measured) time.Duration { return m.cpu }

// print writes the medians, with what each costs as a part of franz, and, where they were
// counted, the instructions of an event.
func (t *table) print(to io.Writer) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "load\tserver\tCPU s per 1M events\tmin–max\t÷ franz\tp50 ms\tp99 ms\tevents/s\tPSS MB\truns\t")
	if t.counted() {
		fmt.Fprint(w, "instructions\tof the kernel\tswitches\t")
	}
	fmt.Fprintln(w)
	for _, l := range loads {
		for _, server := range servers {
			if found := t.find(server, l); len(found.runs) > 0 {
				t.printLine(w, found)
			}
		}
	}
	_ = w.Flush()
}

// counted tells whether perf counted.
func (t *table) counted() bool { return len(t.lines) > 0 && t.lines[0].runs[0].user > 0 }

func (t *table) printLine(to io.Writer, l line) {
	cpu := median(l.runs, cpuOf)
	ratio := ""
	if base := median(t.find(roleFranz, l.load).runs, cpuOf); base > 0 {
		ratio = fmt.Sprintf("%.2f", float64(cpu)/float64(base))
	}
	least := slices.MinFunc(l.runs, byCPU).cpu
	most := slices.MaxFunc(l.runs, byCPU).cpu
	fmt.Fprintf(to, "%s\t%s\t%.1f\t%.1f–%.1f\t%s\t%.1f\t%.1f\t%.0f\t%.0f\t%d\t", l.load.name, l.server,
		micro(cpu), micro(least), micro(most), ratio,
		micro(median(l.runs, func(m measured) time.Duration { return m.p50 }))/1000,
		micro(median(l.runs, func(m measured) time.Duration { return m.p99 }))/1000,
		median(l.runs, func(m measured) float64 { return m.rate }),
		float64(median(l.runs, func(m measured) int { return m.memory }))/(1<<20), len(l.runs))
	if t.counted() {
		user, kernel := median(l.runs, func(m measured) float64 { return m.user }), median(l.runs, func(m measured) float64 { return m.kernel })
		fmt.Fprintf(to, "%.0f\t%.0f\t%.2f\t", user+kernel, kernel, median(l.runs, func(m measured) float64 { return m.switches }))
	}
	fmt.Fprintln(to)
}

func byCPU(a, b measured) int { return cmp.Compare(a.cpu, b.cpu) }

// micro is a time in microseconds, which is also seconds per million.
func micro(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
