package facts

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/uuidtext"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// Event is one copy of an event. Several copies may have one id; see Copy.
type Event struct {
	wire.Event
	ID      uuid.UUID // EventID
	IDTime  time.Time // the time in the id, a UUIDv7; UTC, milliseconds. It chooses the table's month
	At      time.Time // corrected time; UTC, milliseconds; never after ReceivedAt
	Visitor string    // visitorId, else cookieId, else keyedVisitor; empty: nothing reads the event
	Raw     []byte    // the record as it came, JSON
	packed  []byte    // see Pack, as of the next two
	visitor []byte    // packed
	class   Class
	CameAs  []byte   // the digest of the record as it came; nil: Raw is that record, not another text of it
	Address *Address // of the page, for who reads it for several orders; nil: it was not read yet
}

// Address is what the URLs of a page and of its referrer say.
type Address struct {
	Host     string
	Referrer string // its host, or an app's package name
	FromApp  bool   // the referrer is an app
	Campaign wire.Campaign
	ClickIDs map[string]string // by name
}

// Digest returns the SHA-256 of the record as it came.
func (e *Event) Digest() []byte {
	if e.CameAs != nil {
		return e.CameAs
	}
	sum := sha256.Sum256(e.Raw)
	return sum[:]
}

// Human reports whether the event counts for attribution. Events of bots,
// prefetches and link previews do not.
func (e *Event) Human() bool { return e.Bot == "" || e.Bot == wire.BotNone }

// Withdraws reports whether the event only takes back what the visitor agreed to: it is no visit, and counts nowhere.
func (e *Event) Withdraws() bool { return e.Event.Event == core.ConsentWithdrawn }

// Arrived reports whether the event shows that its visitor came by a campaign: by a
// short link, UTM values or the click id of an ad network. An event with a page's URL
// shows it by that alone, since the SDK repeats the campaign in the context of later
// pages.
func (e *Event) Arrived() bool {
	if e.Event.Event == core.LinkClick {
		return true
	}
	if url := e.Context.Page.URL; url != "" {
		campaign, clickIDs := core.ParseCampaign(url)
		return campaign != (core.Campaign{}) || len(clickIDs) > 0
	}
	return e.Context.Campaign != (wire.Campaign{}) || len(e.Context.ClickIDs) > 0
}

// skewIsLatency is the least difference between sentAt and receivedAt that is taken
// for a wrong clock. A smaller one is the time of travel (docs/attribution.md,
// "Facts").
const skewIsLatency = 60 * time.Second

// lateAfter is how long after its time an event may be received and still be
// timely: longer than a phone is without a network, and far too short to make a
// touch for an order of last month (docs/attribution.md, "Facts").
const lateAfter = 7 * 24 * time.Hour

// Late tells whether the event came so long after its time that it may have been
// made up to fit an order. Imported ones are a history, and never late.
func (e *Event) Late() bool {
	return e.Trust != wire.TrustImport && e.ReceivedAt.Sub(e.At) > lateAfter
}

// Errors of a record that can never be applied. Their texts are the codes in
// rejected.v1: they do not change.
var (
	ErrNotJSON      = errors.New("invalid_json")
	ErrEventID      = errors.New("invalid_event_id")
	ErrNoCompany    = errors.New("missing_company")
	ErrOtherCompany = errors.New("company_mismatch") // the record's key names another
	ErrTime         = errors.New("invalid_time")
	ErrUnknownKind  = errors.New("unknown_kind")
	ErrNoID         = errors.New("missing_id")
	ErrLongID       = errors.New("id_too_long")
	ErrCurrency     = errors.New("invalid_currency")
)

// ParseEvent parses a record of events.v1. It returns one of the errors above for a
// record that can never be applied. The event keeps raw.
func ParseEvent(raw []byte) (Event, error) {
	e := Event{Raw: raw}
	var err error
	if e.Event, err = parseRecord(raw); err != nil {
		return e, fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	if e.CompanyID == "" {
		return e, ErrNoCompany
	}
	id, err := uuid.Parse(e.EventID)
	if err != nil || id.Version() != 7 {
		return e, ErrEventID
	}
	e.ID, e.EventID = id, id.String()
	e.IDTime = idTime(id)
	if !commerce.Recordable(e.Timestamp) || !commerce.Recordable(e.ReceivedAt) || !commerce.Recordable(e.IDTime) {
		return e, ErrTime
	}
	e.ReceivedAt = e.ReceivedAt.UTC().Truncate(StoredPrecision)
	e.At = e.Timestamp.UTC()
	if skew := time.Duration(e.ClockSkewMs) * time.Millisecond; skew >= skewIsLatency || skew <= -skewIsLatency {
		e.At = e.At.Add(skew)
	}
	if !commerce.Recordable(e.At) {
		return e, ErrTime
	}
	if e.At.After(e.ReceivedAt) { // nobody can send what is still to come
		e.At = e.ReceivedAt
	}
	e.At = e.At.Truncate(time.Millisecond)
	e.boundIDs()
	if !e.Late() {
		e.Visitor = cmp.Or(e.VisitorID, e.CookieID, e.keyedVisitor())
	}
	return e, nil
}

// boundIDs replaces ids that are too long for an index by a digest.
func (e *Event) boundIDs() {
	for _, id := range []*string{&e.VisitorID, &e.CookieID, &e.Identity.CartKey, &e.Identity.CartNoKey, &e.Identity.CustomerKey,
		&e.Identity.EmailKey, &e.Identity.PhoneKey, &e.NetKey} {
		*id = boundedID(*id)
	}
	if f := e.Former; f != nil {
		for _, id := range []*string{&f.CartKey, &f.CartNoKey, &f.CustomerKey, &f.EmailKey, &f.PhoneKey, &f.NetKey, &f.UserKey} {
			*id = boundedID(*id)
		}
	}
}

// idTime returns the instant at which a UUIDv7 was made.
func idTime(id uuid.UUID) time.Time {
	return time.UnixMilli(uuidtext.Time(id[:])).UTC()
}

// StoredPrecision is that of Postgres's timestamptz. Times are cut to it before they
// are compared: a stored copy must compare like one that has just come.
const StoredPrecision = time.Microsecond

// Copy is the part of an event by which copies of one id are compared, and whose
// observations change when it is replaced.
type Copy struct {
	EventID    string
	Trust      wire.Trust
	ReceivedAt time.Time
	Digest     []byte // SHA-256 of the record
	Visitor    string // may be empty
	At         time.Time
	Late       bool
}

// Copy returns that part of the event.
func (e *Event) Copy() Copy {
	return Copy{e.EventID, e.Trust, e.ReceivedAt, e.Digest(), e.Visitor, e.At, e.Late()}
}

// Before reports whether c counts and not other, of two copies of one id: the one
// of the greatest trust counts, then the one with the least (receivedAt, digest).
func (c Copy) Before(other Copy) bool {
	return cmp.Or(cmp.Compare(rankOf(other.Trust), rankOf(c.Trust)), c.ReceivedAt.Compare(other.ReceivedAt),
		bytes.Compare(c.Digest, other.Digest)) < 0
}

// rankOf orders trust (docs/attribution.md, "Facts").
func rankOf(trust wire.Trust) int {
	switch trust {
	case wire.TrustImport:
		return 2
	case wire.TrustKey:
		return 1
	}
	return 0
}

// inOrder returns events ordered by id. It moves each of them once: they are large.
func inOrder(events []Event) []Event {
	places := make([]int, len(events))
	for i := range places {
		places[i] = i
	}
	byID := func(a, b int) int { return cmp.Compare(events[a].EventID, events[b].EventID) }
	if slices.IsSortedFunc(places, byID) {
		return events
	}
	slices.SortFunc(places, byID)
	list := make([]Event, len(events))
	for i, place := range places {
		list[i] = events[place]
	}
	return list
}

// onlyOnce reports whether no two events have one id. It uses an empty map for that.
func onlyOnce(events []Event, byID map[string]int) bool {
	for i := range events {
		byID[events[i].EventID] = i
		if len(byID) <= i {
			return false
		}
	}
	return true
}

// ChooseCopies returns the copy that counts of each event id, ordered by id, and
// the other copies. Where no id comes twice, the first may be events itself.
func ChooseCopies(events []Event) (chosen []Event, others []Copy) {
	byID := make(map[string]int, len(events))
	if onlyOnce(events, byID) {
		return inOrder(events), nil
	}
	clear(byID)
	chosen = make([]Event, 0, len(events))
	for place := range events {
		e := &events[place]
		i, known := byID[e.EventID]
		switch {
		case !known:
			byID[e.EventID] = len(chosen)
			chosen = append(chosen, *e)
		case e.Copy().Before(chosen[i].Copy()):
			others = append(others, chosen[i].Copy())
			chosen[i] = *e
		default:
			others = append(others, e.Copy())
		}
	}
	return inOrder(chosen), others
}
