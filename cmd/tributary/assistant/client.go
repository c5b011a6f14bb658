package assistant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/background"
)

// Bounds of a request to the admin API.
const (
	attempts    = 3
	firstWait   = 300 * time.Millisecond
	mostWait    = 5 * time.Second // also where Retry-After asks for more
	answerTime  = 10 * time.Second
	callTime    = 30 * time.Second // of a tool's call, with all its requests
	mostOfABody = 8 << 20          // bytes
)

// Client reads the admin API with one key. It is safe for concurrent use.
type Client struct {
	base string // with /admin/v1
	key  string
	http *http.Client

	mu    sync.Mutex
	store *store // nil: the key is not checked yet
}

// store is what the admin API says of a key.
type store struct {
	Scopes   []account.Scope `json:"scopes"`
	Timezone string          `json:"timezone"`
	Today    string          `json:"today"` // YYYY-MM-DD, in that time zone
}

// ErrTooMuch refuses a key that can do more than assistants need.
var ErrTooMuch = errors.New("the API key can do more than an assistant needs")

// NewClient returns a client of the admin API at a base URL with /admin/v1. Nothing is sent yet.
func NewClient(base, key string) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q is not an http or https URL with /admin/v1", base)
	}
	if _, err := account.KeyEnvironment(key); err != nil {
		return nil, fmt.Errorf("the key: %w", err)
	}
	return &Client{base: strings.TrimRight(base, "/"), key: key, http: &http.Client{
		Timeout:   answerTime,
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: running, IdleConnTimeout: 30 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // another host would get the key
		},
	}}, nil
}

// Check asks what the key may do. It returns ErrTooMuch unless that is account.ReadAssistant alone, and
// Unreachable(err) where it could not be asked. Once it has succeeded, it asks no more.
func (c *Client) Check(ctx context.Context) error {
	_, err := c.today(ctx, false)
	return err
}

// today returns what the admin API says of the key; fresh: now.
func (c *Client) today(ctx context.Context, fresh bool) (store, error) {
	c.mu.Lock()
	known := c.store
	c.mu.Unlock()
	if known != nil && !fresh {
		return *known, nil
	}
	a, err := c.get(ctx, "/key", nil)
	if err != nil {
		return store{}, err
	}
	var s store
	if err := json.Unmarshal(a.Data, &s); err != nil {
		return store{}, errStrange
	}
	if !slices.Equal(s.Scopes, []account.Scope{account.ReadAssistant}) {
		return store{}, fmt.Errorf("%w: make one with --scope %s and no other", ErrTooMuch, account.ReadAssistant)
	}
	c.mu.Lock()
	c.store = &s
	c.mu.Unlock()
	return s, nil
}

// answer is an answer of the admin API.
type answer struct {
	Data       json.RawMessage
	Pagination struct {
		HasMore    bool   `json:"has_more"`
		NextCursor string `json:"next_cursor"`
	}
}

// value is the data, its numbers as json.Number.
func (a answer) value() (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(a.Data))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, errStrange
	}
	return value, nil
}

// refusal is an answer that is no success, or none at all. Its text has nothing of the store's data.
type refusal struct {
	status int // 0: there was no answer
	code   string
	fields []string // that were refused, of a 400
	wait   time.Duration
}

// Errors of answers that are not the admin API's.
var (
	errStrange = errors.New("this is no answer of the admin API: does --admin end in /admin/v1, and is the admin new enough?")
	errTooLong = errors.New("the admin API's answer is too long: ask for fewer days or rows")
)

func (r *refusal) Error() string {
	switch {
	case r.status == 0:
		return "the admin API does not answer: try again later"
	case r.status == http.StatusBadRequest && len(r.fields) > 0:
		return "the admin API refused these arguments: " + strings.Join(r.fields, ", ")
	case r.status == http.StatusBadRequest:
		return "the admin API refused the arguments"
	case r.status == http.StatusUnauthorized:
		return "the admin API does not take the API key: it is revoked or expired, or of another installation or environment"
	case r.code == "company_archived":
		return "the store is archived: it can be read on the dashboard alone"
	case r.status == http.StatusForbidden:
		return "the API key has not the scope " + string(account.ReadAssistant)
	case r.status == http.StatusNotFound:
		return "the store has no such thing, or it is not processed yet: check the id, or try again in a few seconds"
	case r.status == http.StatusTooManyRequests:
		return fmt.Sprintf("too many requests with this key: try again in %d seconds", max(1, int(r.wait.Round(time.Second).Seconds())))
	case r.status >= http.StatusInternalServerError:
		return fmt.Sprintf("the admin API failed (%d): try again later", r.status)
	}
	return errStrange.Error()
}

// passes reports whether another attempt may succeed.
func (r *refusal) passes() bool {
	return r.status == 0 || r.status == http.StatusTooManyRequests || r.status >= http.StatusInternalServerError
}

// Unreachable reports whether an error may pass by itself.
func Unreachable(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.passes()
}

// get reads a path, again where that may help. Errors are a *refusal, errStrange, errTooLong or ctx's.
func (c *Client) get(ctx context.Context, path string, query url.Values) (answer, error) {
	for n := 0; ; n++ {
		a, err := c.once(ctx, path, query)
		var r *refusal
		switch {
		case err == nil || !errors.As(err, &r):
			return a, err
		case ctx.Err() != nil:
			return answer{}, &refusal{}
		case !r.passes() || n+1 == attempts || r.wait > mostWait:
			return answer{}, err
		case !background.Sleep(ctx, max(r.wait, firstWait<<n)):
			return answer{}, err
		}
	}
}

func (c *Client) once(ctx context.Context, path string, query url.Values) (a answer, err error) {
	target := c.base + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return a, errStrange
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	request.Header.Set("User-Agent", "tributary-mcp")
	response, err := c.http.Do(request)
	if err != nil {
		return a, &refusal{}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, mostOfABody+1))
	switch {
	case err != nil:
		return a, &refusal{}
	case len(body) > mostOfABody:
		return a, errTooLong
	case response.StatusCode != http.StatusOK:
		return a, refused(response, body)
	}
	if err := json.Unmarshal(body, &a); err != nil || a.Data == nil {
		return a, errStrange
	}
	return a, nil
}

// ourWord is a field's name, or a code, as this program and the admin API have them.
var ourWord = regexp.MustCompile(`^[a-z_]{1,40}$`)

// refused reads an answer that is no success.
func refused(response *http.Response, body []byte) error {
	var told struct {
		Error struct {
			Code    string
			Details []struct{ Field, Code string }
		}
	}
	r := &refusal{status: response.StatusCode}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
		r.wait = min(time.Duration(seconds), 3600) * time.Second
	}
	if json.Unmarshal(body, &told) != nil || !ourWord.MatchString(told.Error.Code) {
		if r.passes() || r.status == http.StatusUnauthorized {
			return r // of a proxy before the admin
		}
		return errStrange
	}
	r.code = told.Error.Code
	for _, d := range told.Error.Details[:min(len(told.Error.Details), 10)] {
		if ourWord.MatchString(d.Field) && ourWord.MatchString(d.Code) {
			r.fields = append(r.fields, d.Field+" ("+d.Code+")")
		}
	}
	return r
}
