package webhook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/outgoing"
)

// Config says how a sender behaves. The zero value of each field is its default.
type Config struct {
	// Options say by which name it sends (Tributary), and where requests to some hosts go instead: to programs on this machine too, for
	// tests and for trying out.
	Options   platform.Options
	LookEvery time.Duration // how often it is looked for endpoints that are due: 1 s
	IdleLook  time.Duration // how long one that has nothing to send is left alone, unless it is woken: 15 s

	// AllowLocal sends to addresses of this machine, without TLS too. For tests alone.
	AllowLocal bool
}

// Deps are what a sender works with. Database and Keys are needed.
type Deps struct {
	Database outgoing.Database
	Keys     *account.SealKeys // which open the secrets
	Logger   *slog.Logger
	Registry *prometheus.Registry
	Now      func() time.Time
}

// Sender delivers messages. Make it with New and run it with Run, once.
type Sender struct {
	config  Config
	deps    Deps
	client  *http.Client
	local   *http.Client // of hosts that Options leads elsewhere
	metrics *metrics
	engine  *outgoing.Engine
	now     func() time.Time
}

// New makes a sender. Nothing is dialled yet.
func New(config Config, deps Deps) (*Sender, error) {
	config.Options.UserAgent = cmp.Or(config.Options.UserAgent, "Tributary")
	if deps.Keys == nil {
		return nil, errors.New("webhook: Deps needs Keys")
	}
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	deps.Registry = cmp.Or(deps.Registry, prometheus.NewRegistry())
	if deps.Now == nil {
		deps.Now = time.Now
	}
	m, err := newMetrics(deps.Registry)
	if err != nil {
		return nil, fmt.Errorf("webhook: metrics: %w", err)
	}
	s := &Sender{config: config, deps: deps, metrics: m, now: deps.Now, local: outgoing.NewClient(requestTimeout, parallel, true)}
	if s.client = s.local; !config.AllowLocal {
		s.client = outgoing.NewClient(requestTimeout, parallel, false)
	}
	s.engine, err = outgoing.New(outgoing.Config{Kinds: []commerce.DestinationKind{commerce.ToWebhook}, Timeout: requestTimeout,
		Mortal: true, Parallel: parallel, LookEvery: config.LookEvery, IdleLook: config.IdleLook},
		outgoing.Deps{Database: deps.Database, Transport: s, Logger: deps.Logger, Now: deps.Now})
	if err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	return s, nil
}

// Run sends until ctx ends. Then it gives all endpoints back, and returns nil. It leaves no goroutine behind.
func (s *Sender) Run(ctx context.Context) error {
	defer s.client.CloseIdleConnections()
	defer s.local.CloseIdleConnections()
	s.engine.Run(ctx)
	return nil
}

// Begin opens the endpoint's secrets, and returns what sends its messages.
func (s *Sender) Begin(d commerce.LeasedDestination) outgoing.Send {
	secrets := s.secrets(d)
	return func(ctx context.Context, messages []commerce.Message) outgoing.Result {
		return s.send(ctx, d, secrets, messages[0])
	}
}

// Together is empty: a request has one message.
func (s *Sender) Together(commerce.Message) string { return "" }

// secrets are the endpoint's secrets that sign now, the newest first. One that cannot be opened is left out.
func (s *Sender) secrets(d commerce.LeasedDestination) (list []string) {
	for _, sealed := range d.Secrets {
		if !sealed.EndsAt.IsZero() && s.now().After(sealed.EndsAt) {
			continue
		}
		plain, err := s.deps.Keys.Open(sealed.KeyID, account.SealedFor{CompanyID: d.CompanyID, ConnectionID: d.ID, Purpose: account.SealWebhook},
			sealed.Sealed)
		if err != nil {
			s.deps.Logger.Error("a secret of a webhook endpoint cannot be opened", "company", d.CompanyID, "endpoint", d.ID, "error", err)
			continue
		}
		list = append(list, string(plain))
	}
	return list
}
