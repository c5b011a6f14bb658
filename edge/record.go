package edge

import (
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// arrival is what the edge knows of a request's events from the request itself.
type arrival struct {
	company    *company
	receivedAt int64 // Unix milliseconds
	skew       int64 // receivedAt − sentAt in milliseconds; 0 where no sentAt came
	ip         string
	cookieID   string
	bot        wire.Bot // by the request's headers alone; an event's own user agent may say more
	signal     bool     // GPC or DNT
	imported   bool
	via        wire.Via // fixed by the route; empty: see viaLibrary
	userAgent  string   // the request's: for events of a page that have none of their own
	fromPage   bool     // a browser's page sent it

	recent *identity.Recent // set with the first record
}

// appendRecord appends the event as the value of its record: wire.Event as
// JSON. Only here a raw identity becomes keys and texts are scrubbed. It changes
// e.
func (s *Server) appendRecord(dst []byte, e *core.Event, a *arrival, via wire.Via, click *wire.Click) []byte {
	if e.Context.UserAgent == "" && a.fromPage {
		e.Context.UserAgent = a.userAgent
	}
	if a.recent == nil {
		a.recent = a.company.keys.Recent()
	}
	scrub(e, a.recent)
	consent := a.company.consent(e.Consent, a.signal)
	bot := a.bot
	if bot == wire.BotNone {
		bot = s.bots.kind(e.Context.UserAgent)
	}
	dst = append(dst, `{"companyId":`...)
	dst = core.AppendString(dst, a.company.CompanyID)
	dst = append(dst, ',')
	dst = core.AppendFields(dst, e)
	if keys := a.company.identityOf(a.recent, &e.Identity, consent); keys != (wire.Identity{}) {
		dst = append(dst, `,"identity":{`...)
		first := len(dst)
		dst = appendMember(dst, first, "emailKey", keys.EmailKey)
		dst = appendMember(dst, first, "phoneKey", keys.PhoneKey)
		dst = appendMember(dst, first, "customerKey", keys.CustomerKey)
		dst = appendMember(dst, first, "cartKey", keys.CartKey)
		dst = append(dst, '}')
	}
	dst = append(dst, `,"receivedAt":"`...)
	dst = core.AppendTime(dst, a.receivedAt)
	dst = append(dst, `","clockSkewMs":`...)
	dst = strconv.AppendInt(dst, skewFor(e, a.skew), 10)
	dst = appendMember(dst, 0, "ip", a.ip)
	if a.company.mayCookie(consent) {
		dst = appendMember(dst, 0, "cookieId", a.cookieID)
	}
	dst = appendMember(dst, 0, "bot", string(bot))
	dst = appendMember(dst, 0, "consent", string(consent))
	dst = appendMember(dst, 0, "via", string(via))
	if a.imported {
		dst = append(dst, `,"imported":true`...)
	}
	if click != nil {
		dst = append(dst, `,"click":{"code":`...)
		dst = core.AppendString(dst, click.Code)
		dst = appendMember(dst, 0, "linkId", click.LinkID)
		dst = appendMember(dst, 0, "destination", identity.Scrub(click.Destination))
		dst = appendMember(dst, 0, "trb_click", click.ClickID)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// appendMember appends a name and text unless it is empty, after a comma
// unless it is the first of the object that begins at first.
func appendMember(dst []byte, first int, name, value string) []byte {
	if value == "" {
		return dst
	}
	if len(dst) != first {
		dst = append(dst, ',')
	}
	dst = append(dst, '"')
	dst = append(dst, name...)
	dst = append(dst, '"', ':')
	return core.AppendString(dst, value)
}

// scrub removes e-mails and phones from every text of the event that a caller
// can fill, and replaces ids that may be one by keyed digests. The path is
// scrubbed with the host before it: only then "/<phone>" of wa.me shows what it
// is.
func scrub(e *core.Event, keys *identity.Recent) {
	c := &e.Context
	c.Page.Path = scrubPath(c.Page.URL, c.Page.Path)
	for _, text := range []*string{
		&c.Page.URL, &c.Page.Referrer, &c.Page.Title,
		&c.Campaign.Source, &c.Campaign.Medium, &c.Campaign.Name, &c.Campaign.Content, &c.Campaign.Term,
	} {
		if *text != "" {
			*text = identity.Scrub(*text)
		}
	}
	for i := range c.ClickIDs {
		c.ClickIDs[i].Value = identity.Scrub(c.ClickIDs[i].Value)
	}
	for _, text := range []*string{&c.Locale, &c.Screen, &c.UserAgent, &c.Library.Name, &c.Library.Version} {
		*text = identity.ScrubStrict(*text)
	}
	e.VisitorID, e.SessionID, e.Stream = keys.VisitorID(e.VisitorID), keys.SessionID(e.SessionID), keys.Stream(e.Stream)
	if e.Payload != "" {
		e.Payload = identity.ScrubJSON(e.Payload)
	}
}

// scrubPath scrubs a page's path as part of its URL.
func scrubPath(url, path string) string {
	if path == "" || path[0] == '/' && !identity.MayHold(url) && !identity.MayHold(path) {
		return path
	}
	scheme, rest, found := strings.Cut(url, "://")
	if !found {
		return identity.Scrub(path)
	}
	host := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		host = rest[:end]
	}
	site := scheme + "://" + host
	scrubbed, kept := strings.CutPrefix(identity.Scrub(site+"/"+strings.TrimPrefix(path, "/")), site)
	if !kept { // an address in the host itself
		return identity.Scrub(path)
	}
	return scrubbed
}

// viaLibrary tells how an event came by the name that our own SDKs send. The
// browser SDK's events come as raw envelopes, unless its worker's WASM core has
// made them canonical already.
func viaLibrary(name string, raw bool) wire.Via {
	const js, goSDK = "sdk-js", "sdk-go"
	switch {
	case name == js && raw:
		return wire.ViaJS
	case name == js:
		return wire.ViaWASM
	case name == goSDK && !raw:
		return wire.ViaGo
	}
	return wire.ViaHTTP
}

// skewFor is the skew by which the processor corrects the event's time: 0 if that
// would move it out of the years that can be stored. Its timestamp is then of
// another clock than sentAt, and what is answered "ok" must not be rejected later.
func skewFor(e *core.Event, skew int64) int64 {
	if !core.Recordable(e.Timestamp + skew) {
		return 0
	}
	return skew
}

// clockSkew is receivedAt − sentAt, or 0 where no sentAt came.
func clockSkew(receivedAt time.Time, sentAt int64) int64 {
	if sentAt == 0 {
		return 0
	}
	return receivedAt.UnixMilli() - sentAt
}
