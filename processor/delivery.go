package processor

// This file keeps the delivery ledger: what became of the events that were sent
// (docs/reports.md, "Delivery"). Each is counted once, however often its records are read.

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/delivery"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// Bounds of what a company and day may make the ledger remember. Anybody may make up
// streams and send what is rejected or comes again; what is more is counted as below.
const (
	maxStreams = 100_000 // followed; of others the numbers are not looked at
	maxSeen    = 20_000  // remembered; others are counted again where their records are read again
)

// How long the ledger remembers, from the day of a batch's event on. A sender keeps what it
// could not send for a week (sdk-js), and events.v1 is kept for 30 days.
const (
	keepWhole = 8  // days of a stream without a gap
	keepRest  = 35 // days of all else
)

// forgetEvery is after how many new streams of a day something is forgotten, at most so
// many rows of each kind: more than come.
const (
	forgetEvery = 500
	forgetMost  = 2 * forgetEvery
)

// deliveryDay names one count of facts.DeliveryCount.
type deliveryDay struct {
	day     time.Time // midnight UTC
	outcome string
}

// source names one count of facts.SourceCount.
type source struct {
	day                    time.Time
	origin, agent, outcome string
}

// deliveries are what a transaction adds to the delivery ledger.
type deliveries struct {
	counts  map[deliveryDay]int64
	sources map[source]int64
	once    []once
}

func newDeliveries() deliveries {
	return deliveries{counts: map[deliveryDay]int64{}, sources: map[source]int64{}}
}

// once is something that is counted unless it was counted before.
type once struct {
	id      []byte
	at      time.Time
	outcome string // of facts.DeliveryCount
	events  int64
	from    source // day and outcome are empty; agent empty: it is in no SourceCount
	stream  []byte // of what the sender gave up: by its numbers it is not missing
}

// onceRejected is a record that the processor rejects, counted on a day.
func onceRejected(clusterID string, partition int, r record, code string, now time.Time) once {
	return once{id: digestOf("record", clusterID, r.topic, partition, r.Offset), at: now, outcome: facts.DeliveryRejected + code, events: 1}
}

// add adds n events to a count of the day on which they were received.
func (l *deliveries) add(at time.Time, outcome string, n int64, from source) {
	l.counts[deliveryDay{facts.DayOf(at), outcome}] += n
	if from.agent != "" {
		from.day, from.outcome = facts.DayOf(at), plain(outcome)
		l.sources[from] += n
	}
}

// plain is an outcome without its reason.
func plain(outcome string) string {
	outcome, _, _ = strings.Cut(outcome, ":")
	return outcome
}

// sourceOf is where an event comes from.
func (a *application) sourceOf(e *facts.Event) source {
	return sourceOf(a.index, a.agents, e)
}

// repeated counts a copy of a stored event, once. Where it is the same record, it was not
// sent again: it is another copy in the log, or was read again.
func (a *application) repeated(digest []byte, stored facts.Copy, at time.Time, from source) {
	if !slices.Equal(digest, stored.Digest) {
		a.deliveries.once = append(a.deliveries.once, once{id: digestOf("copy", digest), at: at, outcome: facts.DeliveryDuplicate, events: 1, from: from})
	}
}

// repeatedInBatch counts the copies of a batch that another one of the batch is before.
func (a *application) repeatedInBatch(chosen []facts.Event, others []facts.Copy) {
	if len(others) == 0 {
		return
	}
	byID := make(map[string]*facts.Event, len(chosen))
	for i := range chosen {
		byID[chosen[i].EventID] = &chosen[i]
	}
	for _, c := range others {
		e := byID[c.EventID]
		a.repeated(c.Digest, e.Copy(), c.ReceivedAt, a.sourceOf(e))
	}
}

// replaced counts an event that takes the place of a stored copy.
func (a *application) replaced(old facts.Copy, e *facts.Event) {
	a.deliveries.add(old.ReceivedAt, facts.DeliveryStored, -1, source{})
	a.deliveries.add(e.ReceivedAt, facts.DeliveryStored, 1, source{})
	if old.Late {
		a.deliveries.add(old.ReceivedAt, facts.DeliveryLate, -1, source{})
	}
	if e.Late() {
		a.deliveries.add(e.ReceivedAt, facts.DeliveryLate, 1, source{})
	}
	a.repeated(old.Digest, e.Copy(), old.ReceivedAt, a.sourceOf(e))
}

// countNotices counts what edges tell.
func (a *application) countNotices() {
	for i := range a.notices {
		n := &a.notices[i]
		from := source{origin: a.index.OriginOf(n.Origin), agent: n.Agent}
		if n.Duplicate > 0 {
			a.deliveries.once = append(a.deliveries.once, once{id: digestOf("notice", n.ID), at: n.ReceivedAt, outcome: facts.DeliveryDuplicate, events: n.Duplicate, from: from})
		}
		for _, r := range n.Rejected {
			if r.Unnamed > 0 {
				a.deliveries.once = append(a.deliveries.once, once{id: digestOf("unnamed", n.ID, r.Code), at: n.ReceivedAt, outcome: facts.DeliveryRejected + r.Code, events: r.Unnamed, from: from})
			}
			for id := range slices.Chunk(r.IDs, wire.NoticeIDSize) {
				a.deliveries.once = append(a.deliveries.once, once{id: digestOf("rejected", id), at: n.ReceivedAt, outcome: facts.DeliveryRejected + r.Code, events: 1, from: from})
			}
		}
		if n.Dropped == nil {
			continue
		}
		var stream []byte
		if n.Dropped.Stream != "" {
			stream = facts.StreamID(n.Dropped.Stream)
		}
		for _, reason := range slices.Sorted(maps.Keys(n.Dropped.Counts)) {
			a.deliveries.once = append(a.deliveries.once, once{
				id: digestOf("dropped", n.Dropped.ID, reason), at: n.ReceivedAt, outcome: facts.DeliveryDropped + reason, events: n.Dropped.Counts[reason], from: from, stream: stream,
			})
		}
	}
}

// digestOf is by what something is remembered: 16 bytes.
func digestOf(parts ...any) []byte {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%x,", part)
	}
	return h.Sum(nil)[:16]
}

// countDelivery writes what the transaction adds to the ledger.
func (a *application) countDelivery(ctx context.Context) error {
	a.countNotices()
	days, err := a.readDays(ctx)
	if err != nil {
		return err
	}
	counted, err := a.countOnce(ctx, days)
	if err != nil {
		return err
	}
	if err := a.followStreams(ctx, days, counted); err != nil {
		return err
	}
	if err := a.writeDays(ctx, days); err != nil {
		return err
	}
	var counts []facts.DeliveryCount
	for d, n := range a.deliveries.counts {
		if n != 0 {
			counts = append(counts, facts.DeliveryCount{Day: d.day, Outcome: d.outcome, Events: n})
		}
	}
	if err := a.tx.CountDelivery(ctx, a.company, counts); err != nil {
		return err
	}
	var sources []facts.SourceCount
	for s, n := range a.deliveries.sources {
		if n != 0 {
			sources = append(sources, facts.SourceCount{Day: s.day, Origin: s.origin, Agent: s.agent, Outcome: s.outcome, Events: n})
		}
	}
	return a.tx.CountSources(ctx, a.company, sources)
}

// rememberedDay is a facts.DeliveryDay before the transaction and now.
type rememberedDay struct {
	facts.DeliveryDay
	was     facts.DeliveryDay
	changed bool
}

// readDays reads what is remembered of the days that the transaction counts.
func (a *application) readDays(ctx context.Context) (map[time.Time]*rememberedDay, error) {
	days := map[time.Time]*rememberedDay{}
	add := func(at time.Time) {
		day := facts.DayOf(at)
		if days[day] == nil {
			days[day] = &rememberedDay{DeliveryDay: facts.DeliveryDay{Day: day}}
		}
	}
	for day := range a.follows.days {
		add(day)
	}
	for i := range a.notices {
		add(a.notices[i].ReceivedAt)
	}
	for _, o := range a.deliveries.once {
		add(o.at)
	}
	if len(days) == 0 {
		return days, nil
	}
	var list []facts.DeliveryDay
	for _, d := range days {
		list = append(list, d.DeliveryDay)
	}
	stored, err := a.tx.DeliveryDays(ctx, a.company, list)
	if err != nil {
		return nil, err
	}
	for _, d := range stored {
		day := facts.DayOf(d.Day)
		days[day].Streams, days[day].Seen, days[day].Unfollowed = d.Streams, d.Seen, d.Unfollowed
	}
	for _, d := range days {
		d.was = d.DeliveryDay
	}
	return days, nil
}

// writeDays stores what is remembered of days, and now and then forgets what is old.
func (a *application) writeDays(ctx context.Context, days map[time.Time]*rememberedDay) error {
	var list []facts.DeliveryDay
	var newest time.Time
	forget := false
	for _, d := range days {
		if !d.changed {
			continue
		}
		list = append(list, d.DeliveryDay)
		if d.Day.After(newest) {
			newest = d.Day
		}
		forget = forget || d.was.Streams+d.was.Seen == 0 || (d.was.Streams+d.was.Seen)/forgetEvery != (d.Streams+d.Seen)/forgetEvery
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(x, y facts.DeliveryDay) int { return x.Day.Compare(y.Day) })
	if err := a.tx.PutDeliveryDays(ctx, a.company, list); err != nil || !forget {
		return err
	}
	return a.tx.ForgetDelivery(ctx, a.company, newest.AddDate(0, 0, -keepWhole), newest.AddDate(0, 0, -keepRest), forgetMost)
}

// countOnce counts what was not counted before, and returns what that is.
func (a *application) countOnce(ctx context.Context, days map[time.Time]*rememberedDay) (counted []once, err error) {
	if len(a.deliveries.once) == 0 {
		return nil, nil
	}
	var list []facts.Seen
	for _, o := range a.deliveries.once {
		list = append(list, facts.Seen{ID: o.id, Day: facts.DayOf(o.at)})
	}
	known, err := a.tx.KnownSeen(ctx, a.company, list)
	if err != nil {
		return nil, err
	}
	var remember []facts.Seen
	for i, o := range a.deliveries.once {
		if known[string(o.id)] {
			continue
		}
		if day := days[facts.DayOf(o.at)]; day.Seen < maxSeen {
			day.Seen++
			day.changed = true
			remember = append(remember, list[i])
			known[string(o.id)] = true
		}
		counted = append(counted, o)
		a.deliveries.add(o.at, o.outcome, o.events, o.from)
		if reason, dropped := strings.CutPrefix(o.outcome, facts.DeliveryDropped); dropped {
			a.done.found.drop(reason, o.events)
		}
	}
	if len(remember) == 0 {
		return counted, nil
	}
	return counted, a.tx.InsertSeen(ctx, a.company, remember)
}

// arrived is a number that has come.
type arrived struct {
	seq  int64
	at   time.Time
	late bool // its event came days after its time
}

// streamOf is a stream in a transaction.
type streamOf struct {
	id     []byte
	day    time.Time // of its last event
	from   source    // of its first event
	came   []arrived
	told   []once // what its sender gave up
	stored *facts.Stream
}

// followStreams looks at the numbers of events that were stored now, and at what senders
// gave up.
func (a *application) followStreams(ctx context.Context, days map[time.Time]*rememberedDay, counted []once) error {
	streams := a.follows.streams
	if streams == nil {
		streams = map[string]*streamOf{}
	}
	for i := range a.notices {
		for _, n := range a.notices[i].Numbers {
			if n.Stream != "" && n.Seq > 0 {
				s := streamIn(streams, facts.StreamID(n.Stream), a.notices[i].ReceivedAt)
				if s.from.agent == "" {
					s.from = source{origin: a.index.OriginOf(a.notices[i].Origin), agent: a.notices[i].Agent}
				}
				s.came = append(s.came, arrived{seq: n.Seq, at: a.notices[i].ReceivedAt})
			}
		}
	}
	for _, o := range counted {
		if o.stream != nil {
			s := streamIn(streams, o.stream, o.at)
			s.told = append(s.told, o)
		}
	}
	if len(streams) == 0 {
		return nil
	}
	var list []facts.Stream
	for _, id := range slices.Sorted(maps.Keys(streams)) {
		list = append(list, facts.Stream{ID: streams[id].id})
	}
	stored, err := a.tx.Streams(ctx, a.company, list)
	if err != nil {
		return err
	}
	for i := range stored {
		streams[string(stored[i].ID)].stored = &stored[i]
	}
	var put []facts.Stream
	for _, asked := range list {
		s := streams[string(asked.ID)]
		changed, followed, err := a.follow(s, days)
		if err != nil {
			return err
		}
		if followed {
			put = append(put, changed)
		}
	}
	if len(put) == 0 {
		return nil
	}
	return a.tx.PutStreams(ctx, a.company, put)
}

// follow returns what is to be stored of a stream, if it is followed.
func (a *application) follow(s *streamOf, days map[time.Time]*rememberedDay) (changed facts.Stream, followed bool, err error) {
	var numbers delivery.Stream
	if s.stored != nil {
		known, err := delivery.Unpack(s.stored.Top, s.stored.Gaps)
		if err != nil {
			return changed, false, err
		}
		numbers = *known
		s.from = source{origin: s.stored.Origin, agent: s.stored.Agent} // of one numbering, all are counted at one place
	} else if !a.begin(s, days) {
		return changed, false, nil
	}
	slices.SortStableFunc(s.came, func(x, y arrived) int { return cmp.Compare(x.seq, y.seq) })
	var change delivery.Change
	for _, n := range s.came {
		numbers.Add(n.seq, dayNumber(n.at), &change)
	}
	for _, o := range s.told {
		numbers.Explain(o.events, &change)
	}
	for day, n := range change.Missing {
		a.deliveries.add(time.Unix(int64(day)*86400, 0).UTC(), facts.DeliveryMissing, n, s.from)
		a.done.found.miss(n)
	}
	if change.Broken {
		a.unfollowed(s, days)
	}
	return facts.Stream{ID: s.id, Day: s.day, Top: numbers.Top, Gaps: numbers.Pack(), Origin: s.from.origin, Agent: s.from.agent}, true, nil
}

// begin reports whether a stream that is new is to be followed. One that begins in its
// middle with late events is not: it may have been followed long ago.
func (a *application) begin(s *streamOf, days map[time.Time]*rememberedDay) bool {
	if !slices.ContainsFunc(s.came, func(n arrived) bool { return !n.late || n.seq == 1 }) {
		return false
	}
	day := days[facts.DayOf(s.day)]
	if day.Streams >= maxStreams {
		a.unfollowed(s, days)
		return false
	}
	day.Streams++
	day.changed = true
	return true
}

// unfollowed counts a stream whose numbers are not looked at.
func (a *application) unfollowed(s *streamOf, days map[time.Time]*rememberedDay) {
	day := days[facts.DayOf(s.day)]
	sketch := delivery.Sketch(day.Unfollowed)
	if more := sketch.Add(s.id); more > 0 {
		a.deliveries.counts[deliveryDay{day.Day, facts.DeliveryUnfollowed}] += more
		a.done.found.unfollowed += more
	}
	day.Unfollowed, day.changed = sketch, true
}

func dayNumber(at time.Time) delivery.Day { return delivery.Day(at.Unix() / 86400) }

// deliveryFound is what a transaction adds to the metrics of the ledger.
type deliveryFound struct {
	droppedFor                map[string]int64 // by reason
	missing, came, unfollowed int64
}

func (f *deliveryFound) drop(reason string, n int64) {
	if f.droppedFor == nil {
		f.droppedFor = map[string]int64{}
	}
	f.droppedFor[reason] += n
}

// miss takes events that are missing now; of n below 0 they were, and are no longer.
func (f *deliveryFound) miss(n int64) {
	f.missing += max(n, 0)
	f.came += max(-n, 0)
}
