package capacity

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/test/bench/copied"
	"github.com/tributary-io/tributary/test/bench/procstat"
)

// Run sends loads to a stand and measures what they cost.
type Run struct {
	Dir, Binary string
	Stores      int
	Say         func(format string, args ...any)
}

// Measured is what one load cost.
type Measured struct {
	Load    Load
	Traffic Traffic
	Costs   Costs
	Busy    float64 // load average of the machine at the end
	Work    float64 // CPU seconds that a piece of work took meanwhile (speed.go)
	// FullPages are the bytes of whole pages in the WAL, one for each page that changed first after a checkpoint. They are in no cost: how
	// many they are follows from how often there is a checkpoint, and not from what comes.
	FullPages float64
}

// warm is a load before the measured ones: Java compiles and pools fill meanwhile.
var warm = Load{Visits: 1500, Requests: 2, Events: 2, Text: 100, OrderOf: 5, ClickOf: 5, Over: 30 * time.Second, Represents: time.Hour}

// Do sends the loads, one after the other.
func (r Run) Do(ctx context.Context, loads ...Load) (list []Measured, err error) {
	s, err := newStand(ctx, r.Dir, r.Binary, r.Stores)
	if err != nil {
		return nil, err
	}
	defer s.close()
	w := warm
	w.Stores = r.Stores
	if _, err := w.send(ctx, s, "w"); err != nil {
		return nil, err
	}
	if err := s.applied(ctx); err != nil {
		return nil, err
	}
	for n, l := range loads {
		r.Say("  %s", l.Name)
		m, err := s.measure(ctx, l, strconv.Itoa(n))
		if err != nil {
			return list, fmt.Errorf("%s: %w", l.Name, err)
		}
		list = append(list, m)
		m.Print(r.Say)
	}
	// An outage of Kafka is the last thing: what the two last loads' events take in the spool.
	for n := max(0, len(list)-2); n < len(list); n++ {
		spooled, err := s.outage(ctx, loads[n], fmt.Sprint("s", n))
		if err != nil {
			return list, fmt.Errorf("%s, while Kafka stands still: %w", loads[n].Name, err)
		}
		list[n].Costs.Spool = spooled * list[n].Traffic.Events
		r.Say("  %s: in the spool an event takes %.0f bytes", loads[n].Name, spooled)
	}
	return list, ctx.Err()
}

// measure sends a load and waits until all of it is applied and on disk.
func (s *stand) measure(ctx context.Context, l Load, run string) (m Measured, err error) {
	// What autovacuum would still do for the load before is done now, so that it is not in this one's figures.
	if _, err := s.db.Pool().Exec(ctx, "vacuum analyze"); err != nil {
		return m, err
	}
	before, err := s.read(ctx)
	if err != nil {
		return m, err
	}
	began, meter := time.Now(), startMeter(ctx)
	m.Traffic, err = l.send(ctx, s, run)
	if err == nil {
		err = s.applied(ctx)
	}
	m.Work = meter.end()
	if err != nil {
		return m, err
	}
	after, err := s.read(ctx)
	m.Load, m.Traffic.Seconds = l, time.Since(began).Seconds()
	m.Costs = after.minus(before)
	if err == nil {
		err = s.db.Pool().QueryRow(ctx, `select sum(record_size)::float8, sum(fpi_size)::float8
			from pg_get_wal_stats('0/0'::pg_lsn + $1::numeric, '0/0'::pg_lsn + $2::numeric)`, before.WAL, after.WAL).Scan(&m.Costs.WAL,
			&m.FullPages)
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		_, _ = fmt.Sscan(string(text), &m.Busy)
	}
	return m, err
}

// applied returns once the processor has applied all that is on Kafka: nothing has moved for a while, and no order waits.
func (s *stand) applied(ctx context.Context) error {
	var last copied.Progress
	return s.until(ctx, "all is applied", func() (bool, error) {
		background.Sleep(ctx, 3*time.Second)
		now, err := postgres.Collect(ctx, s.db.Pool(), func(row pgx.CollectableRow) (p copied.Progress, err error) {
			return p, row.Scan(&p.Records, &p.Queued)
		}, `select (select coalesce(sum(next), 0)::bigint from consumer_offset),
			(select count(*) from recompute) + (select count(*) from recompute_span)`)
		if err != nil {
			return false, err
		}
		same := now[0] == last && now[0].Queued == 0
		last = now[0]
		return same, nil
	})
}

// read reads what everything has cost so far. What is in memory is written to disk first, so that it is in the figures.
func (s *stand) read(ctx context.Context) (c Costs, err error) {
	exec := func(query string, into ...any) {
		if err == nil {
			err = s.db.Pool().QueryRow(ctx, query).Scan(into...)
		}
	}
	if _, err := s.db.Pool().Exec(ctx, "checkpoint"); err != nil {
		return c, err
	}
	exec(`select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8`, &c.WAL)
	exec(`select sum(pg_total_relation_size(oid))::float8 from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`,
		&c.Tables)
	if err != nil {
		return c, err
	}
	seconds := func(pid int, of func(int) (time.Duration, error)) float64 {
		d, e := of(pid)
		err = errors.Join(err, e)
		return d.Seconds()
	}
	memory := func(pid int) float64 {
		bytes, e := procstat.PSS(pid)
		err = errors.Join(err, e)
		return float64(bytes)
	}
	c.EdgeCPU = seconds(s.services["edge"].Pid(), procstat.CPU)
	c.AdminCPU = seconds(s.services["admin"].Pid(), procstat.CPU)
	c.ProcessorCPU = seconds(s.services["processor"].Pid(), procstat.CPU)
	c.KafkaCPU = seconds(s.kafka.Pid(), procstat.CPU)
	c.PostgresCPU = seconds(s.server.Pid(), procstat.TreeCPU)
	c.EdgeMemory = memory(s.services["edge"].Pid())
	c.AdminMemory = memory(s.services["admin"].Pid())
	c.ProcessorMemory = memory(s.services["processor"].Pid())
	if err != nil {
		return c, err
	}
	if c.Log, err = logBytes(s.kafka.Data()); err != nil {
		return c, err
	}
	if c.Transactions, err = s.metric(ctx, "tributary_processor_batch_seconds_count"); err == nil {
		c.TransactionTime, err = s.metric(ctx, "tributary_processor_batch_seconds_sum")
	}
	return c, err
}

// logBytes are the bytes of all segments of our topics.
func logBytes(data string) (sum float64, err error) {
	files, err := filepath.Glob(filepath.Join(data, "*.v1-*", "*.log"))
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
		if err == nil {
			sum += float64(info.Size())
		}
	}
	return sum, err
}

// metric is one of the processor's.
func (s *stand) metric(ctx context.Context, name string) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addrs["processor"]+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if text, is := strings.CutPrefix(lines.Text(), name); is {
			fields := strings.Fields(text)
			return strconv.ParseFloat(fields[len(fields)-1], 64)
		}
	}
	return 0, errors.New("the processor's metrics lack " + name)
}

// outage sends a part of a load's visits while Kafka stands still, and returns the spool's bytes for each event.
func (s *stand) outage(ctx context.Context, l Load, run string) (float64, error) {
	l.OrderOf, l.ClickOf, l.Visits, l.Over = 0, 0, 500, 15*time.Second
	before, err := s.spoolBytes() // of an outage before; the edge keeps its last files
	if err == nil {
		err = s.kafka.Pause()
	}
	if err != nil {
		return 0, err
	}
	sent, err := l.send(ctx, s, run)
	after, err2 := s.spoolBytes()
	err = errors.Join(err, err2, s.kafka.Continue())
	if err == nil {
		err = s.applied(ctx)
	}
	return (after - before) / sent.Events, err
}

// spoolBytes are those of all files of the spool.
func (s *stand) spoolBytes() (sum float64, err error) {
	err = filepath.WalkDir(filepath.Join(s.dir, "spool"), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += float64(info.Size())
		}
		return err
	})
	return sum, err
}

// Print writes what was measured, one line for each figure, for a fit.
func (m Measured) Print(say func(string, ...any)) {
	t := m.Traffic
	say("%s: seconds %.1f stores %d visits %.0f requests %.0f events %.0f bytes %.0f orders %.0f clicks %.0f transactions %.0f load %.1f",
		m.Load.Name, t.Seconds, t.Stores, t.Visits, t.Requests, t.Events, t.EventBytes, t.Orders, t.Clicks, m.Costs.Transactions, m.Busy)
	say("    a transaction took %.4f s; a piece of work %.5f s; full pages in WAL: %.0f bytes",
		m.Costs.TransactionTime/max(1, m.Costs.Transactions), m.Work, m.FullPages)
	figures := m.Costs.figures()
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		say("    %-18s %14.2f", name, figures[name])
	}
}
