package core

import (
	"slices"
	"strings"
)

// Bounds of what is accepted (docs/edge.md, "Bounds").
const (
	MaxEventBytes  = 32 << 10
	MaxBatchEvents = 500
	MaxDepth       = 32

	maxCompanyID = 64
	// A raw envelope has its payload as a JSON string. Its canonical form must fit
	// MaxEventBytes; the envelope itself may take twice that.
	maxEnvelopeBytes = 2 * MaxEventBytes
)

// Options are what a parse needs from outside.
type Options struct {
	Now   int64         // Unix milliseconds: the time of events without one
	NewID func() string // a UUIDv7 for each event without an id; nil leaves it empty
}

// Violation is why a body or an event was refused.
type Violation struct {
	Code    Code
	Field   string // dotted path from the event ("payload.items[0].item_id"); may be empty
	Message string // for people
}

func (v *Violation) Error() string {
	if v.Field == "" {
		return string(v.Code) + ": " + v.Message
	}
	return string(v.Code) + ": " + v.Field + " " + v.Message
}

// Item is one event of a batch, or why it was refused. Event.ID is set
// whenever it could be read.
type Item struct {
	Event Event
	Err   *Violation
	Text  string // the item's own JSON text, cut out of the body
	Raw   bool   // it came as a raw envelope

	// Unread tells that something of it may not be read: a member that is not known, the text
	// "null" or "undefined", items that are elsewhere or cannot be read (UnreadItems).
	Unread bool
}

// Batch is a whole request.
type Batch struct {
	CompanyID string
	SentAt    int64 // Unix milliseconds by the sender's clock; 0 when absent or outside the years 1970 to 2199
	Items     []Item
	Dropped   Dropped // what the sender gave up since its last acknowledged batch
}

// ParseBatch reads the body of a request: one event object with companyId in
// it, an array of events, or {companyId, sentAt, events: […]}; an event is an
// object or a raw envelope. companyID is the query's, empty when it has none.
// A Violation refuses the whole body; a bad event sets Err of its Item only. The
// result holds parts of body.
func ParseBatch(body, companyID string, o Options) (Batch, *Violation) {
	var b Batch
	v := b.Parse(body, companyID, o)
	return b, v
}

// Parse is ParseBatch into a batch whose items' memory is used again.
func (b *Batch) Parse(body, companyID string, o Options) *Violation {
	*b = Batch{CompanyID: companyID, Items: b.Items[:0]}
	body = strings.Trim(body, " \t\r\n")
	if len(companyID) > maxCompanyID {
		return &Violation{CodeCompanyIDRequired, "companyId", "is longer than 64 bytes"}
	}
	var v *Violation
	switch {
	case body == "":
		return &Violation{Code: CodeInvalidJSON, Message: "the body is empty"}
	case body[0] == '[' && !isEnvelope(body):
		v = b.items(body, &o)
	case body[0] == '[':
		v = b.add(body, &o)
	case body[0] == '{':
		v = b.object(body, &o)
	default:
		v = notJSON()
	}
	if v != nil {
		return v
	}
	if b.CompanyID == "" {
		return &Violation{CodeCompanyIDRequired, "companyId", "is missing from the body and the query"}
	}
	if len(b.Items) == 0 {
		return &Violation{CodeNoEvents, "events", "is empty"}
	}
	return nil
}

func notJSON() *Violation {
	return &Violation{Code: CodeInvalidJSON, Message: "the body is not JSON"}
}

// isEnvelope tells a raw envelope ["r1",…] from an array of events.
func isEnvelope(text string) bool {
	return strings.HasPrefix(strings.TrimLeft(text[1:], " \t\r\n"), `"`)
}

// object reads a body that is an object: a batch if it has events, else one
// event.
func (b *Batch) object(body string, o *Options) *Violation {
	if b.oneEvent(body, o) {
		return nil
	}
	b.Items = b.Items[:0]
	return b.members(body, o)
}

// members reads a body that is an object, member by member.
func (b *Batch) members(body string, o *Options) *Violation {
	var events, company, sentAt, dropped string
	s := Scan(body, 0)
	s.Enter()
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		value := s.cut()
		switch key {
		case "events":
			events = value
		case "companyId":
			company = value
		case "sentAt":
			sentAt = value
		case "dropped":
			dropped = value
		}
	}
	if !s.Done() {
		return notJSON()
	}
	if v := b.companyText(company); v != nil {
		return v
	}
	if v := b.sentAt(sentAt); v != nil {
		return v
	}
	if events == "" || events == "null" {
		return b.add(body, o)
	}
	if events[0] != '[' {
		return &Violation{CodeInvalidField, "events", "must be an array"}
	}
	if v := b.dropped(dropped); v != nil {
		return v
	}
	return b.items(events, o)
}

// oneEvent reads a body that is one event without a fault and without what only
// a batch has. It returns false for any other body, which is then read again.
func (b *Batch) oneEvent(body string, o *Options) bool {
	b.Items = append(b.Items[:0], Item{Text: body})
	item := &b.Items[0]
	p := parser{in: Scan(body, 0), event: &item.Event}
	p.object()
	if !p.in.Done() || p.err != nil || p.again || len(body) > MaxEventBytes || len(p.company) > maxCompanyID ||
		p.company != "" && b.CompanyID != "" && p.company != b.CompanyID {
		return false
	}
	p.complete(o, item)
	item.Err, item.Unread = p.err, p.unread
	if p.company != "" {
		b.CompanyID = p.company
	}
	return true
}

func (b *Batch) companyText(text string) *Violation {
	if text == "" || text == "null" {
		return nil
	}
	s := Scan(text, 0)
	id := s.Text()
	if !s.Done() || id == "" || len(id) > maxCompanyID {
		return &Violation{CodeCompanyIDRequired, "companyId", "must be a string of 1 to 64 bytes"}
	}
	return b.company(id)
}

// company sets the batch's company. A second, other one is a violation.
func (b *Batch) company(id string) *Violation {
	if b.CompanyID == "" {
		b.CompanyID = id
	}
	if b.CompanyID != id {
		return &Violation{CodeMixedCompanies, "companyId", "differs within the request"}
	}
	return nil
}

func (b *Batch) sentAt(text string) *Violation {
	if text == "" || text == "null" {
		return nil
	}
	at, ok := TimeOf(text)
	if !ok {
		return &Violation{CodeInvalidTimestamp, "sentAt", "must be an RFC 3339 time with a zone, or milliseconds since 1970"}
	}
	if Recordable(at) { // by another clock the events' times cannot be corrected
		b.SentAt = at
	}
	return nil
}

// items cuts an array into its items and parses each.
func (b *Batch) items(text string, o *Options) *Violation {
	if b.Items == nil { // An event takes some 600 bytes. A good guess of their count saves copies.
		b.Items = make([]Item, 0, min(MaxBatchEvents, 1+len(text)/512))
	}
	s := Scan(text, 0)
	s.Enter()
	for s.Element() {
		if n := len(b.Items); n > 0 && n == cap(b.Items) { // as many more as there will be if the rest is like the beginning
			b.Items = slices.Grow(b.Items, min(MaxBatchEvents-n, 1+n*(len(text)-s.at)/s.at))
		}
		if v := b.next(&s, o); v != nil {
			return v
		}
	}
	if !s.Done() {
		return notJSON()
	}
	return nil
}

// next reads the array's next element. An event object is parsed at once; if
// that finds a fault, its end is looked for first.
func (b *Batch) next(s *Scanner, o *Options) *Violation {
	text := s.text[s.at:]
	if len(b.Items) < MaxBatchEvents && strings.HasPrefix(text, "{") {
		b.Items = append(b.Items, Item{})
		item := &b.Items[len(b.Items)-1]
		p := parser{in: Scan(text, 0), event: &item.Event}
		p.object()
		if p.in.fault == NoFault && p.err == nil && p.in.at <= MaxEventBytes {
			item.Text = text[:p.in.at]
			p.complete(o, item)
			item.Err, item.Unread = p.err, p.unread
			s.at += p.in.at
			if p.company != "" {
				return b.company(p.company)
			}
			return nil
		}
		b.Items = b.Items[:len(b.Items)-1]
	}
	if text = s.cut(); text == "" {
		return notJSON()
	}
	if len(b.Items) == MaxBatchEvents {
		return &Violation{CodeTooManyEvents, "events", "holds more than 500 events"}
	}
	return b.add(text, o)
}

// add parses one item. The violation that it returns refuses the whole body.
func (b *Batch) add(text string, o *Options) *Violation {
	b.Items = append(b.Items, Item{Text: text})
	item := &b.Items[len(b.Items)-1]
	company := item.parse(o)
	if company != "" {
		return b.company(company)
	}
	return nil
}
