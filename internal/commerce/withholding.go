package commerce

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/wire"
)

// Bounds of what is withheld of a statement.
const (
	MostWithheld    = 5
	MaxWithheldName = 40 // characters
	MaxInvoice      = 60 // characters
)

// Withholding is what is withheld of a closed statement until it is paid, as taxes, and the number of the influencer's invoice.
// It takes the place of what was entered before; an empty one takes that back.
type Withholding struct {
	StatementID string // UUID
	List        []wire.Withheld
	Invoice     string
}

// Errors of entering a withholding.
var (
	ErrPaid       = errors.New("the statement is paid already")
	ErrAboveTotal = errors.New("more is withheld than the statement's total")
)

// Check returns every rule that it breaks, of a statement in a currency. It does not know the statement's total.
func (w *Withholding) Check(currency string) (bad Violations) {
	bad.atMost("withholdings", len(w.List), MostWithheld)
	names := map[string]bool{}
	for i := range w.List {
		at := element("withholdings", i)
		bad.filled(at, "name", w.List[i].Name, MaxWithheldName)
		if name := strings.ToLower(w.List[i].Name); names[name] {
			bad.Add(at.field("name"), CodeConflict, "is there twice")
		} else {
			names[name] = true
		}
		if w.List[i].AmountMinor <= 0 {
			bad.Add(at.field("amount"), CodeOutOfRange, "must be greater than 0")
		} else {
			bad.amount(at, "amount", w.List[i].AmountMinor, currency)
		}
	}
	bad.text(place{}, "invoice", w.Invoice, MaxInvoice)
	return bad
}

// TotalMinor is the sum of the list.
func (w *Withholding) TotalMinor() (sum decimal.Decimal) {
	for i := range w.List {
		sum = sum.Add(decimal.NewFromInt(w.List[i].AmountMinor))
	}
	return sum
}

// Same reports whether both say the same.
func (w *Withholding) Same(list []wire.Withheld, invoice string) bool {
	return slices.Equal(w.List, list) && w.Invoice == invoice
}

// WithheldText is what is withheld in one text: "IRRF 12.34, ISS 5.00".
func (s *Statement) WithheldText() string {
	var parts []string
	for _, w := range s.Withheld {
		parts = append(parts, fmt.Sprintf("%s %s", w.Name, FormatMinor(w.AmountMinor, s.Currency)))
	}
	return strings.Join(parts, ", ")
}

// NetMinor is what is paid: the total without what is withheld.
func (s *Statement) NetMinor() decimal.Decimal { return s.TotalMinor.Sub(s.WithheldMinor) }
