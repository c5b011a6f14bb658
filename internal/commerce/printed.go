package commerce

import (
	"slices"
	"strings"

	"github.com/shopspring/decimal"
)

// Party is one of the two whom a statement is of.
type Party struct {
	Name     string
	Document string // a CPF or CNPJ as it is stored, of a store in another country as it was typed; empty: not known
}

// Parties are whom a statement is of, as they were when it was closed.
type Parties struct {
	Store, Influencer Party
	Pix               Pix     // the influencer's key
	PixChanged        Touched // when and by whom it had last changed; zero: never
}

// Masked returns the parties as they are shown to those who may not see the influencer's document and key whole. A store
// whose document is a CPF is a person, too.
func (p Parties) Masked() Parties {
	p.Influencer.Document, p.Pix.Key = MaskedDocument(p.Influencer.Document), p.Pix.Masked()
	if len(p.Store.Document) == cpfLength && NormalCPF(p.Store.Document) != "" {
		p.Store.Document = MaskedDocument(p.Store.Document)
	}
	return p
}

// EvidenceAssigned is the evidence of a statement's line whose order the merchant gave to the influencer.
const EvidenceAssigned Evidence = "assigned"

// Terms are the agreement by which a line has an amount, as they were when the statement was closed. Both fees are zero of
// what follows from no order.
type Terms struct {
	NetMinor      decimal.Decimal `json:"net"` // what the statement has by it, not zero
	VarFee        decimal.Decimal `json:"var"` // percent
	FixedBRLMinor int64           `json:"fixed"`
}

// Rates are the terms that made the line's amount: where some add to it those, else those that take from it.
func (l *StatementLine) Rates() (list []Terms) {
	adds := slices.ContainsFunc(l.Terms, func(t Terms) bool { return t.NetMinor.IsPositive() })
	for _, t := range l.Terms {
		if adds == t.NetMinor.IsPositive() && (!t.VarFee.IsZero() || t.FixedBRLMinor != 0) {
			list = append(list, t)
		}
	}
	return list
}

// Text is the rate with a decimal point, such as "10%", "5.00" or "10% + 5.00".
func (t Terms) Text() string {
	text := ""
	if !t.VarFee.IsZero() {
		text = t.VarFee.String() + "%"
	}
	if t.FixedBRLMinor == 0 {
		return text
	}
	if text != "" {
		text += " + "
	}
	return text + FormatMinor(t.FixedBRLMinor, BRL)
}

// RateText are the line's rates as Terms.Text writes them; empty: there are none.
func (l *StatementLine) RateText() string {
	var list []string
	for _, t := range l.Rates() {
		list = append(list, t.Text())
	}
	return strings.Join(list, " + ")
}

// Name is what the shop calls the line's order, else its id.
func (l *StatementLine) Name() string {
	if l.OrderName != "" {
		return l.OrderName
	}
	return l.OrderID
}

// Value is the order's total in its statement's currency; nil: it is not known.
func (l *StatementLine) Value(currency string) *Sum {
	if l.ValueMinor == nil {
		return nil
	}
	return &Sum{decimal.NewFromInt(*l.ValueMinor), currency}
}
