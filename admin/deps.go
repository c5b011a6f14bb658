package admin

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributary-io/tributary/admin/statementlink"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/preview"
	"github.com/tributary-io/tributary/internal/throttle"
	"github.com/tributary-io/tributary/internal/tracing"
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
	// BulkRate limits each key on POST /orders, of at most 500 orders each; 10/s, burst 20.
	BulkRate Rate

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
	if c.BulkRate == (Rate{}) {
		c.BulkRate = Rate{PerSecond: 10, Burst: 20}
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
	Reports  Reports          // nil: Database
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
	Tracer   *tracing.Tracer      // nil: nothing is recorded

	// BeforePublishing is called each time before this process begins to publish the directory: what the topic has then is
	// not seen afterwards. Where it fails, nothing is published, and it is tried again. nil: nothing is done.
	BeforePublishing func(ctx context.Context) error

	// Secret returns ErrWrongHashingSecret while this process has a wrong one; it is asked at every request. nil: it fits.
	Secret func(ctx context.Context) error

	// Checks are what /readyz asks, by name. Each has one second. Of ErrWrongHashingSecret the answer says more than that
	// the check fails.
	Checks map[string]func(ctx context.Context) error
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
