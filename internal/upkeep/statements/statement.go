package statements

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/uuidtext"
	"github.com/tributary-io/tributary/internal/wire"
)

// Statement is a statement that the merchant has asked for: the processor closes it
// (docs/attribution.md, "Statements").
type Statement struct {
	StatementID  string // UUID
	InfluencerID string // UUID
	Currency     string // ISO 4217
	EndDate      string // takes lines that may be paid up to this day, YYYY-MM-DD
	MinimumMinor int64  // a total below it is carried to the next statement
	Rev          int64  // of the company's rules: statements are closed in this order
	AskedAt      time.Time
	Actor        string // as wire.Commerce's
	Summed       *Sum   // of its entries so far, where all of them are in it; nil: they are not
}

// Payment says that a statement was paid, or that one of its payments is undone.
type Payment struct {
	StatementID string // UUID
	PaidAt      time.Time
	Reference   string // of the transfer, as the merchant wrote it
	Rev         int64  // of the company's rules
	RecordedAt  time.Time
	Actor       string
	Undoes      int64  // the revision of the payment that is undone; 0: it is a payment
	Reason      string // of the undo
}

// Withholding is what is withheld of a statement.
type Withholding struct {
	commerce.Withholding
	Rev   int64 // of the company's rules
	At    time.Time
	Actor string
}

// ParseWithholding parses the body of a withholding's record, as Parse does.
func ParseWithholding(c wire.Commerce) (Withholding, error) {
	var body wire.Withholding
	if err := json.Unmarshal(c.Body, &body); err != nil {
		return Withholding{}, fmt.Errorf("%w: %w", facts.ErrNotJSON, err)
	}
	if !uuidtext.Is(body.StatementID) {
		return Withholding{}, facts.ErrNoID
	}
	w := Withholding{Withholding: commerce.Withholding{StatementID: body.StatementID, List: body.Withheld, Invoice: body.Invoice}, Rev: c.Rev,
		At: c.AcceptedAt.UTC().Truncate(facts.StoredPrecision), Actor: c.Actor}
	if !commerce.Recordable(w.At) {
		return Withholding{}, facts.ErrTime
	}
	if bad := w.Check(commerce.BRL); bad.Any() { // whatever the currency: all amounts have one bound
		return Withholding{}, facts.ErrData
	}
	return w, nil
}

// Parse parses the body of a statement's record. It returns one of the errors
// of facts.ParseEvent for a record that can never be applied.
func Parse(c wire.Commerce) (Statement, error) {
	var body wire.Statement
	if err := json.Unmarshal(c.Body, &body); err != nil {
		return Statement{}, fmt.Errorf("%w: %w", facts.ErrNotJSON, err)
	}
	if !uuidtext.Is(body.StatementID) || !uuidtext.Is(body.InfluencerID) {
		return Statement{}, facts.ErrNoID
	}
	if _, err := commerce.Exponent(body.Currency); err != nil {
		return Statement{}, facts.ErrCurrency
	}
	s := Statement{
		StatementID: body.StatementID, InfluencerID: body.InfluencerID, Currency: body.Currency, EndDate: body.EndDate,
		MinimumMinor: body.MinimumMinor, Rev: c.Rev, AskedAt: c.AcceptedAt.UTC().Truncate(facts.StoredPrecision), Actor: c.Actor,
	}
	if _, err := commerce.ParseDay(s.EndDate, time.UTC); err != nil || !commerce.Recordable(s.AskedAt) {
		return Statement{}, facts.ErrTime
	}
	return s, nil
}

// ParsePayment parses the body of a payment's record, as Parse does.
func ParsePayment(c wire.Commerce) (Payment, error) {
	var body wire.Payment
	if err := json.Unmarshal(c.Body, &body); err != nil {
		return Payment{}, fmt.Errorf("%w: %w", facts.ErrNotJSON, err)
	}
	if !uuidtext.Is(body.StatementID) {
		return Payment{}, facts.ErrNoID
	}
	p := Payment{
		StatementID: body.StatementID, PaidAt: body.PaidAt.UTC().Truncate(facts.StoredPrecision), Reference: body.Reference,
		Rev: c.Rev, RecordedAt: c.AcceptedAt.UTC().Truncate(facts.StoredPrecision), Actor: c.Actor, Undoes: body.Undoes, Reason: body.Reason,
	}
	if p.Undoes == 0 && !commerce.Recordable(p.PaidAt) || !commerce.Recordable(p.RecordedAt) {
		return Payment{}, facts.ErrTime
	}
	return p, nil
}
