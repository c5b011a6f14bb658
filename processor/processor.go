package processor

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributary-io/tributary/internal/agent"
	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/tracing"
	"github.com/tributary-io/tributary/internal/upkeep/books"
	"github.com/tributary-io/tributary/internal/upkeep/retention"
	"github.com/tributary-io/tributary/internal/wire"
)

// Store keeps facts, outcomes and offsets. StoreOf makes one of
// internal/postgres/factstore.Store.
type Store interface {
	StoreBase

	// Transact runs f in one transaction: everything is written when f returns nil,
	// and nothing otherwise. After facts.ErrFenced and facts.ErrData a retry fails
	// again; after any other error a retry may succeed.
	Transact(ctx context.Context, f func(tx Tx) error) error
}

// StoreBase is what the processor asks of the store outside a batch's transaction.
type StoreBase interface {
	// Ping returns an error where the store does not answer.
	Ping(ctx context.Context) error

	// TakeOver makes the caller the owner of a topic's partition and fences those
	// before. Where no offset is stored, it stores first. facts.ErrOtherCluster where
	// the stored offset belongs to another cluster.
	TakeOver(ctx context.Context, topic string, partition int, clusterID, logID string, first int64) (facts.Taken, error)

	// MarkReplaced notes of a partition whose log is not known that its offset is not of
	// the log as it is now.
	MarkReplaced(ctx context.Context, topic string, partition int, epoch int64) error

	// Offsets returns the stored offsets of all partitions.
	Offsets(ctx context.Context) ([]facts.StoredOffset, error)

	// Revisions returns the rules' revision of each company, by company id. Unknown
	// companies are left out.
	Revisions(ctx context.Context, companyIDs []string) (map[string]int64, error)

	// Rules returns all rules of a company as they are now.
	Rules(ctx context.Context, companyID string) (*facts.Rules, error)

	// MakeMonths prepares the store for events whose ids were made at these instants.
	MakeMonths(ctx context.Context, now time.Time, instants []time.Time) error

	// QueuedCompanies returns companies that have orders queued.
	QueuedCompanies(ctx context.Context) ([]string, error)

	// Unfinished returns what a company's merchant has asked for, and that has begun and is not
	// done.
	Unfinished(ctx context.Context, companyID string) (facts.Unfinished, error)

	// WaitingForExports returns a company's erasures of which exported files alone may still have the person.
	WaitingForExports(ctx context.Context, companyID string) (facts.Waiting, error)

	// Retentions returns the companies that remove old events, with how far that has come.
	Retentions(ctx context.Context) ([]retention.Progress, error)

	// AgreementsDue returns the companies of which a day is to be closed at an instant, or whose agreements are queued.
	AgreementsDue(ctx context.Context, now time.Time) ([]string, error)

	// DropEmptyMonths gives back the room of months before an instant that have no events.
	DropEmptyMonths(ctx context.Context, before time.Time) (dropped []string, err error)

	// CompaniesAfter returns the ids of companies, in their order, that come after one.
	CompaniesAfter(ctx context.Context, companyID string, limit int) ([]string, error)
}

// StoreOf makes a Store of an adapter whose Transact hands out a type of its own,
// such as *factstore.Tx, in which all parts of a Tx are one.
func StoreOf[T wholeTx](adapter interface {
	StoreBase
	Transact(ctx context.Context, f func(tx T) error) error
}) Store {
	return adaptedStore[T]{adapter, adapter.Transact}
}

type adaptedStore[T wholeTx] struct {
	StoreBase
	transact func(ctx context.Context, f func(tx T) error) error
}

func (a adaptedStore[T]) Transact(ctx context.Context, f func(tx Tx) error) error {
	return a.transact(ctx, func(tx T) error { return f(partsOf(tx)) })
}

// Log reads the two topics, which have the same number of partitions.
// internal/kafka.Group is one.
type Log interface {
	// ClusterID returns the cluster's name: an offset means nothing in another one.
	ClusterID(ctx context.Context) (string, error)

	// Consume calls run for each partition that this member owns. run's context ends
	// when the partition is taken away. Consume returns nil when ctx ends, and else
	// the first error that run returned.
	Consume(ctx context.Context, run func(ctx context.Context, partition int) error) error

	Place

	// Read calls handle with each record of a partition from an offset on, in order,
	// until ctx ends or handle returns an error. Key and value stay valid afterwards.
	Read(ctx context.Context, topic string, partition int, from int64, handle func(r wire.Fetched) error) error

	// PartitionOf returns the partition to which a key belongs.
	PartitionOf(ctx context.Context, key []byte) (int, error)
}

// Place says where a partition's log is, and which log it is.
type Place interface {
	// Bounds returns the offset of the first record of a partition's log, and that
	// of the record that will be written next.
	Bounds(ctx context.Context, topic string, partition int) (first, next int64, err error)

	// TopicID returns the id that a topic got when it was made, "" where it has none.
	TopicID(ctx context.Context, topic string) (string, error)

	// RecordAt returns the record of an offset; false where the log has none there.
	RecordAt(ctx context.Context, topic string, partition int, offset int64) (wire.Fetched, bool, error)
}

// Results publishes hints (results.v1) and rejected records (rejected.v1).
// internal/kafka.Producer is one.
type Results interface {
	// Publish returns once the record is durable.
	Publish(ctx context.Context, topic string, key, value []byte) error
}

// Config bounds the processor's work. A zero value is the default named here.
type Config struct {
	BatchRecords    int           // records of one transaction; 3,000
	BatchBytes      int           // bytes of the records of one transaction; 8 MiB
	ReadAheadBytes  int           // bytes of the records that wait in memory, of all partitions together, besides one record of each; 24 MiB
	RecomputeChunk  int           // queued orders of one transaction at most; 200
	StatementChunk  int           // ledger entries that one transaction puts into a statement; 10,000
	ApplyTimeout    time.Duration // of one attempt at a transaction, with its wait for MaxTransactions; 2 min
	CheckLogEvery   time.Duration // so often an owner looks whether the topics are still the same, and whether it was fenced; 10 s
	MaxTransactions int           // that run at the same time, however many partitions are owned; 4
	HaltPause       time.Duration // until a halted partition is tried again; 30 s
	DeferOrders     time.Duration // so long orders wait to be computed while events of their partition are behind; 30 s
	RetainEvery     time.Duration // so often it looks for companies whose old events are to be removed, which is done once a day; 1 h
	// events that one transaction of that removes, and 20 times as many as it snapshots orders: the partition's owner waits meanwhile; 2,000
	RetainChunk     int
	CountPathsEvery time.Duration // so often it looks for days whose non-converting paths are to be counted; 1 h
	PathsChunk      int           // visitors that one transaction of that looks at; 1,000
	CheckEvery      time.Duration // the least time between two checks of Deps.Books; 5 s
}

func (c Config) withDefaults() Config {
	return Config{
		BatchRecords:    cmp.Or(c.BatchRecords, 3000),
		BatchBytes:      cmp.Or(c.BatchBytes, 8<<20),
		ReadAheadBytes:  cmp.Or(c.ReadAheadBytes, 24<<20),
		RecomputeChunk:  cmp.Or(c.RecomputeChunk, 200),
		StatementChunk:  cmp.Or(c.StatementChunk, 10_000),
		ApplyTimeout:    cmp.Or(c.ApplyTimeout, 2*time.Minute),
		CheckLogEvery:   cmp.Or(c.CheckLogEvery, 10*time.Second),
		MaxTransactions: cmp.Or(c.MaxTransactions, 4),
		HaltPause:       cmp.Or(c.HaltPause, 30*time.Second),
		DeferOrders:     cmp.Or(c.DeferOrders, 30*time.Second),
		RetainEvery:     cmp.Or(c.RetainEvery, time.Hour),
		RetainChunk:     cmp.Or(c.RetainChunk, 2000),
		CountPathsEvery: cmp.Or(c.CountPathsEvery, time.Hour),
		PathsChunk:      cmp.Or(c.PathsChunk, 1000),
		CheckEvery:      cmp.Or(c.CheckEvery, 5*time.Second),
	}
}

// Deps are the parts that the processor uses. Store, Log and Results are required;
// the others have a default: no check of the books, no log, the system's clock, a
// registry of its own.
type Deps struct {
	Store   Store
	Log     Log
	Results Results
	Books   books.Store
	Leaving func() bool // tells that the process is about to stop: /readyz says so; nil: never
	// Privileges returns an error where the store's role may not do what the processor does; nil: it is not asked.
	Privileges func(ctx context.Context) error
	Logger     *slog.Logger
	Now        func() time.Time
	Registry   *prometheus.Registry
	Tracer     *tracing.Tracer // nil: nothing is recorded
}

// Processor is one member of the processors' consumer group.
type Processor struct {
	Deps
	config       Config
	metrics      *metrics
	hints        chan hint
	transactions chan struct{} // holds one value for each transaction that runs
	readAhead    *readAhead
	books        *books.Check
	agents       agent.Known
	looked       looked

	mu         sync.Mutex                    // of the two maps
	rules      map[string]*attribution.Index // by company
	partitions map[int]*progress             // owned now
}

// maxRules bounds how many companies' rules are cached. A full cache is emptied.
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
		hints: make(chan hint, 64), transactions: make(chan struct{}, config.MaxTransactions),
		readAhead: newReadAhead(config.ReadAheadBytes), books: books.New(deps.Books, deps.Store),
		rules: map[string]*attribution.Index{}, partitions: map[int]*progress{},
	}
	deps.Registry.MustRegister(partitionCollector{p}, booksCollector{p.books})
	return p
}

// Run applies records until ctx ends, and then returns nil. It returns an error
// where no retry can help, such as offsets that belong to another Kafka cluster.
func (p *Processor) Run(ctx context.Context) error {
	var beside sync.WaitGroup
	ctx, stop := context.WithCancel(ctx)
	beside.Go(func() { p.publishHints(ctx) })
	if p.Books != nil {
		beside.Go(func() { p.keepBooks(ctx) })
	}
	beside.Go(func() {
		every := p.config.RetainEvery
		p.repeat(ctx, firstRetain, every, p.retainDue, p.metrics.retainFailures,
			slog.LevelError, "old events could not be removed: it is tried again", "in", every)
	})
	beside.Go(func() {
		every := p.config.CountPathsEvery
		p.repeat(ctx, firstCount, every, p.countPathsDue, p.metrics.countFailures,
			slog.LevelWarn, "non-converting paths could not be counted: it is tried again", "in", every)
	})
	beside.Go(func() {
		p.repeat(ctx, agreementsEvery, agreementsEvery, p.closeDaysDue, nil,
			slog.LevelWarn, "agreements could not be posted: it is tried again", "in", agreementsEvery)
	})
	beside.Go(func() {
		p.repeat(ctx, measureEvery, measureEvery, p.measureUnfinished, nil, slog.LevelWarn, "what waits could not be measured")
	})
	beside.Go(func() {
		p.repeat(ctx, firstCount, measureExportsEvery, p.measureExports, nil,
			slog.LevelWarn, "it could not be measured what waits for exports")
	})
	err := p.Log.Consume(ctx, p.runPartition)
	stop()
	beside.Wait()
	if err != nil {
		return fmt.Errorf("processor: %w", err)
	}
	return nil
}

// limitTransactions runs f once fewer than Config.MaxTransactions others run: a
// member may own all partitions, and each transaction takes a connection and
// megabytes of memory. It returns f's error, or ctx's where ctx ends first.
func (p *Processor) limitTransactions(ctx context.Context, f func() error) error {
	select {
	case p.transactions <- struct{}{}:
		defer func() { <-p.transactions }()
		return f()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// knownRules returns a company's rules as they were read last, nil where they were not.
func (p *Processor) knownRules(companyID string) *attribution.Index {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rules[companyID]
}

// rulesOf returns the rules of companies as they are now, by company id. They are
// read again only where the revision has grown. Unknown companies are left out.
func (p *Processor) rulesOf(ctx context.Context, companyIDs []string) (map[string]*attribution.Index, error) {
	revisions, err := p.Store.Revisions(ctx, companyIDs)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*attribution.Index, len(revisions))
	for id, rev := range revisions {
		index := p.knownRules(id)
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
