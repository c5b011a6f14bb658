package commerce

import (
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/wire"
)

// Author says who changes a company's rules, and when.
type Author struct {
	CompanyID string
	Actor     string // "key/<keyId>", "user/<userId>" or "cli"
	At        time.Time
}

// Registration is what POST /influencers asks for. Dates are YYYY-MM-DD or empty.
type Registration struct {
	Name       string
	Campaign   string // name; may be empty
	CampaignID string // empty: the influencer's campaign of that name, else a new id
	Category   string // empty: unchanged
	Links      []string
	CouponOnly bool // no link is needed where there is a coupon or a cost
	KnownOnly  bool // adds to an influencer that is known, which needs nothing else: of another one it is ErrUnknownInfluencer
	Coupons    []CouponTerms
	Costs      []CostTerms
	Details    DetailsChange // of a known influencer it overwrites none of PayeeFields
}

// Imported says what became of one registration of an import.
type Imported struct {
	Refused   error // by what is known, the registrations before it included; nil: it was not
	Unchanged bool  // all that it says was known already
	Unpaid    bool  // its influencer has no agreement after it
}

// InfluencerChange says what of an influencer changes.
type InfluencerChange struct {
	Name     string                // the new one; empty: unchanged
	Category wire.Optional[string] // an empty one clears it
	Details  DetailsChange
	// OffersMessage: who makes the change is then shown a message to the influencer's former e-mail, which the audit log says.
	OffersMessage bool
}

// CouponTerms is a coupon as asked for. Both days are inclusive, in the
// store's time zone; an empty one is unbounded.
type CouponTerms struct {
	Code      string // upper case, as shown
	StartDate string
	EndDate   string
}

// CostTerms is an influencer cost as asked for.
type CostTerms struct {
	FixedFeeMinor int64           // BRL cents an order
	VarFee        decimal.Decimal // percent
	ValueMinor    int64           // BRL cents a frequency
	Frequency     string          // empty where ValueMinor is 0
	StartDate     string
	EndDate       string // inclusive; empty: open
	OwedFrom      string // the day from which Value is owed to the influencer; empty, of a new cost: the first of next month
	CampaignCost  bool
	CouponCost    bool
	// StartAssumed: nobody said StartDate, an import's day is taken. An agreement that is known, of an earlier day, is then the same.
	StartAssumed bool
}

// Registered is what a registration made.
type Registered struct {
	InfluencerID string
	CampaignID   string
	Codes        []string // of the short links, in the order of Registration.Links
}

// Influencer is an influencer with everything that belongs to it, as listed.
type Influencer struct {
	InfluencerID string
	Name         string
	FormerNames  []string // that it had before, in the order of their folded names
	Category     string
	Details      Details
	CreatedAt    time.Time
	ArchivedAt   time.Time // zero: not archived
	Campaigns    []Campaign
	Links        []Link
	Coupons      []Coupon
	Costs        []Cost
}

type Campaign struct {
	CampaignID string
	Name       string
}

type Link struct {
	LinkID     string
	CampaignID string
	URL        string
	Code       string
}

type Coupon struct {
	CouponID   string
	CampaignID string
	CouponTerms
}

type Cost struct {
	CostID     string
	CampaignID string // empty: influencer-level
	CostTerms
	// Replaces has the ids of the costs that do not count where this one does. It is
	// set on a cost that was added just now.
	Replaces []string
}

// Archived says what was archived or ended.
type Archived struct {
	Campaigns []Campaign
	Links     int
	Coupons   int
	Costs     int
}

// Restored says what came back with an influencer who was archived.
type Restored struct {
	InfluencerID string

	Links   int
	Coupons int
	Taken   []string // codes of coupons that did not, since somebody has the code in one of their days
}

// NameTakenError says that a name is another influencer's, or was before that one was renamed. It is an ErrConflict.
type NameTakenError struct {
	Influencer string // the other's present name
	Archived   bool   // the other is
}

func (e *NameTakenError) Error() string {
	return fmt.Sprintf("the name is or was that of %s", e.Influencer)
}

func (e *NameTakenError) Unwrap() error { return ErrConflict }

// MaxNames bounds the names of an influencer, those before included: each is reserved for ever. Chosen, not measured.
const MaxNames = 20

// ErrTooManyNames refuses a rename beyond MaxNames.
var ErrTooManyNames = fmt.Errorf("%w: an influencer has at most %d names, those before included", ErrConflict, MaxNames)

// CouponConflictError says which coupons of a request overlap coupons that are
// not deleted. It is an ErrConflict.
type CouponConflictError struct {
	Conflicts []CouponConflict
}

// CouponConflict is one overlap; Influencer and Period are the other coupon's.
type CouponConflict struct {
	Index      int // in Registration.Coupons
	Code       string
	Influencer string
	StartDate  string
	EndDate    string
}

func (e *CouponConflictError) Error() string {
	codes := make([]string, len(e.Conflicts))
	for i, c := range e.Conflicts {
		codes[i] = c.Code
	}
	return fmt.Sprintf("coupon periods overlap: %s", strings.Join(codes, ", "))
}

func (e *CouponConflictError) Unwrap() error { return ErrConflict }

// MaxLiveCosts bounds the costs of an influencer that are not removed, those of
// campaigns included.
const MaxLiveCosts = 1000

// MaxDecisions bounds the decisions about one order: each is read whenever the order is
// computed, and an accepted one with its touches. A merchant makes one or two.
const MaxDecisions = 100

// ErrTooManyDecisions refuses decisions beyond MaxDecisions.
var ErrTooManyDecisions = fmt.Errorf("%w: an order has at most %d decisions", ErrConflict, MaxDecisions)

// ErrOwedTooEarly refuses a cost that would be owed from a day too long ago.
var ErrOwedTooEarly = fmt.Errorf("%w: owed_from is more than %d days ago", ErrConflict, MaxEntryAge)

// ErrTooManyCosts refuses costs beyond MaxLiveCosts.
var ErrTooManyCosts = fmt.Errorf("%w: an influencer has at most %d costs that are not removed", ErrConflict, MaxLiveCosts)

// ErrCampaignTaken says that a campaign id belongs to another influencer or
// to a campaign that was deleted.
var ErrCampaignTaken = fmt.Errorf("%w: the campaign id is another influencer's", ErrConflict)

// ErrUnknownInfluencer refuses what only adds to an influencer that is known.
var ErrUnknownInfluencer = fmt.Errorf("%w: the influencer is not known: a new one needs a link, a coupon or a cost", ErrConflict)

// ErrCampaignName says that a campaign id is known under another name.
var ErrCampaignName = fmt.Errorf("%w: the campaign id has another name", ErrConflict)
