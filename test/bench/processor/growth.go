package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/bench/procstat"
)

// growth measures what an event costs when so many are stored already: one processor
// applies page views of one store without a halt. The log is emptied as it goes, so that
// only Postgres grows.
type growth struct {
	stored []int // events that are stored when a cost is measured, the least first
	sample int   // events whose cost is measured there
	part   int   // events that are on Kafka at a time
}

// grown is what was measured with so many events stored.
type grown struct {
	stored int
	event  cost  // of an event
	memory int   // the processor's most until then, in bytes (PSS)
	bytes  int64 // on disk, of all tables that the processor fills
}

// parseGrowth reads the numbers of -stored.
func parseGrowth(text string) (g growth, err error) {
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.ReplaceAll(part, "_", ""))
		if err != nil || n <= 0 {
			return g, fmt.Errorf("-stored %q: each must be a number of events above zero", text)
		}
		g.stored = append(g.stored, n)
	}
	slices.Sort(g.stored)
	g.sample, g.part = 50_000, 50_000
	return g, nil
}

// grow applies events until the last of the numbers, and measures at each.
func (b *bench) grow(ctx context.Context, g growth) (list []grown, err error) {
	dsn, err := b.migrated(ctx, "growth")
	if err != nil {
		return nil, err
	}
	return b.growIn(ctx, g, dsn)
}

// growIn is grow in a migrated database.
func (b *bench) growIn(ctx context.Context, g growth, dsn string) (list []grown, err error) {
	at, stop, err := b.openPlace(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	tables, err := at.db.Empty(ctx)
	if err != nil {
		return nil, err
	}
	pid, end, err := b.startProcessor(ctx, at.broker.Addr(), dsn)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	r := growing{growth: g, bench: b, place: at, tables: tables, pid: pid}
	// The last event is of now; visitors come in groups, one after the other.
	groups := (g.stored[len(g.stored)-1] + len(g.stored)*g.sample) / (eventsOfVisitor * together)
	r.base = time.Now().UTC().Add(-time.Duration(groups) * betweenGroups)
	for _, n := range g.stored {
		found, err := r.measureAt(ctx, n)
		if err != nil {
			return list, fmt.Errorf("with %d events stored: %w", n, err)
		}
		list = append(list, found)
	}
	return list, nil
}

// growing is one run of growth.
type growing struct {
	growth
	*bench
	*place
	tables   []string  // that the processor fills
	pid      int       // of the processor
	base     time.Time // when the first visitors come
	visitors int       // that have come
	memory   int       // the processor's most, in bytes
}

// measureAt applies events until n are stored, and then those whose cost it measures.
func (r *growing) measureAt(ctx context.Context, n int) (found grown, err error) {
	for r.visitors*eventsOfVisitor < n {
		if err := r.apply(ctx, min(r.part, n-r.visitors*eventsOfVisitor)); err != nil {
			return found, err
		}
	}
	if err := r.db.Checkpoint(ctx); err != nil {
		return found, err
	}
	before, err := r.cost()
	if err != nil {
		return found, err
	}
	began, first := time.Now(), r.visitors
	for left := r.sample; left > 0; left -= r.part {
		if err := r.apply(ctx, min(r.part, left)); err != nil {
			return found, err
		}
	}
	after, err := r.cost()
	if err != nil {
		return found, err
	}
	events := time.Duration((r.visitors - first) * eventsOfVisitor)
	found = grown{stored: n, memory: r.memory,
		event: cost{(after.processor - before.processor) / events, (after.postgres - before.postgres) / events, time.Since(began) / events}}
	sizes, err := r.db.Sizes(ctx, r.tables)
	for _, size := range sizes {
		found.bytes += size
	}
	return found, err
}

func (r *growing) cost() (cost, error) {
	if r.server == nil { // of a test: the server is not its own
		c, err := procstat.CPU(r.pid)
		return cost{processor: c}, err
	}
	return r.costSoFar(r.pid)
}

// apply writes events of new visitors, and returns once they are applied and gone from
// the log.
func (r *growing) apply(ctx context.Context, events int) error {
	progress, err := r.db.Progress(ctx)
	if err != nil {
		return err
	}
	want := progress.Records
	visitors := max(1, events/eventsOfVisitor)
	for _, group := range slices.Collect(slices.Chunk(numbers(visitors), together)) {
		var records []kafka.Record
		for n := range eventsOfVisitor {
			for _, i := range group {
				value, err := json.Marshal(loads[0].event(r.company, r.visitors+i, n, r.base))
				if err != nil {
					return err
				}
				records = append(records, kafka.Record{Key: []byte(r.company), Value: value})
			}
		}
		for chunk := range slices.Chunk(records, perBatch) {
			if err := r.producer.Produce(ctx, wire.TopicEvents, chunk...); err != nil {
				return err
			}
		}
		want += int64(len(records))
	}
	r.visitors += visitors
	for {
		progress, err := r.db.Progress(ctx)
		if err != nil {
			return err
		}
		memory, err := procstat.PSS(r.pid)
		if err != nil {
			return fmt.Errorf("the processor has ended: %w", err)
		}
		r.memory = max(r.memory, memory)
		if progress.Records == want && progress.Queued == 0 {
			return r.broker.Empty(ctx, wire.TopicEvents, r.partitions)
		}
		if !background.Sleep(ctx, 10*pause) { // to look is dear
			return fmt.Errorf("%d of %d records are applied: %w", progress.Records, want, ctx.Err())
		}
	}
}

// printGrowth writes what was measured, beside the goals.
func printGrowth(to io.Writer, list []grown) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "events stored\tCPU µs processor\tCPU µs Postgres\tsum\t÷ the first\ta second\tbytes on disk, an event\tPSS MiB\t")
	for _, g := range list {
		fmt.Fprintf(w, "%d\t%.0f\t%.0f\t%.0f\t%.2f\t%.0f\t%d\t%.0f\t\n", g.stored, micro(g.event.processor), micro(g.event.postgres),
			micro(g.event.cpu()),
			float64(g.event.cpu())/float64(max(list[0].event.cpu(), 1)), float64(time.Second)/float64(max(g.event.wall, 1)),
			g.bytes/int64(max(g.stored, 1)), float64(g.memory)/(1<<20))
	}
	_ = w.Flush()
	last := list[len(list)-1]
	word := map[bool]string{true: "met", false: "missed"}
	times := float64(last.event.cpu()) / float64(max(list[0].event.cpu(), 1))
	fmt.Fprintf(to, "\nCPU of an event, of that with %d stored: goal ≤ 1.2 ×, %.2f ×, %s\n", list[0].stored, times, word[times <= 1.2])
	memory := slices.MaxFunc(list, func(a, b grown) int { return cmp.Compare(a.memory, b.memory) }).memory
	fmt.Fprintf(to, "memory of the processor: goal ≤ 256 MiB, %.0f MiB, %s\n", float64(memory)/(1<<20), word[memory <= 256<<20])
}
