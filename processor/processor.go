package processor

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// Store is where facts, outcomes and offsets live. StoreOf makes one of
// internal/postgres/factstore.Store.
type Store interface {
	Facts

	// Transact runs f in one transaction: all of it is written when f returns
	// nil, else nothing. facts.ErrFenced and facts.ErrData will not get better
	// by trying again; any other error may.
	Transact(ctx context.Context, f func(tx Tx) error) error
}

// Facts is what is asked of the store outside its transactions.
type Facts interface {
	Ping(ctx context.Context) error

	// Offset is a partition's first record not yet applied; where none is
	// stored it becomes first. facts.ErrOtherCluster where the stored one is
	// another cluster's.
	Offset(ctx context.Context, topic string, partition int, clusterID string, first int64) (int64, error)

	// Revisions reads the rule revisions of companies; unknown ones are left out.
	Revisions(ctx context.Context, companyIDs []string) (map[string]int64, error)

	// Rules reads all rules of a company as they are now.
	Rules(ctx context.Context, companyID string) (*facts.Rules, error)

	// MakeMonths prepares the store for events of the given id times.
	MakeMonths(ctx context.Context, now time.Time, instants []time.Time) error

	// QueuedCompanies lists companies that have orders queued.
	QueuedCompanies(ctx context.Context) ([]string, error)
}

// StoreOf makes a Store of an adapter whose transactions have a type of their own.
func StoreOf[T Tx](adapter interface {
	Facts
	Transact(ctx context.Context, f func(tx T) error) error
}) Store {
	return adapted[T]{adapter, adapter.Transact}
}

type adapted[T Tx] struct {
	Facts
	transact func(ctx context.Context, f func(tx T) error) error
}

func (a adapted[T]) Transact(ctx context.Context, f func(tx Tx) error) error {
	return a.transact(ctx, func(tx T) error { return f(tx) })
}

// Log is the two co-partitioned topics; internal/kafka.Group is one.
type Log interface {
	ClusterID(ctx context.Context) (string, error)

	// Consume runs own for each partition this member owns until its context
	// ends; it returns when ctx ends, or with the first error of an owner.
	Consume(ctx context.Context, own func(ctx context.Context, partition int) error) error

	// Bounds tells where a partition's log begins, and its next offset.
	Bounds(ctx context.Context, topic string, partition int) (first, next int64, err error)

	// Read hands over a partition's records from an offset on, in order, until
	// ctx ends or handle fails. Key and value stay valid afterwards.
	Read(ctx context.Context, topic string, partition int, from int64, handle func(r wire.Fetched) error) error

	// PartitionOf tells which partition a key belongs to.
	PartitionOf(ctx context.Context, key []byte) (int, error)
}

// Results takes what the processor says: hints and rejected records;
// internal/kafka.Producer is one.
type Results interface {
	// Publish returns once the record is durable.
	Publish(ctx context.Context, topic string, key, value []byte) error
}

// Config bounds the processor's work. Zero values are defaults.
type Config struct {
	BatchRecords   int           // records a transaction; 2,000
	BatchBytes     int           // bytes of records a transaction; 8 MiB
	ReadAheadBytes int           // bytes of records that wait in memory, of all partitions together; 64 MiB
	RecomputeChunk int           // queued orders a transaction; 200
	ApplyTimeout   time.Duration // of one attempt at a transaction, its wait for a turn included; 2 min
	AtOnce         int           // transactions at once, whatever the partitions owned; 4
	HaltPause      time.Duration // before a halted partition is looked at again; 30 s
	StallAfter     time.Duration // a partition that has records and does not move for so long is not ready; 5 min
}

func (c Config) withDefaults() Config {
	return Config{
		BatchRecords:   cmp.Or(c.BatchRecords, 2000),
		BatchBytes:     cmp.Or(c.BatchBytes, 8<<20),
		ReadAheadBytes: cmp.Or(c.ReadAheadBytes, 64<<20),
		RecomputeChunk: cmp.Or(c.RecomputeChunk, 200),
		ApplyTimeout:   cmp.Or(c.ApplyTimeout, 2*time.Minute),
		AtOnce:         cmp.Or(c.AtOnce, 4),
		HaltPause:      cmp.Or(c.HaltPause, 30*time.Second),
		StallAfter:     cmp.Or(c.StallAfter, 5*time.Minute),
	}
}

// Deps is what the processor is given. All but Logger, Now and Registry are required.
type Deps struct {
	Store    Store
	Log      Log
	Results  Results
	Logger   *slog.Logger
	Now      func() time.Time
	Registry *prometheus.Registry
}

// Processor is one member of the processors' group.
type Processor struct {
	Deps
	config    Config
	metrics   *metrics
	hints     chan hint
	slots     chan struct{}       // one place for each transaction at once
	readAhead *semaphore.Weighted // bytes of records that wait in memory

	mu         sync.Mutex
	rules      map[string]*attribution.Index // by company
	partitions map[int]*progress             // owned now
}

// maxRules bounds the cache of rules; beyond it the cache starts anew.
const maxRules = 10_000

// New makes a processor; Run starts it.
func New(config Config, deps Deps) *Processor {
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if deps.Registry == nil {
		deps.Registry = prometheus.NewRegistry()
	}
	config = config.withDefaults()
	p := &Processor{
		Deps: deps, config: config, metrics: newMetrics(deps.Registry),
		hints: make(chan hint, 64), slots: make(chan struct{}, config.AtOnce),
		readAhead: semaphore.NewWeighted(int64(config.ReadAheadBytes)),
		rules:     map[string]*attribution.Index{}, partitions: map[int]*progress{},
	}
	deps.Registry.MustRegister(partitionCollector{p})
	return p
}

// Run consumes until ctx ends (nil) or an error that waiting cannot mend: a
// log that is not the one the stored offsets are of.
func (p *Processor) Run(ctx context.Context) error {
	var hinting sync.WaitGroup
	ctx, stop := context.WithCancel(ctx)
	hinting.Go(func() { p.publishHints(ctx) })
	err := p.Log.Consume(ctx, p.own)
	stop()
	hinting.Wait()
	if err != nil {
		return fmt.Errorf("processor: %w", err)
	}
	return nil
}

// inSlot runs f once it has one of the places for transactions: a member may
// own all partitions, and each batch holds megabytes and a connection.
func (p *Processor) inSlot(ctx context.Context, f func() error) error {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
		return f()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// rulesOf gives companies' rules as they are now, read again only where the
// revision moved. Unknown companies are left out.
func (p *Processor) rulesOf(ctx context.Context, companyIDs []string) (map[string]*attribution.Index, error) {
	revisions, err := p.Store.Revisions(ctx, companyIDs)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*attribution.Index, len(revisions))
	for id, rev := range revisions {
		p.mu.Lock()
		index := p.rules[id]
		p.mu.Unlock()
		if index == nil || index.Rev() < rev {
			rules, err := p.Store.Rules(ctx, id)
			if err != nil {
				return nil, err
			}
			index = attribution.NewIndex(rules)
			p.mu.Lock()
			if len(p.rules) >= maxRules {
				clear(p.rules)
			}
			p.rules[id] = index
			p.mu.Unlock()
		}
		out[id] = index
	}
	return out, nil
}
