package sdk

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tributary-io/tributary/sdk/core"
)

// Config is a Client's settings. CompanyID and Endpoint are required; the
// zero value of every other field is a default that works.
type Config struct {
	CompanyID string // whose events these are
	Endpoint  string // the edge: origin and prefix, as dev.json's edge_url; /v1/events is added

	QueueSize     int           // events waiting or in flight at most; default 10,000
	QueueBytes    int           // … and their bytes; default 64 MiB
	WaitWhenFull  bool          // Track waits for room, as long as its context allows, instead of ErrQueueFull
	BatchEvents   int           // events a request at most; default 250, never above the edge's 500
	BatchBytes    int           // body of a request at most; default 512 KiB, the edge takes 1 MiB
	FlushInterval time.Duration // how long an event waits for others; default 500 ms

	Timeout     time.Duration // of one attempt; default 15 s
	MaxAttempts int           // of one batch, the first one counted; default 12: some three minutes of outage
	MaxWait     time.Duration // between two attempts, also where Retry-After asks for more; default 1 min

	// OnResult is told what became of each event, from the sending goroutine:
	// it must not block, and must not call Flush or Close.
	OnResult func(Result)

	// HTTPClient sends the requests; default: one of the client's own, whose
	// connections Close closes. Its own Timeout, if it has one, holds beside ours.
	HTTPClient *http.Client

	now    func() time.Time
	uid    func(time.Time) string
	random func() float64 // [0, 1)
}

// Errors of Track, Flush and Close.
var (
	ErrQueueFull = errors.New("sdk: the queue is full")
	ErrClosed    = errors.New("sdk: the client is closed")
)

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
	c.Endpoint = strings.TrimRight(c.Endpoint, "/")
	standard(&c.QueueSize, 10_000)
	standard(&c.QueueBytes, 64<<20)
	standard(&c.BatchEvents, 250)
	c.BatchEvents = min(c.BatchEvents, core.MaxBatchEvents) // a larger batch would be refused whole
	standard(&c.BatchBytes, 512<<10)
	standard(&c.FlushInterval, 500*time.Millisecond)
	standard(&c.Timeout, 15*time.Second)
	standard(&c.MaxAttempts, 12)
	standard(&c.MaxWait, time.Minute)
	if c.OnResult == nil {
		c.OnResult = func(Result) {}
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
