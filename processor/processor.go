package processor

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/facts"
)

// Store is where facts, credits and offsets live; internal/postgres.DB is one.
type Store interface {
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

	// Apply writes a batch and its offsets in one transaction, or nothing.
	// facts.ErrFenced and facts.ErrData will not get better by trying again;
	// any other error may.
	Apply(ctx context.Context, b facts.Batch) (facts.Applied, error)

	// Recompute works off at most limit queued orders of the batch's companies.
	Recompute(ctx context.Context, b facts.Batch, limit int) (facts.Applied, error)

	// Queued lists companies that have orders queued.
	Queued(ctx context.Context) ([]string, error)
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
	Read(ctx context.Context, topic string, partition int, from int64, handle func(offset int64, key, value []byte) error) error

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
	RecomputeChunk int           // queued orders a transaction; 200
	ApplyTimeout   time.Duration // of one attempt at a transaction, its wait for a turn included; 2 min
	AtOnce         int           // transactions at once, whatever the partitions owned; 4
}

func (c Config) withDefaults() Config {
	if c.BatchRecords == 0 {
		c.BatchRecords = 2000
	}
	if c.BatchBytes == 0 {
		c.BatchBytes = 8 << 20
	}
	if c.RecomputeChunk == 0 {
		c.RecomputeChunk = 200
	}
	if c.AtOnce == 0 {
		c.AtOnce = 4
	}
	if c.ApplyTimeout == 0 {
		c.ApplyTimeout = 2 * time.Minute
	}
	return c
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
	config  Config
	metrics *metrics
	hints   chan hint
	turns   chan struct{} // one place for each transaction at once

	mu    sync.Mutex
	rules map[string]*ruled // by company
}

// ruled is one company's rules at a revision, ready to match.
type ruled struct {
	rules *facts.Rules
	index *attribution.Index
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
	return &Processor{
		Deps: deps, config: config, metrics: newMetrics(deps.Registry),
		hints: make(chan hint, 64), turns: make(chan struct{}, config.AtOnce), rules: map[string]*ruled{},
	}
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

// inTurn runs f once it has one of the places for transactions: a member may
// own all partitions, and each batch holds megabytes and a connection.
func (p *Processor) inTurn(ctx context.Context, f func() error) error {
	select {
	case p.turns <- struct{}{}:
		defer func() { <-p.turns }()
		return f()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// rulesOf gives companies' rules as they are now, read again only where the
// revision moved. Unknown companies are left out.
func (p *Processor) rulesOf(ctx context.Context, companyIDs []string) (map[string]*ruled, error) {
	revisions, err := p.Store.Revisions(ctx, companyIDs)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*ruled, len(revisions))
	for id, rev := range revisions {
		p.mu.Lock()
		r := p.rules[id]
		p.mu.Unlock()
		if r == nil || r.rules.Rev < rev {
			rules, err := p.Store.Rules(ctx, id)
			if err != nil {
				return nil, err
			}
			r = &ruled{rules, attribution.NewIndex(rules)}
			p.mu.Lock()
			if len(p.rules) >= maxRules {
				clear(p.rules)
			}
			p.rules[id] = r
			p.mu.Unlock()
		}
		out[id] = r
	}
	return out, nil
}
