package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/tributary-io/tributary/dev/devstack"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/test/bench/copied"
	"github.com/tributary-io/tributary/test/bench/procstat"
)

// bench is one run of this program.
type bench struct {
	options
	dir    string
	binary string
	server *devstack.Postgres
}

// cost is what it took to get the rows of one unit (an event, or an order with its
// ten events) into the tables.
type cost struct {
	processor, postgres time.Duration // CPU
	wall                time.Duration
}

func (c cost) cpu() time.Duration { return c.processor + c.postgres }

// measured is one run of one load.
type measured struct {
	units           int
	processor, copy cost // of a unit
	memory          int  // the processor's most, in bytes (PSS)
	record          int  // bytes of an event's record on Kafka
	eventBytes      int  // on disk, for each event, in the tables of events
	orderBytes      int  // on disk, for each order, in the other tables
	copyBytes       int  // on disk, for each unit, after COPY; to compare with all of the processor's
	bytes           int  // on disk, for each unit
}

// tablesOfEvents have rows of events; all other rows are of orders.
var tablesOfEvents = []string{"event_fact", "observation", "delivery", "delivery_day", "delivery_source", "stream", "shopper_day",
	"traffic_day", "click_day"}

// pause is how long to wait between two looks at the processor.
const pause = 20 * time.Millisecond

// limit bounds a run.
const limit = 10 * time.Minute

// startBroker starts a broker with empty topics, and a client of it. stop ends both.
func (b *bench) startBroker(ctx context.Context) (broker *devstack.Broker, client *kafka.Client, stop func(), err error) {
	if broker, err = devstack.StartBroker(devstack.BrokerConfig{}); err != nil {
		return nil, nil, nil, err
	}
	if client, err = kafka.NewClient(kafka.Config{Brokers: []string{broker.Addr()}}); err != nil {
		broker.Stop()
		return nil, nil, nil, err
	}
	stop = func() {
		client.Close()
		broker.Stop()
	}
	if err = client.EnsureTopics(ctx,
		kafka.TopicPlan{Partitions: b.partitions, Replication: 1, MinInsyncReplicas: 1, KeepForever: true}); err != nil {
		stop()
		return nil, nil, nil, err
	}
	return broker, client, stop, nil
}

func (b *bench) measure(ctx context.Context, l load, n int) (m measured, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	name := fmt.Sprintf("bench_%d_%d_%t", n, l.stores, l.orders)
	dsn, err := b.migrated(ctx, name)
	if err != nil {
		return m, err
	}
	companies, err := createStores(ctx, dsn, l.stores, noCheck)
	if err != nil {
		return m, err
	}
	broker, client, stop, err := b.startBroker(ctx)
	if err != nil {
		return m, err
	}
	defer stop()
	records, record, err := b.fill(ctx, client, l, companies)
	if err != nil {
		return m, err
	}
	m.units, m.record = b.visitorsOf(l)*eventsOfVisitor, record
	if l.orders {
		m.units = b.orders
	}
	db, err := copied.Open(ctx, dsn)
	if err != nil {
		return m, err
	}
	tables, before, err := emptyTables(ctx, db)
	if err != nil {
		return m, errors.Join(err, db.Close(ctx))
	}
	err = b.runProcessor(ctx, db, broker.Addr(), dsn, records, &m)
	if err == nil {
		tables, err = filled(ctx, db, tables)
	}
	if err == nil {
		err = b.lookAfter(ctx, db, l, name, tables, before, &m)
	}
	if err := errors.Join(err, db.Close(ctx)); err != nil {
		return m, err
	}
	m.copy, m.copyBytes, err = b.copy(ctx, name, tables, m.units)
	return m, err
}

// filled are those of the tables that have rows now.
func filled(ctx context.Context, db *copied.Database, tables []string) ([]string, error) {
	empty, err := db.Empty(ctx)
	return slices.DeleteFunc(tables, func(table string) bool { return slices.Contains(empty, table) }), err
}

// emptyTables are the tables that the processor may fill, and their bytes.
func emptyTables(ctx context.Context, db *copied.Database) (tables []string, sizes map[string]int64, err error) {
	if tables, err = db.Empty(ctx); err != nil {
		return nil, nil, err
	}
	sizes, err = db.Sizes(ctx, tables)
	return tables, sizes, err
}

// runProcessor starts the built processor and waits until all is applied. Its time
// begins with the first records that are applied: starting, joining the group and
// reading ahead are not measured, and those records are not counted.
func (b *bench) runProcessor(ctx context.Context, db *copied.Database, broker, dsn string, records int, m *measured) error {
	if err := db.Checkpoint(ctx); err != nil {
		return err
	}
	if b.statements {
		if err := db.CountStatements(ctx); err != nil {
			return err
		}
	}
	pid, end, err := b.startProcessor(ctx, broker, dsn)
	if err != nil {
		return err
	}
	return errors.Join(b.watch(ctx, db, pid, records, m), end())
}

// watch waits until all records are applied, and writes what that cost.
func (b *bench) watch(ctx context.Context, db *copied.Database, pid, records int, m *measured) error {
	var begun cost
	var first int64
	var began, looked time.Time
	for {
		progress, err := db.Progress(ctx)
		if err != nil {
			return err
		}
		now, err := b.costSoFar(pid)
		if err != nil {
			return fmt.Errorf("the processor has ended: %w", err)
		}
		if first == 0 && progress.Records > 0 {
			first, begun, began = progress.Records, now, time.Now()
			stop, err := b.profile(ctx, pid)
			if err != nil {
				return err
			}
			defer stop()
		}
		done := progress.Records == int64(records) && progress.Queued == 0
		if done || time.Since(looked) > time.Second { // to look is dear
			looked = time.Now()
			memory, err := procstat.PSS(pid)
			if err != nil {
				return err
			}
			m.memory = max(m.memory, memory)
		}
		if done {
			if first == progress.Records {
				return errors.New("there were too few records to measure")
			}
			units := time.Duration(float64(m.units) * float64(progress.Records-first) / float64(records))
			m.processor = cost{(now.processor - begun.processor) / units, (now.postgres - begun.postgres) / units, time.Since(began) / units}
			return nil
		}
		if !background.Sleep(ctx, pause) {
			return fmt.Errorf("%d of %d records were applied, %d orders wait: %w", progress.Records, records, progress.Queued, ctx.Err())
		}
	}
}

// costSoFar is the CPU time of the processor (0: none) and of the server.
func (b *bench) costSoFar(processor int) (c cost, err error) {
	if processor != 0 {
		if c.processor, err = procstat.CPU(processor); err != nil {
			return cost{}, err
		}
	}
	c.postgres, err = procstat.TreeCPU(b.server.Pid())
	return c, err
}

// profile begins a profile by perf(1), where one is wanted.
func (b *bench) profile(ctx context.Context, pid int) (stop func(), err error) {
	if b.perf == "" {
		return func() {}, nil
	}
	//nolint:gosec // a process of our own
	perf := exec.CommandContext(ctx, "perf", "record", "-q", "-F", "499", "-g", "-o", b.perf, "-p", strconv.Itoa(pid))
	if err := perf.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = perf.Process.Signal(os.Interrupt)
		_ = perf.Wait() // it ends by the signal
	}, nil
}

// lookAfter checks and measures what the processor left, and saves it.
func (b *bench) lookAfter(ctx context.Context, db *copied.Database, l load, name string, tables []string,
	before map[string]int64, m *measured) error {
	if b.statements {
		if err := printStatements(ctx, db, l, name, m.units); err != nil {
			return err
		}
	}
	if orders, touches, err := db.Attributed(ctx); err != nil || l.orders && (orders != m.units || touches != m.units*touchesOfVisitor) {
		return fmt.Errorf("%d of %d orders are attributed, with %d touches: %w", orders, m.units, touches, err)
	}
	after, err := db.Sizes(ctx, tables)
	if err != nil {
		return err
	}
	if b.statements {
		fmt.Println("bytes a unit, with indexes  table")
		for _, table := range tables {
			fmt.Printf("%27d  %s\n", (after[table]-before[table])/int64(m.units), table)
		}
	}
	var events, others int64
	for table, size := range after {
		if slices.Contains(tablesOfEvents, table) {
			events += size - before[table]
		} else {
			others += size - before[table]
		}
	}
	visitors := b.visitorsOf(l)
	m.eventBytes, m.bytes = int(events)/(visitors*eventsOfVisitor), int(events+others)/m.units
	if l.orders {
		m.orderBytes = int(others) / b.orders
	}
	return db.Save(ctx, b.dir, tables)
}

// copy loads the saved rows into the same tables of another database. It returns what a unit
// cost, and its bytes on disk.
func (b *bench) copy(ctx context.Context, of string, tables []string, units int) (unit cost, bytes int, err error) {
	server, err := copied.Open(ctx, b.server.DSN())
	if err != nil {
		return unit, 0, err
	}
	defer func() { err = errors.Join(err, server.Close(ctx)) }()
	name := of + "_copy"
	db, err := copied.Clone(ctx, server, of, name, b.server.DatabaseDSN(name), tables)
	if err != nil {
		return unit, 0, err
	}
	defer func() { err = errors.Join(err, db.Close(ctx)) }()
	before, err := db.Sizes(ctx, tables)
	if err != nil {
		return unit, 0, err
	}
	if err := db.Checkpoint(ctx); err != nil {
		return unit, 0, err
	}
	begun, err := b.costSoFar(0)
	if err != nil {
		return unit, 0, err
	}
	began := time.Now()
	if err := db.Load(ctx, b.dir, tables); err != nil {
		return unit, 0, err
	}
	wall := time.Since(began)
	now, err := b.costSoFar(0)
	if err != nil {
		return unit, 0, err
	}
	after, err := db.Sizes(ctx, tables)
	if err != nil {
		return unit, 0, err
	}
	for table, size := range after {
		bytes += int(size - before[table])
		if err := os.Remove(filepath.Join(b.dir, table)); err != nil {
			return unit, 0, err
		}
	}
	n := time.Duration(units)
	return cost{0, (now.postgres - begun.postgres) / n, wall / n}, bytes / units, nil
}
