package core

import (
	"strconv"
	"strings"
)

// Bounds of single fields, in bytes. A longer identifier is refused. A longer
// text or URL is cut: no sale may be lost for a long title.
const (
	maxID        = 128 // visitorId, sessionId, stream
	maxIdentity  = 320 // the longest e-mail address (RFC 3696, erratum 1690)
	maxURL       = 2048
	maxTitle     = 512
	maxUserAgent = 512
	maxCampaign  = 256 // a UTM value or a click id
	maxShort     = 64  // locale, screen, library
)

// parser fills one event. It keeps the first violation. If the rest of the text
// can still be read, it goes on, to find the event's id.
type parser struct {
	in        Scanner
	event     *Event
	company   string
	payload   string // to be checked once the event's name is known, unless it is canonical
	canonical bool
	hasTime   bool
	again     bool // it has members that Batch.members must judge
	unread    bool // Item.Unread
	err       *Violation
}

// parse reads the item's text into its Event or Err and returns the companyId
// in it, if any.
func (i *Item) parse(o *Options) (company string) {
	p := parser{in: Scan(i.Text, 0), event: &i.Event}
	limit := MaxEventBytes
	switch i.Text[0] {
	case '{':
		p.object()
	case '[':
		i.Raw = true
		limit = maxEnvelopeBytes
		p.envelope()
	default:
		p.refuse(CodeInvalidEvent, "", "must be an event object or a raw envelope")
		p.in.Skip()
	}
	if !p.in.Done() {
		p.refuseFault("")
	}
	if len(i.Text) > limit {
		p.err = tooLarge("is larger than 32 KiB")
	}
	if p.err == nil {
		p.complete(o, i)
	}
	i.Err, i.Unread = p.err, p.unread
	return p.company
}

// maxCanonicalBytes bounds the canonical form of an event object: what is stored of a stranger's 32 KiB.
// An honest event grows little: of items named as Shopify does, by a third.
const maxCanonicalBytes = 2 * MaxEventBytes

// maxGrowth bounds how many times longer than an envelope its canonical form can
// be: a byte that is not UTF-8 becomes three, a page's URL gives its path and
// campaign too, and an item's "id" becomes "item_id" with a quantity.
const maxGrowth = 8

func tooLarge(message string) *Violation {
	return &Violation{Code: CodeEventTooLarge, Message: message}
}

// refuse keeps the first violation.
func (p *parser) refuse(code Code, field, message string) {
	if p.err == nil {
		p.err = &Violation{code, field, message}
	}
}

// refuseFault refuses what the Scanner could not read.
func (p *parser) refuseFault(field string) {
	switch p.in.Fault() {
	case TooDeep:
		p.refuse(CodeTooDeep, field, "is nested deeper than 32 levels")
	case OutOfRange:
		p.refuse(CodeNumberOutOfRange, field, "holds a number beyond a 64-bit float")
	default:
		p.refuse(CodeInvalidJSON, field, "is not JSON")
	}
}

// unknown skips the value of a member that is not known.
func (p *parser) unknown() {
	p.unread = true
	p.in.Skip()
}

// object reads an event object. Unknown members are ignored.
func (p *parser) object() {
	e := p.event
	p.in.Enter()
	for key, ok := p.in.Key(); ok; key, ok = p.in.Key() {
		switch key {
		case "eventId":
			p.id()
		case "event":
			e.Name = p.text("event", CodeInvalidEventName)
		case "timestamp":
			p.timestamp()
		case "companyId":
			absent := p.in.Kind() == Null
			p.company = p.text("companyId", CodeInvalidField)
			p.again = p.again || p.company == "" && !absent
		case "payload":
			if p.isObject("payload", CodeInvalidPayload) {
				p.payload, p.canonical = p.in.rawPayload()
			}
		case "identity":
			if p.isObject("identity", CodeInvalidIdentity) {
				p.identity()
			}
		case "context":
			if p.isObject("context", CodeInvalidContext) {
				p.context()
			}
		case "events", "sentAt":
			p.again = true
			p.in.Skip()
		default:
			if !p.deviceMember(key) {
				p.unknown()
			}
		}
	}
}

// envelope reads a raw envelope (docs/notes/wire.md, "Raw envelope"):
// ["r1", eventId, timestamp, event, payload, identity, {…}].
func (p *parser) envelope() {
	p.in.Enter()
	if !p.element() {
		return
	}
	if p.in.Kind() != String || p.in.Text() != "r1" {
		p.refuse(CodeInvalidEvent, "", `is an array that does not begin with "r1"`)
		return
	}
	if p.element() {
		p.id()
	}
	if p.element() {
		p.timestamp()
	}
	if p.element() {
		p.event.Name = p.text("event", CodeInvalidEventName)
	}
	if p.element() {
		p.quoted("payload", CodeInvalidPayload)
	}
	if p.element() {
		p.quoted("identity", CodeInvalidIdentity)
	}
	if p.element() && p.isObject("context", CodeInvalidContext) {
		p.flatContext()
	}
	for p.in.Element() { // a later version of the wrapper may add some
		p.in.Skip()
	}
}

func (p *parser) element() bool {
	if p.in.Element() {
		return true
	}
	p.refuse(CodeInvalidEvent, "", "is an envelope that ends early")
	return false
}

// quoted reads a JSON text that stands in a string. It begins one level deep, as
// in the canonical event.
func (p *parser) quoted(field string, code Code) {
	text := p.text(field, code)
	if text == "" {
		return
	}
	outer := p.in
	p.in = Scan(text, 1)
	if p.isObject(field, code) {
		if field == "payload" {
			p.payload, p.canonical = p.in.rawPayload()
		} else {
			p.identity()
		}
	}
	if !p.in.Done() && p.err == nil {
		p.refuseFault(field)
	}
	p.in = outer
}

// text reads a string; null counts as absent.
func (p *parser) text(field string, code Code) string {
	if text, plain := p.in.plain(); plain {
		return text
	}
	if p.in.IsNull() {
		return ""
	}
	if p.in.Kind() != String {
		p.refuse(code, field, "must be a string")
		p.in.Skip()
		return ""
	}
	return p.in.Text()
}

// idText reads an id: a string, or a whole number, which becomes its digits.
func (p *parser) idText(field string, code Code) string {
	if p.in.Kind() != Number {
		return p.text(field, code)
	}
	number := p.in.Raw()
	if !isWhole(number) {
		p.refuse(code, field, "must be a string or a whole number")
		return ""
	}
	return number
}

// isWhole tells whether a JSON number is written as digits alone, but for a sign.
func isWhole(number string) bool { return !strings.ContainsAny(number, ".eE") }

// isObject tells whether an object follows; it skips anything else.
func (p *parser) isObject(field string, code Code) bool {
	if p.in.IsNull() {
		return false
	}
	if p.in.Kind() != Object {
		p.refuse(code, field, "must be an object")
		p.in.Skip()
		return false
	}
	return true
}

func (p *parser) id() {
	if p.in.IsNull() {
		return
	}
	id := p.text("eventId", CodeInvalidEventID)
	p.event.ID = cut(id, maxID)
	if !ValidUUIDv7(id) || !Recordable(UUIDv7Time(id)) {
		p.refuse(CodeInvalidEventID, "eventId", "must be a UUID of version 7, made before the year 2200")
		return
	}
	p.event.ID = strings.ToLower(id)
}

func (p *parser) timestamp() {
	if p.in.IsNull() {
		return
	}
	ms, ok := p.time("timestamp")
	if !ok || !Recordable(ms) {
		p.refuse(CodeInvalidTimestamp, "timestamp", "must be an RFC 3339 time with a zone, or milliseconds since 1970, before the year 2200")
		return
	}
	p.event.Timestamp, p.hasTime = ms, true
}

// leastMillis is the least number that is a time, in milliseconds since 1970: March 1973. A
// time in seconds is less until the year 5138.
const leastMillis = 100_000_000_000

// TimeOf reads the JSON text of a time as an event has it: an RFC 3339 string with a zone, or
// a number of milliseconds since 1970. It returns Unix milliseconds.
func TimeOf(text string) (ms int64, ok bool) {
	p := parser{event: &Event{}, in: Scan(text, 0)}
	ms, ok = p.time("")
	return ms, ok && p.in.Done()
}

// withColon writes the offset of a time with the colon of RFC 3339: many platforms send "+0000".
func withColon(text string) string {
	if n := len(text) - len("+0000"); n >= len("2006-01-02T15:04:05") && (text[n] == '+' || text[n] == '-') {
		return text[:n+3] + ":" + text[n+3:]
	}
	return text
}

// time reads what TimeOf does.
func (p *parser) time(field string) (ms int64, ok bool) {
	if p.in.Kind() != Number {
		return ParseTime(withColon(p.text(field, CodeInvalidTimestamp)))
	}
	ms, ok = p.integer()
	return ms, ok && ms >= leastMillis
}

// deviceMember reads the members that an event object and an envelope's last
// element share.
func (p *parser) deviceMember(key string) bool {
	e := p.event
	switch key {
	case "visitorId":
		e.VisitorID = p.identifier("visitorId")
	case "sessionId":
		e.SessionID = p.identifier("sessionId")
	case "stream":
		e.Stream = p.identifier("stream")
	case "seq":
		p.seq()
	case "consent":
		p.consent()
	case "frame":
		e.Frame = p.boolean("frame", CodeInvalidField)
	default:
		return false
	}
	return true
}

func (p *parser) identifier(field string) string {
	id := p.idText(field, CodeInvalidField)
	if len(id) > maxID {
		p.refuse(CodeInvalidField, field, "is longer than 128 bytes")
		return ""
	}
	return p.withoutJunk(id)
}

func (p *parser) seq() {
	if p.in.IsNull() {
		return
	}
	n, ok := p.integer()
	if !ok || n < 0 {
		p.refuse(CodeInvalidField, "seq", "must be a whole number from 0")
		return
	}
	p.event.Seq = n
}

// integer reads a number without fraction or exponent.
func (p *parser) integer() (int64, bool) {
	if p.in.Kind() != Number {
		p.in.Skip()
		return 0, false
	}
	n, err := strconv.ParseInt(p.in.Raw(), 10, 64)
	return n, err == nil
}

func (p *parser) consent() {
	said, names, _ := strings.Cut(p.text("consent", CodeInvalidField), " ")
	switch consent := Consent(said); consent {
	case "", ConsentGranted, ConsentDenied, ConsentUnknown:
		list, ok := destinations(names)
		if !ok || list != "" && consent != ConsentGranted {
			p.refuse(CodeInvalidField, "consent", "has at most 8 destinations, as meta or ga4, after granted alone: granted meta,ga4")
			return
		}
		p.event.Consent, p.event.ConsentFor = consent, list
	default:
		p.refuse(CodeInvalidField, "consent", "must be granted, denied or unknown")
	}
}

// Bounds of the destinations of a consent.
const (
	maxDestinations = 8
	maxDestination  = 20 // bytes of each
)

// destinations reads names that are separated by commas, and puts them in order, each once. false: they are too many or no names.
func destinations(text string) (string, bool) {
	var names [maxDestinations]string
	n := 0
	for rest, more := text, true; more; {
		var name string
		name, rest, more = strings.Cut(rest, ",")
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		at := n
		for at > 0 && names[at-1] >= name {
			at--
		}
		if at < n && names[at] == name {
			continue
		}
		if n == maxDestinations || !isDestination(name) {
			return "", false
		}
		copy(names[at+1:n+1], names[at:n])
		names[at] = name
		n++
	}
	return strings.Join(names[:n], ","), true
}

// isDestination reports whether a name is small letters, and after them at most three digits: no number of a person fits.
func isDestination(name string) bool {
	letters := strings.TrimRight(name, "0123456789")
	for i := 0; i < len(letters); i++ {
		if letters[i] < 'a' || letters[i] > 'z' {
			return false
		}
	}
	return letters != "" && len(name)-len(letters) <= len("123") && len(name) <= maxDestination
}

// boolean reads true or false; null counts as absent.
func (p *parser) boolean(field string, code Code) bool {
	if p.in.IsNull() {
		return false
	}
	if p.in.Kind() != Bool {
		p.refuse(code, field, "must be true or false")
		p.in.Skip()
		return false
	}
	return p.in.Raw() == "true"
}

// complete checks and fills an event whose text could be read, and bounds its canonical form.
func (p *parser) complete(o *Options, i *Item) {
	p.fill(o)
	if p.err != nil || len(i.Text) <= MaxEventBytes/maxGrowth {
		return
	}
	most, message := MaxEventBytes, "is larger than 32 KiB"
	if !i.Raw {
		most, message = maxCanonicalBytes, "is larger than 64 KiB in canonical form"
	}
	if len(AppendEvent(nil, p.event)) > most {
		p.err = tooLarge(message)
	}
}

// fill checks what needs the whole event, and fills what is absent.
func (p *parser) fill(o *Options) {
	e := p.event
	name, ok := CanonicalName(e.Name)
	switch {
	case !ok:
		p.refuse(CodeInvalidEventName, "event", "must be a known event or match [A-Z][A-Z0-9_]{0,63}")
		return
	case name == LinkClick:
		p.refuse(CodeInvalidEventName, "event", "LINK_CLICK is made by short links alone")
		return
	}
	e.Name = name
	e.Payload = p.payload
	if !p.canonical {
		var unread bool
		unread, p.err = normalPayload(name, p.payload, &e.Payload)
		if p.unread = p.unread || unread; p.err != nil {
			return
		}
	}
	if !p.hasTime {
		e.Timestamp = o.Now
	}
	if e.ID == "" && o.NewID != nil {
		e.ID = o.NewID()
	}
	page := &e.Context.Page
	if page.Path == "" {
		page.Path = urlPath(page.URL)
	}
	if e.Context.Campaign != (Campaign{}) && len(e.Context.ClickIDs) > 0 {
		return
	}
	campaign, ids := ParseCampaign(page.URL)
	if e.Context.Campaign == (Campaign{}) {
		e.Context.Campaign = campaign
	}
	if len(e.Context.ClickIDs) == 0 {
		e.Context.ClickIDs = ids
	}
}
