package delivery

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// Arrivals are events that were not stored before: their counts, and their numbers.
type Arrivals struct {
	tally
	Late    int                  // events
	days    map[time.Time]bool   // on which events with a number were received
	streams map[string]*streamOf // by id, with their numbers
	ids     map[string][]byte    // of streams, by name
}

// NewArrivals makes arrivals of no event.
func NewArrivals() *Arrivals {
	return &Arrivals{tally: newTally(), days: map[time.Time]bool{}, streams: map[string]*streamOf{}, ids: map[string][]byte{}}
}

// Add adds an event.
func (a *Arrivals) Add(e *facts.Event, from Source) {
	a.add(e.ReceivedAt, Stored, 1, from)
	if e.Late() {
		a.add(e.ReceivedAt, Late, 1, from)
		a.Late++
	}
	if !followed(e) {
		return
	}
	a.days[facts.DayOf(e.ReceivedAt)] = true
	if a.ids[e.Stream] == nil {
		a.ids[e.Stream] = StreamID(e.Stream)
	}
	s := streamIn(a.streams, a.ids[e.Stream], e.ReceivedAt)
	if s.from.Agent == "" {
		s.from = from
	}
	s.numbers = append(s.numbers, arrived{e.Seq, e.ReceivedAt, e.Late()})
}

// followed reports whether an event's number is looked at.
func followed(e *facts.Event) bool {
	return e.Stream != "" && e.Seq > 0 && e.Trust != wire.TrustImport
}

// arrived is a number that has come.
type arrived struct {
	seq  int64
	at   time.Time
	late bool // its event came days after its time
}

// streamOf is a stream in a transaction.
type streamOf struct {
	id      []byte
	day     time.Time // of its last event
	from    Source    // of its first event
	numbers []arrived
	told    []Once // what its sender gave up
	stored  *StoredStream
}

// streamIn returns a stream of those by id, of which something came at an instant.
func streamIn(streams map[string]*streamOf, id []byte, at time.Time) *streamOf {
	s := streams[string(id)]
	if s == nil {
		s = &streamOf{id: id}
		streams[string(id)] = s
	}
	if day := facts.DayOf(at); day.After(s.day) {
		s.day = day
	}
	return s
}

// followStreams looks at the numbers of events that were stored now, and at what senders
// gave up.
func (l *Ledger) followStreams(ctx context.Context, store Store, companyID string, days map[time.Time]*rememberedDay,
	counted []Once) error {
	streams := l.arrived.streams
	for i := range l.notices {
		for _, n := range l.notices[i].Numbers {
			if n.Stream != "" && n.Seq > 0 {
				s := streamIn(streams, StreamID(n.Stream), l.notices[i].ReceivedAt)
				if s.from.Agent == "" {
					s.from = l.notices[i].from
				}
				s.numbers = append(s.numbers, arrived{seq: n.Seq, at: l.notices[i].ReceivedAt})
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
	var list []StoredStream
	for _, id := range slices.Sorted(maps.Keys(streams)) {
		list = append(list, StoredStream{ID: streams[id].id})
	}
	stored, err := store.Streams(ctx, companyID, list)
	if err != nil {
		return err
	}
	for i := range stored {
		streams[string(stored[i].ID)].stored = &stored[i]
	}
	var put []StoredStream
	for _, asked := range list {
		s := streams[string(asked.ID)]
		if changed, followed := l.follow(s, days); followed {
			put = append(put, changed)
		}
	}
	if len(put) == 0 {
		return nil
	}
	return store.PutStreams(ctx, companyID, put)
}

// follow returns what is to be stored of a stream, if it is followed.
func (l *Ledger) follow(s *streamOf, days map[time.Time]*rememberedDay) (changed StoredStream, followed bool) {
	var numbers Stream
	if s.stored != nil {
		numbers = s.stored.Stream
		s.from = Source{Origin: s.stored.Origin, Agent: s.stored.Agent} // of one numbering, all are counted at one place
	} else if !l.begin(s, days) {
		return changed, false
	}
	slices.SortStableFunc(s.numbers, func(x, y arrived) int { return cmp.Compare(x.seq, y.seq) })
	var change Change
	for _, n := range s.numbers {
		numbers.Add(n.seq, dayNumber(n.at), &change)
	}
	for _, o := range s.told {
		numbers.Explain(o.events, &change)
	}
	for day, n := range change.Missing {
		l.add(time.Unix(int64(day)*86400, 0).UTC(), Missing, n, s.from)
		l.found.miss(n)
	}
	if change.Broken {
		l.unfollowed(s, days)
	}
	return StoredStream{ID: s.id, Day: s.day, Stream: numbers, Origin: s.from.Origin, Agent: s.from.Agent}, true
}

// begin reports whether a stream that is new is to be followed. One that begins in its
// middle with late events is not: it may have been followed long ago.
func (l *Ledger) begin(s *streamOf, days map[time.Time]*rememberedDay) bool {
	if !slices.ContainsFunc(s.numbers, func(n arrived) bool { return !n.late || n.seq == 1 }) {
		return false
	}
	day := days[facts.DayOf(s.day)]
	if day.Streams >= MaxStreams {
		l.unfollowed(s, days)
		return false
	}
	day.Streams++
	day.changed = true
	return true
}

// unfollowed counts a stream whose numbers are not looked at.
func (l *Ledger) unfollowed(s *streamOf, days map[time.Time]*rememberedDay) {
	day := days[facts.DayOf(s.day)]
	sketch := Sketch(day.Unfollowed)
	if more := sketch.Add(s.id); more > 0 {
		l.counts[dayOutcome{day.Day, Unfollowed}] += more
		l.found.Unfollowed += more
	}
	day.Unfollowed, day.changed = sketch, true
}

func dayNumber(at time.Time) Day { return Day(at.Unix() / 86400) }
