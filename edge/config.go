package edge

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributary-io/tributary/edge/spool"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/produce"
	"github.com/tributary-io/tributary/internal/tracing"
)

// Config says how the edge behaves. The zero value of each field is its default.
type Config struct {
	Prefix    string // path before every route, e.g. "/t"; routes work without it too
	ShortPath string // path of short links: "/s"
	ShortHost string // a host of its own for short links, which serves /<code>; empty: none

	// SnapshotFile keeps the directory over restarts, so that the edge starts
	// with Kafka down; empty: none is kept.
	SnapshotFile string

	Linger            time.Duration // an idle partition's wait for more records: 1 ms, at most 2 ms
	MaxBatchBytes     int           // of one produce: 768 KiB, under Kafka's default 1 MiB message.max.bytes
	MaxQueuedBytes    int           // waiting for Kafka, of all partitions together: 64 MiB
	MaxPartitionBytes int           // … of one partition: 16 MiB
	ProduceTimeout    time.Duration // until an event that is not durable gets 503: 5 s
	AwayAfter         time.Duration // until an event that Kafka has not acknowledged goes to the spool: 500 ms

	MaxBody int // request body, before and after inflation: 1 MiB
	// memory of bodies that arrive or are handled, in bytes, beyond 8 KiB of each: 128 MiB, of one network an eighth; as much again for those
	// with API keys, of one company an eighth
	MaxBodies      int
	MaxConnections int // 10,000
	// of one IPv4 address or one /64 of IPv6, but for TrustedProxies: 500; of one network four times as many; below 0: no bound
	MaxConnsPerIP int
	ReadTimeout   time.Duration // headers and body of one request: 15 s
	WriteTimeout  time.Duration // 15 s
	IdleTimeout   time.Duration // between requests of a connection: 60 s
	DrainTimeout  time.Duration // from the end of Serve's context to its return: 10 s

	// What a request costs is one token for each event, or for each 2 KiB of its
	// inflated body, whichever is more, also where it is refused.
	EventsPerSecond  float64 // tokens of a company that has no limit of its own: 10,000
	Burst            int     // 20,000
	NetworkPerSecond float64 // tokens of one network (/24 or /48), for what comes without an API key: 2,000
	NetworkBurst     int     // 20,000

	// Clicks that are recorded; the redirect always works.
	ClickRepeat     time.Duration // a click of the same visitor on the same link within this is the same click: 10 s
	ClicksPerSecond float64       // of one network on one link: 10
	ClickBurst      int           // 100

	RememberedIDs int // acknowledged event ids known as duplicates, about: 131,072

	// DirectoryFresh is how long ago Kafka may have said last that the directory
	// is read to its end; after that an unknown company gets 503, not 401: 15 s.
	DirectoryFresh time.Duration

	// Leaving tells that the process is about to stop: /readyz says so, and connections are closed after their
	// answer, while requests are taken as ever; nil: never.
	Leaving func() bool

	// TellRefusedEvery is how often the processor is told of pages that are refused for their origin: 5 s.
	TellRefusedEvery time.Duration

	// Internal says that Server.Internal is served on a port of its own: then the
	// public one has no /metrics, and its /readyz says only ready or not.
	Internal bool

	// TLS serves HTTPS, of HTTP/1.1; nil: plain HTTP.
	TLS *tls.Config

	// TrustedProxies may name the client in X-Forwarded-For.
	TrustedProxies []netip.Prefix

	// RewriteHosts sends a short link's destination host to another origin:
	// dev's edge turns https://loja.example.com into the storefront. For dev only.
	RewriteHosts map[string]string
}

// defaultMaxBody is Config.MaxBody's default in bytes.
const defaultMaxBody = 1 << 20

func (c Config) withDefaults() (Config, error) {
	c.Prefix = "/" + strings.Trim(c.Prefix, "/")
	if c.Prefix == "/" {
		c.Prefix = ""
	}
	if c.ShortPath == "" {
		c.ShortPath = "/s"
	}
	c.ShortPath = "/" + strings.Trim(c.ShortPath, "/")
	if c.ShortPath == "/" || c.ShortPath == "/v1" || c.ShortPath == "/sdk" || c.ShortPath == "/segment" {
		return c, fmt.Errorf("edge: short links cannot have the path %q: use ShortHost for a host of their own", c.ShortPath)
	}
	c.ShortHost = strings.ToLower(c.ShortHost)
	if c.Linger < 0 || c.Linger > 2*time.Millisecond {
		return c, fmt.Errorf("edge: a linger of %v is not within 0 and 2ms", c.Linger)
	}
	for host, origin := range c.RewriteHosts {
		if u, err := url.Parse(origin); err != nil || u.Scheme == "" || u.Host == "" {
			return c, fmt.Errorf("edge: host %s cannot be rewritten to %q, which is no origin", host, origin)
		}
	}
	c.Linger = cmp.Or(c.Linger, time.Millisecond)
	c.ProduceTimeout = cmp.Or(c.ProduceTimeout, 5*time.Second)
	c.ReadTimeout = cmp.Or(c.ReadTimeout, 15*time.Second)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 15*time.Second)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, 60*time.Second)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 10*time.Second)
	c.DirectoryFresh = cmp.Or(c.DirectoryFresh, 15*time.Second)
	c.TellRefusedEvery = cmp.Or(c.TellRefusedEvery, 5*time.Second)
	c.MaxBatchBytes = cmp.Or(c.MaxBatchBytes, 768<<10)
	c.MaxQueuedBytes = cmp.Or(c.MaxQueuedBytes, 64<<20)
	c.MaxPartitionBytes = cmp.Or(c.MaxPartitionBytes, 16<<20)
	c.MaxBody = cmp.Or(c.MaxBody, defaultMaxBody)
	c.MaxBodies = cmp.Or(c.MaxBodies, 128<<20)
	c.MaxConnections = cmp.Or(c.MaxConnections, 10_000)
	c.MaxConnsPerIP = cmp.Or(c.MaxConnsPerIP, 500)
	c.Burst = cmp.Or(c.Burst, 20_000)
	c.RememberedIDs = cmp.Or(c.RememberedIDs, 128<<10)
	c.NetworkBurst = cmp.Or(c.NetworkBurst, 20_000)
	c.ClickBurst = cmp.Or(c.ClickBurst, 100)
	c.ClickRepeat = cmp.Or(c.ClickRepeat, 10*time.Second)
	c.EventsPerSecond = cmp.Or(c.EventsPerSecond, 10_000)
	c.NetworkPerSecond = cmp.Or(c.NetworkPerSecond, 2_000)
	c.ClicksPerSecond = cmp.Or(c.ClicksPerSecond, 10)
	return c, nil
}

// Directory reads directory.v1; *kafka.Client is one.
type Directory interface {
	// Follow hands the partition's records in order to handle, from an offset
	// until ctx ends; caughtUp is called once, at the log's end as it stood at
	// the start.
	Follow(ctx context.Context, topic string, partition int, from int64, handle func(offset int64, r kafka.Record) error,
		caughtUp func()) error
	// LogEnd is the offset that the partition's next record will get.
	LogEnd(ctx context.Context, topic string, partition int) (int64, error)
	// TopicID is the id that a topic got when it was made; empty where it has none.
	TopicID(ctx context.Context, topic string) (string, error)
}

// Deps are what the edge works with. Producer, Directory and Hasher are
// needed; the others have defaults.
type Deps struct {
	Producer  produce.Producer
	Directory Directory
	Hasher    *identity.Hasher // with the former one, while the hashing secret is being rotated
	Previous  *identity.Hasher // of the former hashing secret: cookies and clicks that it signed are taken; nil: none are
	Spool     *spool.Spool     // keeps events while Kafka is away; nil: none. Close it after Serve
	Assets    fs.FS            // the browser SDK's files, each perhaps with .br and .gz beside it; nil: none
	Logger    *slog.Logger
	Now       func() time.Time
	NewID     func() string // UUIDv7
	Registry  *prometheus.Registry
	Tracer    *tracing.Tracer // nil: nothing is recorded
}

func (d Deps) withDefaults() (Deps, error) {
	if d.Producer == nil || d.Directory == nil || d.Hasher == nil {
		return d, errors.New("edge: Deps needs a Producer, a Directory and a Hasher")
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.NewID == nil {
		d.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if d.Registry == nil {
		d.Registry = prometheus.NewRegistry()
	}
	return d, nil
}
