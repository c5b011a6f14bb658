package sdk

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tributary-io/tributary/sdk/core"
)

// Config is a Client's settings. CompanyID and Endpoint are required. The zero
// value of every other field stands for its default.
type Config struct {
	CompanyID string // the company that the events belong to
	Endpoint  string // the edge's origin and prefix, edge_url in dev.json, without /v1/events

	// APIKey is a key with the scope events.write or events.import. The edge trusts
	// its events more than those that anybody can send. It needs an https Endpoint,
	// or a loopback host. It is never logged.
	APIKey string

	// QueueDir keeps the queue in files of this directory, so that it survives a crash
	// of the program or the machine: Track returns once the event is on disk, and the
	// next client with this directory and company sends what is left. Events are not
	// given up, however long the edge is away. One client at a time may use it. Its
	// files hold identities as they were given, with mode 0600. Unix only. Default:
	// the queue is in memory.
	QueueDir string

	QueueSize     int           // most events that wait or are being sent; default 10,000, with QueueDir 100,000
	QueueBytes    int           // most bytes of those; default 64 MiB, with QueueDir 256 MiB
	WaitWhenFull  bool          // Track waits until the queue has space or its context ends, instead of returning ErrQueueFull
	BatchEvents   int           // most events in a request; default 250, at most 500, the edge's bound
	BatchBytes    int           // most bytes of a request; default 512 KiB, the edge takes 1 MiB
	FlushInterval time.Duration // how long an event waits for others; default 500 ms

	Timeout     time.Duration // of one attempt; default 15 s
	MaxAttempts int           // of one batch, with the first; default 12, about three minutes. Unbounded with QueueDir
	MaxWait     time.Duration // between two attempts, also if Retry-After asks for more; default 1 min

	// OnResult is called once for each event, by the sending goroutine. It must not
	// block and must not call Flush or Close. An event that stays in QueueDir has no
	// result yet: the client that sends it reports it. After a crash an event may be
	// reported once more.
	OnResult func(Result)

	// Logger is told once of each reason for which events are refused or given up, and
	// once of each of the first 20 kinds of warnings of the edge (docs/events.md, "Warnings"),
	// never of the API key, an identity or a payload. Default: slog.Default().
	Logger *slog.Logger

	// HTTPClient sends the requests. Default: a client of this package, whose
	// connections Close closes. Timeout applies as well as HTTPClient.Timeout.
	HTTPClient *http.Client

	now    func() time.Time
	uid    func(time.Time) string
	random func() float64 // [0, 1)
}

func (c *Config) complete() error {
	if c.CompanyID == "" {
		return errors.New("sdk: Config.CompanyID is required")
	}
	u, err := url.Parse(c.Endpoint)
	if err != nil {
		return fmt.Errorf("sdk: Config.Endpoint: %w", err)
	}
	if u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("sdk: Config.Endpoint must be an http or https URL without query, not %q", c.Endpoint)
	}
	if err := c.checkKey(u); err != nil {
		return err
	}
	c.Endpoint = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(c.Endpoint, "/"), "/v1/events"), "/")
	if c.QueueDir != "" {
		standard(&c.QueueSize, 100_000)
		standard(&c.QueueBytes, 256<<20)
	}
	standard(&c.QueueSize, 10_000)
	standard(&c.QueueBytes, 64<<20)
	standard(&c.BatchEvents, 250)
	c.BatchEvents = min(c.BatchEvents, core.MaxBatchEvents) // the edge refuses a larger batch as a whole
	standard(&c.BatchBytes, 512<<10)
	standard(&c.FlushInterval, 500*time.Millisecond)
	standard(&c.Timeout, 15*time.Second)
	standard(&c.MaxAttempts, 12)
	standard(&c.MaxWait, time.Minute)
	if c.OnResult == nil {
		c.OnResult = func(Result) {}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.now == nil {
		c.now = time.Now
	}
	if c.uid == nil {
		c.uid = newID
	}
	if c.random == nil {
		c.random = rand.Float64
	}
	return nil
}

func standard[T int | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}
