package networks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Event is an event as a network took it.
type Event struct {
	Name     string         // event_name, name or event; "" at Google, where the destination says it
	ID       string         // what the network deduplicates by: event_id, transaction_id, transactionId
	Time     time.Time      // when it happened, as the network reports it
	Received time.Time      // when it came, by the fake's clock
	Value    string         // the amount, digit by digit as sent; "" without
	Currency string         // as sent; "" without
	Fields   map[string]any // the whole event; numbers are json.Number
}

// Answer is what a network answers to a request.
type Answer struct {
	Status int
	Header map[string]string
	Body   string // JSON, but for errors of proxies
}

// BadGateway is what a proxy in front of each network answers now and then [seen rudderlabs/rudder-transformer].
var BadGateway = Answer{
	Status: http.StatusBadGateway, Header: map[string]string{"Content-Type": "text/html"},
	Body: "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><h1>502 Bad Gateway</h1></body>\r\n</html>\r\n",
}

const (
	maxScript = 1000     // failures that wait for their request
	maxBody   = 10 << 20 // bytes of a request
	window    = 48 * time.Hour
)

// Network is what all networks have in common. Its methods are safe for several goroutines.
type Network struct {
	clock func() time.Time

	mu            sync.Mutex
	requests      int
	repeats       int
	complaints    []string
	events, tests []Event
	seen          map[string]time.Time // first arrival, by what is deduplicated
	script        []Answer
	before, after <-chan struct{}
	latency       time.Duration
	made          int // identifiers in answers
}

func newNetwork(clock func() time.Time) Network {
	return Network{clock: clock, seen: map[string]time.Time{}}
}

// Events gives what the network counted, in the order of arrival, without repeats and tests.
func (n *Network) Events() []Event {
	return locked(n, func() []Event { return slices.Clone(n.events) })
}

// TestEvents gives the events that came as tests: with a test code, to the validation server, or to be validated only.
func (n *Network) TestEvents() []Event {
	return locked(n, func() []Event { return slices.Clone(n.tests) })
}

// Complaints gives what the documentation does not have, one sentence each.
func (n *Network) Complaints() []string {
	return locked(n, func() []string { return slices.Clone(n.complaints) })
}

// Requests counts the requests, those that failed or hung included.
func (n *Network) Requests() int { return locked(n, func() int { return n.requests }) }

// Repeats counts the events that were dropped because the network had them.
func (n *Network) Repeats() int { return locked(n, func() int { return n.repeats }) }

// FailNext lets the next requests, n of them, meet an answer instead of the network. A thousand may wait at a time.
func (n *Network) FailNext(count int, with Answer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if count < 0 || len(n.script)+count > maxScript {
		panic(fmt.Sprintf("networks: %d failures wait, and %d more do not fit into %d", len(n.script), count, maxScript))
	}
	n.script = append(n.script, slices.Repeat([]Answer{with}, count)...)
}

// SetLatency lets requests wait before they are handled.
func (n *Network) SetLatency(d time.Duration) { n.set(func() { n.latency = d }) }

// HangBefore lets requests hang until the channel is closed, before they are handled. Nil ends it for new requests.
func (n *Network) HangBefore(until <-chan struct{}) { n.set(func() { n.before = until }) }

// HangAfter lets answers hang until the channel is closed, after the request counted. Nil ends it for new requests.
func (n *Network) HangAfter(until <-chan struct{}) { n.set(func() { n.after = until }) }

func (n *Network) set(change func()) { locked(n, func() any { change(); return nil }) }

func locked[T any](n *Network, read func() T) T {
	n.mu.Lock()
	defer n.mu.Unlock()
	return read()
}

// serve counts a request, lets it meet what is planned for it, and answers what handle says, which runs under the lock.
func (n *Network) serve(w http.ResponseWriter, r *http.Request, handle func(*http.Request, []byte) Answer) {
	n.mu.Lock()
	n.requests++
	before, after, latency := n.before, n.after, n.latency
	var planned *Answer
	if len(n.script) > 0 {
		planned, n.script = &n.script[0], n.script[1:]
	}
	n.mu.Unlock()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "the body cannot be read, or is too long", http.StatusRequestEntityTooLarge)
		return
	}
	late, cancel := context.WithTimeout(context.Background(), latency)
	defer cancel()
	if !waited(r, before) || latency > 0 && !waited(r, late.Done()) {
		return
	}
	if planned == nil {
		planned = new(locked(n, func() Answer { return handle(r, body) }))
	}
	if !waited(r, after) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	for name, value := range planned.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(planned.Status)
	_, _ = io.WriteString(w, planned.Body) // a client that left reads nothing
}

// waited reports false when the client left before.
func waited(r *http.Request, until <-chan struct{}) bool {
	if until == nil {
		return true
	}
	select {
	case <-until:
		return true
	case <-r.Context().Done():
		return false
	}
}

// count takes an event, unless one with the same key came within the time; no time means ever.
func (n *Network) count(e Event, test bool, key string, within time.Duration) bool {
	e.Received = n.clock()
	if test {
		n.tests = append(n.tests, e)
		return true
	}
	if first, repeated := n.seen[key]; key != "" && repeated && (within == 0 || e.Received.Sub(first) <= within) {
		n.repeats++
		return false
	}
	n.seen[key] = e.Received
	n.events = append(n.events, e)
	return true
}

func (n *Network) complain(format string, args ...any) {
	n.complaints = append(n.complaints, fmt.Sprintf(format, args...))
}

func (n *Network) id(prefix string) string {
	n.made++
	return prefix + strconv.Itoa(n.made)
}

// known compares JSON with what the documentation names: an object, []any{kind} for a list, or the name of a kind. It
// complains about all that is not there, and reports whether it had nothing to complain about.
func (n *Network) known(where string, value, want any) bool {
	fine := false
	switch want := want.(type) {
	case object:
		fields, ok := value.(map[string]any)
		fine = ok
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if kind, named := want[name]; !named {
				n.complain("%s: the documentation has no field %q", where, name)
				fine = false
			} else if !n.known(where+"."+name, fields[name], kind) {
				return false // said where it is
			}
		}
		if ok {
			return fine
		}
	case []any:
		list, ok := value.([]any)
		fine = ok
		for i, element := range list {
			if !n.known(where+"."+strconv.Itoa(i), element, want[0]) {
				return false
			}
		}
	case string:
		fine = isKind(value, want)
	}
	if !fine {
		n.complain("%s: not %v as documented", where, want)
	}
	return fine
}

// object is a documented object: the kind of each field.
type object map[string]any

func (object) String() string { return "an object" }

func isKind(value any, kind string) bool {
	_, text := value.(string)
	number, numeric := value.(json.Number)
	_, err := strconv.ParseInt(number.String(), 10, 64)
	switch kind {
	case "string":
		return text
	case "number":
		return numeric
	case "integer":
		return numeric && err == nil
	case "int64": // proto3's JSON has them as text, and takes numbers
		return text || numeric && err == nil
	case "bool":
		_, boolean := value.(bool)
		return boolean
	case "strings":
		return text || len(texts(value)) > 0
	}
	return kind == "any"
}

// with gives a documented object names that the merchant defined: custom parameters.
func (o object) with(custom []string) object {
	all := maps.Clone(o)
	for _, name := range custom {
		all[name] = "any"
	}
	return all
}

// decode reads one JSON object, and nothing behind it.
func decode(body []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var fields map[string]any
	if err := d.Decode(&fields); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return fields, nil
}

func encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // of what this package made itself
	}
	return string(text)
}

// at follows a path of names; nil where it ends early.
func at(value any, path ...string) any {
	for _, name := range path {
		fields, _ := value.(map[string]any)
		value = fields[name]
	}
	return value
}

// text gives what is at a path as text: a string, or a number's digits.
func text(value any, path ...string) string {
	switch found := at(value, path...).(type) {
	case string:
		return found
	case json.Number:
		return found.String()
	}
	return ""
}

// texts gives a list of texts, or the one text, as a list; nil for anything else.
func texts(value any) (list []string) {
	if one, ok := value.(string); ok {
		return []string{one}
	}
	many, _ := value.([]any)
	for _, element := range many {
		one, ok := element.(string)
		if !ok {
			return nil
		}
		list = append(list, one)
	}
	return list
}

// whole gives the whole number at a path, which may be text; 0 where there is none.
func whole(value any, path ...string) int64 {
	n, _ := strconv.ParseInt(text(value, path...), 10, 64)
	return n
}

func keys(fields map[string]any) []string { return slices.Sorted(maps.Keys(fields)) }
