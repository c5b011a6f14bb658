package edge

import (
	"github.com/tributary-io/tributary/internal/lenient"
	"github.com/tributary-io/tributary/sdk/core"
)

// memberNames are those of an object of an event.
type memberNames struct {
	path    string                       // of the object, as it stands before a member's name
	known   []string                     // as docs/events.md has them
	meant   map[string]string            // by lenient.Letters: what other systems call a member, and where it is here
	objects map[string]*memberNames      // the members that are objects with names of their own
	keys    map[string]string            // the members that are ids, and what is wrong with one that tells nobody
	fits    func(name, text string) bool // whether a text is taken for a member; nil: any
}

// nearest is what an unknown name was probably meant to be, "" for nothing.
func (n *memberNames) nearest(name string) string {
	if len(name) > maxLetters {
		return ""
	}
	if meant := n.meant[lenient.Letters(name)]; meant != "" {
		return meant
	}
	return lenient.Nearest(name, n.known)
}

// misfit reads the value of a member, and reports whether it is not taken for its form. What is absent is no fault.
func (n *memberNames) misfit(name string, s *core.Scanner) bool {
	if s.Kind() != core.String {
		fault := s.Kind() != core.Null
		s.Skip()
		return fault
	}
	text := s.Text()
	return text != "" && !n.fits(name, text)
}

// maxLetters bounds a name that is looked up, in bytes.
const maxLetters = 64

var clickIDNames = core.ClickIDs()

// eventNames are the names of an event and of the objects in it, and what Segment, GA4, Meta and
// our own order API call the same.
var eventNames = memberNames{
	known: []string{
		"event", "companyId", "eventId", "timestamp", "visitorId", "sessionId", "payload", "identity", "context", "consent",
		"frame", "stream", "seq",
		"events", "sentAt", "dropped", // of a batch
	},
	meant: map[string]string{
		"eventname": "event", "name": "event",
		"messageid": "eventId",
		"eventtime": "timestamp", "time": "timestamp", "occurredat": "timestamp", "createdat": "timestamp", "originaltimestamp": "timestamp",
		"anonymousid": "visitorId", "clientid": "visitorId", "deviceid": "visitorId",
		"properties": "payload", "params": "payload", "customdata": "payload",
		"items": "payload.items", "products": "payload.items", "lineitems": "payload.items", "contents": "payload.items",
		"traits": "identity", "user": "identity", "customer": "identity", "userdata": "identity",
		"userid": "identity.customer_id", "customerid": "identity.customer_id", "carttoken": "identity.cart_token",
		"email": "identity.email", "phone": "identity.phone",
		"page": "context.page", "url": "context.page.url", "referrer": "context.page.referrer", "referer": "context.page.referrer",
		"campaign": "context.campaign", "clickids": "context.clickIds", "useragent": "context.userAgent", "locale": "context.locale",
	},
	keys: map[string]string{"visitorId": lenient.Placeholder, "sessionId": lenient.Placeholder, "stream": lenient.Placeholder},
	objects: map[string]*memberNames{
		"identity": {
			path: "identity.", known: []string{"email", "phone", "customer_id", "cart_token", "verified"},
			meant: map[string]string{
				"id": "customer_id", "userid": "customer_id", "externalid": "customer_id", "customer": "customer_id", "clientid": "customer_id",
				"cart": "cart_token", "cartid": "cart_token", "checkouttoken": "cart_token",
				"emailaddress": "email", "useremail": "email", "customeremail": "email",
				"phonenumber": "phone", "telephone": "phone", "mobile": "phone", "customerphone": "phone",
			},
			keys: map[string]string{
				"email": lenient.NoEmail, "phone": lenient.NoPhone, "customer_id": lenient.Placeholder, "cart_token": lenient.Placeholder,
			},
		},
		"context": {
			path: "context.", known: []string{"page", "url", "referrer", "title", "campaign", "clickIds", "networkIds", "library",
				"locale", "screen", "userAgent"},
			meant: map[string]string{
				"ua": "userAgent", "path": "page.path", "language": "locale", "lang": "locale", "utm": "campaign", "href": "url",
				"utmsource": "campaign.source", "utmmedium": "campaign.medium", "utmcampaign": "campaign.name",
				"utmcontent": "campaign.content", "utmterm": "campaign.term",
				"trbclick": "clickIds.trb_click", "gclid": "clickIds.gclid", "fbclid": "clickIds.fbclid", "ttclid": "clickIds.ttclid",
				"ga": "networkIds.ga", "gasession": "networkIds.ga_session", "fbp": "networkIds.fbp", "ttp": "networkIds.ttp",
			},
			objects: map[string]*memberNames{
				"page": {
					path: "context.page.", known: []string{"url", "path", "referrer", "title"},
					meant: map[string]string{
						"href": "url", "uri": "url", "location": "url", "pageurl": "url", "pagelocation": "url",
						"pathname": "path", "pagepath": "path", "pagereferrer": "referrer", "pagetitle": "title",
					},
				},
				"campaign": {
					path: "context.campaign.", known: []string{"source", "medium", "name", "content", "term"},
					meant: map[string]string{
						"campaign": "name", "utmsource": "source", "utmmedium": "medium", "utmcampaign": "name", "utmcontent": "content", "utmterm": "term",
					},
				},
				"clickIds": {path: "context.clickIds.", known: clickIDNames[:]},
				"networkIds": {path: "context.networkIds.", known: core.NetworkIDNames(), fits: core.IsNetworkID,
					meant: map[string]string{"clientid": "ga", "gaclientid": "ga", "sessionid": "ga_session", "gasessionid": "ga_session"}},
				"library": {path: "context.library.", known: []string{"name", "version"}},
			},
		},
	},
}
