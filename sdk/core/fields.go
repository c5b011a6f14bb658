package core

import "strings"

// identity reads the identity object. Only trimming and junk are the core's;
// e-mails and phones are normalised where they are hashed.
func (p *parser) identity() {
	id := &p.event.Identity
	p.in.Enter()
	for key, ok := p.in.Key(); ok; key, ok = p.in.Key() {
		switch key {
		case "email":
			id.Email = p.identityField("identity.email")
		case "phone":
			id.Phone = p.identityField("identity.phone")
		case "customer_id":
			id.CustomerID = p.identityField("identity.customer_id")
		case "cart_token":
			id.CartToken = p.identityField("identity.cart_token")
		default:
			p.in.Skip()
		}
	}
}

func (p *parser) identityField(field string) string {
	value := genuine(p.text(field, CodeInvalidIdentity))
	if len(value) > maxIdentity {
		p.refuse(CodeInvalidIdentity, field, "is longer than 320 bytes")
		return ""
	}
	return value
}

// genuine trims a value and empties it when it is junk: what a template or a
// broken integration writes where it knows nothing. Junk joins strangers.
func genuine(value string) string {
	value = strings.TrimSpace(value)
	if len(value) == len("null") && strings.EqualFold(value, "null") ||
		len(value) == len("undefined") && strings.EqualFold(value, "undefined") {
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

// prose reads a text of a context and cuts it to max bytes.
func (p *parser) prose(field string, max int) string {
	return cut(p.text(field, CodeInvalidContext), max)
}

// context reads the context of an event object.
func (p *parser) context() {
	c := &p.event.Context
	p.in.Enter()
	for key, ok := p.in.Key(); ok; key, ok = p.in.Key() {
		switch key {
		case "page":
			if p.isObject("context.page", CodeInvalidContext) {
				p.page(&c.Page)
			}
		case "userAgent":
			c.UserAgent = p.prose("context.userAgent", maxUserAgent)
		default:
			if !p.shared(key) {
				p.in.Skip()
			}
		}
	}
}

// flatContext reads the last element of a raw envelope.
func (p *parser) flatContext() {
	c := &p.event.Context
	p.in.Enter()
	for key, ok := p.in.Key(); ok; key, ok = p.in.Key() {
		switch key {
		case "url":
			c.Page.URL = p.prose("context.url", maxURL)
		case "referrer":
			c.Page.Referrer = p.prose("context.referrer", maxURL)
		case "title":
			c.Page.Title = p.prose("context.title", maxTitle)
		case "userAgent":
			c.UserAgent = p.prose("context.userAgent", maxUserAgent)
		default:
			if !p.shared(key) && !p.device(key) {
				p.in.Skip()
			}
		}
	}
}

// shared reads the members that both forms of a context have.
func (p *parser) shared(key string) bool {
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
	case "library":
		if p.isObject("context.library", CodeInvalidContext) {
			p.library(&c.Library)
		}
	case "locale":
		c.Locale = p.prose("context.locale", maxShort)
	case "screen":
		c.Screen = p.prose("context.screen", maxShort)
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
			page.URL = p.prose("context.page.url", maxURL)
		case "path":
			page.Path = p.prose("context.page.path", maxURL)
		case "referrer":
			page.Referrer = p.prose("context.page.referrer", maxURL)
		case "title":
			page.Title = p.prose("context.page.title", maxTitle)
		default:
			p.in.Skip()
		}
	}
}

func (p *parser) campaign(c *Campaign) {
	p.in.Enter()
	for key, ok := p.in.Key(); ok; key, ok = p.in.Key() {
		switch key {
		case "source":
			c.Source = p.prose("context.campaign.source", maxCampaign)
		case "medium":
			c.Medium = p.prose("context.campaign.medium", maxCampaign)
		case "name":
			c.Name = p.prose("context.campaign.name", maxCampaign)
		case "content":
			c.Content = p.prose("context.campaign.content", maxCampaign)
		case "term":
			c.Term = p.prose("context.campaign.term", maxCampaign)
		default:
			p.in.Skip()
		}
	}
}

func (p *parser) library(l *Library) {
	p.in.Enter()
	for key, ok := p.in.Key(); ok; key, ok = p.in.Key() {
		switch key {
		case "name":
			l.Name = p.prose("context.library.name", maxShort)
		case "version":
			l.Version = p.prose("context.library.version", maxShort)
		default:
			p.in.Skip()
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
			p.in.Skip()
			continue
		}
		value := p.prose("context.clickIds."+key, maxCampaign)
		if value == "" {
			continue
		}
		known := false
		for i := range ids { // of two of one name the last stands, as in any JSON object
			if ids[i].Name == key {
				ids[i].Value, known = value, true
			}
		}
		if !known && len(ids) < maxClickIDs {
			ids = append(ids, Param{key, value})
		}
	}
	sortParams(ids)
	p.event.Context.ClickIDs = ids
}
