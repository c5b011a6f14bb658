package commerce

import (
	"encoding/json"
	"fmt"
	"time"
)

// Bounds of connections to shops.
const (
	MaxConnections     = 20               // of one company that have not ended
	MaxConnectTasks    = 20               // of one company that wait or run
	InstallLife        = 10 * time.Minute // of an installation that was begun at a platform
	DraftLife          = 24 * time.Hour   // of a connection whose keys were given and that was not connected
	ConnectTaskLife    = 2 * time.Minute  // a task that no service took by then has failed
	MaxBackfillDays    = 730
	DefaultBackfill    = 60 // days
	ReconciledDays     = 40 // before today, each night
	MaxCredentialBytes = 8 << 10
	MaxAside           = 1000 // orders of one connection that are kept aside; further ones are counted
)

// ConnectionState says what a connection does.
type ConnectionState string

// The states of a connection.
const (
	ConnectionInstalling  ConnectionState = "installing"  // the merchant is at the platform, to allow it
	ConnectionDraft       ConnectionState = "draft"       // keys were given: it can be tested, and brings nothing yet
	ConnectionConnecting  ConnectionState = "connecting"  // the service asks the platform for notices
	ConnectionBackfilling ConnectionState = "backfilling" // earlier orders are read; new ones come too
	ConnectionLive        ConnectionState = "live"
	ConnectionFailing     ConnectionState = "failing" // Reason says why; it is tried again
	ConnectionPaused      ConnectionState = "paused"  // by the merchant
	ConnectionEnded       ConnectionState = "ended"   // disconnected, uninstalled, or refused for a day
)

// Reasons why a shop's server was not read. A connection that fails, a task that failed and an order set aside name one.
const (
	ShopRefusedKey   = "refused_key"   // the credentials are wrong, or do not count any more
	ShopLacksScope   = "lacks_scope"   // they are right, and may not do this: Detail names the permission
	ShopNotFound     = "not_found"     // there is no such shop at the platform
	ShopSuspended    = "suspended"     // the platform has suspended the shop, or the app in it
	ShopLimited      = "limited"       // the platform asks to wait
	ShopUnavailable  = "unavailable"   // no answer, or a failure of the platform
	ShopUnknownShape = "unknown_shape" // an answer, or an order, that is not as the platform documents it
	ShopOtherShop    = "other_shop"    // the credentials, or an order, are of another shop
	ShopCurrency     = "currency"      // the shop's currency is not the store's: Detail is the shop's
	ShopAddress      = "address"       // the address is none at which a shop may be
	ShopUninstalled  = "uninstalled"   // the merchant has removed the app at the platform
	ShopOrderRefused = "order_refused" // the admin API refused the order: Detail names the field
	ShopNoService    = "no_service"    // no connect service runs
	ShopUnknownWrite = "unknown_write" // what was written has no answer: it is not known whether the platform has it
)

// Errors of connections.
var (
	ErrTooManyConnections = fmt.Errorf("%w: at most %d connections", ErrConflict, MaxConnections)
	ErrTooManyTasks       = fmt.Errorf("%w: at most %d tasks of connections wait", ErrConflict, MaxConnectTasks)
	ErrShopConnected      = fmt.Errorf("%w: this shop is connected already", ErrConflict)
	ErrNoConnectService   = fmt.Errorf("%w: no connect service has run against this database", ErrConflict)
	ErrConnectionState    = fmt.Errorf("%w: the connection is not in a state in which this can be done", ErrConflict)
	ErrLeaseLost          = fmt.Errorf("%w: another connect service holds the connection", ErrConflict)
)

// Connection is a shop at a platform whose orders come into a company by themselves. (company, platform, shop) is there once
// among those that have not ended.
type Connection struct {
	CompanyID string
	ID        string // 26 characters of base32, 128 random bits: the address of its notices has it
	Platform  string // "nuvemshop"
	Shop      string // the platform's id of the shop; empty until it was tested
	ShopName  string // as the platform tells it
	ShopURL   string // where shoppers see it
	Currency  string // ISO 4217, the shop's
	State     ConnectionState
	Since     time.Time // of State
	Reason    string    // of ConnectionFailing and ConnectionEnded: one of the reasons above, or "disconnected"
	Detail    string    // at most 200 characters, without secrets
	CreatedAt time.Time
	Version   int64 // moves with each change by the merchant: a form names the one it saw

	CommissionsFrom time.Time // orders created before earn nothing: they were paid by hand
	PollEvery       time.Duration

	Backfill    Backfill
	Cursor      time.Time // the greatest update time of the platform that was stored; zero: none
	PolledAt    time.Time // when all changes were last read; zero: never
	LastOrderAt time.Time // when an order was last sent
	NoticeAt    time.Time // when a valid notice last came
	NoticesOn   bool      // the platform was asked for notices, and took it
	Orders      int64     // versions that were sent and accepted
	Tests       int64     // test orders that were seen, and not sent
	AsideCount  int64     // orders that are set aside now
	Reconciled  time.Time // when the last days were last compared; zero: never
}

// Backfill is the reading of a shop's earlier orders.
type Backfill struct {
	Days  int       // how many days back from Connection.CreatedAt; 0: none was asked
	From  time.Time // first moment, by the orders' creation
	To    time.Time // last moment
	At    time.Time // all orders created before are read; goes from From to To
	Page  string    // the platform's next page from At on; empty: the first
	Done  int64     // orders read
	Total int64     // as the platform counts them; 0: it does not tell
	Ended time.Time // zero: it goes on
}

// ConnectionDay is how one day of a shop compares with ours: its orders by the day of their creation, in the store's time zone.
type ConnectionDay struct {
	Day                string // YYYY-MM-DD
	ShopOrders, Orders int64  // the platform's, and ours of this shop
	ShopTotal, Total   string // decimal, of orders that count
	Missing, Differ    int64  // at the platform alone; other status or total
	OursAlone          int64  // without cancelled ones
	ComparedAt         time.Time
}

// AsideOrder is an order of a shop that was not sent: what of it is not understood, without any value of it.
type AsideOrder struct {
	OrderID  string
	Reason   string
	Detail   string   // at most 200 characters: the field, and what is wrong with it
	Fields   []string // the names of the order's fields, at most 100
	At       time.Time
	Attempts int
}

// Kinds of tasks that a merchant gives the connect service. Their questions and answers are the types named.
const (
	TaskTest     = "test"     // no question; ShopPreview
	TaskInstall  = "install"  // Question is sealed: InstallCode; ShopPreview
	TaskStart    = "start"    // ask the platform for notices; no answer
	TaskRetry    = "retry"    // read the orders set aside again; no question
	TaskCoupon   = "coupon"   // ShopCoupon; ShopCoupon as the shop has it
	TaskCompare  = "compare"  // compare the last days and the coupons now; no question
	TaskEnd      = "end"      // take the notices back; no question
	TaskBackfill = "backfill" // read earlier orders again; BackfillAsked
)

// ConnectTask is one thing that the service shall do for a merchant who waits.
type ConnectTask struct {
	CompanyID, ConnectionID string
	ID                      string
	Kind                    string
	Question                json.RawMessage
	Sealed                  []byte // a question that only the service can read
	KeyID                   string // to which Sealed is sealed
	CreatedAt               time.Time
	TakenBefore             bool      // a service took it before and did not finish: what it writes may be written
	DoneAt                  time.Time // zero: not yet
	Answer                  json.RawMessage
	Reason, Detail          string // why it failed; empty: it did not
}

// BackfillAsked is the question of TaskBackfill.
type BackfillAsked struct {
	Days int `json:"days"`
}

// ShopPreview is what a test found: nothing was stored of it but the shop's name.
type ShopPreview struct {
	Shop      string          `json:"shop"` // the platform's id
	Name      string          `json:"name"`
	URL       string          `json:"url"`
	Currency  string          `json:"currency"`
	Orders    int64           `json:"orders"` // of the last 30 days
	Total     string          `json:"total"`  // decimal, of those that are paid
	More      bool            `json:"more"`   // there are more than were counted
	Codes     []PreviewedCode `json:"codes"`  // by orders, at most 50
	ProofKey  string          `json:"proof_key"`
	Lacks     []string        `json:"lacks"` // permissions that are missing, and what does not come without them
	CanNotify bool            `json:"can_notify"`
}

// Proof keys of platforms: what joins their orders to visits.
const (
	ProofCart  = "cart"  // the order has a token that the shop's pages know too, and nobody else
	ProofNone  = "none"  // none
	ProofClaim = "claim" // a value that an address can write: claimed only
)

// PreviewedCode is a coupon code of the shop's orders.
type PreviewedCode struct {
	Code   string `json:"code"`
	Orders int64  `json:"orders"`
	Known  bool   `json:"known"` // an influencer has it
}

// ShopCoupon is a coupon at a shop.
type ShopCoupon struct {
	Code          string    `json:"code"`
	Percent       string    `json:"percent,omitempty"` // decimal, 10 is 10 %
	Amount        string    `json:"amount,omitempty"`  // decimal, in the shop's currency; beside no Percent
	MaxUses       int       `json:"max_uses,omitempty"`
	OnePerPerson  bool      `json:"one_per_person,omitempty"`
	EndsAt        time.Time `json:"ends_at,omitzero"`
	Enabled       bool      `json:"enabled"`
	OnOurSide     bool      `json:"on_our_side,omitempty"`   // of a comparison: an influencer has it
	OnTheirSide   bool      `json:"on_their_side,omitempty"` // the shop has it
	Difference    string    `json:"difference,omitempty"`    // "missing", "ended", "discount" or ""
	InfluencerOur string    `json:"influencer,omitempty"`    // who has it
	OurDiscount   string    `json:"our_discount,omitempty"`  // as our coupon says it
	CheckedAt     time.Time `json:"checked_at,omitzero"`
}

// ConnectOffer is what a running connect service tells admin and the command line: which platforms it knows, and to which key
// credentials are sealed.
type ConnectOffer struct {
	KeyID     string // of PublicKey
	PublicKey []byte // X25519, 32 bytes
	Platforms []OfferedPlatform
	SeenAt    time.Time // when the service last said that it runs
}

// serviceSeen is how long after a connect service last said that it runs it is taken to run.
const serviceSeen = 2 * time.Minute

// Runs reports whether the service that made the offer runs; the zero offer is of none.
func (o ConnectOffer) Runs(now time.Time) bool {
	return len(o.PublicKey) > 0 && now.Sub(o.SeenAt) < serviceSeen
}

// OfferedPlatform is a platform as a page shows it. Texts are by language: "en", "pt-BR".
type OfferedPlatform struct {
	Name    string              `json:"name"`
	Title   string              `json:"title"` // "Nuvemshop"
	Fields  []CredentialField   `json:"fields"`
	Install string              `json:"install,omitempty"` // the page where the merchant allows the app, with {state}; empty: keys are pasted
	Steps   map[string][]string `json:"steps"`             // how to get the keys, a sentence each
	Brings  map[string][]string `json:"brings"`            // what comes, and what does not
	// Without says by language what does not come without a permission, by the name that ShopPreview.Lacks has for it.
	Without map[string]map[string]string `json:"without,omitempty"`
}

// CredentialField is one value that the merchant pastes.
type CredentialField struct {
	Name    string            `json:"name"`
	Secret  bool              `json:"secret,omitempty"`
	Pattern string            `json:"pattern"` // the whole value must match it; where "" does, it may be left out
	Label   map[string]string `json:"label"`
	Help    map[string]string `json:"help,omitempty"`
	Example string            `json:"example,omitempty"`
}

// NewConnection is what a merchant gives: either Sealed, or InstallState where the keys come from the platform.
type NewConnection struct {
	ID           string // 26 characters, made by the caller: Sealed is bound to it
	Platform     string
	Sealed       []byte
	KeyID        string   // to which Sealed is sealed
	InstallState [32]byte // SHA-256 of the state that the platform gives back; zero: none
}

// ConnectionStart begins what was tested.
type ConnectionStart struct {
	ID              string
	Version         int64
	Days            int // of orders before now, 0 to MaxBackfillDays
	CommissionsFrom time.Time
	// SealKey seals the API key that the service uses for it, which is made in the same transaction.
	SealKey func(apiKey string) (sealed []byte, err error)
	KeyID   string // to which SealKey seals
}

// CommissionsFrom is from which moment on orders of the shop of c are proposed to earn: today, the beginning of this day, or the
// first moment of an earlier connection of that shop, of those in list: what was ordered since it ended then earns as well.
func CommissionsFrom(list []Connection, c Connection, today time.Time) time.Time {
	from := today
	for _, before := range list {
		if before.ID != c.ID && before.Platform == c.Platform && before.Shop == c.Shop && !before.CommissionsFrom.IsZero() &&
			before.CommissionsFrom.Before(from) {
			from = before.CommissionsFrom
		}
	}
	return from
}
