package sdk

import (
	"errors"
	"fmt"
	"slices"
)

// Errors of Track, Flush and Close.
var (
	ErrQueueFull = errors.New("sdk: the queue is full")
	ErrClosed    = errors.New("sdk: the client is closed")

	// ErrUnknownCompany: the edge has no company of this Config.CompanyID.
	ErrUnknownCompany = errors.New("sdk: the edge does not know Config.CompanyID")
	// ErrUnauthorized: Config.APIKey is unknown, has ended, is another company's, or
	// lacks the scope.
	ErrUnauthorized = errors.New("sdk: the edge refuses Config.APIKey")
	// ErrArchived: the company of Config.CompanyID is archived.
	ErrArchived = errors.New("sdk: the company of Config.CompanyID is archived")
	// ErrWrongEndpoint: there is no /v1/events below Config.Endpoint. Where the edge itself
	// says so, the client sends nothing more. Where another server answers, it tries again:
	// a proxy may send requests elsewhere for a time.
	ErrWrongEndpoint = errors.New("sdk: Config.Endpoint has no /v1/events")
)

// Refused is the error of events that the edge refuses, so that sending them again
// cannot help. Use errors.As to get it. errors.Is with ErrUnknownCompany,
// ErrUnauthorized, ErrArchived or ErrWrongEndpoint tells why the edge takes nothing at all of a
// client: such a client sends nothing more, and Track returns this error too. Correct
// its Config and make another; what is in Config.QueueDir is kept for that.
type Refused struct {
	Status  int    // of HTTP; 200 if the edge took the request and refused single events
	Code    string // docs/events.md lists them; "status_413" of what is before the edge
	Message string // for people
}

func (r *Refused) Error() string {
	text := fmt.Sprintf("sdk: the edge refused the events: %s (HTTP %d)", r.Code, r.Status)
	if r.Message != "" {
		text += ": " + r.Message
	}
	return text
}

// Is says that r is ErrUnknownCompany, ErrUnauthorized, ErrArchived or ErrWrongEndpoint.
func (r *Refused) Is(target error) bool { return target == refusals[r.Code] && target != nil }

// refusals are the codes by which the edge refuses all of a client's requests,
// whatever they carry. Waiting mends none of them.
var refusals = map[string]error{
	"unknown_company":    ErrUnknownCompany,
	"unauthorized":       ErrUnauthorized,
	"insufficient_scope": ErrUnauthorized,
	"key_in_browser":     ErrUnauthorized,
	"company_archived":   ErrArchived,
	"not_found":          ErrWrongEndpoint,
}

// batchRefusals are the codes by which the edge refuses a batch: it would be again.
var batchRefusals = []string{
	"invalid_json", "invalid_field", "invalid_timestamp", "invalid_payload", "invalid_encoding", "invalid_request", "company_id_required",
	"mixed_companies", "no_events", "too_many_events", "unsupported_media_type", "unsupported_encoding",
}

// known tells whether it is a refusal: in the edge's own form, with a code of these.
func (r *Refused) known() bool { return r.forGood() || slices.Contains(batchRefusals, r.Code) }

// forGood tells whether the edge refuses all requests of this client.
func (r *Refused) forGood() bool { return refusals[r.Code] != nil }

// Failed is the error of Flush and Close when events were not delivered. It counts
// those since the last Failed. errors.As and errors.Is look into Err.
type Failed struct {
	Events int   // refused or given up
	Err    error // the first one's: a *Refused, or why it could not be sent
}

func (f *Failed) Error() string {
	return fmt.Sprintf("%d events were not delivered: %v", f.Events, f.Err)
}

func (f *Failed) Unwrap() error { return f.Err }

// maxLogged bounds the reasons that a client remembers to have logged.
const maxLogged = 32

// logOnce logs a reason unless this client did so before. Only the sending
// goroutine calls it.
func (c *Client) logOnce(reason, message string, args ...any) {
	if slices.Contains(c.logged, reason) || len(c.logged) == maxLogged {
		return
	}
	c.logged = append(c.logged, reason)
	c.cfg.Logger.Error(message, append(args, "endpoint", c.cfg.Endpoint, "company", c.cfg.CompanyID)...)
}

// warning is what the edge says of an event that it took: something was not read, or counts
// as absent.
type warning struct {
	Field   string `json:"field"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// maxWarned bounds the kinds of warnings that a client logs, maxWarning the bytes of one.
const (
	maxWarned  = 20
	maxWarning = 500
)

// warn logs each kind of warnings once. Only the sending goroutine calls it.
func (c *Client) warn(list []warning) {
	for _, w := range list {
		if len(w.Field)+len(w.Code)+len(w.Message) > maxWarning { // not the edge's
			continue
		}
		kind := w
		kind.Message = ""
		if len(c.warned) == maxWarned || slices.Contains(c.warned, kind) {
			continue
		}
		c.warned = append(c.warned, kind)
		c.cfg.Logger.Warn("sdk: the edge warns of events", "field", w.Field, "code", w.Code, "message", w.Message, "company", c.cfg.CompanyID)
	}
}

// note counts a result that is no delivery, for Flush and Close, and logs its
// reason once.
func (c *Client) note(r Result) {
	switch r.Status {
	case Rejected:
		c.logOnce(r.Code, "sdk: the edge refused events", "error", r.Err)
	case GivenUp:
		c.logOnce(GivenUp, "sdk: events were given up", "error", r.Err)
	default:
		c.logged = slices.DeleteFunc(c.logged, func(reason string) bool { return reason == GivenUp }) // the next outage is another
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = &Failed{Err: r.Err}
	}
	c.failed.Events++
}

// takeFailed returns what failed since the last call, and why the client sends
// nothing more; nil if all went well.
func (c *Client) takeFailed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		return c.stopped
	}
	failed := c.failed
	c.failed = nil
	if c.stopped != nil && !errors.Is(failed, c.stopped) {
		return errors.Join(failed, c.stopped)
	}
	return failed
}
