package statements

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/ledger"
	"github.com/tributary-io/tributary/internal/uuidtext"
	"github.com/tributary-io/tributary/internal/wire"
)

// Entry is a manual entry of an influencer's ledger (docs/payouts.md, "Manual entries").
type Entry struct {
	wire.Entry
	Actor      string // as wire.Commerce's
	AcceptedAt time.Time
}

// ParseEntry parses the body of a manual entry's record, as Parse does.
func ParseEntry(c wire.Commerce) (Entry, error) {
	e := Entry{Actor: c.Actor, AcceptedAt: c.AcceptedAt.UTC().Truncate(facts.StoredPrecision)}
	if err := json.Unmarshal(c.Body, &e.Entry); err != nil {
		return Entry{}, fmt.Errorf("%w: %w", facts.ErrNotJSON, err)
	}
	e.EntryID = strings.ToLower(e.EntryID)
	if !uuidtext.Is(e.EntryID) || !uuidtext.Is(e.InfluencerID) {
		return Entry{}, facts.ErrNoID
	}
	if !slices.Contains(commerce.EntryKinds, e.Kind) {
		return Entry{}, facts.ErrUnknownKind
	}
	if _, err := commerce.Exponent(e.Currency); err != nil {
		return Entry{}, facts.ErrCurrency
	}
	if _, err := commerce.ParseDay(e.Day, time.UTC); err != nil || !commerce.Recordable(e.AcceptedAt) {
		return Entry{}, facts.ErrTime
	}
	return e, nil
}

// Account is the entry's account in the ledger.
func (e *Entry) Account() string { return commerce.AccountOf(commerce.OfEntry, e.EntryID) }

// Posting is the only entry of the ledger that follows.
func (e *Entry) Posting() ledger.Posting {
	return ledger.Posting{OrderID: e.Account(), Cause: facts.Cause{Kind: facts.CauseManual}, Entry: ledger.Entry{
		Number: 1, Kind: ledger.Kind(e.Kind), Line: facts.Line{InfluencerID: e.InfluencerID, CostID: e.EntryID, AmountMinor: e.AmountMinor,
			Currency: e.Currency, PayableOn: e.Day}}}
}
