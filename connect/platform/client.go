package platform

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"code.dny.dev/ssrf"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/throttle"
	"github.com/tributary-io/tributary/internal/tracing"
)

// Bounds of a request to a shop's server.
const (
	requestTimeout = 30 * time.Second
	maxAnswer      = 8 << 20          // inflated
	attempts       = 4                // of a read
	longestWait    = 10 * time.Second // within one request; longer ones are left to the caller, by Error.RetryAfter
	mostRetryAfter = time.Hour
)

// Options are the same for all connections.
type Options struct {
	UserAgent string // some platforms refuse requests without one that names an address
	// Rewrite leads requests for a host to another base URL, such as http://127.0.0.1:9000: for tests and `tributary dev` alone.
	Rewrite map[string]string
	// Answered is told the status of each answer, 0 where none came; nil: nobody is.
	Answered func(status int)
}

// Client sends requests to the server of one shop, not faster than the platform allows. It is safe for concurrent use.
type Client struct {
	options Options
	limits  Limits
	bucket  *throttle.Bucket
	http    *http.Client
}

// NewClient makes the client of one connection. It keeps idle connections until Close. It begins with a single request of its
// burst: another process may just have used the shop's, and have been killed.
func NewClient(limits Limits, options Options) *Client {
	bucket := throttle.NewBucket(limits.PerSecond, limits.Burst)
	bucket.Charge(time.Now(), limits.Burst-1)
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	if len(limits.Hosts) == 0 && len(options.Rewrite) == 0 {
		dialer.Control = ssrf.New().Safe // of the address that is dialled, so a name cannot change between check and use
	}
	return &Client{
		options: options, limits: limits, bucket: bucket,
		http: &http.Client{
			Timeout: requestTimeout,
			Transport: &http.Transport{DialContext: dialer.DialContext, MaxConnsPerHost: 4,
				IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Request is one request to a shop's server.
type Request struct {
	Method string
	URL    string
	Header http.Header
	Body   []byte
	// Once sends it at most once: what it writes would else be written twice. Without an answer it fails with
	// commerce.ShopUnknownWrite.
	Once bool
	// Before is called before each attempt, where a platform counts more than requests; nil: it does not.
	Before func(ctx context.Context) error
}

// Answer is what came back.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // at most 8 MiB
}

type patientKey struct{}

// Patient marks requests that leave half of the shop's budget to others: those of a backfill.
func Patient(ctx context.Context) context.Context { return context.WithValue(ctx, patientKey{}, true) }

// Do sends a request and returns an answer of 2xx. Any other ends in an *Error, beside which the answer is returned where there
// was one. Reads are tried again where that may help, for some seconds.
func (c *Client) Do(ctx context.Context, r Request) (Answer, error) {
	target, err := c.target(r.URL)
	if err != nil {
		return Answer{}, err
	}
	for n := 1; ; n++ {
		if err := c.wait(ctx); err != nil {
			return Answer{}, err
		}
		if r.Before != nil {
			if err := r.Before(ctx); err != nil {
				return Answer{}, err
			}
		}
		answer, err := c.once(ctx, r, target)
		failed, known := Failed(err)
		if !known || ctx.Err() != nil {
			return answer, errors.Join(err, ctx.Err())
		}
		if c.limits.Wait != nil && failed.Reason == commerce.ShopLimited && failed.RetryAfter == 0 {
			failed.RetryAfter = min(max(c.limits.Wait(answer.Header), 0), mostRetryAfter)
		}
		again := failed.Reason == commerce.ShopLimited || failed.Reason == commerce.ShopUnavailable && !r.Once
		pause := failed.RetryAfter + rand.N(time.Second<<n) //nolint:gosec // spreads retries: nothing secret
		if !again || n == attempts || pause > longestWait {
			return answer, err
		}
		if !background.Sleep(ctx, pause) {
			return answer, ctx.Err()
		}
	}
}

// wait returns when the shop's budget has a request left.
func (c *Client) wait(ctx context.Context) error {
	least := 1.0
	if patient, _ := ctx.Value(patientKey{}).(bool); patient {
		least = max(1, c.limits.Burst/2)
	}
	for {
		now := time.Now()
		left := c.bucket.Left(now)
		if left >= least && c.bucket.Take(now, 1) {
			return nil
		}
		missing := max(least-left, 0.01)
		if !background.Sleep(ctx, time.Duration(missing/c.limits.PerSecond*float64(time.Second))) {
			return ctx.Err()
		}
	}
}

func (c *Client) target(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil {
		return "", &Error{Reason: commerce.ShopAddress}
	}
	if len(c.limits.Hosts) > 0 && !c.mayAsk(u.Hostname()) {
		return "", &Error{Reason: commerce.ShopAddress, Detail: u.Hostname()}
	}
	if _, found := c.options.Rewrite[u.Hostname()]; !found && u.Scheme != "https" {
		return "", &Error{Reason: commerce.ShopAddress, Detail: "https is needed"}
	}
	return c.options.Rewritten(raw), nil
}

// Rewritten is where Rewrite leads a URL: the URL itself where its host is not in it.
func (o Options) Rewritten(raw string) string {
	from, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	to, err := url.Parse(o.Rewrite[from.Hostname()])
	if err != nil || to.Host == "" {
		return raw
	}
	from.Scheme, from.Host = to.Scheme, to.Host
	return from.String()
}

func (c *Client) mayAsk(host string) bool {
	for _, allowed := range c.limits.Hosts {
		suffix, wild := strings.CutPrefix(allowed, "*")
		if host == allowed || wild && strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}

func (c *Client) once(ctx context.Context, r Request, target string) (Answer, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, target, bytes.NewReader(r.Body))
	if err != nil {
		return Answer{}, &Error{Reason: commerce.ShopAddress}
	}
	if r.Header != nil {
		request.Header = r.Header.Clone()
	}
	request.Header.Set("User-Agent", c.options.UserAgent)
	if len(r.Body) > 0 && request.Header.Get("Content-Type") == "" {
		request.Header.Set("Content-Type", "application/json")
	}
	lost := &Error{Reason: commerce.ShopUnavailable, Detail: "no answer"}
	if r.Once {
		lost = &Error{Reason: commerce.ShopUnknownWrite}
	}
	span := tracing.Of(ctx).Child("request", tracing.Client, time.Now())
	response, err := c.http.Do(request)
	span.Called(r.Method, "shop", response, err) // a shop's server is told nothing of it
	if c.options.Answered != nil {
		status := 0
		if err == nil {
			status = response.StatusCode
		}
		c.options.Answered(status)
	}
	if err != nil {
		if refused := new(net.OpError); errors.As(err, &refused) && errors.Is(err, ssrf.ErrProhibitedIP) {
			return Answer{}, &Error{Reason: commerce.ShopAddress, Detail: "the address is not public"}
		}
		return Answer{}, lost
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return Answer{}, lost
	}
	answer := Answer{Status: response.StatusCode, Header: response.Header, Body: body}
	if len(body) > maxAnswer {
		return Answer{}, &Error{Reason: commerce.ShopUnknownShape, Detail: "the answer is larger than 8 MiB"}
	}
	return answer, failure(answer)
}

// failure is why an answer is none that was asked for; nil for 2xx.
func failure(a Answer) error {
	status := strconv.Itoa(a.Status)
	switch {
	case a.Status >= 200 && a.Status < 300:
		return nil
	case a.Status == http.StatusUnauthorized:
		return &Error{Reason: commerce.ShopRefusedKey, Detail: status}
	case a.Status == http.StatusPaymentRequired:
		return &Error{Reason: commerce.ShopSuspended, Detail: status}
	case a.Status == http.StatusForbidden:
		return &Error{Reason: commerce.ShopLacksScope, Detail: status}
	case a.Status == http.StatusNotFound:
		return &Error{Reason: commerce.ShopNotFound, Detail: status}
	case a.Status == http.StatusTooManyRequests:
		return &Error{Reason: commerce.ShopLimited, Detail: status, RetryAfter: RetryAfter(a.Header, time.Now())}
	case a.Status >= 500:
		return &Error{Reason: commerce.ShopUnavailable, Detail: status, RetryAfter: RetryAfter(a.Header, time.Now())}
	}
	return &Error{Reason: commerce.ShopUnknownShape, Detail: "answered " + status}
}

// RetryAfter reads the header of that name, seconds or a date, at most an hour; 0 where there is none.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	wait := time.Duration(0)
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds > 0 {
		wait = time.Duration(min(seconds, mostRetryAfter.Seconds()) * float64(time.Second))
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), mostRetryAfter)
}
