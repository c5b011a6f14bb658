package facts

import (
	"bytes"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/packed"
)

// Class says who made an event, as far as attribution looks at it. The numbers are
// stored and never change.
type Class int16

const (
	ClassProgram Class = 0 // a bot, a prefetch or a link preview
	ClassPerson  Class = 1
	ClassArrival Class = 2 // a person who came by a campaign (Event.Arrived)
)

// Class returns the event's class.
func (e *Event) Class() Class {
	if e.packed != nil {
		return e.class
	}
	switch {
	case !e.Human():
		return ClassProgram
	case e.Arrived():
		return ClassArrival
	}
	return ClassPerson
}

// Pack makes the record's packed form and what else is stored of the event, if that is not
// there yet: it is made once, however often the event is stored. The event is not changed
// after that.
func (e *Event) Pack() {
	if e.packed == nil {
		e.class = e.Class()
		if e.Visitor != "" {
			e.visitor = packed.ID(e.Visitor)
		}
		e.packed = packed.AppendRecord(make([]byte, 0, packedSize), e.Raw, e.CameAs, e.Beside())
	}
}

// packedSize is about how many bytes a page view has, packed.
const packedSize = 320

// Packed returns the record's packed form.
func (e *Event) Packed() []byte {
	e.Pack()
	return e.packed
}

// Beside is what an event's row has in columns beside its packed record.
func (e *Event) Beside() packed.Beside {
	return packed.Beside{CompanyID: e.CompanyID, EventID: e.EventID, Name: e.Event.Event, Visitor: e.Visitor}
}

// PackedVisitor returns the event's visitor as it is stored, nil for none.
func (e *Event) PackedVisitor() []byte {
	if e.Visitor == "" || e.packed != nil {
		return e.visitor
	}
	return packed.ID(e.Visitor)
}

// Places of what may prove an event, in Sources.
const (
	SourceCart = iota
	SourceCookie
	SourceNetwork
	SourceKeyed // a backend sent the event
	sources
)

// Sources returns by what an event may be proven whose visitor's id may be guessed, each
// packed and nil where the event does not have it; nil for other events.
func (e *Event) Sources() [][]byte {
	if e.Visitor == "" || IsSecretID(e.Visitor) {
		return nil
	}
	list := make([][]byte, sources)
	for place, id := range [...]string{e.Identity.CartKey, e.CookieID, e.NetKey} {
		if id != "" {
			list[place] = packed.ID(id)
		}
	}
	if e.ByAPIKey() {
		list[SourceKeyed] = []byte{1}
	}
	return list
}

// PackSource returns a cart, a cookie or a network of an order as Sources has those of
// events.
func PackSource(id string) []byte { return packed.ID(boundedID(id)) }

// StoredEvent is a stored event's row.
type StoredEvent struct {
	CompanyID string
	EventID   uuid.UUID
	Name      string
	Visitor   []byte // packed; nil: nothing reads the event
	At        time.Time
	Record    []byte // packed
}

// unpack returns the event's record, and the digest of the record as it came where that
// is another text.
func (s *StoredEvent) unpack() (record, came []byte, beside packed.Beside, err error) {
	beside = packed.Beside{CompanyID: s.CompanyID, EventID: s.EventID.String(), Name: s.Name}
	if len(s.Visitor) > 0 {
		if beside.Visitor, err = packed.Text(s.Visitor); err != nil {
			return nil, nil, beside, fmt.Errorf("visitor of event %s: %w", beside.EventID, err)
		}
	}
	record, came, err = packed.Record(s.Record, beside)
	if err != nil {
		err = fmt.Errorf("event %s: %w", beside.EventID, err)
	}
	return record, came, beside, err
}

// Parse parses the event's record, as if it came now: what the columns say is computed
// again.
func (s *StoredEvent) Parse() (Event, error) {
	record, came, beside, err := s.unpack()
	if err != nil {
		return Event{}, err
	}
	e, err := ParseEvent(record)
	if err != nil {
		return e, fmt.Errorf("event %s: %w", beside.EventID, err)
	}
	e.CameAs = came
	return e, nil
}

// keptPayload is how long a payload may be, in bytes, that stays in memory with the event.
const keptPayload = 512

// Read reads what decisions need of the event: its record without the payload, and the
// columns beside it.
func (s *StoredEvent) Read() (Event, error) {
	record, _, beside, err := s.unpack()
	if err != nil {
		return Event{}, err
	}
	e := Event{At: s.At.UTC(), Visitor: beside.Visitor}
	if e.Event, err = parseRecord(record); err == nil && len(e.Payload) > keptPayload {
		// The event's texts are parts of one that has the payload: of many events that is too
		// much memory.
		e.Event, err = parseRecord(bytes.Replace(record, e.Payload, []byte("{}"), 1))
	}
	if err != nil {
		return e, fmt.Errorf("event %s: %w: %w", beside.EventID, ErrNotJSON, err)
	}
	e.Payload = nil
	e.ReceivedAt = e.ReceivedAt.UTC().Truncate(StoredPrecision)
	e.boundIDs()
	return e, nil
}

// FirstID returns the least id that a UUIDv7 of an instant may be, in milliseconds. It is
// no UUIDv7 itself: ids are stored by the month in which they were made.
func FirstID(at time.Time) (id uuid.UUID) {
	for i, ms := 5, at.UnixMilli(); i >= 0; i, ms = i-1, ms>>8 {
		id[i] = byte(ms)
	}
	return id
}
