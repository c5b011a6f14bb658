package segment

import (
	"cmp"
	"strings"

	"github.com/tributary-io/tributary/sdk/core"
)

// who is whom a message names.
type who struct{ email, phone, cart string }

// fill takes what is empty from the other.
func (w *who) fill(from who) {
	w.email, w.phone, w.cart = cmp.Or(w.email, from.email), cmp.Or(w.phone, from.phone), cmp.Or(w.cart, from.cart)
}

// append appends the message as an event of POST /v1/events.
func (m *message) append(dst []byte, from *Source) ([]byte, *core.Violation) {
	name, v := m.eventName()
	if v != nil {
		return dst, v
	}
	c := contextOf(m.context)
	named := whoIn(m.traits)
	if m.call == Group { // these are the traits of the group
		named = who{}
	}
	named.fill(c.traits)
	payload, said := m.payload(name)
	named.fill(said)
	if m.call == Page {
		page := pageOf(m.properties)
		page.fill(c.page)
		c.page = page
	}
	visitor := m.anonymousID
	if m.call == Alias {
		visitor = cmp.Or(visitor, m.previousID)
	}
	o := object{dst: append(dst, '{'), first: len(dst) + 1}
	o.text("event", name)
	o.text("eventId", m.eventID(from))
	o.raw("timestamp", m.at())
	o.text("visitorId", VisitorID(visitor))
	o.open("identity")
	o.text("email", named.email)
	o.text("phone", named.phone)
	o.text("customer_id", m.userID)
	o.text("cart_token", named.cart)
	o.close()
	o.raw("payload", payload)
	o.context(&c)
	return append(o.dst, '}'), nil
}

// payload is the event's payload, the message's properties without what goes elsewhere, and whom
// they name. Traits are not stored: they are about a person.
func (m *message) payload(event string) (payload string, named who) {
	if m.call != Track && m.call != Page && m.call != Screen {
		return "", who{}
	}
	named = whoIn(m.properties)
	o := object{dst: []byte{'{'}, first: 1}
	if m.call != Track {
		o.text("name", m.name)
	}
	product, listed := object{dst: []byte{'{'}, first: 1}, false
	members(m.properties, func(name string, s *core.Scanner) {
		switch name {
		case "email", "phone", "cart_token", "checkout_id", "cart_id":
			s.Skip()
			return
		case "url", "path", "referrer", "title", "search":
			if m.call == Page {
				s.Skip()
				return
			}
		case "name":
			if m.call != Track && m.name != "" {
				s.Skip()
				return
			}
		case "items", "products", "lineItems", "line_items":
			listed = true
		case "product_id", "productId", "variant_id", "variantId", "id", "sku", "quantity", "price":
			if kind := s.Kind(); kind == core.String || kind == core.Number {
				value := s.Raw()
				product.raw(name, value)
				o.raw(name, value)
				return
			}
		}
		o.raw(name, s.Raw())
	})
	// One product stands in the properties themselves.
	if (event == core.ProductView || event == core.AddToCart) && !listed && len(product.dst) > product.first {
		o.raw("items", "["+string(product.dst)+"}]")
	}
	if len(o.dst) == o.first {
		return "", named
	}
	return string(append(o.dst, '}')), named
}

// whoIn is whom the members of an object of properties or traits name.
func whoIn(text string) (w who) {
	var checkout, cart string
	members(text, func(name string, s *core.Scanner) {
		switch name {
		case "email":
			w.email = textOf(s)
		case "phone":
			w.phone = idOf(s)
		case "cart_token":
			w.cart = idOf(s)
		case "checkout_id":
			checkout = idOf(s)
		case "cart_id":
			cart = idOf(s)
		default:
			s.Skip()
		}
	})
	w.cart = cmp.Or(w.cart, checkout, cart)
	return w
}

// members calls read for each member of an object's text, which may be "". It must move
// the Scanner behind the value.
func members(text string, read func(name string, s *core.Scanner)) {
	if text == "" {
		return
	}
	s := core.Scan(text, 1)
	s.Enter()
	for name, ok := s.Key(); ok; name, ok = s.Key() {
		read(name, &s)
	}
}

// page is what a message says of the page.
type page struct{ url, path, referrer, title string }

func (p *page) fill(from page) {
	p.url, p.path = cmp.Or(p.url, from.url), cmp.Or(p.path, from.path)
	p.referrer, p.title = cmp.Or(p.referrer, from.referrer), cmp.Or(p.title, from.title)
}

func pageOf(text string) (p page) {
	members(text, func(name string, s *core.Scanner) {
		switch name {
		case "url":
			p.url = textOf(s)
		case "path":
			p.path = textOf(s)
		case "referrer":
			p.referrer = textOf(s)
		case "title":
			p.title = textOf(s)
		default:
			s.Skip()
		}
	})
	return p
}

// context is what is read of a message's context. Its ip is not: anybody can write one.
type context struct {
	page                      page
	campaign, library         [5]string // in the order of campaignNames and libraryNames
	traits                    who
	locale, screen, userAgent string
}

var (
	campaignNames = []string{"source", "medium", "name", "content", "term"}
	libraryNames  = []string{"name", "version"}
)

func contextOf(text string) (c context) {
	members(text, func(name string, s *core.Scanner) {
		switch name {
		case "page":
			c.page = pageOf(objectOf(s))
		case "campaign":
			c.campaign = textsOf(objectOf(s), campaignNames)
		case "library":
			c.library = textsOf(objectOf(s), libraryNames)
		case "traits":
			c.traits = whoIn(objectOf(s))
		case "locale":
			c.locale = textOf(s)
		case "userAgent":
			c.userAgent = textOf(s)
		case "screen":
			c.screen = screenOf(objectOf(s))
		default:
			s.Skip()
		}
	})
	return c
}

// textsOf are the texts of an object's members of these names.
func textsOf(text string, names []string) (values [5]string) {
	members(text, func(name string, s *core.Scanner) {
		for i := range names {
			if names[i] == name {
				values[i] = textOf(s)
				return
			}
		}
		s.Skip()
	})
	return values
}

// screenOf is a screen as "1920x1080", "" for one without both.
func screenOf(text string) string {
	var width, height string
	members(text, func(name string, s *core.Scanner) {
		switch name {
		case "width":
			width = idOf(s)
		case "height":
			height = idOf(s)
		default:
			s.Skip()
		}
	})
	if width == "" || height == "" {
		return ""
	}
	return width + "x" + height
}

// object appends the members of a JSON object that begins before first; empty ones are left out.
type object struct {
	dst   []byte
	first int   // in dst, of the object's first member
	outer []int // of the objects around it
}

func (o *object) name(name string) {
	if len(o.dst) > o.first {
		o.dst = append(o.dst, ',')
	}
	o.dst = append(core.AppendString(o.dst, name), ':')
}

func (o *object) text(name, value string) {
	if value != "" {
		o.name(name)
		o.dst = core.AppendString(o.dst, value)
	}
}

// raw appends a value that is a JSON text.
func (o *object) raw(name, value string) {
	if value != "" {
		o.name(name)
		o.dst = append(o.dst, value...)
	}
}

func (o *object) open(name string) {
	o.name(name)
	o.dst = append(o.dst, '{')
	o.outer = append(o.outer, o.first)
	o.first = len(o.dst)
}

func (o *object) close() {
	o.dst = append(o.dst, '}')
	o.first, o.outer = o.outer[len(o.outer)-1], o.outer[:len(o.outer)-1]
}

func (o *object) texts(object string, names []string, values [5]string) {
	if strings.Join(values[:], "") == "" {
		return
	}
	o.open(object)
	for i, name := range names {
		o.text(name, values[i])
	}
	o.close()
}

func (o *object) context(c *context) {
	o.open("context")
	o.open("page")
	o.text("url", c.page.url)
	o.text("path", c.page.path)
	o.text("referrer", c.page.referrer)
	o.text("title", c.page.title)
	o.close()
	o.texts("campaign", campaignNames, c.campaign)
	o.texts("library", libraryNames, c.library)
	o.text("locale", c.locale)
	o.text("screen", c.screen)
	o.text("userAgent", c.userAgent)
	o.close()
}
