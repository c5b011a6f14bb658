package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/background"
)

// Backoff is the wait between attempts after 429, 408, 5xx or a network error:
// a random time of 0 to min(Most, First·2ⁿ) ("full jitter"), added to what the
// service asks for by Retry-After.
type Backoff struct {
	First  time.Duration // default 250 ms
	Most   time.Duration // default 15 s; of Retry-After at most four times this is waited
	GiveUp time.Duration // default 10 min without any success
}

func (b Backoff) withDefaults() Backoff {
	if b.First <= 0 {
		b.First = 250 * time.Millisecond
	}
	if b.Most <= 0 {
		b.Most = 15 * time.Second
	}
	if b.GiveUp <= 0 {
		b.GiveUp = 10 * time.Minute
	}
	return b
}

// wait returns how long to wait after attempt n, counted from 0.
func (b Backoff) wait(n int, retryAfter time.Duration) time.Duration {
	ceiling := b.Most
	if n < 30 && b.First<<n < b.Most {
		ceiling = b.First << n
	}
	return min(retryAfter, 4*b.Most) + rand.N(ceiling+1) //nolint:gosec // spreads retries: nothing secret
}

// gaveUpAfter returns the time without success for the error message: the limit,
// or the real time when the last attempt took much longer.
func (b Backoff) gaveUpAfter(since time.Duration) time.Duration {
	if since < b.GiveUp+time.Second {
		return b.GiveUp
	}
	return since.Round(time.Second)
}

// poster sends bodies again until the service accepts or rejects them. It is
// safe for concurrent use.
type poster struct {
	client      *http.Client
	url         string
	header      http.Header
	backoff     Backoff
	lastSuccess atomic.Int64 // Unix nanoseconds
	retries     atomic.Int64
}

func newPoster(config Config, url string, header http.Header) *poster {
	client := &http.Client{Timeout: 60 * time.Second, Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 64, IdleConnTimeout: 30 * time.Second,
	}, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // it would send the body, with its shoppers, to another host
	}}
	p := &poster{client: client, url: url, header: header, backoff: config.Backoff.withDefaults()}
	p.lastSuccess.Store(time.Now().UnixNano())
	return p
}

// response is an answer that ends the attempts: the service has accepted or
// rejected the body.
type response struct {
	status int
	body   []byte
}

// ok reports whether the body was accepted. Single events in it may be rejected.
func (r response) ok() bool { return r.status == http.StatusOK }

// maxResponse bounds an answer: 500 results of an event batch take 100 KB.
const maxResponse = 4 << 20

func (p *poster) post(ctx context.Context, body []byte) (response, error) {
	for n := 0; ; n++ {
		r, retryAfter, err := p.once(ctx, body)
		if err == nil {
			p.lastSuccess.Store(time.Now().UnixNano())
			return r, nil
		}
		if ctx.Err() != nil {
			return response{}, ctx.Err()
		}
		since := time.Since(time.Unix(0, p.lastSuccess.Load()))
		if since >= p.backoff.GiveUp {
			return response{}, fmt.Errorf("nothing was taken for %s: %w", p.backoff.gaveUpAfter(since), err)
		}
		p.retries.Add(1)
		// the last attempt is made at the limit, not after it
		if !background.Sleep(ctx, min(p.backoff.wait(n, retryAfter), p.backoff.GiveUp-since)) {
			return response{}, ctx.Err()
		}
	}
}

// once makes one attempt. An error means that another attempt may succeed.
func (p *poster) once(ctx context.Context, body []byte) (response, time.Duration, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return response{}, 0, err
	}
	request.Header = p.header.Clone()
	answer, err := p.client.Do(request)
	if err != nil {
		return response{}, 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxResponse))
	if err != nil {
		return response{}, 0, err
	}
	switch s := answer.StatusCode; {
	case s == http.StatusTooManyRequests, s == http.StatusRequestTimeout, s >= 500:
		return response{}, platform.RetryAfter(answer.Header, time.Now()), fmt.Errorf("%s answered %s%s", p.url, answer.Status, messageIn(text))
	default:
		return response{s, text}, 0, nil
	}
}

// Reason is why a line was rejected.
type Reason struct {
	Code    string `json:"code"`
	Message string `json:"message,omitempty"`
	Field   string `json:"field,omitempty"`
}

// refusal returns the reasons in an error body of either service.
func refusal(r response) []Reason {
	var body struct {
		Error struct {
			Code    string   `json:"code"`
			Message string   `json:"message"`
			Details []Reason `json:"details"`
		} `json:"error"`
	}
	if err := json.Unmarshal(r.body, &body); err != nil || body.Error.Code == "" {
		return []Reason{{Code: "http_" + strconv.Itoa(r.status), Message: http.StatusText(r.status)}}
	}
	if len(body.Error.Details) > 0 {
		return body.Error.Details
	}
	return []Reason{{Code: body.Error.Code, Message: body.Error.Message}}
}

// maxWarnings bounds the warnings that are read of an answer: the service gives at most 20.
const maxWarnings = 20

// ErrRefused is an answer that is the same for every line: a wrong key, company
// or address.
var ErrRefused = errors.New("the service refused")

// fatal returns ErrRefused if the answer is the same for every line, else nil.
// addressHint is added to the error if there is no such route at the address.
func fatal(r response, addressHint string) error {
	hint := ""
	switch r.status {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		hint = " (" + addressHint + ")"
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusUnsupportedMediaType:
	default:
		return nil
	}
	reason := refusal(r)[0]
	return fmt.Errorf("%w: %d %s: %s%s", ErrRefused, r.status, reason.Code, reason.Message, hint)
}

// messageIn returns the message of an error body, after ": ", or "".
func messageIn(text []byte) string {
	if reason := refusal(response{body: text}); reason[0].Message != "" {
		return ": " + reason[0].Message
	}
	return ""
}
