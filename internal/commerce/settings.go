package commerce

import (
	"net/url"
	"time"

	"github.com/nyaruka/phonenumbers"
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

// What a merchant may decide about an influencer's link evidence for an order.
const (
	EvidenceAccept   = "accept"
	EvidenceRefuse   = "refuse"
	EvidenceWithdraw = "withdraw" // as if nothing had been decided
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
	EvidenceDecisions = []string{EvidenceAccept, EvidenceRefuse, EvidenceWithdraw}
)

// mostDays bounds the days of a window and of a half-life, as the schema does.
const mostDays = 365

// Check returns every setting with which the services could not work.
func (s NewStore) Check() (bad Violations) {
	var body place
	bad.filled(body, "name", s.Name, MaxName)
	if !phonenumbers.GetSupportedRegions()[s.Country] { // phone numbers without a country are read by it
		bad.Add("country", CodeInvalidValue, "is no ISO 3166-1 code in capitals, such as BR")
	}
	if _, err := time.LoadLocation(s.Timezone); err != nil || s.Timezone == "" || s.Timezone == "Local" {
		bad.Add("timezone", CodeInvalidValue, "is no IANA time zone, such as America/Sao_Paulo")
	}
	if _, err := Exponent(s.Currency); err != nil {
		bad.Add("currency", CodeInvalidValue, "%s, such as BRL", err)
	}
	bad.word(body, "consent_policy", s.ConsentPolicy, ConsentPolicies...)
	bad.word(body, "payout_rule", s.PayoutRule, PayoutRules...)
	bad.days("window_days", s.WindowDays)
	bad.days("half_life_days", s.HalfLifeDays)
	for i, text := range s.Origins {
		if !isOrigin(text) {
			bad.Add(element("origins", i).field(""), CodeInvalidValue,
				"%q is no origin, such as https://loja.example.com: scheme and host, without a path or a slash", text)
		}
	}
	for i, text := range s.Hosts {
		if u, err := url.Parse("//" + text); err != nil || u.Hostname() != text || text == "" {
			bad.Add(element("hosts", i).field(""), CodeInvalidValue, "%q is no host, such as loja.example.com: without scheme, port or path", text)
		}
	}
	return bad
}

func (v *Violations) days(name string, days int) {
	if days < 1 || days > mostDays {
		v.Add(name, CodeOutOfRange, "must be from 1 to %d", mostDays)
	}
}

// isOrigin reports whether a text is an origin as browsers send it.
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http") && u.Scheme+"://"+u.Host == text
}
