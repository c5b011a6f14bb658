package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/tributary-io/tributary/sdk/core"
)

// maxAnswer bounds what is read of an answer: 500 results have about 200 bytes each.
const maxAnswer = 256 << 10

// answer is the body of an answer: results, or an error.
type answer struct {
	Results []struct {
		EventID string `json:"eventId"`
		Status  string `json:"status"`
		Code    string `json:"code"`
		Message string `json:"message"`

		Warnings []warning `json:"warnings"`
	} `json:"results"`
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// refused is why the edge refuses a request as a whole.
func (a *answer) refused(status int) *Refused {
	r := &Refused{Status: status, Code: a.Error.Code, Message: a.Error.Message}
	if r.Code == "" {
		r.Code = "status_" + strconv.Itoa(status)
	}
	return r
}

func (r *Refused) result(eventID string) Result {
	return Result{EventID: eventID, Status: Rejected, Code: r.Code, Message: r.Message, Err: r}
}

// deliver sends a batch until each of its events has a result. Only events
// without a result are sent again. What is no refusal of the edge's own, whatever its
// status, is no answer: a firewall or a proxy has not refused the events. They are settled together, in the queue's
// order, since Flush counts settled entries. Those of a disk queue that have none
// when the client ends stay there, with all behind them.
func (c *Client) deliver(ctx context.Context, batch []entry) {
	results := make(map[string]Result, len(batch))
	left := batch
	halving := halving{limit: len(batch), alone: map[string]bool{}}
	var last error
	for attempt := 1; len(left) > 0; {
		part := halving.part(left)
		status, wait, a, err := c.post(ctx, c.body(part))
		refused := a.refused(status)
		switch {
		case err == nil && status == http.StatusOK:
			c.lost.told()
			halving.stuck = false
			c.read(a, results)
			before := len(left)
			if left = unsettled(left, results); len(left) < before {
				attempt = 1
				continue
			}
			last = errors.New("the answer has no result for these events")
		case err == nil && status == http.StatusRequestEntityTooLarge:
			if halving.tooLarge(part, len(batch)) {
				c.lost.add(dropRefused, 1)
				results[part[0].id] = refused.result(part[0].id)
				left = left[1:]
				continue
			}
			if len(part) == 1 {
				left = append(slices.Clone(left[1:]), part[0])
			}
			if !halving.stuck || len(part) > 1 {
				halving.stuck = len(part) == 1
				continue
			}
			last = refused
		case err == nil && refused.known():
			if refused.forGood() {
				c.stop(refused)
				if c.queue.durable() { // kept for a client with a better Config
					c.settleResults(batch, results)
					return
				}
				part = left
			}
			c.lost.add(dropRefused, len(part))
			for _, e := range part {
				results[e.id] = refused.result(e.id)
			}
			left = left[len(part):]
			continue
		case err != nil:
			last = err
		case status == http.StatusNotFound || status == http.StatusMethodNotAllowed: // of another server, or after a redirect
			last = fmt.Errorf("%w: status %d %s", ErrWrongEndpoint, status, a.Error.Code)
		default:
			last = fmt.Errorf("status %d %s", status, a.Error.Code)
		}
		if attempt == c.cfg.MaxAttempts {
			err := fmt.Errorf("post events, attempt %d: %w", attempt, last)
			if !c.queue.durable() {
				c.giveUp(left, results, err)
				break
			}
			c.logOnce(GivenUp, "sdk: events cannot be sent; they wait on disk", "error", err)
		}
		backoff := core.Backoff(attempt, 250, c.cfg.MaxWait.Milliseconds(), c.cfg.random())
		attempt++
		if !c.pause(ctx, max(wait, time.Duration(backoff)*time.Millisecond)) {
			if !c.queue.durable() {
				c.giveUp(left, results, fmt.Errorf("post events: %w: %w", ErrClosed, last))
			}
			break
		}
	}
	c.settleResults(batch, results)
}

// settleResults settles the entries of a batch up to the first that has no result.
func (c *Client) settleResults(batch []entry, results map[string]Result) {
	n := 0
	for n < len(batch) && results[batch[n].id].Status != "" {
		n++
	}
	c.settle(batch[:n], func(e entry) Result { return results[e.id] })
}

func (c *Client) giveUp(left []entry, results map[string]Result, err error) {
	c.lost.add(dropGivenUp, len(left))
	for _, e := range left {
		results[e.id] = Result{EventID: e.id, Status: GivenUp, Err: err}
	}
}

// read takes the final results of an answer. A status that is not known is not
// final: its event is sent again. The edge recognizes it by its id.
func (c *Client) read(a answer, results map[string]Result) {
	for _, r := range a.Results {
		c.warn(r.Warnings)
		switch r.Status {
		case Acknowledged, Duplicate, Rejected:
			if _, known := results[r.EventID]; known {
				continue
			}
			result := Result{EventID: r.EventID, Status: r.Status, Code: r.Code, Message: r.Message}
			if r.Status == Rejected {
				result.Err = &Refused{Status: http.StatusOK, Code: r.Code, Message: r.Message}
			}
			results[r.EventID] = result
		}
	}
}

func unsettled(entries []entry, results map[string]Result) []entry {
	var left []entry
	for _, e := range entries {
		if _, ok := results[e.id]; !ok {
			left = append(left, e)
		}
	}
	return left
}

// post makes one attempt. wait is the time that Retry-After asks for, bounded.
func (c *Client) post(ctx context.Context, body []byte) (status int, wait time.Duration, a answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.cfg.Endpoint+"/v1/events", bytes.NewReader(body))
	if err != nil {
		return 0, 0, a, fmt.Errorf("make the request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "tributary-sdk-go/"+Version)
	if c.cfg.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.cfg.APIKey)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, 0, a, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, 0, a, fmt.Errorf("read the answer: %w", err)
	}
	err = json.Unmarshal(text, &a)
	if resp.StatusCode == http.StatusOK && err != nil {
		return 0, 0, a, fmt.Errorf("%w: read the answer: %w", ErrWrongEndpoint, err)
	}
	return resp.StatusCode, c.retryAfter(resp.Header.Get("Retry-After")), a, nil
}

// retryAfter reads seconds or an HTTP date (RFC 9110, 10.2.3).
func (c *Client) retryAfter(header string) time.Duration {
	var wait time.Duration
	if seconds, err := strconv.Atoi(header); err == nil {
		wait = time.Duration(min(seconds, 24*60*60)) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		wait = at.Sub(c.cfg.now())
	}
	return min(max(wait, 0), c.cfg.MaxWait)
}

// pause waits. It returns false if ctx ends first.
func (c *Client) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
