package mail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	netmail "net/mail"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/admin/statementlink"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
	"github.com/tributary-io/tributary/internal/outgoing"
)

// Database is what a sender reads and keeps. What it returns is as it is now: no address and no name is kept with a message.
type Database interface {
	outgoing.Database
	// EnsureMail makes destinations for those who get mails, and removes those of who does not any more.
	EnsureMail(ctx context.Context) error
	// MailPerson returns commerce.ErrNotFound for who is not in the store any more.
	MailPerson(ctx context.Context, companyID, destinationID string) (commerce.MailPerson, error)
	MailReviews(ctx context.Context, companyID, destinationID string, now time.Time) (commerce.MailReviews, error)
	MailStatement(ctx context.Context, companyID, statementID string) (commerce.MailStatement, error)
	MailShop(ctx context.Context, companyID, destinationID, connectionID string, now time.Time) (commerce.MailShop, error)
	// MailEndpoint returns commerce.ErrNotFound for an endpoint that is not disabled.
	MailEndpoint(ctx context.Context, companyID, endpointID string) (name string, err error)
	MailPartners(ctx context.Context, companyID string, ids []string) (map[string]string, error)
	// LinkNumber returns the number with which links to a statement are made, and writes to the audit log that one was.
	LinkNumber(ctx context.Context, author commerce.Author, statementID string, revoke bool) (int64, error)
}

// Config says how a sender behaves. Server, From and PublicURL are needed, the zero value of each other field is its default.
type Config struct {
	Server    Server
	From      string        // "Tributary <no-reply@example.com>", or an address alone
	PublicURL string        // where people reach the dashboard: links lead there
	LookEvery time.Duration // how often it is looked for what is due: 1 s
	IdleLook  time.Duration // how long a destination that has nothing to send is left alone, unless it is woken: 10 min
	Ensure    time.Duration // how often it is looked who gets mails: 1 min
}

// Deps are what a sender works with. Database and Links are needed.
type Deps struct {
	Database Database
	Links    *statementlink.Signer
	Logger   *slog.Logger
	Registry *prometheus.Registry
	Now      func() time.Time
}

// Sender sends mails. Make it with New and run it with Run, once.
type Sender struct {
	config    Config
	deps      Deps
	from      *netmail.Address
	origin    string // of the dashboard
	languages *lang.Languages
	engine    *outgoing.Engine
	mails     *prometheus.CounterVec
	now       func() time.Time
}

// New checks the settings and makes a sender. Nothing is dialled yet.
func New(config Config, deps Deps) (*Sender, error) {
	if deps.Database == nil || deps.Links == nil {
		return nil, errors.New("mail: Deps needs a Database and Links")
	}
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	deps.Registry = cmp.Or(deps.Registry, prometheus.NewRegistry())
	if deps.Now == nil {
		deps.Now = time.Now
	}
	config.IdleLook = cmp.Or(config.IdleLook, 10*time.Minute)
	config.Ensure = cmp.Or(config.Ensure, time.Minute)
	s := &Sender{config: config, deps: deps, now: deps.Now}
	var err error
	if s.from, err = ParseFrom(config.From); err != nil {
		return nil, err
	}
	if s.origin, err = site.OriginOf(config.PublicURL); err != nil || s.origin == "" {
		return nil, fmt.Errorf("mail: the dashboard's public address is needed for links: %w", cmp.Or(err, errNoOrigin))
	}
	if s.languages, err = site.LoadTexts(); err != nil {
		return nil, fmt.Errorf("mail: %w", err)
	}
	s.mails = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tributary_admin_mails_total",
		Help: "Attempts to send mails, by what became of them."}, []string{"outcome"})
	for _, outcome := range []string{outcomeSent, outcomeNothing, commerce.TryNoAnswer} {
		s.mails.WithLabelValues(outcome)
	}
	if err := deps.Registry.Register(s.mails); err != nil {
		return nil, fmt.Errorf("mail: metrics: %w", err)
	}
	s.engine, err = outgoing.New(outgoing.Config{Kinds: []commerce.DestinationKind{commerce.ToMail}, Timeout: sendTimeout + auditTimeout,
		Lease: leaseTime, Workers: 4, Parallel: 2, LookEvery: config.LookEvery, IdleLook: config.IdleLook},
		outgoing.Deps{Database: deps.Database, Transport: s, Logger: deps.Logger, Now: deps.Now})
	if err != nil {
		return nil, fmt.Errorf("mail: %w", err)
	}
	return s, nil
}

var errNoOrigin = errors.New("there is none")

// What became of a mail, beside commerce.Try….
const (
	outcomeSent    = "sent"
	outcomeNothing = "nothing" // there was nothing to tell any more, or nobody who wants it
)

// Run sends until ctx ends. What a server has then of a mail is sent, within sendTimeout. It leaves no goroutine behind.
func (s *Sender) Run(ctx context.Context) error {
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() { s.ensure(ctx) })
	s.engine.Run(ctx)
	return nil
}

// ensure looks again and again who gets mails.
func (s *Sender) ensure(ctx context.Context) {
	for wait := time.Duration(0); background.Sleep(ctx, wait); wait = s.config.Ensure {
		limited, cancel := context.WithTimeout(ctx, ensureTimeout)
		if err := s.deps.Database.EnsureMail(limited); err != nil && ctx.Err() == nil {
			s.deps.Logger.Warn("it is not known who gets mails", "error", err)
		}
		cancel()
	}
}

// Begin returns what sends a destination's mails.
func (s *Sender) Begin(d commerce.LeasedDestination) outgoing.Send {
	return func(ctx context.Context, messages []commerce.Message) outgoing.Result {
		r, outcome := s.send(ctx, d, messages)
		if r.Later.IsZero() && !r.Ended {
			s.mails.WithLabelValues(outcome).Inc()
		}
		return r
	}
}

// Together lets what one mail tells be one mail.
func (s *Sender) Together(m commerce.Message) string {
	if m.Type == commerce.PayoutReview || m.Type == commerce.CouponLeaking {
		return string(m.Type)
	}
	return ""
}

const (
	readTimeout   = 10 * time.Second // of the facts of one mail
	ensureTimeout = time.Minute      // of a look at who gets mails
	auditTimeout  = 5 * time.Second  // of what is stored once a mail is sent, beside what the engine stores
	leaseTime     = 3 * time.Minute  // sends begin in its first 75 s: sendTimeout, and what stores them, is kept
)

// send makes one attempt to send a mail, and says for the metric what became of it.
func (s *Sender) send(ctx context.Context, d commerce.LeasedDestination, messages []commerce.Message) (r outgoing.Result, outcome string) {
	first, now := messages[0], s.now()
	until := time.Now().Add(sendTimeout)
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	l, err := s.write(reading, d, messages)
	var later laterError
	switch {
	case err != nil && ctx.Err() != nil:
		return outgoing.Result{Ended: true}, ""
	case errors.As(err, &later):
		return outgoing.Result{Later: time.Time(later)}, ""
	case errors.Is(err, commerce.ErrNotFound), errors.Is(err, errNothing): // it is over, or was switched off
		return outgoing.Result{Skip: true}, outcomeNothing
	case err != nil:
		s.deps.Logger.Warn("what a mail tells cannot be read", "company", d.CompanyID, "type", first.Type, "error", err)
		return outgoing.Result{Try: commerce.Try{Failure: commerce.TryUnread}, Aside: true}, commerce.TryUnread
	}
	to, err := recipient(l.To)
	if err != nil {
		return never(commerce.TryNoRecipient)
	}
	message, err := l.message(s.from, to, messageID(d, first, s.from), now)
	if err != nil {
		s.deps.Logger.Error("a mail cannot be made", "company", d.CompanyID, "type", first.Type, "error", err)
		return never(commerce.TryNoRecipient)
	}
	if r = s.config.Server.send(ctx, until, message); r.Try.Failure != "" || r.Ended {
		return r, r.Try.Failure
	}
	if l.Linked != "" {
		storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTimeout)
		defer cancel()
		if _, err := s.deps.Database.LinkNumber(storing, commerce.Author{CompanyID: d.CompanyID, Actor: actor, At: s.now()}, l.Linked,
			false); err != nil {
			s.deps.Logger.Error("the audit log lacks a link that was mailed", "company", d.CompanyID, "statement", l.Linked, "error", err)
		}
	}
	return r, outcomeSent
}

// never is a mail that no further attempt would bring.
func never(why string) (outgoing.Result, string) {
	return outgoing.Result{Try: commerce.Try{Failure: why}, Never: true}, why
}

// errAddress says nothing of the address: it is a person's.
var errAddress = errors.New("mail: this is no address")

// recipient reads an address as it is stored: one, without a name.
func recipient(text string) (*netmail.Address, error) {
	to, err := netmail.ParseAddress(text)
	if err != nil || to.Name != "" || to.Address != strings.TrimSpace(text) || len(to.Address) > 254 {
		return nil, errAddress
	}
	return &netmail.Address{Address: to.Address}, nil
}

// ParseFrom reads who mails are from: an address, or "name <address>".
func ParseFrom(text string) (*netmail.Address, error) {
	from, err := netmail.ParseAddress(text)
	if err != nil {
		return nil, fmt.Errorf("mail: %q is no sender, such as no-reply@example.com: %w", text, err)
	}
	return from, nil
}
