package segment

import (
	"strings"

	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// MaxBody is the largest body of a request in bytes, after inflation, as Segment has it.
const MaxBody = 500 << 10

// Call is a kind of call of the protocol.
type Call string

// The calls. A batch holds any of the others.
const (
	Track    Call = "track"
	Page     Call = "page"
	Screen   Call = "screen"
	Identify Call = "identify"
	Group    Call = "group"
	Alias    Call = "alias"
	Batch    Call = "batch"
)

// paths are the last parts of the paths of calls: their names, the letters by which
// analytics-next calls them, and the older name of a batch.
var paths = map[string]Call{
	"track": Track, "page": Page, "screen": Screen, "identify": Identify, "group": Group, "alias": Alias, "batch": Batch,
	"t": Track, "p": Page, "s": Screen, "i": Identify, "g": Group, "a": Alias, "b": Batch,
	"import": Batch,
}

// CallOf returns the call of the last part of a path ("track", "t"); false for none.
func CallOf(path string) (Call, bool) {
	call, known := paths[path]
	return call, known
}

// Request is a request as it was read. It holds parts of its body.
type Request struct {
	// WriteKey is the one in the body, "" for none.
	WriteKey string

	call     Call
	sentAt   string // JSON text, "" for none
	messages []string
}

// Read reads the body of a call. A Violation refuses the request as a whole.
func Read(call Call, body string) (Request, *core.Violation) {
	r := Request{call: call}
	s := core.Scan(body, 0)
	if s.Kind() != core.Object {
		return r, notJSON("the body is not a JSON object")
	}
	hasBatch := false
	s.Enter()
	for name, ok := s.Key(); ok; name, ok = s.Key() {
		switch value := s.Kind(); {
		case name == "writeKey" && value == core.String:
			r.WriteKey = strings.TrimSpace(s.Text())
		case name == "sentAt" && (value == core.String || value == core.Number):
			r.sentAt = sentAt(s.Cut())
		case name == "batch" && call == Batch && value == core.Array:
			hasBatch = true
			if v := r.list(&s); v != nil {
				return r, v
			}
		default:
			s.Cut()
		}
	}
	switch {
	case !s.Done():
		return r, notJSON("the body is not JSON")
	case call != Batch:
		r.messages = []string{strings.TrimSpace(body)}
	case !hasBatch:
		return r, &core.Violation{Code: core.CodeNoEvents, Field: "batch", Message: "is missing, or is no array"}
	case len(r.messages) == 0:
		return r, &core.Violation{Code: core.CodeNoEvents, Field: "batch", Message: "is empty"}
	}
	return r, nil
}

func notJSON(message string) *core.Violation {
	return &core.Violation{Code: core.CodeInvalidJSON, Message: message}
}

// list cuts the array that comes next into messages.
func (r *Request) list(s *core.Scanner) *core.Violation {
	r.messages = r.messages[:0] // of two lists the last counts
	s.Enter()
	for s.Element() {
		if len(r.messages) == core.MaxBatchEvents {
			return &core.Violation{Code: core.CodeTooManyEvents, Field: "batch", Message: "holds more than 500 events"}
		}
		r.messages = append(r.messages, s.Cut())
	}
	return nil
}

// sentAt is the JSON text of a time that can be read, else "": a client's clock that cannot
// be read refuses none of its events.
func sentAt(text string) string {
	if _, ok := core.TimeOf(text); !ok {
		return ""
	}
	return text
}

// Source is whose events they are, and by what they came.
type Source struct {
	CompanyID string
	Trust     wire.Trust
	Now       int64 // Unix milliseconds
}

// Events is the request as a body of POST /v1/events: a batch with an event for each
// message, in order.
type Events struct {
	Body string
	// Refused says, by a message's place, why it is no event; nil where it is one. In its place
	// in Body is null, which is no event either.
	Refused []*Refusal
}

// Refusal is why a message is no event.
type Refusal struct {
	core.Violation
	EventID string // "" where the message has none that can be read
}

// Events translates the request's messages.
func (r *Request) Events(from Source) Events {
	e := Events{Refused: make([]*Refusal, len(r.messages))}
	size := 64
	for _, text := range r.messages {
		size += len(text) + 192
	}
	dst := append(make([]byte, 0, size), '{')
	// A server's clock is right, and clients that keep a batch until it is taken do not write sentAt anew.
	if r.sentAt != "" && from.Trust == wire.TrustOpen {
		dst = append(append(append(dst, `"sentAt":`...), r.sentAt...), ',')
	}
	dst = append(dst, `"events":[`...)
	for i, text := range r.messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		before := len(dst)
		if dst, e.Refused[i] = r.event(dst, text, &from); e.Refused[i] != nil {
			dst = append(dst[:before], "null"...)
		}
	}
	e.Body = string(append(dst, `]}`...))
	return e
}

// event appends a message as an event, or says why it is none.
func (r *Request) event(dst []byte, text string, from *Source) ([]byte, *Refusal) {
	if len(text) > core.MaxEventBytes {
		return dst, &Refusal{core.Violation{Code: core.CodeEventTooLarge, Message: "is larger than 32 KiB"}, ""}
	}
	var m message
	v := m.read(text)
	if v == nil && r.call != Batch {
		m.call = r.call
	}
	if v == nil {
		dst, v = m.append(dst, from)
	}
	if v != nil {
		return dst, &Refusal{*v, m.eventID(from)}
	}
	return dst, nil
}
