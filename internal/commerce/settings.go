package commerce

import (
	"cmp"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/nyaruka/phonenumbers"
	"github.com/shopspring/decimal"
	"golang.org/x/net/publicsuffix"

	"github.com/tributary-io/tributary/internal/publichost"
	"github.com/tributary-io/tributary/internal/uuidtext"
	"github.com/tributary-io/tributary/internal/wire"
)

// Who is paid where a coupon and a link name different influencers.
const (
	CouponFirst = "coupon_first"
	LastTouch   = "last_touch"
)

// What is done with the link evidence of an influencer that nothing proves
// (docs/attribution.md, "Proof").
const (
	UnprovenReview = "review" // it waits for a decision
	UnprovenIgnore = "ignore"
	UnprovenPay    = "pay"
)

// What is done with the commission on an order whose customer is the influencer
// (docs/attribution.md, "Self-purchase").
const (
	SelfPurchaseReview = "review" // it waits for a decision
	SelfPurchaseDeny   = "deny"
	SelfPurchasePay    = "pay"
)

// What a merchant may decide about an influencer's link evidence for an order.
const (
	EvidenceAccept   = "accept"
	EvidenceRefuse   = "refuse"
	EvidenceWithdraw = "withdraw" // as if nothing had been decided
)

// What a merchant may decide in a dispute about an order, whatever its evidence says.
const (
	DisputeAssign  = "assign"  // the order is the influencer's, and nobody else's
	DisputeDeny    = "deny"    // the influencer gets nothing for it, by coupon or link
	DisputeRelease = "release" // as if nothing had been decided
)

// What a store wants done about shoppers' consent.
const (
	ConsentNone     = "none"      // nothing is asked
	ConsentRequired = "required"  // no cookie before consent; events with a denial or Global Privacy Control join no order
	ConsentHonorGPC = "honor_gpc" // events with Global Privacy Control join no order
)

// The values that settings may have.
var (
	ConsentPolicies = []string{ConsentNone, ConsentRequired, ConsentHonorGPC}
	PayoutRules     = []string{CouponFirst, LastTouch}

	UnprovenRules     = []string{UnprovenReview, UnprovenIgnore, UnprovenPay}
	SelfPurchaseRules = []string{SelfPurchaseReview, SelfPurchaseDeny, SelfPurchasePay}
	EvidenceDecisions = []string{EvidenceAccept, EvidenceRefuse, EvidenceWithdraw}
	DisputeDecisions  = []string{DisputeAssign, DisputeDeny, DisputeRelease}
)

// Bounds of settings.
const (
	mostDays   = 365 // of a window and of a half-life, as the schema has it
	MaxListed  = 100 // origins, and hosts
	maxTaxID   = 40  // characters
	maxAddress = 300 // bytes of one of them: a host has at most 253 (RFC 1035)

	MaxEventsPerSecond = 1_000_000
	MinBurst           = 512 // edge.LeastBurst: a smaller burst would refuse a full request
	MaxBurst           = 10_000_000
)

const countryBR = "BR" // ISO 3166-1

// maxMinimum bounds MinimumPayout: the greatest amount in BRL.
var maxMinimum = decimal.New(MaxAmountMinor, -2)

// Settings are what a store says about one of its companies.
type Settings struct {
	// These three cannot change after the company's first order (Frozen).
	Country  string // ISO 3166-1 alpha-2; phone numbers without a country belong to it
	Timezone string // IANA; of the store's days
	Currency string // ISO 4217

	Origins       []string // whose pages may send events: "https://loja.example.com"
	Hosts         []string // the store's own: a visit from one is no touch
	Limits        wire.Limits
	ConsentPolicy string   // one of ConsentPolicies
	PayoutRule    string   // one of PayoutRules
	WindowDays    int      // how long before an order a touch counts, 1 to 365
	HalfLifeDays  int      // of the model time_decay, 1 to 365
	CountDirect   bool     // direct visits count in every model, not in the last touch's alone
	PayRecurring  bool     // recurring subscription orders earn
	WithoutTax    bool     // the base of commissions is without the tax that an order contains
	Unproven      string   // one of UnprovenRules
	SelfPurchase  string   // one of SelfPurchaseRules
	PassingHosts  []string // see Passing: hosts to add to those that are known, or with "-" before them to take away
	HoldDays      int      // from an order's approval until its commission may be paid, 0 to 365; of a new store 0 is 30
	// DeliveredHoldDays is the same from an order's delivery, where that is known, 0 to 365; of a new store 0 is
	// DefaultDeliveredHold.
	DeliveredHoldDays int

	// ConfirmDecisions: a decision about an order counts once a second person has confirmed it (ADR 30).
	ConfirmDecisions bool

	// LegalName and TaxID name the store in statements that are closed from now on. Both may be empty; without LegalName they
	// have the company's name. TaxID is in Brazil a CPF or CNPJ, as NormalDocument returns it.
	LegalName, TaxID string

	// RetentionDays is after how many days events are removed: 0 keeps them for ever, else
	// LeastRetention to MaxRetentionDays. What orders were credited stays.
	RetentionDays int

	// MinimumPayout is the least total of a statement that is paid, of those asked for
	// from now on: a decimal in units of Currency, "50" or "49.9".
	MinimumPayout string
}

// DefaultDeliveredHold in days. The right of withdrawal is seven days from receipt without the first (CDC art. 49; Código
// Civil art. 132), so day 8 is lawful; returns are registered days later.
const DefaultDeliveredHold = 15

// MaxRetentionDays is the longest retention, but for ever: ten years.
const MaxRetentionDays = 3650

// RetentionMargin is how many days longer than window and hold events must be kept. An
// order is snapshotted when its oldest events are removed. Until then events may still come
// for it: a day after it, received up to 7 days late; and a day's events before the window
// are read (docs/attribution.md, "Facts" and "Two hops"). One day is rounding.
const RetentionMargin = 10

// LeastRetention is the least RetentionDays beside these settings, but 0.
func (s Settings) LeastRetention() int { return s.WindowDays + s.HoldDays + RetentionMargin }

// ofOrders are the settings that decide about an order: of each order those count
// that were in force when it was created.
func (s Settings) ofOrders() Settings {
	return Settings{
		PayoutRule: s.PayoutRule, WindowDays: s.WindowDays, HalfLifeDays: s.HalfLifeDays, CountDirect: s.CountDirect,
		PayRecurring: s.PayRecurring, WithoutTax: s.WithoutTax, Unproven: s.Unproven, SelfPurchase: s.SelfPurchase, HoldDays: s.HoldDays,
		DeliveredHoldDays: s.DeliveredHoldDays, PassingHosts: s.PassingHosts,
	}
}

// SameForOrders reports whether both decide alike about an order.
func (s Settings) SameForOrders(other Settings) bool {
	return reflect.DeepEqual(s.ofOrders(), other.ofOrders())
}

// Normal writes what can be typed in several ways as it is stored. What Check refuses stays.
func (s *Settings) Normal() {
	if amount, err := ParseDecimal(s.MinimumPayout); err == nil {
		s.MinimumPayout = amount.String()
	}
	s.LegalName, s.TaxID = strings.TrimSpace(s.LegalName), strings.TrimSpace(s.TaxID)
	if document, _ := NormalDocument(s.TaxID); s.Country == countryBR && document != "" {
		s.TaxID = document
	}
}

// Defaults fills the empty fields that have a default.
func (s *Settings) Defaults() {
	s.Country = cmp.Or(s.Country, countryBR)
	s.Timezone = cmp.Or(s.Timezone, "America/Sao_Paulo")
	s.Currency = cmp.Or(s.Currency, BRL)
	s.ConsentPolicy = cmp.Or(s.ConsentPolicy, ConsentNone)
	s.PayoutRule = cmp.Or(s.PayoutRule, CouponFirst)
	s.WindowDays = cmp.Or(s.WindowDays, 30)
	s.HalfLifeDays = cmp.Or(s.HalfLifeDays, 7)
	s.Unproven = cmp.Or(s.Unproven, UnprovenReview)
	s.SelfPurchase = cmp.Or(s.SelfPurchase, SelfPurchaseReview)
	s.HoldDays = cmp.Or(s.HoldDays, 30)
	s.DeliveredHoldDays = cmp.Or(s.DeliveredHoldDays, DefaultDeliveredHold)
	s.MinimumPayout = cmp.Or(s.MinimumPayout, "0")
	s.Normal()
}

// Check returns all that is wrong with a new store.
func (s NewStore) Check() (bad Violations) {
	bad = CheckStoreName(s.Name)
	bad.AddAll(s.Settings.Check())
	return bad
}

// CheckStoreName returns what is wrong with a store's name.
func CheckStoreName(name string) (bad Violations) {
	bad.filled(place{}, "name", name, MaxName)
	return bad
}

// Check returns every setting with which the services could not work.
func (s Settings) Check() (bad Violations) {
	var body place
	if !phonenumbers.GetSupportedRegions()[s.Country] { // phone numbers without a country are read by it
		bad.Add("country", CodeInvalidValue, "is no ISO 3166-1 code in capitals, such as BR")
	}
	if _, err := time.LoadLocation(s.Timezone); err != nil || s.Timezone == "" || s.Timezone == "Local" {
		bad.Add("timezone", CodeInvalidValue, "is no IANA time zone, such as America/Sao_Paulo")
	}
	if _, err := Exponent(s.Currency); err != nil {
		bad.Add("currency", CodeInvalidValue, "%s, such as BRL", err)
	}
	bad.addresses("origins", s.Origins, isOrigin,
		"%q is no origin, such as https://loja.example.com: scheme and host in ASCII, without a path or a slash")
	bad.addresses("hosts", s.Hosts, isOwnHost,
		"%q is no host of a store, such as loja.example.com: in ASCII, without scheme, port or path, and nothing under which others have "+
			"theirs, such as com")
	bad.addresses("passing_hosts", s.PassingHosts, isPassingHost,
		"%q is no host in lower case, such as pay.example.com, or -pay.example.com to take it away")
	if n := s.Limits.EventsPerSecond; n != 0 && !(n >= 1 && n <= MaxEventsPerSecond) {
		bad.Add("events_per_second", CodeOutOfRange, "must be from 1 to %d, or 0 for the edge's default", MaxEventsPerSecond)
	}
	if n := s.Limits.Burst; n != 0 && (n < MinBurst || n > MaxBurst) {
		bad.Add("burst", CodeOutOfRange, "must be from %d, what one request may cost, to %d, or 0 for the edge's default", MinBurst, MaxBurst)
	}
	bad.text(body, "legal_name", s.LegalName, MaxName)
	bad.text(body, "tax_id", s.TaxID, maxTaxID)
	if document, _ := NormalDocument(s.TaxID); s.Country == countryBR && s.TaxID != "" && document == "" {
		bad.Add("tax_id", CodeInvalidValue, "is no CPF or CNPJ: its length or its check digits are wrong")
	}
	bad.word(body, "consent_policy", s.ConsentPolicy, ConsentPolicies...)
	bad.word(body, "payout_rule", s.PayoutRule, PayoutRules...)
	bad.days("window_days", s.WindowDays)
	bad.days("half_life_days", s.HalfLifeDays)
	bad.word(body, "unproven", s.Unproven, UnprovenRules...)
	bad.word(body, "self_purchase", s.SelfPurchase, SelfPurchaseRules...)
	if s.HoldDays < 0 || s.HoldDays > mostDays {
		bad.Add("hold_days", CodeOutOfRange, "must be from 0 to %d", mostDays)
	}
	if s.DeliveredHoldDays < 0 || s.DeliveredHoldDays > mostDays {
		bad.Add("delivered_hold_days", CodeOutOfRange, "must be from 0 to %d", mostDays)
	}
	if n := s.RetentionDays; n != 0 && (n < s.LeastRetention() || n > MaxRetentionDays) {
		bad.Add("retention_days", CodeOutOfRange, "must be from %d (window_days, hold_days and %d) to %d, or 0 to keep events for ever",
			s.LeastRetention(), RetentionMargin, MaxRetentionDays)
	}
	if d, err := ParseDecimal(s.MinimumPayout); err != nil || d.IsNegative() || d.GreaterThan(maxMinimum) {
		bad.Add("minimum_payout", CodeOutOfRange, "must be an amount from 0 to %s, in units of the store's currency", maxMinimum)
	}
	return bad
}

// Frozen returns a violation for each setting that differs from before and must
// not, since the company has orders: keys of phone numbers, days and amounts that
// are stored were made with it.
func (s Settings) Frozen(before Settings) (bad Violations) {
	f := func(field, old, wanted string) {
		if wanted != old {
			bad.Add(field, CodeConflict, "is %s and cannot become %s: the company has orders already", old, wanted)
		}
	}
	f("country", before.Country, s.Country)
	f("timezone", before.Timezone, s.Timezone)
	f("currency", before.Currency, s.Currency)
	return bad
}

// EvidenceDecision is what a merchant decides about an influencer's link evidence for
// an order (docs/attribution.md, "Proof").
type EvidenceDecision struct {
	OrderID      string
	InfluencerID string   // UUID
	Decision     string   // one of EvidenceDecisions
	Touches      []string // wire.Evidence.Touches
	Reason       string   // of a dispute, in the merchant's words
}

// MaxDecisionReason bounds the reason of a decision, in characters.
const MaxDecisionReason = 300

// CheckDispute returns every rule that a decision in a dispute breaks.
func (d EvidenceDecision) CheckDispute() (bad Violations) {
	if !uuidtext.Is(d.InfluencerID) {
		bad.Add("influencer_id", CodeInvalidValue, "must be an influencer's id, a UUID")
	}
	bad.word(place{}, "decision", d.Decision, DisputeDecisions...)
	bad.filled(place{}, "reason", d.Reason, MaxDecisionReason)
	return bad
}

// CheckReason returns what is wrong with the reason for which a proposal is refused.
func CheckReason(reason string) (bad Violations) {
	bad.filled(place{}, "reason", reason, MaxDecisionReason)
	return bad
}

// Check returns every rule that a decision breaks.
func (d EvidenceDecision) Check() (bad Violations) {
	if !uuidtext.Is(d.InfluencerID) {
		bad.Add("influencer_id", CodeInvalidValue, "must be an influencer's id, a UUID")
	}
	bad.word(place{}, "decision", d.Decision, EvidenceDecisions...)
	return bad
}

// SettingsChange says how to change a company's settings.
type SettingsChange struct {
	CompanyID string
	Actor     string // for the audit log
	// ProposedBy asked for it where Actor confirmed it, as a second person; else empty.
	ProposedBy string
	// Change changes what it is given. It may be called more than once.
	Change func(s *Settings)
}

// SettingsError is a change that was refused as a whole.
type SettingsError struct{ Bad Violations }

func (e *SettingsError) Error() string {
	var all []string
	for _, v := range e.Bad.List {
		all = append(all, v.Field+" "+v.Message)
	}
	return strings.Join(all, "; ")
}

func (v *Violations) days(name string, days int) {
	if days < 1 || days > mostDays {
		v.Add(name, CodeOutOfRange, "must be from 1 to %d", mostDays)
	}
}

// addresses checks a list of origins or hosts. format says what is no such address.
func (v *Violations) addresses(name string, list []string, is func(text string) bool, format string) {
	v.atMost(name, len(list), MaxListed)
	for i, text := range list {
		switch {
		case len(text) > maxAddress:
			v.Add(element(name, i).field(""), CodeTooLong, "must have at most %d characters", maxAddress)
		case !is(text):
			v.Add(element(name, i).field(""), CodeInvalidValue, format, text)
		}
	}
}

// isOrigin reports whether a text is an origin as browsers send it. "null" is that of a frame
// in a sandbox, such as Shopify's pixels.
func isOrigin(text string) bool {
	if text == "null" {
		return true
	}
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Scheme+"://"+u.Host == text && isHostName(u.Hostname())
}

func isHost(text string) bool {
	u, err := url.Parse("//" + text)
	return err == nil && u.Hostname() == text && isHostName(text)
}

// isOwnHost reports whether a text is a host that one store can have: not a public suffix.
func isOwnHost(text string) bool {
	name := strings.ToLower(strings.TrimSuffix(text, "."))
	suffix, icann := publicsuffix.PublicSuffix(name)
	return isHost(text) && (publichost.IsAddress(name) || name != suffix || !icann && !strings.Contains(name, "."))
}

// isPassingHost reports whether a text is a host in lower case, with or without "-"
// before it.
func isPassingHost(text string) bool {
	host := strings.TrimPrefix(text, "-")
	return isHost(host) && host == strings.ToLower(host)
}

// isHostName reports whether a text has the characters of a host alone: of a name,
// which browsers send in ASCII, or of an address. A pattern such as *.example.com
// would match nothing.
func isHostName(text string) bool {
	for _, c := range []byte(text) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._:", c) >= 0) {
			return false
		}
	}
	return text != ""
}
