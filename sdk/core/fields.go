package core

import "strings"

// identity reads the identity object. It trims values and removes junk;
// internal/identity normalises e-mails and phones where it hashes them.
func (p *parser) identity() {
	id := &p.event.Identity
	p.in.Enter()
	for key, ok := p.in.Key(); ok; key, ok = p.in.Key() {
		switch key {
		case "email":
			id.Email = p.known("identity.email", p.text("identity.email", CodeInvalidIdentity))
		case "phone":
			id.Phone = p.knownID("identity.phone")
		case "customer_id":
			id.CustomerID = p.knownID("identity.customer_id")
		case "cart_token":
			id.CartToken = p.knownID("identity.cart_token")
		case "verified":
			id.Verified = p.boolean("identity.verified", CodeInvalidIdentity)
		default:
			p.unknown()
		}
	}
}

// knownID reads a value of the identity that may be written as a number.
func (p *parser) knownID(field string) string {
	return p.known(field, p.idText(field, CodeInvalidIdentity))
}

func (p *parser) known(field, value string) string {
	value = p.withoutJunk(value)
	if len(value) > maxIdentity {
		p.refuse(CodeInvalidIdentity, field, "is longer than 320 bytes")
		return ""
	}
	return value
}

// withoutJunk trims a value. It returns "" for junk, which is what a template or a
// broken integration writes when it knows nothing: junk would join strangers.
func (p *parser) withoutJunk(value string) string {
	value = strings.TrimSpace(value)
	// nearly all are told by the first two
	if n := len(value); (n == len("null") || n == len("undefined")) && value[0]|0x20 >= 'n' && IsNothing(value) {
		p.unread = true
		return ""
	}
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '0', '-', '+', '.', ' ', '(', ')', '/':
		default:
			return value
		}
	}
	return ""
}

// IsNothing tells whether a text is what a program writes of a value that it lacks.
func IsNothing(text string) bool {
	return len(text) == len("null") && strings.EqualFold(text, "null") ||
		len(text) == len("undefined") && strings.EqualFold(text, "undefined")
}

// contextText reads a text of a context and cuts it to max bytes.
func (p *parser) contextText(field string, max int) string {
	return cut(p.text(field, CodeInvalidContext), max)
}

// context reads the context of an event object. The flat members of the page count where
// page has none.
func (p *parser) context() {
	c := &p.event.Context
	var flat Page
	p.in.Enter()
	for key, ok := p.in.Key(); ok; key, ok = p.in.Key() {
		switch key {
		case "page":
			if p.isObject("context.page", CodeInvalidContext) {
				p.page(&c.Page)
			}
		default:
			if !p.flatPage(key, &flat) && !p.contextMember(key) {
				p.unknown()
			}
		}
	}
	c.Page.URL = either(c.Page.URL, flat.URL)
	c.Page.Referrer = either(c.Page.Referrer, flat.Referrer)
	c.Page.Title = either(c.Page.Title, flat.Title)
}

func either(text, other string) string {
	if text != "" {
		return text
	}
	return other
}

// flatContext reads the last element of a raw envelope.
func (p *parser) flatContext() {
	c := &p.event.Context
	p.in.Enter()
	for key, ok := p.in.Key(); ok; key, ok = p.in.Key() {
		if !p.flatPage(key, &c.Page) && !p.contextMember(key) && !p.deviceMember(key) {
			p.in.Skip()
		}
	}
}

// flatPage reads the members of a page that are the context's own.
func (p *parser) flatPage(key string, page *Page) bool {
	switch key {
	case "url":
		page.URL = cutURL(p.text("context.url", CodeInvalidContext))
	case "referrer":
		page.Referrer = p.contextText("context.referrer", maxURL)
	case "title":
		page.Title = p.contextText("context.title", maxTitle)
	default:
		return false
	}
	return true
}

// contextMember reads the members that both forms of a context have.
func (p *parser) contextMember(key string) bool {
	c := &p.event.Context
	switch key {
	case "campaign":
		if p.isObject("context.campaign", CodeInvalidContext) {
			p.campaign(&c.Campaign)
		}
	case "clickIds":
		if p.isObject("context.clickIds", CodeInvalidContext) {
			p.clickIDs()
		}
	case "networkIds":
		if p.isObject("context.networkIds", CodeInvalidContext) {
			p.networkIDs()
		}
	case "library":
		if p.isObject("context.library", CodeInvalidContext) {
			p.library(&c.Library)
		}
	case "locale":
		c.Locale = p.contextText("context.locale", maxShort)
	case "userAgent":
		c.UserAgent = p.contextText("context.userAgent", maxUserAgent)
	case "screen":
		c.Screen = p.contextText("context.screen", maxShort)
	default:
		return false
	}
	return true
}

func (p *parser) page(page *Page) {
	p.in.Enter()
	for key, ok := p.in.Key(); ok; key, ok = p.in.Key() {
		switch key {
		case "url":
			page.URL = cutURL(p.text("context.page.url", CodeInvalidContext))
		case "path":
			page.Path = p.contextText("context.page.path", maxURL)
		case "referrer":
			page.Referrer = p.contextText("context.page.referrer", maxURL)
		case "title":
			page.Title = p.contextText("context.page.title", maxTitle)
		default:
			p.unknown()
		}
	}
}

func (p *parser) campaign(c *Campaign) {
	p.in.Enter()
	for key, ok := p.in.Key(); ok; key, ok = p.in.Key() {
		switch key {
		case "source":
			c.Source = p.contextText("context.campaign.source", maxCampaign)
		case "medium":
			c.Medium = p.contextText("context.campaign.medium", maxCampaign)
		case "name":
			c.Name = p.contextText("context.campaign.name", maxCampaign)
		case "content":
			c.Content = p.contextText("context.campaign.content", maxCampaign)
		case "term":
			c.Term = p.contextText("context.campaign.term", maxCampaign)
		default:
			p.unknown()
		}
	}
}

func (p *parser) library(l *Library) {
	p.in.Enter()
	for key, ok := p.in.Key(); ok; key, ok = p.in.Key() {
		switch key {
		case "name":
			l.Name = p.contextText("context.library.name", maxShort)
		case "version":
			l.Version = p.contextText("context.library.version", maxShort)
		default:
			p.unknown()
		}
	}
}

// clickIDs reads an object of names and values. Names we do not know are
// ignored, as they are in a URL.
func (p *parser) clickIDs() {
	var ids []Param
	p.in.Enter()
	for key, ok := p.in.Key(); ok; key, ok = p.in.Key() {
		if !isClickID(key) {
			p.unknown()
			continue
		}
		value := p.contextText("context.clickIds."+key, maxCampaign)
		if value == "" {
			continue
		}
		known := false
		for i := range ids { // of two with one name the last counts, as in any JSON object
			if ids[i].Name == key {
				ids[i].Value, known = value, true
			}
		}
		if !known {
			ids = append(ids, Param{key, value})
		}
	}
	sortParams(ids)
	p.event.Context.ClickIDs = ids
}
