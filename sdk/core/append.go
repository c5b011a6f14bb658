package core

import (
	"strconv"
	"unicode/utf8"
)

// AppendEvent appends e as canonical JSON, the form in which the SDKs send
// it, with the raw identity. Parsing it again gives e, and appending that gives
// the same bytes.
func AppendEvent(dst []byte, e *Event) []byte {
	dst = append(dst, '{')
	dst = AppendFields(dst, e)
	o := object{dst: dst, comma: true}
	if e.Identity != (Identity{}) {
		o.open("identity")
		o.text("email", e.Identity.Email)
		o.text("phone", e.Identity.Phone)
		o.text("customer_id", e.Identity.CustomerID)
		o.text("cart_token", e.Identity.CartToken)
		o.truth("verified", e.Identity.Verified)
		o.close()
	}
	if e.ConsentFor == "" {
		o.text("consent", string(e.Consent))
	} else {
		o.text("consent", string(e.Consent)+" "+e.ConsentFor)
	}
	return append(o.dst, '}')
}

// AppendFields appends the members of the canonical event, comma-separated
// and without braces, except identity and consent: the edge writes those two
// itself, identity as keyed hashes.
func AppendFields(dst []byte, e *Event) []byte {
	o := object{dst: dst}
	o.text("eventId", e.ID)
	o.text("event", e.Name)
	o.name("timestamp")
	o.dst = append(o.dst, '"')
	o.dst = AppendTime(o.dst, e.Timestamp)
	o.dst = append(o.dst, '"')
	if e.Payload != "" {
		o.name("payload")
		o.dst = append(o.dst, e.Payload...)
	}
	o.context(&e.Context)
	o.text("visitorId", e.VisitorID)
	o.text("sessionId", e.SessionID)
	o.text("stream", e.Stream)
	if e.Seq != 0 {
		o.name("seq")
		o.dst = strconv.AppendInt(o.dst, e.Seq, 10)
	}
	o.truth("frame", e.Frame)
	return o.dst
}

// object appends members; absent ones are left out.
type object struct {
	dst   []byte
	comma bool
}

func (o *object) name(name string) {
	if o.comma {
		o.dst = append(o.dst, ',')
	}
	o.comma = true
	o.dst = append(o.dst, '"')
	o.dst = append(o.dst, name...)
	o.dst = append(o.dst, '"', ':')
}

func (o *object) text(name, value string) {
	if value != "" {
		o.name(name)
		o.dst = AppendString(o.dst, value)
	}
}

func (o *object) truth(name string, value bool) {
	if value {
		o.name(name)
		o.dst = append(o.dst, "true"...)
	}
}

func (o *object) open(name string) {
	o.name(name)
	o.dst = append(o.dst, '{')
	o.comma = false
}

func (o *object) close() {
	o.dst = append(o.dst, '}')
	o.comma = true
}

func (o *object) context(c *Context) {
	page := c.Page != Page{}
	campaign := c.Campaign != Campaign{}
	library := c.Library != Library{}
	networks := c.Networks != NetworkIDs{}
	if !page && !campaign && !library && !networks && len(c.ClickIDs) == 0 && c.Locale == "" && c.Screen == "" && c.UserAgent == "" {
		return
	}
	o.open("context")
	if page {
		o.open("page")
		o.text("url", c.Page.URL)
		o.text("path", c.Page.Path)
		o.text("referrer", c.Page.Referrer)
		o.text("title", c.Page.Title)
		o.close()
	}
	if campaign {
		o.open("campaign")
		o.text("source", c.Campaign.Source)
		o.text("medium", c.Campaign.Medium)
		o.text("name", c.Campaign.Name)
		o.text("content", c.Campaign.Content)
		o.text("term", c.Campaign.Term)
		o.close()
	}
	if len(c.ClickIDs) > 0 {
		o.open("clickIds")
		for _, id := range c.ClickIDs {
			o.text(id.Name, id.Value)
		}
		o.close()
	}
	if networks {
		o.open("networkIds")
		o.text("ga", c.Networks.GA)
		o.text("ga_session", c.Networks.GASession)
		o.text("fbp", c.Networks.FBP)
		o.text("ttp", c.Networks.TTP)
		o.close()
	}
	if library {
		o.open("library")
		o.text("name", c.Library.Name)
		o.text("version", c.Library.Version)
		o.close()
	}
	o.text("locale", c.Locale)
	o.text("screen", c.Screen)
	o.text("userAgent", c.UserAgent)
	o.close()
}

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. It escapes only what must be escaped;
// invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	clean := 0 // s[clean:i] is not copied yet
	for i := plainTo(s, 0); i < len(s); i = plainTo(s, i) {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(dst, s[clean:i]...)
				dst = utf8.AppendRune(dst, utf8.RuneError)
				clean = i + 1
			}
			i += n
			continue
		}
		dst = append(dst, s[clean:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		clean = i
	}
	dst = append(dst, s[clean:]...)
	return append(dst, '"')
}
