package edge

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tributary-io/tributary/edge/guard"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/scrub"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// arrival is what the edge knows of a request's events from the request itself.
type arrival struct {
	company      *company
	receivedAt   [len("2006-01-02T15:04:05.000Z")]byte // as core.AppendTime writes it
	skew         int64                                 // receivedAt − sentAt in milliseconds; 0 where no sentAt came
	ip           string
	netKey       string
	formerNetKey string   // by the former hashing secret
	frame        bool     // the browser says that a frame in a page of another site sent it
	cookieID     string   // verified
	oldCookie    bool     // … by the former hashing secret
	bot          wire.Bot // by the request's headers alone; an event's own user agent may say more
	signal       bool     // GPC or DNT
	sender
	entry     entry
	userAgent string // the request's: for events of a page that have none of their own
	fromPage  bool   // a browser's page sent it

	recent   *identity.Recent // set with the first event, to be released after the last
	hasNames bool             // directory.hasNames of the company: set with recent
}

// appendRecord appends the event as the value of its record: wire.Event as
// JSON. Only here a raw identity becomes keys and texts are scrubbed. It changes
// e.
func (s *Server) appendRecord(dst []byte, e *core.Event, a *arrival, via wire.Via, click *wire.Click) []byte {
	if e.Context.UserAgent == "" && a.fromPage {
		e.Context.UserAgent = a.userAgent
	}
	if click == nil {
		click = s.landingClick(e.Context.Page.URL)
	}
	withoutProofs(e)
	var former formerKeys
	if keys := s.keysOf(a).Former(); keys != nil {
		former.read(keys, e)
	}
	if a.hasNames {
		was := sent{e.Context.Page.URL, e.Context.Campaign}
		scrubEvent(e, a.recent)
		s.keepNames(e, a.company.CompanyID, was)
	} else {
		scrubEvent(e, a.recent)
	}
	e.Frame = e.Frame || a.frame
	consent, ip, netKey, withdrawn := a.company.consent(e.Consent, a.signal), a.ip, a.netKey, e.Name == core.ConsentWithdrawn
	switch {
	case withdrawn: // whose it is must be known: the visitor's former "yes" ends by it
		consent, ip, netKey, click, former.keys = wire.ConsentDenied, "", "", nil, nil
		e.SessionID, e.Stream, e.Seq, e.Identity, e.Context, e.Payload = "", "", 0, core.Identity{}, core.Context{}, ""
	case a.company.anonymous(consent):
		e.VisitorID, e.SessionID, e.Identity = "", "", core.Identity{}
	}
	consentFor := e.ConsentFor
	if consent != wire.ConsentGranted || via == wire.ViaPixel {
		consentFor = "" // anybody may put a picture into a page
	}
	e.Context.Networks = e.Context.Networks.Of(consentFor)
	cookieID := ""
	if a.company.mayCookie(consent) && !withdrawn {
		cookieID = a.cookieID
	}
	if via == wire.ViaPixel && cookieID != "" {
		e.VisitorID = "" // a picture's address may name any visitor, and the cookie is the buyer's
	}
	bot := a.bot
	if bot == wire.BotNone {
		bot = s.bots.kind(e.Context.UserAgent)
	}
	dst = append(dst, `{"companyId":`...)
	dst = core.AppendString(dst, a.company.CompanyID)
	dst = append(dst, ',')
	dst = core.AppendFields(dst, e)
	dst = a.company.appendIdentity(dst, a.recent, &e.Identity)
	dst = append(dst, `,"receivedAt":"`...)
	dst = append(dst, a.receivedAt[:]...)
	dst = append(dst, `","clockSkewMs":`...)
	dst = strconv.AppendInt(dst, skewFor(e, a.skew), 10)
	dst = appendMember(dst, 0, "ip", ip)
	dst = appendMember(dst, 0, "cookieId", cookieID)
	dst = appendMember(dst, 0, "bot", string(bot))
	dst = appendMember(dst, 0, "consent", string(consent))
	dst = appendMember(dst, 0, "consentFor", consentFor)
	dst = appendMember(dst, 0, "via", string(via))
	dst = appendProof(dst, a, netKey)
	if former.keys != nil {
		dst = former.append(dst, e, a.formerNetKey)
	}
	if click != nil {
		dst = s.appendClick(dst, click, a.company.CompanyID)
	}
	return append(dst, '}')
}

// keysOf makes the keys of a request's events.
func (s *Server) keysOf(a *arrival) *identity.Recent {
	if a.recent == nil {
		a.recent, a.hasNames = a.company.keys.Recent(), s.directory.hasNames(a.company.CompanyID)
	}
	return a.recent
}

// appendProof appends what proves an event (docs/notes/wire.md, "Event (Kafka)").
func appendProof(dst []byte, a *arrival, netKey string) []byte {
	dst = appendMember(dst, 0, "trust", string(a.trust))
	dst = appendMember(dst, 0, "keyId", a.keyID)
	return appendMember(dst, 0, "netKey", netKey)
}

// appendTrue is appendMember of the value true.
func appendTrue(dst []byte, first int, name string) []byte {
	if len(dst) != first {
		dst = append(dst, ',')
	}
	return append(append(append(dst, '"'), name...), `":true`...)
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

// appendKey is appendMember of a key, which needs no escape.
func appendKey(dst []byte, first int, name string, key []byte) []byte {
	if len(key) == 0 {
		return dst
	}
	if len(dst) != first {
		dst = append(dst, ',')
	}
	dst = append(dst, '"')
	dst = append(dst, name...)
	dst = append(dst, '"', ':', '"')
	dst = append(dst, key...)
	return append(dst, '"')
}

// withoutProofs removes from every text of the event what proves it, its cart's token and its
// visitor's id: who looks at events must not read there what claims the sale.
func withoutProofs(e *core.Event) {
	proofs := scrub.ProofsOf(e.Identity.CartToken, e.VisitorID)
	if e.SessionID != "" && e.SessionID == e.Identity.CartToken {
		e.SessionID = "" // a UUID would be stored as it is
	}
	c := &e.Context
	remove := func(text *string, bound int) {
		if wasCut(*text, bound) {
			*text = proofs.WithoutCut(*text)
		} else {
			*text = proofs.Without(*text)
		}
	}
	remove(&c.Page.URL, maxURL)
	remove(&c.Page.Path, maxURL)
	remove(&c.Page.Referrer, maxURL)
	remove(&c.Page.Title, maxTitle)
	for _, text := range []*string{&c.Campaign.Source, &c.Campaign.Medium, &c.Campaign.Name, &c.Campaign.Content, &c.Campaign.Term} {
		remove(text, maxCampaign)
	}
	for i := range c.ClickIDs {
		remove(&c.ClickIDs[i].Value, maxCampaign)
	}
	for _, text := range []*string{&c.Locale, &c.Screen, &c.Library.Name, &c.Library.Version} {
		remove(text, maxShort)
	}
	remove(&c.UserAgent, maxUserAgent)
	e.Payload = proofs.WithoutInJSON(e.Payload)
}

// scrubEvent removes e-mails and phones from every text of the event that a caller
// can fill, and replaces ids that may be one by keyed digests. The digests are good
// until keys makes others.
func scrubEvent(e *core.Event, keys *identity.Recent) {
	c := &e.Context
	cleanURL := scrub.Clean(c.Page.URL)
	c.Page.Path = scrubPath(&c.Page, cleanURL)
	if !cleanURL {
		scrubText(&c.Page.URL, maxURL, scrub.Text)
	}
	scrubText(&c.Page.Referrer, maxURL, scrub.Text)
	scrubText(&c.Page.Title, maxTitle, scrub.Text)
	scrubText(&c.Campaign.Source, maxCampaign, scrub.Text)
	scrubText(&c.Campaign.Medium, maxCampaign, scrub.Text)
	scrubText(&c.Campaign.Name, maxCampaign, scrub.Text)
	scrubText(&c.Campaign.Content, maxCampaign, scrub.Text)
	scrubText(&c.Campaign.Term, maxCampaign, scrub.Text)
	for i := range c.ClickIDs {
		scrubText(&c.ClickIDs[i].Value, maxCampaign, scrub.Text)
	}
	scrubText(&c.Locale, maxShort, scrub.Strict)
	scrubText(&c.Screen, maxShort, scrub.Strict)
	scrubText(&c.Library.Name, maxShort, scrub.Strict)
	scrubText(&c.Library.Version, maxShort, scrub.Strict)
	scrubText(&c.UserAgent, maxUserAgent, scrub.Strict)
	e.VisitorID, e.SessionID, e.Stream = guard.TextOf(keys.VisitorID(e.VisitorID)), guard.TextOf(keys.SessionID(e.SessionID)),
		guard.TextOf(keys.Stream(e.Stream))
	if e.Payload != "" && (!scrub.Clean(e.Payload) || strings.IndexByte(e.Payload, '\\') >= 0) {
		e.Payload = scrub.JSON(e.Payload)
	}
}

// core's bounds on texts, in bytes. It cuts longer ones.
const (
	maxURL       = 2048
	maxTitle     = 512
	maxUserAgent = 512
	maxCampaign  = 256 // a UTM value or a click id
	maxShort     = 64  // locale, screen, library
)

// wasCut tells whether a text may have lost its end at a bound. Of a cut text
// less than one character is missing to the bound.
func wasCut(text string, bound int) bool { return len(text) > bound-utf8.UTFMax }

// scrubText scrubs a text that was cut where it was longer than bound.
func scrubText(text *string, bound int, with func(string) string) {
	if scrub.Clean(*text) {
		return
	}
	if wasCut(*text, bound) {
		*text = scrub.Cut(*text)
	}
	*text = with(*text)
}

// scrubPath scrubs a page's path as part of its URL: only with the host before it
// "/<phone>" of wa.me shows what it is. cleanURL tells that nothing in the URL may be
// scrubbed.
func scrubPath(page *core.Page, cleanURL bool) string {
	path, remove := page.Path, scrub.Text
	if path == "" || path[0] == '/' && cleanURL && (strings.Contains(page.URL, path) || scrub.Clean(path)) && !wasCut(path, maxURL) &&
		!wasCut(page.URL, maxURL) {
		return path
	}
	if wasCut(path, maxURL) || wasCut(page.URL, maxURL) { // the path may be the end of the URL
		remove = scrub.Cut
	}
	scheme, rest, found := strings.Cut(page.URL, "://")
	if !found {
		return remove(path)
	}
	host := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		host = rest[:end]
	}
	site := scheme + "://" + host
	scrubbed, kept := strings.CutPrefix(remove(site+"/"+strings.TrimPrefix(path, "/")), site)
	if !kept { // an address in the host itself
		return remove(path)
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
