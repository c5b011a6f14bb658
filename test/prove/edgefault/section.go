package edgefault

import (
	"context"
	"errors"
	"fmt"

	"github.com/tributary-io/tributary/test/prove"
)

// text is what the page says above the table.
const text = "" +
	"The built binary's `tributary edge --spool` runs before a real Apache Kafka on loopback, of one node, or of three with " +
	"replication 3 and\n" +
	"`min.insync.replicas` 2. 32 clients of eight companies send PAGE_VIEWs of about 400 bytes, one to five in a request, the next " +
	"request after\n" +
	"the last one's answer. Three of four send a request again until it is acknowledged; the fourth gives it up at the first " +
	"failure. In the\n" +
	"middle of it the fault comes; then the spool is drained, the edge is stopped by SIGTERM, and `events.v1` is read from its beginning.\n" +
	"\n" +
	"Each event's invocation and acknowledgement, and each record that was read, is a history. It is checked in two ways. Counts say what " +
	"is wrong:\n" +
	"*lost* events were acknowledged and are not in the log; *duplicates* are events of one number of one client under two ids, which the\n" +
	"processor cannot know as one; *out of order* are first copies that stand behind an event of their company which was sent after " +
	"they were\n" +
	"acknowledged, or before one that came before them in their request. And porcupine, a linearizability checker, looks for one\n" +
	"append-only log for each company that explains the whole history (`test/prove/history/model.go`). " +
	"`test/prove/history/history_test.go`\n" +
	"plants violations of each kind: both find them. A record that nobody sent, or that differs from what was sent, is a failure too.\n" +
	"\n" +
	"*Unknown* were never acknowledged, so they may be stored or not. *Copies* are records beyond the first of their event. *Spool* is the " +
	"share of\n" +
	"acknowledged events that were answered from the spool; *503* are refused requests. *Silent* are seconds without any\n" +
	"acknowledgement, and *longest* the longest time in which no event of some company was acknowledged; no time is asserted. A network is " +
	"cut by a\n" +
	"proxy that holds all bytes, and connections that are begun meanwhile hang."

// Section is the edge's part of `make prove`.
func Section() prove.Section {
	section := prove.Section{
		Name: "edge", Title: "Faults of the edge, of Kafka and between them", Text: text,
		Columns: []string{
			"Kafka nodes", "sent", "acked", "stored", "**lost**", "**duplicates**", "**out of order**", "linearizable",
			"unknown", "copies", "spool", "503", "silent", "longest",
		},
	}
	for _, fault := range Faults() {
		for _, nodes := range fault.Nodes {
			section.Cases = append(section.Cases, prove.Case{
				Name: fmt.Sprintf("%s-%d", fault.Name, nodes), Title: fault.Title,
				Run: func(ctx context.Context, e prove.Env) (prove.Result, error) {
					run := Run{Fault: fault, Size: Full(), Nodes: nodes, Binary: e.Binary, Dir: e.Dir, Seed: e.Seed, Say: e.Say}
					return run.result(ctx)
				},
			})
		}
	}
	return section
}

// result is Do's outcome as a line of the table.
func (r Run) result(ctx context.Context) (prove.Result, error) {
	o, err := r.Do(ctx)
	if errors.Is(err, ErrNoRights) {
		return prove.Result{}, fmt.Errorf("%w: %w", prove.ErrNotHere, err)
	}
	if err != nil {
		return prove.Result{}, err
	}
	linearizable := "yes"
	if !o.Linearizable {
		linearizable = "**no**"
	}
	count := func(n int) string { return fmt.Sprint(n) }
	return prove.Result{
		Cells: []string{
			count(r.Nodes), count(o.Sent), count(o.Acked), count(o.Stored), count(o.Lost), count(o.Duplicates), count(o.OutOfOrder), linearizable,
			count(o.Sent - o.Acked), count(o.Copies), fmt.Sprintf("%.0f %%", 100*float64(o.Spooled)/float64(max(1, o.Acked))), count(o.Refused),
			fmt.Sprintf("%d s", o.SilentSeconds), fmt.Sprintf("%.1f s", o.LongestSilence.Seconds()),
		},
		Problems: append(o.Examples, o.Problems...),
	}, nil
}
