package connect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/tracing"
)

// Bounds of requests to the admin API. POST /orders has the first two.
const (
	maxLines    = 500
	maxBytes    = 1 << 20
	apiTimeout  = time.Minute
	apiAttempts = 6
	longestWait = 10 * time.Second // of one attempt for the next
	maxReply    = 16 << 20         // an export has 8 MiB
	maxDetail   = 200              // characters, of what is stored as a reason
)

// api is the public admin API, which this service uses as any other client does.
type api struct {
	base string
	http *http.Client
}

func newAPI(base string) *api {
	transport := &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute}
	// A redirect would send orders and their shoppers to another place than the operator's.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &api{base: base, http: &http.Client{Timeout: apiTimeout, Transport: transport, CheckRedirect: stay}}
}

func (a *api) close() { a.http.CloseIdleConnections() }

// apiError is an answer of the admin API that took nothing. It is no fault of the shop.
type apiError struct {
	status int // 0: there was no answer
	code   string
	field  string // the first that breaks a rule; empty: none is told
	fault  string // what is wrong with it, in a word
	detail string // and in a sentence
	cause  error
}

func (e *apiError) Error() string {
	if e.status == 0 {
		return fmt.Sprintf("the admin API gave no answer: %v", e.cause)
	}
	return fmt.Sprintf("the admin API answered %d %s", e.status, e.code)
}

func (e *apiError) Unwrap() error { return e.cause }

// refused tells that what was sent breaks a rule, and will when it is sent again.
func (e *apiError) refused() bool {
	return e.status == http.StatusBadRequest || e.status == http.StatusRequestEntityTooLarge || e.status == http.StatusUnprocessableEntity
}

// keyRefused tells that the API key does not count any more: it was revoked, or the store is archived.
func (e *apiError) keyRefused() bool {
	return e.status == http.StatusUnauthorized || e.status == http.StatusForbidden
}

// why is what is told of a refusal: the field, and its fault. No value is in it.
func (e *apiError) why() string { return cut(e.field + " " + e.detail) }

// cut shortens a text to what is stored as a detail.
func cut(text string) string {
	if utf8.RuneCountInString(text) <= maxDetail {
		return text
	}
	return string([]rune(text)[:maxDetail])
}

// envelope is an answer of the admin API.
type envelope struct {
	Data  json.RawMessage `json:"data"`
	Error *refusal        `json:"error"`
}

type refusal struct {
	Code    string `json:"code"`
	Details []struct {
		Field   string `json:"field"`
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"details"`
}

// of makes the error of a refusal.
func (r *refusal) of(status int) *apiError {
	e := &apiError{status: status}
	if r == nil {
		return e
	}
	e.code, e.detail = r.Code, r.Code
	if len(r.Details) > 0 {
		first := r.Details[0]
		e.field, e.fault, e.detail = first.Field, first.Code, first.Message
	}
	return e
}

// sentOrder is an order as it is sent.
type sentOrder struct {
	*platform.Order
	// NoCommission: it was paid by hand, so it serves reports and earns nothing. Nil: it stays as it was, which a merchant's own key
	// may have said.
	NoCommission *bool `json:"noCommission,omitempty"`
}

// order sends one order, before those that are sent in bulk. body is its JSON. An *apiError where it was not taken; where it was,
// it is on Kafka.
func (a *api) order(ctx context.Context, key string, body []byte) error {
	_, err := a.post(ctx, key, "/order", "application/json", body)
	return err
}

// orders sends orders behind those that others send alone. Each line is an order's JSON; together they have at most maxLines
// and maxBytes. It returns for each line nil, or why it is refused; those with nil are on Kafka. After an error none is told to be.
func (a *api) orders(ctx context.Context, key string, lines [][]byte) ([]*apiError, error) {
	data, err := a.post(ctx, key, "/orders", "application/x-ndjson", append(bytes.Join(lines, []byte("\n")), '\n'))
	if err != nil {
		return nil, err
	}
	var told struct {
		Results []struct {
			Line   int      `json:"line"`
			Status int      `json:"status"`
			Error  *refusal `json:"error"`
		} `json:"results"`
	}
	if err := json.Unmarshal(data, &told); err != nil {
		return nil, &apiError{status: http.StatusOK, code: "its results cannot be read", cause: err}
	}
	results, known := make([]*apiError, len(lines)), 0
	for _, r := range told.Results {
		if r.Line < 1 || r.Line > len(lines) {
			return nil, &apiError{status: http.StatusOK, code: "a result of no line"}
		}
		if known++; r.Status != http.StatusOK {
			results[r.Line-1] = r.Error.of(r.Status)
		}
	}
	if known != len(lines) {
		return nil, &apiError{status: http.StatusOK, code: fmt.Sprintf("%d results for %d lines", known, len(lines))}
	}
	return results, nil
}

// post sends a body until it is taken or refused, at most apiAttempts times.
func (a *api) post(ctx context.Context, key, path, media string, body []byte) (json.RawMessage, error) {
	for n := 1; ; n++ {
		data, wait, err := a.once(ctx, key, path, media, body)
		if err == nil || ctx.Err() != nil {
			return data, err
		}
		var failed *apiError
		if n == apiAttempts || errors.As(err, &failed) && (failed.refused() || failed.keyRefused()) {
			return nil, err
		}
		wait = max(wait, time.Second<<n/8)
		wait = min(wait, longestWait) + rand.N(wait/2+1) //nolint:gosec // spreads retries: nothing secret
		if !background.Sleep(ctx, wait) {
			return nil, ctx.Err()
		}
	}
}

// once sends a body once. wait is how long it was told to wait.
func (a *api) once(ctx context.Context, key, path, media string, body []byte) (data json.RawMessage, wait time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+baseOf(key)+path, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", media)
	span := tracing.Of(ctx).Child("request", tracing.Client, time.Now())
	if span != nil { // the admin begins a trace of its own, as for any other client, and logs this one's id with the request's own
		request.Header.Set("X-Request-Id", span.TraceID()+"-"+span.ID())
	}
	response, err := a.http.Do(request)
	span.Called(http.MethodPost, "admin "+path, response, err)
	if err != nil {
		return nil, 0, &apiError{cause: err}
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxReply+1))
	if err != nil || len(raw) > maxReply {
		return nil, 0, &apiError{cause: errors.Join(err, errors.New("the answer was not read to its end"))}
	}
	var e envelope
	unread := json.Unmarshal(raw, &e)
	switch {
	case response.StatusCode != http.StatusOK:
		return nil, platform.RetryAfter(response.Header, time.Now()), e.Error.of(response.StatusCode)
	case unread != nil:
		return nil, 0, &apiError{status: http.StatusOK, code: "no JSON", cause: unread}
	}
	return e.Data, 0, nil
}

// refusalOf parts an error: why the order breaks a rule, or why it is not known whether it was taken.
func refusalOf(err error) (*apiError, error) {
	var failed *apiError
	if errors.As(err, &failed) && failed.refused() {
		return failed, nil
	}
	return nil, err
}

// baseOf is the path of the API for a key: live and sandbox stores have one each.
func baseOf(key string) string {
	if environment, _ := account.KeyEnvironment(key); environment == commerce.Sandbox {
		return "/sandbox/admin/v1"
	}
	return "/admin/v1"
}
