package commerce

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"
)

// Bounds of what the connect service keeps.
const (
	MaxNotices         = 10_000 // of orders, of one connection: then all its changes are read instead
	MaxUrgentNotices   = 1_000  // of other kinds, of one connection
	MaxConnectionDays  = 100    // of one connection that are kept
	MaxShopCoupons     = 1_000  // of one connection that are compared
	MaxConnectionsList = 500    // ended ones too
	// MaxConnectionsOfShop are companies that connected one shop.
	MaxConnectionsOfShop = 100
)

// EndedLife is how long a connection that ended can still be seen. Which shop it was to is kept, so that what the platform asks later in
// a person's name is told to the company.
const EndedLife = 60 * 24 * time.Hour

// UninstalledKeyLife is how long the API key of a connection works after its app was removed at the platform, which then asks to
// erase the shop's persons within two days. Other ends revoke it at once.
const UninstalledKeyLife = 72 * time.Hour

// Errors of the connect service.
var (
	ErrShopCurrency   = fmt.Errorf("%w: the shop has another currency than the store", ErrConflict)
	ErrTooManyNotices = fmt.Errorf("%w: too many notices of this connection wait", ErrConflict)
	// ErrInstallState refuses an installation whose state is unknown, was used, or is older than InstallLife.
	ErrInstallState = fmt.Errorf("%w: this installation was used already, or is too old: begin again", ErrConflict)
)

// ConnectLease says which process holds connections, and for how long. A process works on one connection at a time only once:
// the database cannot tell two of its goroutines apart.
type ConnectLease struct {
	Holder string        // made anew at each start of a service, at most 64 characters
	For    time.Duration // from the moment of taking or renewing it
}

// LeasedConnection is a connection with what only the connect service needs of it.
type LeasedConnection struct {
	Connection
	Sealed        []byte // credentials, for Seal's purpose "credentials"
	KeyID         string // to which Sealed is sealed
	SealedAPIKey  []byte // for purpose "api_key"; empty before it was started
	APIKeyKeyID   string // to which SealedAPIKey is sealed
	PollNow       bool   // more notices came than are kept, or the merchant asked: read all changes now
	Tasks         bool   // some wait
	Notices       bool   // some are due
	Timezone      string // IANA, the company's
	StoreCurrency string // ISO 4217, the company's currency
}

// ConnectPage is what became of one page of a shop's orders, or of another step that was finished. What is zero stays as it is.
type ConnectPage struct {
	Cursor      time.Time // never moves back
	PolledAt    time.Time // all changes were read; takes back LeasedConnection.PollNow
	Backfill    *Backfill
	LastOrderAt time.Time
	Orders      int64 // to add
	Tests       int64 // to add
	Aside       []AsideOrder
	Mended      []string // ids of orders that are aside no more
	Sent        []SentOrder
	Reconciled  time.Time // the last days were compared
}

// SentOrder is an order that was sent, and is the shop's from then on.
type SentOrder struct {
	OrderID   string
	CreatedAt time.Time
	// NoCommission: it was sent as one that earns nothing.
	NoCommission bool
}

// ConnectStateChange is what the service found out about a connection. What is zero stays as it is.
type ConnectStateChange struct {
	From           ConnectionState // as the service saw it; ErrConnectionState where it is another by now. Needed beside State
	State          ConnectionState // ConnectionEnded revokes the API key and forgets the credentials
	Reason, Detail string          // stored beside State, empty ones too. Since moves where State or Reason changes
	NoticesOn      *bool
	Shop           string // ErrShopConnected where another connection of the company has it
	ShopName       string
	ShopURL        string
	Currency       string
	Sealed         []byte // credentials anew
	KeyID          string
	SealedAPIKey   []byte
	APIKeyKeyID    string
}

// ShopNotice is what came to a connection's address and is still to be done. (connection, Kind, Key) is there once.
type ShopNotice struct {
	Kind     string    // platform.NoticeOrder, …
	Key      string    // the order's id; of other kinds what tells two of them apart. At most 200 characters, no personal data
	Sealed   []byte    // what else it says, where that is personal: sealed to the service itself, at most MaxCredentialBytes
	KeyID    string    // to which Sealed is sealed
	At       time.Time // when the first of them came
	Due      time.Time // when to look; of several the earliest
	Attempts int       // that failed
	Came     int64     // how often it came: DoneNotice leaves one that came again meanwhile
}

// ShopRequest is what a platform asks of the merchant in a person's name, and only a person can do. It is there for
// ShopRequestLife.
type ShopRequest struct {
	ID       string // of the notice: what is sent again is the same request
	Kind     string // platform.NoticeDataRequest; NoticeRedact or NoticeRedactShop where the service could not do it
	Customer string // the platform's id of the customer; empty: not told, of a whole shop, or it is done
	AskedAt  time.Time
	DoneAt   time.Time // zero: not yet
}

// Bounds of requests.
const (
	ShopRequestLife = 30 * 24 * time.Hour
	MaxShopRequests = 500 // of one connection; of further ones the audit log alone tells
)

// ConnectionCount is how many connections are in a state, in all companies.
type ConnectionCount struct {
	State       ConnectionState
	Connections int64
	OldestPoll  time.Time // when the changes of the one that waits longest were last read; zero: of none
}

// OrderDigest is an order of ours in short, as platform.Digest is the shop's.
type OrderDigest struct {
	OrderID   string
	Status    int
	Total     string // decimal
	Test      bool
	CreatedAt time.Time
	UpdatedAt time.Time // of its newest version
	// NoCommission: it is stored as one that earns nothing.
	NoCommission bool
}

// ConnectionChange changes settings of a connection.
type ConnectionChange struct {
	ID              string
	PollEvery       time.Duration // MinPollEvery to MaxPollEvery
	CommissionsFrom time.Time     // not later than it is, once orders came
}

// Bounds of ConnectionChange.PollEvery.
const (
	MinPollEvery     = 30 * time.Second
	DefaultPollEvery = 2 * time.Minute
	MaxPollEvery     = time.Hour
)

// InstallBack is what a platform's page gave back to the merchant's browser.
type InstallBack struct {
	CompanyID  string
	StateHash  [32]byte // SHA-256 of the state
	SealedCode []byte   // for the service, purpose "install": an InstallCode
	KeyID      string
}

// InstallCode is what is sealed in InstallBack.SealedCode.
type InstallCode struct {
	Code string `json:"code"`
	// Extra are the page's other parameters, at most 20.
	Extra map[string]string `json:"extra,omitempty"`
}

// MaxShopDiscount is the greatest part of a price, in percent, that a coupon made from here takes off.
const MaxShopDiscount = 50

// Check returns every rule that a coupon to be made in a shop breaks.
func (c ShopCoupon) Check() (bad Violations) {
	bad.Filled("code", c.Code, 50)
	percent, amount := positive(c.Percent), positive(c.Amount)
	switch {
	case (c.Percent == "") == (c.Amount == ""):
		bad.Add("percent", CodeRequired, "give a percentage or an amount")
	case c.Percent != "" && (!percent.IsPositive() || percent.GreaterThan(decimal.NewFromInt(MaxShopDiscount))):
		bad.Add("percent", CodeOutOfRange, "must be above 0 and at most %d", MaxShopDiscount)
	case c.Amount != "" && !amount.IsPositive():
		bad.Add("amount", CodeOutOfRange, "must be above 0")
	}
	if c.MaxUses < 0 || c.MaxUses > 1_000_000 {
		bad.Add("max_uses", CodeOutOfRange, "must be between 0 and %d", 1_000_000)
	}
	return bad
}

// positive reads a decimal of at most 20 characters and two decimal places; 0 where it is none.
func positive(text string) decimal.Decimal {
	d, err := decimal.NewFromString(text)
	if err != nil || len(text) > 20 || d.Exponent() < -2 {
		return decimal.Zero
	}
	return d
}

// Late reports whether a task was not taken in time: somebody waits for its answer, and was told that it failed. Other tasks
// wait for a service as long as it takes.
func (t ConnectTask) Late(now time.Time) bool {
	waits := t.Kind == TaskTest || t.Kind == TaskInstall || t.Kind == TaskCoupon
	return waits && !t.TakenBefore && t.DoneAt.IsZero() && now.Sub(t.CreatedAt) > ConnectTaskLife
}
