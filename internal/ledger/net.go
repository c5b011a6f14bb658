package ledger

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"iter"
	"slices"
)

// NetKind says of what a net amount is.
type NetKind string

const (
	NetCredit NetKind = "credit" // of a touch, under one channel model
	NetEntry  NetKind = "ledger" // of an influencer: the sum of the ledger's entries of a cost and a day
	NetPayout NetKind = "payout" // of an influencer: what the current outcome says
)

// Net is one net amount of an order. All but AmountMinor name it.
type Net struct {
	CompanyID string  `json:"-"`
	OrderID   string  `json:"-"`
	Kind      NetKind `json:"kind"`
	// Of is the channel model of a credit, the state of a payout, the cost of an entry with the day from which it may be paid.
	Of           string `json:"of"`
	Touch        string `json:"touch"`         // of a credit: its place among the order's
	InfluencerID string `json:"influencer_id"` // empty: nobody's
	AmountMinor  string `json:"amount_minor"`  // a whole number of the currency's minor unit; a sum may exceed 64 bits
	Currency     string `json:"currency"`      // ISO 4217
}

// compareOrders orders by company and order, byte by byte.
func (n Net) compareOrders(other Net) int {
	return cmp.Or(cmp.Compare(n.CompanyID, other.CompanyID), cmp.Compare(n.OrderID, other.OrderID))
}

// line is the text by which an amount enters the hash. It is JSON, so that no two
// amounts have one text, whatever is in an order's id.
func (n Net) line() []byte {
	text, err := json.Marshal([]string{n.CompanyID, n.OrderID, string(n.Kind), n.Of, n.Touch, n.InfluencerID, n.Currency, n.AmountMinor})
	if err != nil {
		panic(err) // an array of texts is always JSON
	}
	return append(text, '\n')
}

// Nets are the net amounts of a schema, ordered by company and order.
type Nets = iter.Seq2[Net, error]

// Comparison is what Compare found.
type Comparison struct {
	LiveHash, ReplayedHash string // the ledger hashes, in hexadecimal
	Orders                 int    // orders in either
	Different              int    // orders whose net amounts differ
	Differences            []Difference
}

// Equal reports whether live and replayed amounts are the same.
func (c *Comparison) Equal() bool { return c.LiveHash == c.ReplayedHash && c.Different == 0 }

// Difference is an order whose net amounts differ: those that only one side has.
type Difference struct {
	CompanyID string `json:"company_id"`
	OrderID   string `json:"order_id"`
	Live      []Net  `json:"live"`
	Replayed  []Net  `json:"replayed"`
}

// Hash returns the ledger hash of net amounts, in hexadecimal, and of how many orders
// they are: the SHA-256 of all amounts, which do not depend on when and why an entry
// was made.
func Hash(nets Nets) (hash string, orders int, err error) {
	c, err := Compare(nets, func(func(Net, error) bool) {}, 0)
	if err != nil {
		return "", 0, err
	}
	return c.LiveHash, c.Orders, nil
}

// Compare compares the net amounts of two schemas order by order, and computes both
// ledger hashes. It keeps the first most differences, and one order of each side in
// memory.
func Compare(live, replayed Nets, most int) (*Comparison, error) {
	l, stopLive := newOrders(live)
	defer stopLive()
	r, stopReplayed := newOrders(replayed)
	defer stopReplayed()
	c := &Comparison{}
	for {
		if err := errors.Join(l.err, r.err); err != nil {
			return nil, err
		}
		if l.order == nil && r.order == nil {
			c.LiveHash, c.ReplayedHash = l.sum(), r.sum()
			return c, nil
		}
		var a, b []Net // one order's
		switch side := compareFirst(l.order, r.order); {
		case side < 0:
			a = l.take()
		case side > 0:
			b = r.take()
		default:
			a, b = l.take(), r.take()
		}
		c.Orders++
		if slices.Equal(a, b) {
			continue
		}
		c.Different++
		if len(c.Differences) < most {
			first := append(slices.Clone(a), b...)[0]
			c.Differences = append(c.Differences, Difference{first.CompanyID, first.OrderID, without(a, b), without(b, a)})
		}
	}
}

// compareFirst compares two orders; one that is not there comes last.
func compareFirst(a, b []Net) int {
	switch {
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return a[0].compareOrders(b[0])
}

// without returns the amounts that are not among others.
func without(nets, others []Net) []Net {
	return slices.DeleteFunc(slices.Clone(nets), func(n Net) bool { return slices.Contains(others, n) })
}

// orders reads net amounts order by order, and hashes them.
type orders struct {
	next  func() (Net, error, bool)
	ahead *Net
	order []Net // the order that was read; nil at the end
	err   error
	sha   hash.Hash
}

func newOrders(nets Nets) (o *orders, stop func()) {
	next, stop := iter.Pull2(nets)
	o = &orders{next: next, sha: sha256.New()}
	o.read()
	o.take()
	return o, stop
}

// take returns the order that was read, and reads the one after it.
func (o *orders) take() []Net {
	taken := o.order
	o.order = nil
	for o.ahead != nil && o.err == nil && (o.order == nil || o.order[0].compareOrders(*o.ahead) == 0) {
		o.order = append(o.order, *o.ahead)
		o.read()
	}
	slices.SortFunc(o.order, func(a, b Net) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Of, b.Of), cmp.Compare(a.Touch, b.Touch),
			cmp.Compare(a.InfluencerID, b.InfluencerID), cmp.Compare(a.Currency, b.Currency), cmp.Compare(a.AmountMinor, b.AmountMinor))
	})
	for _, n := range o.order {
		o.sha.Write(n.line())
	}
	return taken
}

// read reads the next amount.
func (o *orders) read() {
	before := o.ahead
	o.ahead = nil
	n, err, ok := o.next()
	switch {
	case err != nil:
		o.err = err
	case !ok:
	case before != nil && n.compareOrders(*before) < 0:
		o.err = fmt.Errorf("ledger: net amounts of order %q come after those of order %q", n.OrderID, before.OrderID)
	default:
		o.ahead = &n
	}
}

func (o *orders) sum() string { return hex.EncodeToString(o.sha.Sum(nil)) }
