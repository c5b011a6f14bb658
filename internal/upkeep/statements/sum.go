package statements

import (
	"crypto/sha256"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"time"

	"github.com/shopspring/decimal"

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
	Digest    []byte
}

// Close closes a statement over its entries. before is the statement of the same
// influencer and currency that was closed before; nil: it is the first.
//
// What is not paid is carried: a total that is not above zero, and one below the
// statement's minimum. It is the opening of the next statement. A run is a number of
// statements that are paid together: some of which the total was carried, and the one
// after them.
func Close(s Statement, before *Closed, entries *Sum) Closed {
	entries.endOrder()
	c := Closed{Statement: s, StartDate: entries.firstDay, Entries: entries.count, Lines: entries.lines,
		Digest: entries.Digest(), RunID: s.StatementID}
	if before != nil {
		c.StartDate = dayAfter(before.EndDate)
		if before.Carried {
			c.Opening, c.RunID = before.Total, before.RunID
		}
	}
	if c.StartDate == "" || c.StartDate > s.EndDate {
		c.StartDate = s.EndDate
	}
	c.Total = c.Opening.Add(entries.Amount())
	c.Carried = !c.Total.IsPositive() || c.Total.LessThan(decimal.NewFromInt(s.MinimumMinor))
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

// Sum sums the entries of a statement. The zero value has none.
type Sum struct {
	amount   decimal.Decimal
	count    int64
	lines    int64
	firstDay string
	order    string                     // the last entry's
	number   int                        // likewise
	net      map[string]decimal.Decimal // of that order, by the day on which it may be paid
	hash     hash.Hash
}

// packedSum is a Sum as it is stored.
type packedSum struct {
	Amount   decimal.Decimal            `json:"amount"`
	Count    int64                      `json:"count"`
	Lines    int64                      `json:"lines"`
	FirstDay string                     `json:"first_day"`
	Order    string                     `json:"order"`
	Number   int                        `json:"number"`
	Net      map[string]decimal.Decimal `json:"net"`
	Hash     []byte                     `json:"hash"`
}

// Pack returns the sum so far, to go on with it later.
func (s *Sum) Pack() ([]byte, error) {
	p := packedSum{Amount: s.amount, Count: s.count, Lines: s.lines, FirstDay: s.firstDay, Order: s.order, Number: s.number, Net: s.net}
	if state, ok := s.hash.(encoding.BinaryMarshaler); ok {
		var err error
		if p.Hash, err = state.MarshalBinary(); err != nil {
			return nil, fmt.Errorf("statements: the state of a digest: %w", err)
		}
	}
	return json.Marshal(p)
}

// UnpackSum reads what Pack returned.
func UnpackSum(packed []byte) (*Sum, error) {
	var p packedSum
	if err := json.Unmarshal(packed, &p); err != nil {
		return nil, fmt.Errorf("statements: a sum so far: %w", err)
	}
	s := &Sum{amount: p.Amount, count: p.Count, lines: p.Lines, firstDay: p.FirstDay, order: p.Order, number: p.Number, net: p.Net}
	if p.Count > 0 {
		h := sha256.New()
		state, ok := h.(encoding.BinaryUnmarshaler)
		if !ok {
			return nil, errors.New("statements: SHA-256 cannot go on here")
		}
		if err := state.UnmarshalBinary(p.Hash); err != nil {
			return nil, fmt.Errorf("statements: the state of a digest: %w", err)
		}
		s.hash = h
	}
	return s, nil
}

// Last is the entry that was added last: its order and number; "" and 0 for none.
func (s *Sum) Last() (orderID string, number int) { return s.order, s.number }

// Add adds an entry of an order. Entries come by order, byte by byte, and by number.
func (s *Sum) Add(orderID string, e ledger.Entry) {
	if s.hash == nil {
		s.hash = sha256.New()
	}
	if s.count == 0 || s.order != orderID {
		s.endOrder()
		s.order, s.net = orderID, map[string]decimal.Decimal{}
	}
	s.count, s.number = s.count+1, e.Number
	amount := decimal.NewFromInt(e.AmountMinor)
	s.amount, s.net[e.PayableOn] = s.amount.Add(amount), s.net[e.PayableOn].Add(amount)
	// JSON, so that no two entries have one text, whatever is in an order's id.
	text, err := json.Marshal([]any{orderID, e.Number, e.Kind, e.InfluencerID, e.CampaignID, e.CostID, e.AmountMinor, e.Currency,
		e.PayableOn, e.Reverses})
	if err != nil {
		panic(err) // texts and numbers are always JSON
	}
	s.hash.Write(append(text, '\n'))
}

// endOrder counts the order whose entries have all been added. Of its days those count that
// come to something: a day of which all was taken back again tells in which order facts came.
func (s *Sum) endOrder() {
	var whole decimal.Decimal
	for day, net := range s.net {
		whole = whole.Add(net)
		if !net.IsZero() && (s.firstDay == "" || day < s.firstDay) {
			s.firstDay = day
		}
	}
	if !whole.IsZero() {
		s.lines++
	}
	s.net = nil
}

// Amount is the sum of the entries.
func (s *Sum) Amount() decimal.Decimal { return s.amount }

// Digest is the SHA-256 of the entries.
func (s *Sum) Digest() []byte {
	if s.hash == nil {
		s.hash = sha256.New()
	}
	return s.hash.Sum(nil)
}
