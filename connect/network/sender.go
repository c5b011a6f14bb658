package network

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/caseload"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/outgoing"
)

// Database is what a sender keeps in PostgreSQL.
type Database interface {
	outgoing.Database
	// ToldConversion returns what an account was told of an order; commerce.ErrNotFound: nothing.
	ToldConversion(ctx context.Context, companyID string, of commerce.ToldConversion) (commerce.ToldConversion, error)
	// BeginConversion is called before each request. False: the account must not be told any more.
	BeginConversion(ctx context.Context, d commerce.LeasedDestination, c commerce.ToldConversion) (may bool, err error)
	// StoreConversion stores what an account has of an order now.
	StoreConversion(ctx context.Context, companyID string, c commerce.ToldConversion) error
}

// Facts is where orders are read.
type Facts interface {
	// Sold lets read look at an order in one unchanging view.
	Sold(ctx context.Context, companyID, orderID string, read func(v caseload.View, o facts.Sold) error) error
}

// Config says how a sender behaves. The zero value of each field is its default.
type Config struct {
	// Options say by which name it asks, and where requests to the networks' hosts go instead: for tests and fakes.
	Options   platform.Options
	LookEvery time.Duration // how often it is looked for accounts that are due: 1 s
	IdleLook  time.Duration // how long one that has nothing to send is left alone, unless it is woken: 15 s
}

// Deps are what a sender works with. Database, Facts and Keys are needed.
type Deps struct {
	Database Database
	Facts    Facts
	Keys     *account.SealKeys // which open the accounts' secrets
	Logger   *slog.Logger
	Registry *prometheus.Registry
	Now      func() time.Time
}

// Sender tells networks of conversions. Make it with New and run it with Run, once.
type Sender struct {
	config   Config
	deps     Deps
	client   *http.Client
	attempts *prometheus.CounterVec
	engine   *outgoing.Engine
	tokens   *tokens
	now      func() time.Time

	mu      sync.Mutex
	indexes map[string]*attribution.Index // by company: its newest rules
	checked map[string]time.Time          // when a conversion of an account at GA4 was found right
}

const (
	requestTimeout = 20 * time.Second
	parallel       = 8 // requests to one account at once
	maxAnswer      = 64 << 10
	keptWords      = 200 // bytes of a network's words that are kept
	mostIndexes    = 100 // companies whose rules are kept
)

// New makes a sender. Nothing is dialled yet.
func New(config Config, deps Deps) (*Sender, error) {
	if deps.Keys == nil || deps.Facts == nil {
		return nil, errors.New("network: Deps needs Keys and Facts")
	}
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	deps.Registry = cmp.Or(deps.Registry, prometheus.NewRegistry())
	if deps.Now == nil {
		deps.Now = time.Now
	}
	s := &Sender{config: config, deps: deps, now: deps.Now, indexes: map[string]*attribution.Index{},
		checked: map[string]time.Time{},
		client:  outgoing.NewClient(requestTimeout, parallel, len(config.Options.Rewrite) > 0),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_connect_conversions_total",
			Help: "Conversions by network and what became of them: sent, why one was not sent, or why an attempt failed."},
			[]string{"network", "outcome"})}
	s.tokens = &tokens{sender: s, by: map[[32]byte]token{}}
	for _, n := range commerce.Networks {
		s.attempts.WithLabelValues(string(n), sent)
	}
	if err := deps.Registry.Register(s.attempts); err != nil {
		return nil, fmt.Errorf("network: metrics: %w", err)
	}
	var err error
	s.engine, err = outgoing.New(outgoing.Config{Kinds: commerce.Networks, Timeout: requestTimeout, Mortal: true, Parallel: parallel,
		LookEvery: config.LookEvery, IdleLook: config.IdleLook},
		outgoing.Deps{Database: deps.Database, Transport: s, Logger: deps.Logger, Now: deps.Now})
	if err != nil {
		return nil, fmt.Errorf("network: %w", err)
	}
	return s, nil
}

// Run sends until ctx ends. Then it gives all accounts back, and returns nil. It leaves no goroutine behind.
func (s *Sender) Run(ctx context.Context) error {
	defer s.client.CloseIdleConnections()
	s.engine.Run(ctx)
	return nil
}

// Together is empty: a request has one conversion, so that none holds up another.
func (s *Sender) Together(commerce.Message) string { return "" }

// Begin opens the account's secret, and returns what sends its messages.
func (s *Sender) Begin(d commerce.LeasedDestination) outgoing.Send {
	to, err := commerce.ParseNetworkAccount(d.URL)
	secret := s.secret(d)
	return func(ctx context.Context, messages []commerce.Message) (r outgoing.Result) {
		switch {
		case err != nil:
			r.Try.Failure = commerce.TryAccount
		case secret == "":
			r.Try.Failure = commerce.TryNoSecret
		default:
			limited, cancel := context.WithTimeout(ctx, requestTimeout)
			defer cancel()
			r = s.tell(limited, ctx, &target{LeasedDestination: d, account: to, secret: secret}, messages[0])
		}
		if !r.Ended && r.Later.IsZero() && r.Taken.IsZero() {
			s.attempts.WithLabelValues(string(d.Kind), cmp.Or(r.Try.Failure, sent)).Inc()
		}
		return r
	}
}

// sent is the outcome, among those of the metric, of what a network took.
const sent = "sent"

// secret is the account's newest secret; "" where it cannot be opened.
func (s *Sender) secret(d commerce.LeasedDestination) string {
	if len(d.Secrets) == 0 {
		return ""
	}
	plain, err := s.deps.Keys.Open(d.Secrets[0].KeyID,
		account.SealedFor{CompanyID: d.CompanyID, ConnectionID: d.ID, Purpose: account.SealNetwork}, d.Secrets[0].Sealed)
	if err != nil {
		s.deps.Logger.Error("the secret of an account at a network cannot be opened", "company", d.CompanyID, "account", d.ID, "error", err)
		return ""
	}
	return string(plain)
}

// index returns a company's rules of a revision.
func (s *Sender) index(ctx context.Context, v caseload.View, companyID string, revision int64) (*attribution.Index, error) {
	s.mu.Lock()
	x := s.indexes[companyID]
	s.mu.Unlock()
	if x != nil && x.Rev() == revision {
		return x, nil
	}
	rules, err := v.Rules(ctx, companyID)
	if err != nil {
		return nil, err
	}
	x = attribution.NewIndex(rules)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.indexes) >= mostIndexes {
		clear(s.indexes)
	}
	s.indexes[companyID] = x
	return x, nil
}
