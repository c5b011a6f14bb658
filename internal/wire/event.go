package wire

import (
	"encoding/json"
	"time"
)

// Event is the value of a record of events.v1: the canonical event of
// sdk/core plus what the edge adds. Identity is keyed hashes only.
type Event struct {
	CompanyID string          `json:"companyId"`
	EventID   string          `json:"eventId"` // UUIDv7
	Event     string          `json:"event"`
	Timestamp time.Time       `json:"timestamp"` // client's clock, UTC, milliseconds
	Payload   json.RawMessage `json:"payload,omitempty"`
	Identity  Identity        `json:"identity,omitzero"`
	Context   Context         `json:"context,omitzero"`
	VisitorID string          `json:"visitorId,omitempty"` // identity.Keys.VisitorID: a UUID or a keyed digest
	SessionID string          `json:"sessionId,omitempty"` // likewise
	Stream    string          `json:"stream,omitempty"`    // likewise
	Seq       int64           `json:"seq,omitempty"`

	ReceivedAt  time.Time `json:"receivedAt"`         // edge's clock, UTC, milliseconds
	ClockSkewMs int64     `json:"clockSkewMs"`        // receivedAt − sentAt; 0 where no sentAt came
	IP          string    `json:"ip,omitempty"`       // truncated to /24 or /48
	NetKey      string    `json:"netKey,omitempty"`   // identity.Keys.Network of the peer's address
	Frame       bool      `json:"frame,omitempty"`    // sent from a frame in a page of another site
	CookieID    string    `json:"cookieId,omitempty"` // the server's visitor cookie, trb_vid
	Bot         Bot       `json:"bot"`
	Consent     Consent   `json:"consent"`
	ConsentFor  string    `json:"consentFor,omitempty"` // destinations that the shopper agreed to, as "ga4,meta"; with ConsentGranted alone
	Via         Via       `json:"via"`
	Trust       Trust     `json:"trust,omitempty"` // empty: open
	KeyID       string    `json:"keyId,omitempty"` // of the API key that sent it

	Former *Former `json:"former,omitempty"` // while the hashing secret is being rotated

	Click *Click `json:"click,omitempty"` // where the page's URL has a trb_click, and of LINK_CLICK
}

// Bot tells people from programs.
type Bot string

const (
	BotNone     Bot = "none"
	BotKnown    Bot = "known"    // a crawler that says so
	BotPrefetch Bot = "prefetch" // a browser that asks ahead of its user
	BotPreview  Bot = "preview"  // a chat or feed that draws a link's card
)

// Consent is what the event is recorded with: the shopper's word, or the
// browser's where the company honours that.
type Consent string

const (
	ConsentGranted Consent = "granted"
	ConsentDenied  Consent = "denied"
	ConsentUnknown Consent = "unknown"
)

// Via is how an event came.
type Via string

const (
	ViaJS    Via = "sdk-js"   // the browser SDK, as raw envelopes
	ViaWASM  Via = "sdk-wasm" // the browser SDK, made canonical by its worker
	ViaGo    Via = "sdk-go"
	ViaHTTP  Via = "http" // anybody else
	ViaPixel Via = "pixel"
	ViaLink  Via = "link" // made by a short link's redirect

	ViaSegment Via = "segment" // Segment's protocol
)

// Trust is by which API key an event was sent (docs/wire.md, "Event (request)").
type Trust string

const (
	TrustOpen   Trust = "open"   // without a key: a page, or anybody
	TrustKey    Trust = "key"    // by a key with the scope events.write
	TrustImport Trust = "import" // by a key with the scope events.import
)

// Identity holds keyed hashes (identity.Keys).
type Identity struct {
	EmailKey    string `json:"emailKey,omitempty"`
	PhoneKey    string `json:"phoneKey,omitempty"`
	CustomerKey string `json:"customerKey,omitempty"`
	CartKey     string `json:"cartKey,omitempty"`   // of a token that cannot be guessed
	CartNoKey   string `json:"cartNoKey,omitempty"` // of any other: of one token there is one of the two
	Verified    bool   `json:"verified,omitempty"`  // the sender says that the shopper is logged in there
}

// Former holds the keyed hashes of an event or an order by a former hashing secret. UserKey is
// that of the visitor's id where it is no UUID, Stream that of the stream where it is hashed.
type Former struct {
	EmailKey    string `json:"emailKey,omitempty"`
	PhoneKey    string `json:"phoneKey,omitempty"`
	CustomerKey string `json:"customerKey,omitempty"`
	CartKey     string `json:"cartKey,omitempty"`
	CartNoKey   string `json:"cartNoKey,omitempty"`
	NetKey      string `json:"netKey,omitempty"`
	UserKey     string `json:"userKey,omitempty"`
	Stream      string `json:"stream,omitempty"`
}

// The ids by which networks know a browser: the values of their own cookies.
const (
	NetworkIDGA        = "ga"         // GA4's client id, such as 123.456: of the cookie _ga
	NetworkIDGASession = "ga_session" // GA4's sessions by stream, such as AB12CD34EF.1762344000, with spaces between: of cookies _ga_…
	NetworkIDFBP       = "fbp"        // Meta's cookie _fbp
	NetworkIDTTP       = "ttp"        // TikTok's cookie _ttp
)

type Context struct {
	Page     Page              `json:"page,omitzero"`
	Campaign Campaign          `json:"campaign,omitzero"`
	ClickIDs map[string]string `json:"clickIds,omitempty"`
	// NetworkIDs is how networks know the browser, by wire.NetworkID…: of those networks alone that Event.ConsentFor has.
	NetworkIDs map[string]string `json:"networkIds,omitempty"`
	Library    Library           `json:"library,omitzero"`
	Locale     string            `json:"locale,omitempty"`
	Screen     string            `json:"screen,omitempty"`
	UserAgent  string            `json:"userAgent,omitempty"`
}

type Page struct {
	URL      string `json:"url,omitempty"`
	Path     string `json:"path,omitempty"`
	Referrer string `json:"referrer,omitempty"`
	Title    string `json:"title,omitempty"`
}

// Campaign holds the five UTM values; name is utm_campaign.
type Campaign struct {
	Source  string `json:"source,omitempty"`
	Medium  string `json:"medium,omitempty"`
	Name    string `json:"name,omitempty"`
	Content string `json:"content,omitempty"`
	Term    string `json:"term,omitempty"`
}

type Library struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
}
