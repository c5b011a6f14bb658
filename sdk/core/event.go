package core

// The standard event names. A custom name matches [A-Z][A-Z0-9_]{0,63}.
const (
	PageView          = "PAGE_VIEW"
	ProductView       = "PRODUCT_VIEW"
	AddToCart         = "ADD_TO_CART"
	InitiateCheckout  = "INITIATE_CHECKOUT"
	CheckoutCompleted = "CHECKOUT_COMPLETED"
	// ConsentWithdrawn says that a visitor takes back what was agreed to, and nothing else: the edge keeps the visitor's id of it alone.
	ConsentWithdrawn = "CONSENT_WITHDRAWN"
	// LinkClick is made by the edge alone, at a short link's redirect.
	LinkClick = "LINK_CLICK"
)

// Consent is what the shopper said of being tracked.
type Consent string

const (
	ConsentGranted Consent = "granted"
	ConsentDenied  Consent = "denied"
	ConsentUnknown Consent = "unknown"
)

// Event is one canonical event. Its strings may be parts of the text that it was
// parsed from, so that text stays in memory as long as the Event does.
type Event struct {
	ID        string // UUIDv7 in lower case; empty until assigned
	Name      string
	Timestamp int64  // client's clock, Unix milliseconds, UTC
	Payload   string // JSON object text; empty when absent
	Identity  Identity
	Context   Context
	VisitorID string  // the SDK's own first-party cookie, trb_id
	SessionID string  // a hint: the processor finds sessions itself
	Stream    string  // names the device's own numbering of its events
	Seq       int64   // the event's number in its stream, from 1; 0 when absent
	Consent   Consent // empty when absent; in what AppendEvent writes it may have ConsentFor behind it, as in JSON: "granted meta,ga4"
	// ConsentFor are the destinations outside of the shop, such as "ga4,meta", to which the shopper agreed that sales are told:
	// in order, each once, separated by commas. Only ConsentGranted has them; in JSON they are behind it, after a space.
	ConsentFor string
	Frame      bool // from a frame in a page of another site
}

// Identity is what the caller knows of the shopper, trimmed, junk removed.
// It never leaves the edge in this form: see internal/identity.
type Identity struct {
	Email      string
	Phone      string
	CustomerID string
	CartToken  string
	Verified   bool // the shopper is logged in where the event comes from
}

// Context is where the event happened.
type Context struct {
	Page      Page
	Campaign  Campaign
	ClickIDs  []Param // gclid, fbclid, trb_click, …; sorted by name
	Networks  NetworkIDs
	Library   Library
	Locale    string
	Screen    string // "1920x1080"
	UserAgent string
}

// NetworkIDs is how advertising networks know the browser: by cookies of their own. Each is empty, or as IsNetworkID says.
type NetworkIDs struct {
	GA string // GA4's client id, such as 123.456: of the cookie _ga, GA1.1.123.456, what follows its second dot
	// GASession is GA4's sessions, such as AB12CD34EF.1762344000: of the cookie _ga_AB12CD34EF its stream and what follows s (of GS1: what
	// follows the second dot). Of several streams with spaces between, at most four.
	GASession string
	FBP       string // Meta's cookie _fbp
	TTP       string // TikTok's cookie _ttp
}

type Page struct{ URL, Path, Referrer, Title string }

// Campaign holds the five UTM values.
type Campaign struct{ Source, Medium, Name, Content, Term string }

type Library struct{ Name, Version string }

// Param is one name and value.
type Param struct{ Name, Value string }
