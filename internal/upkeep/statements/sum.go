package statements

import (
	"crypto/sha256"
	"encoding/json"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/ledger"
)

// Closed is a statement that is closed: it never changes. Amounts are in minor units
// of the statement's currency.
type Closed struct {
	Statement
	StartDate string // YYYY-MM-DD: the day after the statement before; of the first, the earliest on which something of it may be paid
	Opening   decimal.Decimal
	Total     decimal.Decimal // Opening and the sum of the entries
	Entries   int64
	Lines     int64 // orders of which it has a sum that is not zero
	Carried   bool  // the total is paid with the next statement
	RunID     string
	Parties   commerce.Parties
	Digest    []byte // of the entries and the parties
}

// Close closes a statement of parties over its entries. before is the statement of the same
// influencer and currency that was closed before; nil: it is the first.
//
// What is not paid is carried: a total that is not above zero, and one below the
// statement's minimum. It is the opening of the next statement. A run is a number of
// statements that are paid together: some of which the total was carried, and the one
// after them.
func Close(s Statement, before *Closed, entries *Sum, parties commerce.Parties) Closed {
	entries.endOrder()
	c := Closed{Statement: s, StartDate: entries.FirstDay, Entries: entries.Count, Lines: entries.Lines,
		Parties: parties, Digest: entries.DigestWith(parties), RunID: s.StatementID}
	if before != nil {
		c.StartDate = dayAfter(before.EndDate)
		if before.Carried {
			c.Opening, c.RunID = before.Total, before.RunID
		}
	}
	if c.StartDate == "" || c.StartDate > s.EndDate {
		c.StartDate = s.EndDate
	}
	c.Total = c.Opening.Add(entries.Amount)
	c.Carried = commerce.IsCarried(c.Total, s.MinimumMinor)
	return c
}

// dayAfter returns the day after one, both YYYY-MM-DD; "" for what is no day.
func dayAfter(day string) string {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return ""
	}
	return t.AddDate(0, 0, 1).Format(time.DateOnly)
}

// Sum sums the entries of a statement. The zero value has none. It is stored as JSON while a statement is being
// closed.
type Sum struct {
	Amount   decimal.Decimal            `json:"amount"`
	Count    int64                      `json:"count"`
	Lines    int64                      `json:"lines"` // without the last entry's order
	FirstDay string                     `json:"first_day"`
	Order    string                     `json:"order"`         // the last entry's
	Number   int                        `json:"number"`        // likewise
	Net      map[string]decimal.Decimal `json:"net"`           // of that order, by the day on which it may be paid
	Memo     bool                       `json:"memo,omitzero"` // of that order: it is a line whatever its sum
	Digest   []byte                     `json:"digest"`        // SHA-256 of the digest of the entries before and the last entry; nil: no entry
}

// Add adds an entry of an order, with what the statement prints of the order. Entries come by order, byte by byte, and by
// number.
func (s *Sum) Add(orderID string, e ledger.Entry, printed string) {
	if s.Count == 0 || s.Order != orderID {
		s.endOrder()
		s.Order, s.Net, s.Memo = orderID, map[string]decimal.Decimal{}, false
	}
	s.Count, s.Number, s.Memo = s.Count+1, e.Number, s.Memo || e.Kind == ledger.KindProduct
	amount := decimal.NewFromInt(e.AmountMinor)
	s.Amount, s.Net[e.PayableOn] = s.Amount.Add(amount), s.Net[e.PayableOn].Add(amount)
	// JSON, so that no two entries have one text, whatever is in an order's id.
	s.Digest = chained(s.Digest, orderID, e.Number, e.Kind, e.InfluencerID, e.CampaignID, e.CostID, e.AmountMinor, e.Currency, e.PayableOn,
		e.Reverses, printed)
}

// DigestWith is the digest of a statement that has these entries, and prints these parties.
func (s *Sum) DigestWith(p commerce.Parties) []byte {
	at := ""
	if !p.PixChanged.At.IsZero() {
		at = p.PixChanged.At.UTC().Format(time.RFC3339Nano)
	}
	return chained(s.Digest, p.Store.Name, p.Store.Document, p.Influencer.Name, p.Influencer.Document, p.Pix.Type, p.Pix.Key, at,
		p.PixChanged.Actor)
}

// chained is the SHA-256 of a digest and values behind it.
func chained(digest []byte, values ...any) []byte {
	text, err := json.Marshal(values)
	if err != nil {
		panic(err) // texts and numbers are always JSON
	}
	sum := sha256.Sum256(append(digest[:len(digest):len(digest)], text...))
	return sum[:]
}

// endOrder counts the order whose entries have all been added. Of its days those count that
// come to something: a day of which all was taken back again tells in which order facts came.
func (s *Sum) endOrder() {
	var whole decimal.Decimal
	for day, net := range s.Net {
		whole = whole.Add(net)
		if !net.IsZero() && (s.FirstDay == "" || day < s.FirstDay) {
			s.FirstDay = day
		}
	}
	if !whole.IsZero() || s.Memo {
		s.Lines++
	}
	s.Net, s.Memo = nil, false
}
