package sdk

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/tributary-io/tributary/sdk/core"
)

// Version of this package, sent with each event.
const Version = "0.1.0"

// The standard event names. A custom name matches [A-Z][A-Z0-9_]{0,63}.
const (
	PageView          = core.PageView
	ProductView       = core.ProductView
	AddToCart         = core.AddToCart
	InitiateCheckout  = core.InitiateCheckout
	CheckoutCompleted = core.CheckoutCompleted
)

// Identity is what the caller knows of the shopper. Every field is optional.
// The edge keeps only keyed hashes of it.
type Identity = core.Identity

// Event is an event with all fields, for TrackEvent.
// ID and Timestamp may be empty.
type Event = core.Event

// Consent is what the shopper said, for Event.Consent: ConsentGranted, ConsentDenied, ConsentUnknown (as is none), or
// "granted meta,ga4" where the shopper agreed that sales are told to these networks. Anything else makes TrackEvent
// return an *Invalid of the field consent.
type Consent = core.Consent

// The answers that name no network.
const (
	ConsentGranted = core.ConsentGranted
	ConsentDenied  = core.ConsentDenied
	ConsentUnknown = core.ConsentUnknown
)

// NetworkIDs is how advertising networks know the browser, for Event.Context.Networks: what their cookies hold. Each is
// kept where Event.Consent has its network; what no such cookie holds is left out.
type NetworkIDs = core.NetworkIDs

// Invalid is the error of an event that the edge would refuse, with a stable code
// and the field. Use errors.As to get it.
type Invalid = core.Violation

// Statuses of a Result.
const (
	Acknowledged = "ok"        // the edge has stored it
	Duplicate    = "duplicate" // the edge had it already
	Rejected     = "rejected"  // the edge refused it: Code and Message say why
	GivenUp      = "given_up"  // it could not be sent: Err says why
)

// Result says how one event ended.
type Result struct {
	EventID string
	Status  string
	Code    string
	Message string
	Err     error // GivenUp: why it could not be sent; Rejected: a *Refused with the code and the message
}

// numbering is about how many bytes stream and seq add to an event.
const numbering = 80

// encode checks e, completes it and returns its canonical text.
func (c *Client) encode(e Event, payload any) ([]byte, string, error) {
	now := c.cfg.now()
	if e.ID == "" {
		e.ID = c.cfg.uid(now)
	}
	if e.Timestamp == 0 {
		e.Timestamp = now.UnixMilli()
	}
	if payload != nil {
		text, err := json.Marshal(payload)
		if err != nil {
			return nil, "", fmt.Errorf("encode the payload of %s: %w", e.Name, err)
		}
		if e.Payload = string(text); e.Payload == "null" {
			e.Payload = ""
		}
	} else if e.Payload != "" && !json.Valid([]byte(e.Payload)) {
		return nil, "", fmt.Errorf("encode %s: %w", e.Name, &Invalid{Code: core.CodeInvalidPayload, Field: "payload", Message: "is not JSON"})
	}
	if e.Context.Library == (core.Library{}) {
		e.Context.Library = core.Library{Name: "sdk-go", Version: Version}
	}
	given := string(core.AppendEvent(make([]byte, 0, 512), &e))
	batch, v := core.ParseBatch(given, c.cfg.CompanyID, core.Options{})
	if v == nil {
		v = batch.Items[0].Err
	}
	if v != nil {
		return nil, "", fmt.Errorf("track %s: %w", e.Name, v)
	}
	e = batch.Items[0].Event
	if e.Stream == "" {
		// Only valid events are numbered, so that a gap in the numbers means a lost event. Of
		// what the client itself gives up it tells (dropped).
		e.Stream, e.Seq = c.stream, c.seq.Add(1)
	}
	// The id is a part of given, which must not stay in memory for it.
	return core.AppendEvent(make([]byte, 0, len(given)+numbering), &e), strings.Clone(e.ID), nil
}

// newID returns a UUIDv7 with 74 random bits.
func newID(now time.Time) string {
	var random [10]byte
	_, _ = rand.Read(random[:]) // never fails: crypto/rand ends the program instead
	return string(core.AppendUUIDv7(make([]byte, 0, 36), now.UnixMilli(), random))
}

// body returns a request of entries with the time of this attempt.
func (c *Client) body(entries []entry) []byte {
	var b bytes.Buffer
	b.WriteString(`{"companyId":`)
	b.Write(core.AppendString(nil, c.cfg.CompanyID))
	b.WriteString(`,"sentAt":"`)
	b.Write(core.AppendTime(nil, c.cfg.now().UnixMilli()))
	b.WriteByte('"')
	if lost := c.lost.tell(); lost != (core.Dropped{}) {
		b.WriteString(`,"dropped":`)
		b.Write(core.AppendDropped(nil, lost))
	}
	b.WriteString(`,"events":[`)
	for i := range entries {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(entries[i].text)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}
