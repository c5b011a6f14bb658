package commerce

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/publichost"
)

// Bounds of what leaves (docs/adr/0039).
const (
	MaxEndpoints    = 10      // of one company
	MaxWaiting      = 100_000 // messages of one endpoint that are to be sent; with one more it is disabled; twice for an hour once enabled
	MaxEndpointURL  = 500
	MaxEndpointName = 100
	MaxTries        = 12                  // attempts of one message that are kept, the last ones
	MaxReplay       = 5_000               // orders, and statements, of one replay
	MaxKept         = 500_000             // newest messages of an endpoint: older ones are not kept once they are done
	DeliveredLife   = 7 * 24 * time.Hour  // of a message that was delivered
	ReplayBefore    = 5 * time.Minute     // which a replay reads before its first moment
	ParkedLife      = 30 * 24 * time.Hour // of one that was not
	LeakLife        = ParkedLife          // of one of CouponLeaking: a leak that was told is not told again for so long
	SecretOverlap   = 24 * time.Hour      // for which a former secret signs beside the new one
	MaxFormer       = 3                   // former secrets that sign; the oldest ends before its time where there are more
	DeadAfter       = 5 * 24 * time.Hour  // an endpoint that only fails for so long is disabled
)

// EventType is what happened.
type EventType string

// The events that endpoints may get.
const (
	OrderAttributed   EventType = "order.attributed"
	PayoutChanged     EventType = "payout.changed"
	PayoutReview      EventType = "payout.review"
	StatementIsClosed EventType = "statement.closed"
	StatementIsPaid   EventType = "statement.paid"
	CouponLeaking     EventType = "coupon.leaking"
	ConnectionFails   EventType = "connection.failing"
)

// EndpointTest is the event that a merchant sends to look whether an endpoint works. Every endpoint gets it, and none asks for it.
const EndpointTest EventType = "webhook.test"

// EventTypes are those that an endpoint asks for.
var EventTypes = []EventType{
	OrderAttributed, PayoutChanged, PayoutReview, StatementIsClosed, StatementIsPaid, CouponLeaking, ConnectionFails,
}

// EventNames are the names of events as texts.
func EventNames(types []EventType) []string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = string(t)
	}
	return names
}

// Why an endpoint is disabled.
const (
	EndpointByMerchant = "merchant" // the merchant did it
	EndpointGone       = "gone"     // it answered 410
	EndpointDead       = "dead"     // nothing reached it for DeadAfter
	EndpointOverflow   = "overflow" // MaxWaiting messages waited
)

// Errors of endpoints.
var (
	ErrTooManyEndpoints = fmt.Errorf("%w: at most %d webhook endpoints", ErrConflict, MaxEndpoints)
	ErrEndpointFull     = fmt.Errorf("%w: too many messages of this endpoint wait", ErrConflict)
	ErrEndpointDisabled = fmt.Errorf("%w: the webhook endpoint is disabled", ErrConflict)
)

// Event is one thing that happened to a company. Data is a struct with a JSON form: references, amounts and states, and no
// person's data. What has one key reaches a receiver in order.
type Event struct {
	Type EventType
	Key  string    // such as "order:1001"
	At   time.Time // whole microseconds
	Data any
}

// Encode is the event's data, and the id that the receiver knows it by: a digest, so that the same event has the same id.
func (e Event) Encode(companyID string) (id string, data []byte, err error) {
	if data, err = json.Marshal(e.Data); err != nil {
		return "", nil, fmt.Errorf("event %s of %s: %w", e.Type, e.Key, err)
	}
	sum := sha256.New()
	at := binary.BigEndian.AppendUint64(nil, uint64(e.At.UnixMicro()))
	for _, part := range [][]byte{[]byte(companyID), []byte(e.Type), []byte(e.Key), at, data} {
		sum.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part)))) // so that no two are alike
		sum.Write(part)
	}
	return "msg_" + LowerBase32.EncodeToString(sum.Sum(nil)[:15]), data, nil
}

// OrderTold is the data of events of orders, as the order is then.
type OrderTold struct {
	OrderID      string   `json:"orderId"`
	Status       int      `json:"status"` // OrderApproved | OrderPending | OrderCancelled
	Currency     string   `json:"currency"`
	Total        Amount   `json:"total"`
	InfluencerID string   `json:"influencer_id,omitempty"` // who is paid, or would be
	CampaignID   string   `json:"campaign_id,omitempty"`
	CouponID     string   `json:"coupon_id,omitempty"`
	Evidence     Evidence `json:"evidence,omitempty"`
	State        string   `json:"state"`            // of the payout: earned, expected, review, reversed, none
	Reason       string   `json:"reason,omitempty"` // why it waits, or nothing is earned
	Commission   Amount   `json:"commission"`
	FixedBRL     *Amount  `json:"fixed_brl,omitempty"` // fixed fees of an order in another currency
	PayableOn    string   `json:"payable_on,omitempty"`
}

// Key is the order's key among events.
func (o OrderTold) Key() string { return "order:" + o.OrderID }

// StatementTold is the data of events of statements.
type StatementTold struct {
	StatementID  string `json:"statement_id"`
	Number       int64  `json:"number"`
	InfluencerID string `json:"influencer_id"`
	Currency     string `json:"currency"`
	EndDate      string `json:"end_date"`
	Total        Sum    `json:"total"`
	Carried      bool   `json:"carried"`
	State        string `json:"state"`             // "closed" or "paid"; a payment that is undone is StatementIsPaid with "closed"
	PaidAt       string `json:"paid_at,omitempty"` // RFC 3339
}

// LeakTold is the data of CouponLeaking.
type LeakTold struct {
	Code         string `json:"code"`
	InfluencerID string `json:"influencer_id"`
	Since        string `json:"since"` // the day on which it began to spread, YYYY-MM-DD
}

// ConnectionTold is the data of ConnectionFails.
type ConnectionTold struct {
	ConnectionID string `json:"connection_id"`
	Platform     string `json:"platform"`
	Reason       string `json:"reason"` // one of Shop…
}

// TestTold is the data of EndpointTest.
type TestTold struct {
	EndpointID string `json:"endpoint_id"`
}

// States of an endpoint.
const (
	EndpointActive   = "active"
	EndpointFailing  = "failing" // it is active, and the last attempt failed
	EndpointDisabled = "disabled"
)

// State is what an endpoint does, in a word: Endpoint….
func (e Endpoint) State() string {
	switch {
	case !e.Active:
		return EndpointDisabled
	case !e.FailingSince.IsZero():
		return EndpointFailing
	}
	return EndpointActive
}

// Endpoint is where a company's events go.
type Endpoint struct {
	CompanyID    string
	ID           string // EndpointPrefix, or NetworkPrefix, and more
	Kind         DestinationKind
	Name         string
	URL          string // https; of a network see Network
	Types        []EventType
	Active       bool
	Reason       string    // why it is disabled: Endpoint…
	Since        time.Time // of Active
	CreatedAt    time.Time
	FailingSince time.Time // zero: the last attempt did not fail
	Failures     int       // in a row
	DeliveredAt  time.Time // the last one; zero: none
	Waiting      int64     // messages that wait, at most MaxWaiting
	Parked       int64     // messages that were given up, and are kept: of those of the last days among the newest MaxWaiting done
	Secrets      int       // that sign now
	Version      int64     // moves with each change by the merchant
}

// Check adds what is wrong with what the merchant set of an endpoint.
func (e Endpoint) Check(bad *Violations) {
	bad.Filled("name", e.Name, MaxEndpointName)
	if len(e.URL) > MaxEndpointURL {
		bad.Add("url", CodeTooLong, "is longer than %d characters", MaxEndpointURL)
	} else if _, err := publichost.OfDestination(e.URL); err != nil {
		bad.Add("url", CodeInvalidURL, "%s", err)
	}
	if len(e.Types) == 0 {
		bad.Add("types", CodeTooFew, "needs at least one")
	}
	for i, t := range e.Types {
		switch {
		case !slices.Contains(EventTypes, t):
			bad.Add("types", CodeInvalidValue, "must be one of %s", strings.Join(EventNames(EventTypes), ", "))
		case slices.Contains(e.Types[:i], t):
			bad.Add("types", CodeInvalidValue, "has one twice")
		}
	}
}

// ReplayRange is the range of a replay that is asked for at now: it ends at now at the latest, since what comes later is told anyway,
// and also where to is zero. False: it ends too early. One that goes on begins up to ReplayBefore after its end.
func ReplayRange(from, to, now time.Time) (end time.Time, ok bool) {
	if to.IsZero() || to.After(now) {
		to = now
	}
	return to, from.Before(to.Add(ReplayBefore))
}

// Replayed is what a replay did.
type Replayed struct {
	Messages int       // that were written
	Until    time.Time // the end of the range; where there is more, what the next replay is from: ReplayBefore after what was written last
	More     bool      // something up to the end of the range is left: replay from Until on, to the same end
}

// SealedSecret is a signing secret, sealed to the connect service (account.SealWebhook).
type SealedSecret struct {
	KeyID  string    `json:"key_id"`
	Sealed []byte    `json:"sealed"`
	EndsAt time.Time `json:"ends_at,omitzero"` // it signs until then; zero: it is the newest
}

// Try is one attempt to deliver a message.
type Try struct {
	At      time.Time `json:"at"`
	Status  int       `json:"status,omitempty"`  // of the answer; 0: none came
	Failure string    `json:"failure,omitempty"` // one of Try…; empty: it was delivered
	Answer  string    `json:"answer,omitempty"`  // how an answer that was no 2xx begins, in printable characters
	TookMS  int64     `json:"took_ms"`

	Former *int64 `json:"former,omitempty"` // of a refund that is TryProcessing: what the network had of the order before, in minor units
}

// Why an attempt failed.
const (
	TryStatus   = "status"      // the answer was no 2xx
	TryRedirect = "redirect"    // it was a redirect, which is not followed
	TryAddress  = "not_public"  // the address is none of the internet
	TryTimeout  = "timeout"     // no answer in time
	TryNoAnswer = "no_answer"   // the connection failed
	TryNoSecret = "secret_lost" // the endpoint's secrets cannot be opened: the key file lacks their key

	TryNoRecipient = "no_recipient" // nobody is to get the mail: there is no address, or it is none
	TryLate        = "late"         // no sender looked at the destination for a day: the mail is not sent any more
	TryUnread      = "unread"       // what the mail tells could not be read
	TryLogIn       = "log_in"       // the SMTP server takes no mail from us: it has no TLS, or refuses the log-in or the sender
)

// Message is one event for one endpoint.
type Message struct {
	Number   int64 // counts the company's events: of one key the lower goes first
	Key      string
	Type     EventType
	At       time.Time
	ID       string // webhook-id
	Data     json.RawMessage
	State    string // Message…
	DueAt    time.Time
	Attempts int // since it last began to wait
	Tries    []Try
	DoneAt   time.Time
	Behind   bool // of a listed one: it waits for an earlier one of its key
}

// Body is what a webhook endpoint gets. Its data begins with the message's number, by which a receiver can tell the order of what has one
// key.
func (m Message) Body() ([]byte, error) {
	data := bytes.TrimLeft(m.Data, " \n\t")
	if len(data) < 2 || data[0] != '{' {
		return nil, errors.New("commerce: a message's data is no object")
	}
	begin := `{"sequence":` + strconv.FormatInt(m.Number, 10)
	if data[1] != '}' {
		begin += ","
	}
	return json.Marshal(struct {
		Type      EventType       `json:"type"`
		Timestamp string          `json:"timestamp"`
		Data      json.RawMessage `json:"data"`
	}{m.Type, m.At.UTC().Format(time.RFC3339Nano), append([]byte(begin), data[1:]...)})
}

// Into reads a message's data.
func (m Message) Into(data any) error { return json.Unmarshal(m.Data, data) }

// States of a message.
const (
	MessageWaiting   = "waiting"
	MessageDelivered = "delivered"
	MessageParked    = "parked"
	MessageSkipped   = "skipped" // it is done, and nothing was sent: its last attempt says why (Skip…)
)

// MessageStates are those of messages of webhooks; NetworkStates of those of networks.
var (
	MessageStates = []string{MessageWaiting, MessageDelivered, MessageParked}
	NetworkStates = append(slices.Clone(MessageStates), MessageSkipped)
)

// DestinationKind is how what leaves is sent.
type DestinationKind string

// The kinds of destinations.
const (
	ToWebhook DestinationKind = "webhook"
	ToMail    DestinationKind = "mail"
)

// LeasedDestination is where a sender sends, such as an endpoint.
type LeasedDestination struct {
	CompanyID, ID, URL string
	Kind               DestinationKind
	Language           string // of mails
	Types              []EventType
	Since              time.Time // it is active
	Secrets            []SealedSecret
	FailingSince       time.Time
	Failures           int
}

// Sent is what became of one attempt.
type Sent struct {
	Number  int64
	Try     Try
	State   string    // of the message now
	DueAt   time.Time // of the next attempt, where it waits
	Untried bool      // there was no attempt: it waits until DueAt
}

// DestinationHealth is what a sender stores of a destination with the attempts of a round.
type DestinationHealth struct {
	FailingSince time.Time
	Failures     int
	DeliveredAt  time.Time // zero: it stays as it is
	Disable      string    // Endpoint…; empty: it stays active
}
