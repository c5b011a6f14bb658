package facts

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

// Event is one copy of an event.
type Event struct {
	wire.Event
	IDTime  time.Time // the UUIDv7's own time: the fact's month
	At      time.Time // corrected time, UTC, milliseconds
	Visitor string    // visitorId, else cookieId; may be empty
	Digest  []byte    // SHA-256 of Raw
	Raw     []byte    // the record as it came
}

// Human tells whether the event counts for attribution: bots, prefetches and
// link previews never do.
func (e *Event) Human() bool { return e.Bot == "" || e.Bot == wire.BotNone }

// skewIsLatency: a smaller difference between sentAt and receivedAt is the
// network's, not the clock's (docs/attribution.md, "Facts").
const skewIsLatency = 60 * time.Second

// Errors of a record that can never be applied. Their text is the code of
// rejected.v1.
var (
	ErrNotJSON      = errors.New("invalid_json")
	ErrEventID      = errors.New("invalid_event_id")
	ErrNoCompany    = errors.New("missing_company")
	ErrOtherCompany = errors.New("company_mismatch") // the record's key names another
	ErrTime         = errors.New("invalid_time")
	ErrUnknownKind  = errors.New("unknown_kind")
	ErrNoID         = errors.New("missing_id")
	ErrCurrency     = errors.New("invalid_currency")
)

// ParseEvent reads a record of events.v1.
func ParseEvent(raw []byte) (Event, error) {
	e := Event{Raw: raw}
	if err := json.Unmarshal(raw, &e.Event); err != nil {
		return e, fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	if e.CompanyID == "" {
		return e, ErrNoCompany
	}
	id, err := uuid.Parse(e.EventID)
	if err != nil || id.Version() != 7 {
		return e, ErrEventID
	}
	e.EventID = id.String()
	e.IDTime = time.UnixMilli(int64(binary.BigEndian.Uint64(append([]byte{0, 0}, id[:6]...)))).UTC()
	if !commerce.Recordable(e.Timestamp) || !commerce.Recordable(e.ReceivedAt) || !commerce.Recordable(e.IDTime) {
		return e, ErrTime
	}
	e.ReceivedAt = e.ReceivedAt.UTC().Truncate(storedPrecision)
	e.At = e.Timestamp.UTC()
	if skew := time.Duration(e.ClockSkewMs) * time.Millisecond; skew >= skewIsLatency || skew <= -skewIsLatency {
		e.At = e.At.Add(skew)
	}
	e.At = e.At.Truncate(time.Millisecond)
	if !commerce.Recordable(e.At) {
		return e, ErrTime
	}
	if e.Visitor = e.VisitorID; e.Visitor == "" {
		e.Visitor = e.CookieID
	}
	digest := sha256.Sum256(raw)
	e.Digest = digest[:]
	return e, nil
}

// storedPrecision is Postgres's. Times are cut to it before they are compared,
// so that two copies compare alike in one batch and across batches.
const storedPrecision = time.Microsecond

// Before tells which of two copies of one id counts: the one with the least
// (receivedAt, digest).
func (e *Event) Before(other *Event) bool {
	if !e.ReceivedAt.Equal(other.ReceivedAt) {
		return e.ReceivedAt.Before(other.ReceivedAt)
	}
	return string(e.Digest) < string(other.Digest)
}

// Kinds of keys, strongest first.
const (
	KeyCart     = "cart"
	KeyVisitor  = "visitor"
	KeyCustomer = "customer"
	KeyEmail    = "email"
	KeyPhone    = "phone"
)

// JoinKinds lists the kinds that join orders to visitors, strongest first.
var JoinKinds = []string{KeyCart, KeyVisitor, KeyCustomer, KeyEmail, KeyPhone}

// Kinds of order_key that find the orders a rule can concern; they join nothing.
const (
	KeyCode       = "code"       // folded discount code, or a part of it
	KeyUTM        = "utm"        // folded utm_campaign of a touch in the order's reach
	KeyLink       = "link"       // short code of a touch in the order's reach
	KeyInfluencer = "influencer" // whom the order's evidence names
)

// Key is one key of an order or a visitor.
type Key struct{ Kind, Value string }

// Keys are what the event says its visitor is known by; none for bots or
// where there is no visitor.
func (e *Event) Keys() []Key {
	if e.Visitor == "" || !e.Human() {
		return nil
	}
	keys := make([]Key, 0, 6)
	add := func(kind, value string) {
		if value != "" {
			keys = append(keys, Key{kind, value})
		}
	}
	add(KeyCart, e.Identity.CartKey)
	add(KeyVisitor, e.Visitor)
	if e.CookieID != e.Visitor {
		add(KeyVisitor, e.CookieID)
	}
	add(KeyCustomer, e.Identity.CustomerKey)
	add(KeyEmail, e.Identity.EmailKey)
	add(KeyPhone, e.Identity.PhoneKey)
	return keys
}
