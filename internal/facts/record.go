package facts

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// parseRecord parses a record of events.v1 as encoding/json does, with the same result
// and error. A record as the edge writes it is parsed without reflection; whatever
// else it may be, encoding/json itself parses it. The event keeps no part of raw, and its texts
// may be parts of one text.
func parseRecord(raw []byte) (wire.Event, error) {
	if text := string(raw); !hasOddities(text) {
		p := eventParser{Scanner: core.Scan(text, 0)}
		var e wire.Event
		if p.event(&e); !p.odd && p.Done() && (e.Payload == nil || strings.Contains(text, `"payload":`+string(e.Payload))) {
			return e, nil
		}
	}
	var e wire.Event
	err := json.Unmarshal(raw, &e)
	return e, err
}

// hasOddities tells whether a text may have characters that core and encoding/json
// do not read alike: U+0000, surrogates, bytes that are no UTF-8.
func hasOddities(text string) bool {
	for rest := text; ; {
		i := strings.Index(rest, `\u`)
		if i < 0 {
			return !utf8.ValidString(text)
		}
		rest = rest[i+2:]
		if rest == "" || rest[0] == 'd' || rest[0] == 'D' || strings.HasPrefix(rest, "0000") {
			return true
		}
	}
}

// eventParser parses one event. odd: the record is not as the edge writes it, and
// encoding/json must parse it.
type eventParser struct {
	core.Scanner
	odd bool
}

// object calls member with the name of each member of the next value, an object.
func (p *eventParser) object(member func(name string)) {
	if p.odd || p.Kind() != core.Object {
		p.odd = true
		return
	}
	p.Enter()
	for !p.odd {
		name, ok := p.Key()
		if !ok {
			return
		}
		member(name)
	}
}

// text parses the next value, a string.
func (p *eventParser) text(into *string) {
	if p.Kind() != core.String {
		p.odd = true
		return
	}
	*into = p.Text()
}

// integer parses the next value, a number without fraction or exponent.
func (p *eventParser) integer(into *int64) {
	if p.Kind() != core.Number {
		p.odd = true
		return
	}
	n, err := strconv.ParseInt(p.Raw(), 10, 64)
	*into, p.odd = n, err != nil
}

func (p *eventParser) boolean(into *bool) {
	if p.Kind() != core.Bool {
		p.odd = true
		return
	}
	*into = p.Raw() == "true"
}

// time parses the next value, a time in UTC with at most milliseconds.
func (p *eventParser) time(into *time.Time) {
	var text string
	p.text(&text)
	const shortest, longest = len("2006-01-02T15:04:05Z"), len("2006-01-02T15:04:05.000Z")
	if len(text) < shortest || len(text) > longest || text[10] != 'T' || text[len(text)-1] != 'Z' || text[17] == '6' {
		p.odd = true
		return
	}
	ms, ok := core.ParseTime(text)
	*into, p.odd = time.UnixMilli(ms).UTC(), !ok
}

// of parses the next value as a text of a named type.
func of[T ~string](p *eventParser, into *T) {
	var text string
	p.text(&text)
	*into = T(text)
}

func (p *eventParser) event(e *wire.Event) {
	p.object(func(name string) {
		switch name {
		case "companyId":
			p.text(&e.CompanyID)
		case "eventId":
			p.text(&e.EventID)
		case "event":
			p.text(&e.Event)
		case "timestamp":
			p.time(&e.Timestamp)
		case "payload":
			if p.odd = e.Payload != nil || p.Kind() == core.Null; p.odd {
				return
			}
			e.Payload = json.RawMessage(p.Raw())
		case "identity":
			p.identity(&e.Identity)
		case "context":
			p.context(&e.Context)
		case "visitorId":
			p.text(&e.VisitorID)
		case "sessionId":
			p.text(&e.SessionID)
		case "stream":
			p.text(&e.Stream)
		case "seq":
			p.integer(&e.Seq)
		case "receivedAt":
			p.time(&e.ReceivedAt)
		case "clockSkewMs":
			p.integer(&e.ClockSkewMs)
		case "ip":
			p.text(&e.IP)
		case "netKey":
			p.text(&e.NetKey)
		case "frame":
			p.boolean(&e.Frame)
		case "cookieId":
			p.text(&e.CookieID)
		case "bot":
			of(p, &e.Bot)
		case "consent":
			of(p, &e.Consent)
		case "consentFor":
			p.text(&e.ConsentFor)
		case "via":
			of(p, &e.Via)
		case "trust":
			of(p, &e.Trust)
		case "keyId":
			p.text(&e.KeyID)
		case "former":
			if e.Former == nil {
				e.Former = &wire.Former{}
			}
			p.former(e.Former)
		case "click":
			if e.Click == nil {
				e.Click = &wire.Click{}
			}
			p.click(e.Click)
		default:
			p.odd = true
		}
	})
}

func (p *eventParser) identity(i *wire.Identity) {
	p.object(func(name string) {
		switch name {
		case "emailKey":
			p.text(&i.EmailKey)
		case "phoneKey":
			p.text(&i.PhoneKey)
		case "customerKey":
			p.text(&i.CustomerKey)
		case "cartKey":
			p.text(&i.CartKey)
		case "cartNoKey":
			p.text(&i.CartNoKey)
		case "verified":
			p.boolean(&i.Verified)
		default:
			p.odd = true
		}
	})
}

func (p *eventParser) former(f *wire.Former) {
	p.object(func(name string) {
		switch name {
		case "emailKey":
			p.text(&f.EmailKey)
		case "phoneKey":
			p.text(&f.PhoneKey)
		case "customerKey":
			p.text(&f.CustomerKey)
		case "cartKey":
			p.text(&f.CartKey)
		case "cartNoKey":
			p.text(&f.CartNoKey)
		case "netKey":
			p.text(&f.NetKey)
		case "userKey":
			p.text(&f.UserKey)
		case "stream":
			p.text(&f.Stream)
		default:
			p.odd = true
		}
	})
}

func (p *eventParser) context(c *wire.Context) {
	p.object(func(name string) {
		switch name {
		case "page":
			p.page(&c.Page)
		case "campaign":
			p.campaign(&c.Campaign)
		case "clickIds":
			p.texts(&c.ClickIDs)
		case "networkIds":
			p.texts(&c.NetworkIDs)
		case "library":
			p.library(&c.Library)
		case "locale":
			p.text(&c.Locale)
		case "screen":
			p.text(&c.Screen)
		case "userAgent":
			p.text(&c.UserAgent)
		default:
			p.odd = true
		}
	})
}

// texts reads an object of texts.
func (p *eventParser) texts(into *map[string]string) {
	if *into == nil {
		*into = map[string]string{}
	}
	p.object(func(name string) {
		var value string
		p.text(&value)
		(*into)[name] = value
	})
}

func (p *eventParser) page(page *wire.Page) {
	p.object(func(name string) {
		switch name {
		case "url":
			p.text(&page.URL)
		case "path":
			p.text(&page.Path)
		case "referrer":
			p.text(&page.Referrer)
		case "title":
			p.text(&page.Title)
		default:
			p.odd = true
		}
	})
}

func (p *eventParser) campaign(c *wire.Campaign) {
	p.object(func(name string) {
		switch name {
		case "source":
			p.text(&c.Source)
		case "medium":
			p.text(&c.Medium)
		case "name":
			p.text(&c.Name)
		case "content":
			p.text(&c.Content)
		case "term":
			p.text(&c.Term)
		default:
			p.odd = true
		}
	})
}

func (p *eventParser) library(l *wire.Library) {
	p.object(func(name string) {
		switch name {
		case "name":
			p.text(&l.Name)
		case "version":
			p.text(&l.Version)
		default:
			p.odd = true
		}
	})
}

func (p *eventParser) click(c *wire.Click) {
	p.object(func(name string) {
		switch name {
		case "id":
			p.text(&c.ID)
		case "code":
			p.text(&c.Code)
		case "verified":
			p.boolean(&c.Verified)
		case "linkId":
			p.text(&c.LinkID)
		case "destination":
			p.text(&c.Destination)
		default:
			p.odd = true
		}
	})
}
