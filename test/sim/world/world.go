package main

import (
	"bytes"
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk"
	"github.com/tributary-io/tributary/test/sim"
)

// world is everything: the senders, the edges with their disks, the cluster,
// the processors and the store. It watches what is promised.
type world struct {
	seed      uint64
	out       io.Writer // gets the trace; nil: nobody does
	snapshots string    // a directory of the host; empty: edges keep none
	hasher    *identity.Hasher

	network  *network
	cluster  *cluster
	store    *store
	group    *group
	machines []*machine
	senders  []*sender

	processing sync.Mutex
	processors []*processorLife

	mu       sync.Mutex
	began    time.Time
	lives    int
	hash     hash.Hash64
	events   map[string]*eventState // by company and id
	byID     map[string]*eventState
	report   sim.Report
	violated bool
	durable  map[string]bool // ids that a disk has had durably
}

// eventState is what is known of one event.
type eventState struct {
	company, id string
	sent, again time.Time // first and last, by the SDK
	machines    map[int]bool
	acked       time.Time
	position    int  // of its first copy in the log; -1: none
	refused     bool // for itself: it may be quarantined, and sent out of order
}

// maxViolations of a report; the first says what went wrong.
const maxViolations = 20

func (w *world) violate(format string, args ...any) {
	w.trace("VIOLATION "+format, args...)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.violated = true
	if len(w.report.Violations) < maxViolations {
		w.report.Violations = append(w.report.Violations,
			fmt.Sprintf("%v: ", time.Since(w.began).Round(time.Millisecond))+fmt.Sprintf(format, args...))
	}
}

// trace notes what happened and when: its hash tells whether two runs are one.
func (w *world) trace(format string, args ...any) {
	line := fmt.Sprintf("%12.6f ", time.Since(w.began).Seconds()) + fmt.Sprintf(format, args...) + "\n"
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = io.WriteString(w.hash, line)
	if w.out != nil {
		_, _ = io.WriteString(w.out, line)
	}
}

func newWorld(seed uint64, out io.Writer, snapshots string) *world {
	w := &world{
		seed: seed, out: out, snapshots: snapshots, hasher: hasher(), hash: fnv.New64a(), began: time.Now(),
		events: map[string]*eventState{}, byID: map[string]*eventState{}, durable: map[string]bool{},
	}
	w.network = &network{w: w, random: newDice(seed, 1)}
	w.cluster = newCluster(w, newDice(seed, 2))
	w.store = newStore(w, newDice(seed, 3))
	w.group = newGroup(w, newDice(seed, 4))
	return w
}

func (w *world) snapshot(machine int) string {
	if w.snapshots == "" {
		return ""
	}
	return fmt.Sprintf("%s/edge-%d.snapshot", w.snapshots, machine)
}

// logger traces what an edge logs.
func (w *world) logger(machine int) *slog.Logger {
	return slog.New(slog.NewTextHandler(logWriter{w, machine}, &slog.HandlerOptions{
		Level: slog.LevelInfo,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}

type logWriter struct {
	w       *world
	machine int
}

func (l logWriter) Write(b []byte) (int, error) {
	l.w.trace("edge %d: %s", l.machine, bytes.TrimSpace(b))
	return len(b), nil
}

// idMember is before an event's id in its record.
var idMember = []byte(`"eventId":"`)

const idLength = 36

// ids are the event ids in some bytes.
func ids(b []byte) (list []string) {
	for {
		i := bytes.Index(b, idMember)
		if i < 0 || i+len(idMember)+idLength > len(b) {
			return list
		}
		b = b[i+len(idMember):]
		list = append(list, string(b[:idLength]))
	}
}

// noteDurable is called with bytes that a loss of power leaves.
func (w *world) noteDurable(b []byte) {
	for _, id := range ids(b) {
		w.mu.Lock()
		w.durable[id] = true
		w.mu.Unlock()
	}
}

func (w *world) noteTracked(s *sender, id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Tracked++
	if w.byID[id] == nil {
		e := &eventState{company: s.company, id: id, machines: map[int]bool{}, position: -1}
		w.byID[id], w.events[eventName(s.company, id)] = e, e
	}
}

// noteSent is called before a request leaves an SDK.
func (w *world) noteSent(s *sender, body []byte) {
	list := ids(body)
	w.mu.Lock()
	for _, id := range list {
		e := w.byID[id]
		if e.sent.IsZero() {
			e.sent = time.Now()
		}
		e.again = time.Now()
		e.machines[s.to.number] = true
	}
	w.mu.Unlock()
	w.trace("sender %d sends %d", s.number, len(list))
}

// noteRefused is called with a record that Kafka refuses for good.
func (w *world) noteRefused(value []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids(value) {
		if e := w.byID[id]; e != nil && !e.refused {
			e.refused = true
			w.report.Refused++
		}
	}
}

func (w *world) lastSent(id string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e := w.byID[id]; e != nil {
		return e.again
	}
	return time.Now()
}

// noteResult holds that what is acknowledged is durable now.
func (w *world) noteResult(s *sender, r sdk.Result) {
	w.trace("sender %d: %s %s", s.number, r.EventID, r.Status)
	w.mu.Lock()
	e, safe := w.byID[r.EventID], w.durable[r.EventID]
	safe = safe || e.position >= 0
	switch r.Status {
	case sdk.Acknowledged, sdk.Duplicate:
		w.report.Acked++
		if e.acked.IsZero() {
			e.acked = time.Now()
		}
	case sdk.GivenUp:
		w.report.GivenUp++
	}
	w.mu.Unlock()
	switch {
	case r.Status == sdk.Rejected:
		w.violate("sender %d: the valid event %s is dropped: rejected, %s", s.number, r.EventID, r.Code)
	case r.Status != sdk.GivenUp && !safe:
		w.violate("sender %d: %s is answered %s and is neither in Kafka nor durable on a disk", s.number, r.EventID, r.Status)
	}
}

// noteCommitted is called for each record that consumers can see. The cluster's
// lock is held.
func (w *world) noteCommitted(l *partitionLog, at int, r logged) {
	if l.topic == wire.TopicDirectory || l.topic == wire.TopicEvents && wire.IsNotice(r.value) {
		return
	}
	list := ids(r.value)
	if l.topic != wire.TopicEvents || len(list) != 1 {
		w.violate("a record in %s that nobody sent: %s", l.topic, r.value)
		return
	}
	w.mu.Lock()
	e := w.byID[list[0]]
	switch {
	case e == nil || e.company != string(r.key):
	case e.position < 0:
		e.position = at
	default:
		w.report.Copies++
	}
	w.mu.Unlock()
	if e == nil || e.company != string(r.key) {
		w.violate("a record of %s that nobody sent: %s", r.key, r.value)
	}
	w.trace("%s/%d: %d is %s", l.topic, l.number, at, list[0])
}
