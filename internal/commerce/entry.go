package commerce

import (
	"errors"
	"time"

	"github.com/tributary-io/tributary/internal/uuidtext"
)

// Kinds of manual entries, in the order in which they are shown.
const (
	EntryBonus      = "bonus"      // adds to what is owed
	EntryAdjustment = "adjustment" // adds to it, or takes from it
	EntryAdvance    = "advance"    // was paid already: takes from what is payable
	EntryProduct    = "product"    // was sent: a memo without an amount
)

// EntryKinds are the kinds of manual entries.
var EntryKinds = []string{EntryBonus, EntryAdjustment, EntryAdvance, EntryProduct}

// MaxEntryAge bounds how many days ago an entry's day, or the day from which an agreement is owed, may lie.
const MaxEntryAge = 366

// NewEntry is a manual entry of an influencer's ledger as asked for.
type NewEntry struct {
	EntryID      string // UUID: one that comes again is the same entry
	InfluencerID string // UUID
	Kind         string // one of EntryKinds
	AmountMinor  int64  // above zero, but of an adjustment, which may be below, and of a product, which has none
	Currency     string // ISO 4217
	Day          string // from which it counts, YYYY-MM-DD: today or before, in the store's time zone
	Reason       string
}

// PostedMinor is the amount as it stands in the ledger: an advance is negative.
func (e *NewEntry) PostedMinor() int64 {
	if e.Kind == EntryAdvance {
		return -e.AmountMinor
	}
	return e.AmountMinor
}

// Check returns every rule that an entry breaks, of which today is the store's day, YYYY-MM-DD. It does not know whether
// there is such an influencer.
func (e *NewEntry) Check(today string) (bad Violations) {
	var body place
	if !uuidtext.Is(e.EntryID) {
		bad.Add("entry_id", CodeInvalidFormat, "must be a UUID")
	}
	if !uuidtext.Is(e.InfluencerID) {
		bad.Add("influencer_id", CodeInvalidFormat, "must be a UUID")
	}
	bad.word(body, "kind", e.Kind, EntryKinds...)
	if _, err := Exponent(e.Currency); err != nil {
		bad.Add("currency", CodeInvalidValue, "must be a currency of ISO 4217")
	}
	switch {
	case e.Kind == EntryProduct && e.AmountMinor != 0:
		bad.Add("amount", CodeOutOfRange, "must be 0 or absent: a product is a memo")
	case e.Kind == EntryAdjustment && e.AmountMinor == 0:
		bad.Add("amount", CodeOutOfRange, "must not be 0")
	case e.Kind == EntryAdjustment && e.AmountMinor < 0:
		bad.amount(body, "amount", -e.AmountMinor, e.Currency)
	case e.Kind != EntryProduct && e.AmountMinor == 0:
		bad.Add("amount", CodeOutOfRange, "must be greater than 0")
	default:
		bad.amount(body, "amount", e.AmountMinor, e.Currency)
	}
	bad.filled(body, "reason", e.Reason, MaxText)
	bad.recentDay("date", e.Day, today)
	return bad
}

// recentDay checks a day that is today or at most MaxEntryAge days before.
func (v *Violations) recentDay(field, day, today string) {
	now, _ := time.Parse(time.DateOnly, today)
	switch at, err := ParseDay(day, time.UTC); {
	case err != nil:
		v.Add(field, CodeInvalidDate, "must be a real date written YYYY-MM-DD, of the years 1970 to 2199")
	case day > today:
		v.Add(field, CodeInvalidDate, "is in the future: it may be today or before, in the store's time zone")
	case at.Before(now.AddDate(0, 0, -MaxEntryAge)):
		v.Add(field, CodeOutOfRange, "is more than %d days ago", MaxEntryAge)
	}
}

// ErrEntryExists means that a manual entry has another content than the one of its id that came before.
var ErrEntryExists = errors.New("there is another entry with that id")
