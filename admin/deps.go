package admin

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/preview"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/internal/signs"
	"github.com/tributary-io/tributary/internal/statementlink"
	"github.com/tributary-io/tributary/internal/throttle"
	"github.com/tributary-io/tributary/internal/wire"
)

// Config of the API. Every field but ShortBase has a default for its zero value.
type Config struct {
	// ShortBase is the part of a short link before its code, without scheme:
	// "go.example.com" or "edge.example.com/s".
	ShortBase string

	// AcceptUnresolved accepts links to hosts that do not resolve at all. Only
	// for `tributary dev`, which must work offline.
	AcceptUnresolved bool

	// RuleRate limits each key on all routes but orders and products; 10/s, burst 40.
	RuleRate Rate
	// IngestRate limits each key on POST /order and POST /product; 100/s, burst 200.
	IngestRate Rate

	// Leaving tells that the process is about to stop: /readyz says so, and connections are closed after their
	// answer, while requests are taken as ever; nil: never.
	Leaving func() bool

	// Internal says that Server.Internal is served on a port of its own: then the
	// public one has no /metrics, and its /readyz says only ready or not.
	Internal bool

	// ClientIP returns the address that a request comes from; the connection's.
	// Behind a proxy, read the header that the proxy sets.
	ClientIP func(*http.Request) string

	// DependencyTimeout bounds each wait for Postgres or Kafka; 1.8 s, so that
	// a 503 is sent within 2 s.
	DependencyTimeout time.Duration
	// ShutdownTimeout bounds the wait for requests in flight; 10 s.
	ShutdownTimeout time.Duration
}

// Rate is a token bucket.
type Rate struct {
	PerSecond int
	Burst     int
}

func (c *Config) defaults() {
	if c.RuleRate == (Rate{}) {
		c.RuleRate = Rate{PerSecond: 10, Burst: 40}
	}
	if c.IngestRate == (Rate{}) {
		c.IngestRate = Rate{PerSecond: 100, Burst: 200}
	}
	if c.ClientIP == nil {
		c.ClientIP = throttle.RemoteIP
	}
	if c.Leaving == nil {
		c.Leaving = func() bool { return false }
	}
	if c.DependencyTimeout == 0 {
		c.DependencyTimeout = 1800 * time.Millisecond
	}
	if c.ShutdownTimeout == 0 {
		c.ShutdownTimeout = 10 * time.Second
	}
}

// Deps is what the API uses.
type Deps struct {
	Database Database
	Producer Producer
	Previews Previews         // nil: POST /preview is 404
	Links    Links            // nil: POST /statements/{id}/link is 404
	Hasher   *identity.Hasher // with the former one, while the hashing secret is being rotated
	Previous *identity.Hasher // of the former hashing secret: cookies that it signed are known in orders; nil: none are
	Names    Names            // nil: UTM values of orders that look like an e-mail or a phone are always removed
	Resolver Resolver         // nil: the system's
	Log      *slog.Logger
	Now      func() time.Time     // nil: time.Now
	Random   io.Reader            // nil: crypto/rand
	Metrics  *prometheus.Registry // nil: one of its own

	// BeforePublishing is called each time before this process begins to publish the directory: what the topic has then is
	// not seen afterwards. Where it fails, nothing is published, and it is tried again. nil: nothing is done.
	BeforePublishing func(ctx context.Context) error

	// Secret returns ErrWrongHashingSecret while this process has a wrong one; it is asked at every request. nil: it fits.
	Secret func(ctx context.Context) error

	// Checks are what /readyz asks, by name. Each has one second. Of ErrWrongHashingSecret the answer says more than that
	// the check fails.
	Checks map[string]func(ctx context.Context) error
}

// Database is what the API needs of Postgres. Errors are internal/commerce's kinds.
type Database interface {
	APIKeyByHash(ctx context.Context, hash [32]byte) (commerce.APIKey, error)
	APIKeysByHash(ctx context.Context, hashes [][32]byte) (map[[32]byte]commerce.APIKey, error)
	TouchAPIKeys(ctx context.Context, lastUsed map[string]time.Time) error

	// RegisterInfluencer stores all of a registration or nothing. Besides the
	// kinds it returns
	// *commerce.CouponConflictError, commerce.ErrCampaignTaken,
	// commerce.ErrCampaignName, commerce.ErrTooManyCosts.
	RegisterInfluencer(ctx context.Context, author commerce.Author, r commerce.Registration, random io.Reader) (commerce.Registered, error)
	Influencers(ctx context.Context, companyID string, after commerce.InfluencerCursor, limit int) ([]commerce.Influencer, error)

	InfluencersWithCosts(ctx context.Context, companyID string, after commerce.InfluencerCursor, limit int) ([]commerce.Influencer, error)

	// These return commerce.ErrNotFound where the author's company has no such
	// thing that is not archived or deleted.
	UpdateInfluencer(ctx context.Context, author commerce.Author, name, category string) error
	ArchiveInfluencer(ctx context.Context, author commerce.Author, name, campaignID string) (commerce.Archived, error)
	AddCoupon(ctx context.Context, author commerce.Author, campaignID string, terms commerce.CouponTerms, random io.Reader) (commerce.Coupon, error)
	DeleteCoupon(ctx context.Context, author commerce.Author, campaignID, code string) ([]commerce.Coupon, error)
	// AddCost may also return commerce.ErrTooManyCosts.
	AddCost(ctx context.Context, author commerce.Author, name, campaignID string, terms commerce.CostTerms, random io.Reader) (influencerID string, cost commerce.Cost, err error)
	DeleteCost(ctx context.Context, author commerce.Author, costID string, campaignOnly bool) error

	AdditionalCosts(ctx context.Context, companyID string, filter commerce.CostFilter, limit int) ([]commerce.AdditionalCost, error)
	// AdditionalCostVersions lists what counts on the days of a period.
	AdditionalCostVersions(ctx context.Context, companyID string, filter commerce.CostFilter, limit int) ([]commerce.AdditionalCost, error)
	AddAdditionalCost(ctx context.Context, author commerce.Author, cost commerce.AdditionalCost) error
	// ChangeAdditionalCost lets change edit the cost of that id and frequency.
	// Where change returns an error, that is returned and nothing is stored.
	ChangeAdditionalCost(ctx context.Context, author commerce.Author, id, frequency string, change func(cost *commerce.AdditionalCost) error) error
	DeleteAdditionalCost(ctx context.Context, author commerce.Author, id, frequency string) error

	// ClaimKey reserves an Idempotency-Key, or returns the answer that is stored
	// for it. Errors: commerce.ErrKeyMismatch, commerce.ErrKeyInProgress.
	ClaimKey(ctx context.Context, claim commerce.Claim) (commerce.Claimed, error)
	// ForgetAnswers removes up to limit expired answers of the companies after
	// one. It returns the last company that it looked at, "" where there was
	// none: where fewer than limit were removed, all is done up to that company.
	ForgetAnswers(ctx context.Context, after string, limit int) (last string, removed int, err error)

	// ExplainedSale returns commerce.ErrNotFound for an order that is not
	// processed yet. The Explanation is nil until there is one.
	ExplainedSale(ctx context.Context, companyID, orderID string) (commerce.ExplainedSale, error)

	// AskStatements returns commerce.ErrNotFound for an unknown influencer, else
	// commerce.ErrFutureDay or commerce.ErrTooManyStatements.
	AskStatements(ctx context.Context, author commerce.Author, asked commerce.Closing, random io.Reader) ([]commerce.Statement, error)
	// PayStatement returns commerce.ErrNotFound, commerce.ErrNotClosed,
	// commerce.ErrCarried, commerce.ErrPaidOtherwise or commerce.ErrRestored.
	PayStatement(ctx context.Context, author commerce.Author, p commerce.StatementPayment) error
	Statements(ctx context.Context, companyID string, filter commerce.StatementFilter, after commerce.StatementCursor, limit int) ([]commerce.Statement, error)
	// Statement returns commerce.ErrNotFound for an unknown one.
	Statement(ctx context.Context, companyID, statementID string) (commerce.Statement, error)
	StatementLines(ctx context.Context, companyID, statementID, after string, limit int) ([]commerce.StatementLine, error)
	// LinkNumber returns the number with which links to a statement are made; with revoke
	// those of before do not work any more. commerce.ErrNotFound for an unknown statement.
	LinkNumber(ctx context.Context, author commerce.Author, statementID string, revoke bool) (int64, error)
	Balances(ctx context.Context, companyID, day string, after commerce.BalanceCursor, limit int) ([]commerce.Balance, error)
	Ledger(ctx context.Context, companyID string, now time.Time, filter commerce.LedgerFilter, after commerce.LedgerCursor, limit int) ([]commerce.LedgerItem, error)
	// Today returns a company's time zone and day.
	Today(ctx context.Context, companyID string, now time.Time) (zone *time.Location, day string, err error)

	// Report returns reports.ErrTooManyRows where the report would have too many rows, and
	// reports.ErrTooManyChannels where its model cannot divide among so many channels.
	Report(ctx context.Context, q reports.Query) (*reports.Report, error)
	// Signs looks at the orders of some days, YYYY-MM-DD, as of a moment ago. It returns
	// signs.ErrBeingMade where ctx ended before: RenewSigns makes the report.
	Signs(ctx context.Context, companyID, from, to string) (*signs.Report, error)
	// RenewSigns makes the reports of signs anew that were asked for lately and are not as new
	// as the orders, of at most limit companies.
	RenewSigns(ctx context.Context, limit int) error
	// SignsWanted tells that RenewSigns has a report to make for which somebody waits.
	SignsWanted() <-chan struct{}
	// Order returns commerce.ErrNotFound for an order that is not processed yet.
	Order(ctx context.Context, companyID, orderID string) (commerce.StoredOrder, error)
	Orders(ctx context.Context, companyID string, filter commerce.OrderFilter) ([]commerce.StoredOrder, error)
	Products(ctx context.Context, companyID string, after commerce.ProductCursor, limit int) ([]commerce.StoredProduct, error)

	// OutboxSize returns how many records wait to be published, and since when
	// the oldest waits; zero where none does.
	OutboxSize(ctx context.Context) (waiting int64, oldest time.Time, err error)
	// AskErasure asks to erase the person whom keys name, by the kinds that were given.
	AskErasure(ctx context.Context, author commerce.Author, kinds []string, keys []facts.Key, random io.Reader) (commerce.Erasure, error)

	// DecideEvidence returns commerce.ErrNotFound where the author's company has no such
	// influencer.
	DecideEvidence(ctx context.Context, author commerce.Author, d commerce.EvidenceDecision) error

	// AcquireRelay returns commerce.ErrConflict while another process publishes.
	AcquireRelay(ctx context.Context) (commerce.OutboxRelay, error)
}

// Previews says what a change of rules would move. internal/preview.Previewer is one.
type Previews interface {
	// Preview makes the change and undoes it. The change writes to Database with the
	// context that it is given. Besides the change's own errors it returns
	// preview.ErrBusy.
	Preview(ctx context.Context, companyID string, change preview.Change) (*preview.Answer, error)
}

// Links makes the addresses of linked statements, signed, as browsers reach them.
// *dashboard.Server is one.
type Links interface {
	StatementLink(r *http.Request, l statementlink.Link) (url string, err error)
}

// Producer writes records with acks=all, in order within a key, retrying what
// is temporary until ctx ends.
type Producer interface {
	Produce(ctx context.Context, topic string, records ...wire.Record) error
}

// Names knows the names of a company's influencers and campaigns.
type Names interface {
	// KnownNames returns those of some folded names (fold.Name) that an
	// influencer or a campaign has or had.
	KnownNames(ctx context.Context, companyID string, folded []string) ([]string, error)
}

// Resolver looks up the addresses of a host; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}
