package commerce

import (
	"errors"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/uuidtext"
	"github.com/tributary-io/tributary/internal/wire"
)

// States of a statement.
const (
	StatementClosing = "closing" // the processor has not closed it yet
	StatementClosed  = "closed"
	StatementPaid    = "paid"
)

// States of a ledger entry.
const (
	EntryHeld    = "held"    // may be paid from a later day on
	EntryPayable = "payable" // may be paid
	EntryPaid    = "paid"    // is in a statement that was paid, or that was carried to one
)

// The states by which lists can be narrowed.
var (
	StatementStates = []string{StatementClosing, StatementClosed, StatementPaid}
	EntryStates     = []string{EntryHeld, EntryPayable, EntryPaid}
)

// Statement is a statement of one influencer and currency. Amounts are in minor units.
// What is closed has StartDate, OpeningMinor, TotalMinor and those below it.
type Statement struct {
	StatementID  string // UUID
	InfluencerID string
	Influencer   string
	Number       int64 // counts the company's statements in the order in which they were closed; 0: it is not closed
	Currency     string
	StartDate    string // YYYY-MM-DD
	EndDate      string
	State        string // one of StatementStates
	MinimumMinor int64  // a total below it is carried
	Rev          int64  // statements are closed in this order
	AskedAt      time.Time

	OpeningMinor decimal.Decimal // carried from the statement before
	TotalMinor   decimal.Decimal // OpeningMinor and the sum of its entries
	Lines        int64           // orders of which it has a sum that is not zero
	Carried      bool            // the total is paid with the next statement
	ClosedAt     time.Time
	PaidAt       time.Time // zero: not paid
	Reference    string    // of the payment

	Withheld      []wire.Withheld // of TotalMinor, until it is paid
	WithheldMinor decimal.Decimal // their sum
	Invoice       string          // number of the influencer's invoice; may be empty
}

// IsCarried reports whether a total is carried to the next statement: one that is not above zero, or below the minimum.
func IsCarried(total decimal.Decimal, minimumMinor int64) bool {
	return !total.IsPositive() || total.LessThan(decimal.NewFromInt(minimumMinor))
}

// NumberText is the statement's number in digits; empty: it is not closed.
func (s Statement) NumberText() string {
	if s.Number == 0 {
		return ""
	}
	return strconv.FormatInt(s.Number, 10)
}

// Cursor returns the statement's place in the list.
func (s Statement) Cursor() StatementCursor { return StatementCursor{s.Rev, s.StatementID} }

// StatementLine is what a statement has of one order, agreement or manual entry, in minor units of the statement's
// currency.
type StatementLine struct {
	OrderID     string // or AccountOf
	Day         string // on which the order was created, as it was when the statement was closed, YYYY-MM-DD; empty: not known
	Kind        string // of a manual entry, one of EntryKinds; else empty
	Reason      string // of a manual entry
	AmountMinor decimal.Decimal
	Cause       string // why the newest of what was taken back was taken back (facts.Cause), where AmountMinor is below zero; else empty
	BaseMinor   *int64 // what a share of the order was computed on when the statement was closed; nil: not known, or in another currency

	// What the statement prints of the order, as it was when it was closed.
	OrderName  string   // what the shop called it; may be empty
	ValueMinor *int64   // its total; nil: as BaseMinor
	Evidence   Evidence // one of the three kinds; empty: it was not the influencer's any more, or it is no order
	Coupon     string   // of EvidenceCoupon
	Terms      []Terms
}

// Account is of what the line is, one of LedgerSubjects, and the id of that.
func (l *StatementLine) Account() (of, id string) { return SplitAccount(l.OrderID) }

// Base is the line's base in its statement's currency; nil: it is not known.
func (l *StatementLine) Base(currency string) *Sum {
	if l.BaseMinor == nil {
		return nil
	}
	return &Sum{decimal.NewFromInt(*l.BaseMinor), currency}
}

// StatementFilter narrows a list of statements. An empty field does not narrow it.
type StatementFilter struct {
	InfluencerID string
	State        string
	Name         string // a part of the influencer's name, in any case
	Carried      *bool  // whether the total is carried to the next statement
}

// StatementTotal is how many statements of a state and a currency there are, and what they sum to without what is withheld, in
// minor units.
type StatementTotal struct {
	State    string // one of StatementStates
	Carried  bool   // the totals are in later statements too
	Currency string
	Count    int64
	NetMinor decimal.Decimal
}

// Check returns every rule that the filter breaks.
func (f StatementFilter) Check() (bad Violations) {
	bad.optionalUUID("influencer_id", f.InfluencerID)
	if f.State != "" {
		bad.word(place{}, "state", f.State, StatementStates...)
	}
	return bad
}

// StatementCursor is a place in the list of statements, of which the newest come first:
// after the one of that revision and id. The zero value is the beginning.
type StatementCursor struct {
	Rev         int64
	StatementID string
}

// IsZero reports whether the cursor is the beginning.
func (c StatementCursor) IsZero() bool { return c.StatementID == "" }

func (c StatementCursor) String() string {
	return cursorText(strconv.FormatInt(c.Rev, 36), c.StatementID)
}

// ParseStatementCursor reads what String wrote.
func ParseStatementCursor(text string) (StatementCursor, error) {
	parts, ok := cursorParts(text, 2)
	rev, err := strconv.ParseInt(parts[0], 36, 64)
	if !ok || err != nil || !uuidtext.Is(parts[1]) {
		return StatementCursor{}, badCursor(text)
	}
	return StatementCursor{rev, parts[1]}, nil
}

// Closing asks for statements.
type Closing struct {
	EndDate      string   // YYYY-MM-DD
	InfluencerID string   // empty: all influencers
	Chosen       []string // the ids of those of whom alone statements are made; nil: all
}

// Of returns the ids of the influencers of whom statements are asked for; nil: all.
func (c Closing) Of() []string {
	if c.InfluencerID != "" {
		return []string{c.InfluencerID}
	}
	return c.Chosen
}

// Check returns every rule that it breaks, but for that the day may not be in the future.
func (c Closing) Check() (bad Violations) {
	if c.EndDate != "" {
		if _, err := ParseDay(c.EndDate, time.UTC); err != nil {
			bad.Add("end_date", CodeInvalidDate, "must be a real date written YYYY-MM-DD, of the years 1970 to 2199")
		}
	}
	bad.optionalUUID("influencer_id", c.InfluencerID)
	for _, id := range c.Chosen {
		bad.optionalUUID("influencer", id)
	}
	return bad
}

// StatementPayment says that a statement was paid.
type StatementPayment struct {
	StatementID string // UUID
	PaidAt      time.Time
	Reference   string // of the transfer
	Seen        string // the statement's Version as it was shown; empty: it is not checked
}

// MostPaidAtOnce bounds the statements that are paid together.
const MostPaidAtOnce = 200

// PaymentUndo takes the payment of a statement back.
type PaymentUndo struct {
	StatementID string // UUID
	Reason      string
}

// Check returns every rule that it breaks.
func (u PaymentUndo) Check() (bad Violations) {
	bad.filled(place{}, "reason", u.Reason, MaxName)
	return bad
}

// Check returns every rule that a payment breaks at an instant.
func (p StatementPayment) Check(now time.Time) (bad Violations) {
	if p.PaidAt.After(now.Add(MaxAhead)) {
		bad.Add("paid_at", CodeOutOfRange, "is in the future")
	}
	bad.filled(place{}, "reference", p.Reference, MaxName)
	return bad
}

// Errors of closing and paying statements.
var (
	ErrFutureDay         = errors.New("the day is in the future")
	ErrTooManyStatements = errors.New("too many statements at once")
	ErrNotClosed         = errors.New("the statement is not closed yet")
	ErrCarried           = errors.New("the statement's total is carried to the next one")
	ErrPaidOtherwise     = errors.New("the statement has another payment already")
	ErrNotPaid           = errors.New("the statement has no payment")
	ErrRestored          = errors.New("the database was restored from a backup, and paying is blocked until an owner confirms")
)

// LedgerItem is an entry of a company's ledger.
type LedgerItem struct {
	LedgerEntry
	OrderID     string // or AccountOf
	Reason      string // of a manual entry
	State       string // one of EntryStates
	StatementID string // empty: it is in none yet
}

// EntryID names an entry among all of a company: "<order id>/<number>", "agreement/<cost id>/<number>", or "entry/<id>" of a manual one.
func (i LedgerItem) EntryID() string { return entryID(i.OrderID, i.Entry) }

// ReversesID is the EntryID of the entry that this one reverses; "": none.
func (i LedgerItem) ReversesID() string {
	if i.Reverses == 0 {
		return ""
	}
	return entryID(i.OrderID, i.Reverses)
}

func entryID(orderID string, number int) string {
	if of, id := SplitAccount(orderID); of == OfEntry {
		return of + "/" + id // it has one entry
	}
	return shownAccount(orderID) + "/" + strconv.Itoa(number)
}

// Account is of what the entry is, one of LedgerSubjects, and the id of that.
func (i LedgerItem) Account() (of, id string) { return SplitAccount(i.OrderID) }

// Cursor returns the entry's place in the list.
func (i LedgerItem) Cursor() LedgerCursor { return LedgerCursor{i.At, i.OrderID, i.Entry} }

// LedgerFilter narrows a list of ledger entries. An empty field does not narrow it.
type LedgerFilter struct {
	InfluencerID string
	State        string // one of EntryStates
	Of           string // one of LedgerSubjects
	From, To     string // days on which the entries were posted, YYYY-MM-DD, inclusive
}

// Check returns every rule that the filter breaks.
func (f LedgerFilter) Check() (bad Violations) {
	bad.optionalUUID("influencer_id", f.InfluencerID)
	if f.State != "" {
		bad.word(place{}, "state", f.State, EntryStates...)
	}
	if f.Of != "" {
		bad.word(place{}, "of", f.Of, LedgerSubjects...)
	}
	for _, day := range []struct{ name, text string }{{"start_date", f.From}, {"end_date", f.To}} {
		if _, err := ParseDay(day.text, time.UTC); day.text != "" && err != nil {
			bad.Add(day.name, CodeInvalidDate, "must be a real date written YYYY-MM-DD, of the years 1970 to 2199")
		}
	}
	if f.From != "" && f.To != "" && f.To < f.From {
		bad.Add("end_date", CodeInvalidDate, "is before start_date")
	}
	return bad
}

// LedgerCursor is a place in the list of ledger entries, of which the newest come first:
// after the one posted then. The zero value is the beginning.
type LedgerCursor struct {
	At      time.Time
	OrderID string
	Entry   int
}

// IsZero reports whether the cursor is the beginning.
func (c LedgerCursor) IsZero() bool { return c.OrderID == "" }

func (c LedgerCursor) String() string {
	return cursorText(strconv.FormatInt(c.At.UnixMicro(), 36), strconv.Itoa(c.Entry), c.OrderID)
}

// ParseLedgerCursor reads what String wrote.
func ParseLedgerCursor(text string) (LedgerCursor, error) {
	parts, ok := cursorParts(text, 3)
	micros, badTime := strconv.ParseInt(parts[0], 36, 64)
	entry, badEntry := strconv.ParseInt(parts[1], 10, 32)
	c := LedgerCursor{time.UnixMicro(micros).UTC(), parts[2], int(entry)}
	if !ok || badTime != nil || badEntry != nil || !IsLedgerAccount(c.OrderID) || !Recordable(c.At) {
		return LedgerCursor{}, badCursor(text)
	}
	return c, nil
}

// BalanceCursor is a place in the list of balances: after the one of that influencer and
// currency. The zero value is the beginning.
type BalanceCursor struct {
	Influencer   string // name
	InfluencerID string
	Currency     string
}

// Cursor returns the balance's place in the list.
func (b Balance) Cursor() BalanceCursor {
	return BalanceCursor{b.Influencer, b.InfluencerID, b.Currency}
}

func (c BalanceCursor) String() string { return cursorText(c.Currency, c.InfluencerID, c.Influencer) }

// ParseBalanceCursor reads what String wrote.
func ParseBalanceCursor(text string) (BalanceCursor, error) {
	parts, ok := cursorParts(text, 3)
	if !ok || !uuidtext.Is(parts[1]) || parts[2] != "" && !IsID(parts[2]) || !IsID(parts[0]) {
		return BalanceCursor{}, badCursor(text)
	}
	return BalanceCursor{parts[2], parts[1], parts[0]}, nil
}

func (v *Violations) optionalUUID(name, text string) {
	if text != "" && !uuidtext.Is(text) {
		v.Add(name, CodeInvalidFormat, "must be a UUID")
	}
}
