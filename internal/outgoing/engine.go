package outgoing

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/commerce"
)

// Database is what an engine keeps in PostgreSQL. commerce.ErrLeaseLost where another one has the destination.
type Database interface {
	LeaseDestinations(ctx context.Context, kinds []commerce.DestinationKind, l commerce.ConnectLease,
		limit int) ([]commerce.LeasedDestination, error)
	DueMessages(ctx context.Context, l commerce.ConnectLease, d commerce.LeasedDestination, now time.Time,
		limit int) (list []commerce.Message, active bool, err error)
	StoreSent(ctx context.Context, l commerce.ConnectLease, d commerce.LeasedDestination, sent []commerce.Sent,
		health commerce.DestinationHealth) error
	ReleaseDestination(ctx context.Context, l commerce.ConnectLease, d commerce.LeasedDestination, least, next time.Time) error
	// PruneMessages removes what is not kept any more at now of the messages of all companies.
	PruneMessages(ctx context.Context, now time.Time) error
}

// Transport sends messages of one kind of destination. Safe for concurrent use.
type Transport interface {
	// Begin begins a destination's turn: Send is called for its messages until the turn ends, some at once.
	Begin(d commerce.LeasedDestination) Send
	// Together names those that are sent as one, among the messages that are due; empty: the message is sent alone.
	Together(m commerce.Message) string
}

// Send makes one attempt to deliver messages, within Config.Timeout. They are one, or have one name by Transport.Together.
type Send func(ctx context.Context, messages []commerce.Message) Result

// Result is what became of one attempt.
type Result struct {
	Try   commerce.Try  // its At and TookMS are the engine's
	Wait  time.Duration // that the receiver asked for
	Gone  bool          // it wants nothing more, ever: the destination is disabled
	Slow  bool          // it wants less
	Never bool          // each attempt would fail so: the messages are parked
	Skip  bool          // nothing is to be sent, for the reason Try.Failure: the messages are done
	Aside bool          // nothing was sent: it says nothing of the destination
	Ended bool          // ctx ended: nothing is known
	Later time.Time     // nothing was tried, and is to be not before then; zero: it was tried
	Taken time.Time     // the receiver took it, and is asked then what became of it; zero: it said all. It says nothing of the destination
}

// Config says how an engine behaves. Kinds and Timeout are needed, the zero value of each other field is its default.
type Config struct {
	Kinds     []commerce.DestinationKind
	Timeout   time.Duration // that one Send takes at most
	Mortal    bool          // a destination that only fails is disabled after commerce.DeadAfter
	Workers   int           // destinations that are worked on at once: 32
	Parallel  int           // attempts to one destination at once: 16
	PerRound  int           // messages that are looked at at once: 64
	LookEvery time.Duration // how often it is looked for destinations that are due: 1 s
	IdleLook  time.Duration // how long one that has nothing to send is left alone, unless it is woken: 15 s
	Lease     time.Duration // how long a destination of a process that died stays its own: 1 min
	Slice     time.Duration // a destination's turn, until another one's: 30 s
}

// Deps are what an engine works with. Database and Transport are needed.
type Deps struct {
	Database  Database
	Transport Transport
	Logger    *slog.Logger
	Now       func() time.Time
}

// Engine delivers messages. Make it with New and run it with Run, once.
type Engine struct {
	config Config
	deps   Deps
	now    func() time.Time
}

// storeTime bounds one transaction.
const storeTime = 10 * time.Second

// New makes an engine. Nothing is sent yet.
func New(config Config, deps Deps) (*Engine, error) {
	config.Workers = cmp.Or(config.Workers, 32)
	config.Parallel = cmp.Or(config.Parallel, 16)
	config.PerRound = cmp.Or(config.PerRound, 64)
	config.LookEvery = cmp.Or(config.LookEvery, time.Second)
	config.IdleLook = cmp.Or(config.IdleLook, 15*time.Second)
	config.Lease = cmp.Or(config.Lease, time.Minute)
	config.Slice = cmp.Or(config.Slice, 30*time.Second)
	if deps.Database == nil || deps.Transport == nil || len(config.Kinds) == 0 {
		return nil, errors.New("outgoing: a Database, a Transport and Kinds are needed")
	}
	if config.Timeout <= 0 || config.Timeout+storeTime >= config.Lease {
		return nil, errors.New("outgoing: a lease is longer than an attempt and what stores it")
	}
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler)).With("kinds", config.Kinds)
	if deps.Now == nil {
		deps.Now = time.Now
	}
	return &Engine{config: config, deps: deps, now: deps.Now}, nil
}

// Run sends until ctx ends. Then it gives all destinations back. It leaves no goroutine behind.
func (e *Engine) Run(ctx context.Context) {
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() { e.prune(ctx) })
	background.Turns(ctx, e.config.Workers, e.config.LookEvery, make(chan struct{}, 1), func(limit int) (turns []func()) {
		// Each look has a lease of its own: a turn that lost its lease never writes under its successor's.
		lease := commerce.ConnectLease{Holder: rand.Text(), For: e.config.Lease}
		limited, cancel := context.WithTimeout(ctx, storeTime)
		defer cancel()
		list, err := e.deps.Database.LeaseDestinations(limited, e.config.Kinds, lease, limit)
		if err != nil && ctx.Err() == nil {
			e.deps.Logger.Warn("destinations cannot be leased", "error", err)
		}
		for _, d := range list {
			turns = append(turns, func() { e.turn(ctx, lease, d) })
		}
		return turns
	})
}

// When messages that are not kept any more are removed: some time after the start, and each hour.
const (
	firstPrune = time.Minute
	pruneEvery = time.Hour
)

func (e *Engine) prune(ctx context.Context) {
	for wait := firstPrune; background.Sleep(ctx, wait); wait = pruneEvery {
		limited, cancel := context.WithTimeout(ctx, pruneEvery)
		if err := e.deps.Database.PruneMessages(limited, e.now()); err != nil && ctx.Err() == nil {
			e.deps.Logger.Warn("old messages are not removed", "error", err)
		}
		cancel()
	}
}
