package wire

import (
	"encoding/json"
	"time"
)

// Kind is what a record of commerce.v1 is about.
type Kind string

const (
	KindOrder     Kind = "order"
	KindProduct   Kind = "product"
	KindRule      Kind = "rule"      // an influencer, campaign, link, coupon or cost changed
	KindSettings  Kind = "settings"  // the company's settings changed
	KindEvidence  Kind = "evidence"  // a decision about an influencer's evidence for an order
	KindStatement Kind = "statement" // a statement of an influencer is to be closed
	KindPayment   Kind = "payment"   // a statement was paid

	KindWithholding Kind = "withholding" // what is withheld of a statement
	KindEntry       Kind = "entry"       // a manual entry of an influencer's ledger
	KindErasure     Kind = "erasure"     // a person is to be erased
)

// CommerceVersion is the version of records of commerce.v1 that are written now.
const CommerceVersion = 1

// Commerce is the value of a record of commerce.v1: full state in each.
type Commerce struct {
	V          int             `json:"v"` // CommerceVersion
	Kind       Kind            `json:"kind"`
	ID         string          `json:"id"`  // orderId, productId, or the rule's "<type>/<id>"
	Rev        int64           `json:"rev"` // company's rule revision; 0 for orders and products
	CompanyID  string          `json:"companyId"`
	AcceptedAt time.Time       `json:"acceptedAt"` // UTC, microseconds: of two orders one process accepted, the later has the later time
	Actor      string          `json:"actor"`      // "key/<keyId>", "user/<userId>" or "cli"
	Body       json.RawMessage `json:"body"`       // Order, Product, Rule, Evidence, Statement, Payment, Entry or Erasure

	// Warnings are those of the answer to an order's sender: for people, and no part of the order.
	Warnings []Warning `json:"warnings,omitempty"`
}

// Warning is a field of an order that counts as absent, or was not read.
type Warning struct {
	Field   string `json:"field"` // a JSON path, without values
	Code    string `json:"code"`
	Message string `json:"message"`        // in English
	Near    string `json:"near,omitempty"` // the known field that was probably meant
}

// Order is the body of an order record: one version as the merchant sent it.
// Amounts are minor units of Currency. An absent field keeps its newest known
// value, an explicit null clears it (docs/attribution.md, "Facts"): hence Optional.
type Order struct {
	OrderID        string              `json:"orderId"`
	Status         int                 `json:"orderStatus"` // 0 approved, 1 pending, 2 cancelled
	CreatedAt      time.Time           `json:"createdAt"`
	Currency       string              `json:"currency"`   // ISO 4217
	TotalMinor     int64               `json:"totalMinor"` // totalPrice
	UpdatedAt      Optional[time.Time] `json:"updatedAt,omitzero"`
	Number         Optional[int64]     `json:"number,omitzero"`
	Name           Optional[string]    `json:"name,omitzero"`
	DiscountsMinor Optional[int64]     `json:"discountsMinor,omitzero"`
	ShippingMinor  Optional[int64]     `json:"shippingMinor,omitzero"`
	PaymentMethod  Optional[int]       `json:"paymentMethod,omitzero"`
	Installments   Optional[int]       `json:"installments,omitzero"`
	DiscountCode   Optional[string]    `json:"discountCode,omitzero"`
	ProvinceCode   Optional[string]    `json:"provinceCode,omitzero"`
	CountryCode    Optional[string]    `json:"countryCode,omitzero"`
	UTMSource      Optional[string]    `json:"utmSource,omitzero"`
	UTMMedium      Optional[string]    `json:"utmMedium,omitzero"`
	UTMCampaign    Optional[string]    `json:"utmCampaign,omitzero"`
	UTMContent     Optional[string]    `json:"utmContent,omitzero"`
	UTMTerm        Optional[string]    `json:"utmTerm,omitzero"`
	VisitorID      Optional[string]    `json:"userId,omitzero"` // trb_id, or the UUID of trb_vid
	UserIDMAC      UserIDMAC           `json:"userIdMac,omitempty"`
	Source         Optional[int]       `json:"source,omitzero"` // 0 web, 1 marketplace, 2 app, 3 other
	IsFirstOrder   Optional[bool]      `json:"isFirstOrder,omitzero"`
	IsRecurring    Optional[bool]      `json:"isRecurring,omitzero"` // subscription.isRecurring
	EmailKey       Optional[string]    `json:"emailKey,omitzero"`
	PhoneKey       Optional[string]    `json:"phoneKey,omitzero"`
	CustomerKey    Optional[string]    `json:"customerKey,omitzero"`
	CartKey        Optional[string]    `json:"cartKey,omitzero"`
	CartNoKey      Optional[string]    `json:"cartNoKey,omitzero"` // as in Identity
	NetKey         Optional[string]    `json:"netKey,omitzero"`    // identity.Keys.Network of browserIp
	DeliveredAt    Optional[time.Time] `json:"deliveredAt,omitzero"`
	Items          Optional[[]Item]    `json:"items,omitzero"`

	// DiscountCodes and DiscountCode are one field: where the first is there, it counts.
	DiscountCodes Optional[[]DiscountCode] `json:"discountCodes,omitzero"`
	TaxMinor      Optional[int64]          `json:"taxMinor,omitzero"` // taxPrice: contained in the total
	Test          Optional[bool]           `json:"test,omitzero"`
	NoCommission  Optional[bool]           `json:"noCommission,omitzero"` // true: it earns nothing
	Refunds       Optional[[]Refund]       `json:"refunds,omitzero"`

	// Former are the keys by former hashing secrets, one of each: a version has at most one.
	Former []Former `json:"former,omitempty"`

	// Personal is the only place of raw personal data on Kafka; the processor
	// stores it in order_personal alone.
	Personal json.RawMessage `json:"personal,omitempty"` // {customer{…}, userAgent, browserIp, cartToken, userId where it names a person}
}

// UserIDMAC says what came with an order's userId: it belongs to the userId of the
// same version, and is none where that is absent.
type UserIDMAC string

const (
	MACNone    UserIDMAC = ""        // no mac: trb_id, or an id of the shop's own
	MACValid   UserIDMAC = "valid"   // trb_vid as an edge of this installation signed it
	MACInvalid UserIDMAC = "invalid" // <UUID>.<mac>, and the mac is not ours
)

// Item is one line of an order. Price and Discount are exact decimals as text:
// they may have more digits than the currency.
type Item struct {
	ItemID    string `json:"itemId,omitempty"`
	ProductID string `json:"productId,omitempty"`
	VariantID string `json:"variantId,omitempty"`
	Quantity  int64  `json:"quantity"`
	Measure   string `json:"measure,omitempty"` // the exact quantity, where it is no whole number: Quantity is the next one
	Price     string `json:"price,omitempty"`
	Discount  string `json:"discount,omitempty"`
	CreatedAt string `json:"createdAt,omitempty"`
	UpdatedAt string `json:"updatedAt,omitempty"`
}

// DiscountCode is one of an order's codes, with what it took off.
type DiscountCode struct {
	Code        string          `json:"code"`
	AmountMinor Optional[int64] `json:"amountMinor,omitzero"` // absent or null: not known
}

// Refund is one refund of an order, to be shown: the total decides about money.
type Refund struct {
	ID          string       `json:"id,omitempty"`
	AmountMinor int64        `json:"amountMinor"`
	CreatedAt   string       `json:"createdAt,omitempty"` // RFC 3339, UTC
	Reason      string       `json:"reason,omitempty"`
	Items       []RefundItem `json:"items,omitempty"`
}

// RefundItem is what was given back of one line of an order.
type RefundItem struct {
	ItemID   string `json:"itemId,omitempty"`
	Quantity int64  `json:"quantity"`
}

// Erasure is the body of an erasure's record. It does not say whom: PostgreSQL has the
// keyed hashes until the erasure is done.
type Erasure struct {
	ErasureID string `json:"erasureId"` // UUID
}

// Product is the body of a product record.
type Product struct {
	ProductID string    `json:"productId"`
	Name      string    `json:"productName"`
	Status    *int      `json:"status,omitempty"`
	CreatedAt string    `json:"createdAt,omitempty"`
	UpdatedAt string    `json:"updatedAt,omitempty"`
	Variants  []Variant `json:"variants"`
}

type Variant struct {
	VariantID string `json:"variantId"`
	Title     string `json:"title,omitempty"`
	SKU       string `json:"sku,omitempty"`
	Price     string `json:"price,omitempty"`
	Currency  string `json:"currency,omitempty"`
	CreatedAt string `json:"createdAt,omitempty"`
	UpdatedAt string `json:"updatedAt,omitempty"`
}

// RuleType says what changed. A reader rejects a type that it does not know.
type RuleType string

const (
	RuleInfluencer RuleType = "influencer"
	RuleCampaign   RuleType = "campaign"
	RuleLink       RuleType = "link"
	RuleCoupon     RuleType = "coupon"
	RuleCost       RuleType = "cost"
	RuleSettings   RuleType = "settings" // of the company; a record of KindSettings needs no body
)

// RuleChange says what happened to a rule.
type RuleChange string

const (
	RuleCreated  RuleChange = "created"
	RuleUpdated  RuleChange = "updated"
	RuleArchived RuleChange = "archived"
	RuleDeleted  RuleChange = "deleted"
)

// Rule is the body of a rule record. The rule itself is in Postgres, written
// in the same transaction as the outbox row that became this record; the
// record says what to look at again.
type Rule struct {
	Type         RuleType   `json:"type"`
	Change       RuleChange `json:"change"`
	InfluencerID string     `json:"influencerId"`
	CampaignID   string     `json:"campaignId,omitempty"`
	Code         string     `json:"code,omitempty"` // folded coupon code
	From         string     `json:"from,omitempty"` // first day it can concern, YYYY-MM-DD; empty: unbounded
	To           string     `json:"to,omitempty"`   // last day, inclusive; empty: unbounded
	At           time.Time  `json:"at"`
}

// Evidence is the body of an evidence record: what the merchant decided about an
// influencer and an order.
type Evidence struct {
	OrderID      string `json:"orderId"`
	InfluencerID string `json:"influencerId"`
	Decision     string `json:"decision"`              // accept | refuse | withdraw, or of a dispute assign | deny | release
	Reason       string `json:"reason,omitempty"`      // in the merchant's words
	ConfirmedBy  string `json:"confirmedBy,omitempty"` // the second person, "user/<userId>", where the store wants one
	// Touches are the event ids of the influencer's touches that the order's explanation
	// had when it was decided, the newest MaxAccepted: what strangers send later cannot
	// hide them.
	Touches []string `json:"touches,omitempty"`
}

// MaxAccepted bounds Evidence.Touches.
const MaxAccepted = 20

// Statement is the body of a statement record: which lines of an influencer's ledger
// are to be closed.
type Statement struct {
	StatementID  string `json:"statementId"`
	InfluencerID string `json:"influencerId"`
	Currency     string `json:"currency"`     // ISO 4217
	EndDate      string `json:"endDate"`      // takes lines that may be paid up to this day, YYYY-MM-DD
	MinimumMinor int64  `json:"minimumMinor"` // a total below it is carried; minor units of Currency
}

// Payment is the body of a payment record: that a statement was paid, or that the payment which another record told of was
// not made after all.
type Payment struct {
	StatementID string    `json:"statementId"`
	PaidAt      time.Time `json:"paidAt,omitzero"`
	Reference   string    `json:"reference,omitempty"`
	Undoes      int64     `json:"undoes,omitempty"` // the revision of the payment that is undone; 0: it is a payment
	Reason      string    `json:"reason,omitempty"` // of the undo, in the merchant's words
}

// Withholding is the body of a withholding's record: what the merchant withholds of a statement, in place of what earlier
// records of it say.
type Withholding struct {
	StatementID string     `json:"statementId"`
	Withheld    []Withheld `json:"withheld"`
	Invoice     string     `json:"invoice"` // number of the influencer's invoice; may be empty
}

// Withheld is one amount that is withheld.
type Withheld struct {
	Name        string `json:"name"`
	AmountMinor int64  `json:"amountMinor"` // of the statement's currency
}

// Entry is the body of a manual entry's record.
type Entry struct {
	EntryID      string `json:"entryId"`
	InfluencerID string `json:"influencerId"`
	Kind         string `json:"kind"`        // commerce.EntryKinds
	AmountMinor  int64  `json:"amountMinor"` // as it stands in the ledger, in minor units of Currency: an advance is negative
	Currency     string `json:"currency"`    // ISO 4217
	Day          string `json:"day"`         // from which it counts, YYYY-MM-DD
	Reason       string `json:"reason"`
}

// Result is the value of a record of results.v1: a hint, never the truth.
type Result struct {
	V         int       `json:"v"` // 1
	CompanyID string    `json:"companyId"`
	OrderIDs  []string  `json:"orderIds"` // at most 100
	At        time.Time `json:"at"`
}

// Rejected is the value of a record of rejected.v1.
type Rejected struct {
	V         int       `json:"v"` // 1
	CompanyID string    `json:"companyId,omitempty"`
	EventID   string    `json:"eventId,omitempty"` // a UUID, or the keyed digest of what is none
	Topic     string    `json:"topic"`             // where it came from, or was bound for
	Code      string    `json:"code"`
	Reason    string    `json:"reason"`
	Count     int       `json:"count,omitempty"`     // rejections of one request that this record stands for; absent: 1
	Digest    string    `json:"digest,omitempty"`    // identity.Keys.Digest of the original, keyed by the company's pepper
	Partition *int      `json:"partition,omitempty"` // where the record lies in Topic; absent where it was not produced
	Offset    *int64    `json:"offset,omitempty"`
	Body      string    `json:"body,omitempty"` // redacted
	At        time.Time `json:"at"`
}
