// Package ledger computes which entries to append to an order's ledger so that its
// net is what is owed (docs/attribution.md, "Payout"). Entries are only appended: an
// entry for a line that is not owed any more is reversed by another entry.
//
// It holds pure functions only: no I/O, no clock.
package ledger

import (
	"slices"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// Kind says what an entry does.
type Kind string

const (
	Earned   Kind = "earned"   // a line is owed
	Reversed Kind = "reversed" // an earlier entry is reversed in full
	Adjusted Kind = "adjusted" // a line is owed in place of one of the same cost that is reversed now
	// Of manual entries the kinds are commerce.EntryKinds.
)

// KindProduct is the kind of a memo: it counts as a line of a statement though it has no amount.
const KindProduct Kind = commerce.EntryProduct

// Entry is one entry of an order's ledger. Its line is owed until another entry
// reverses it.
type Entry struct {
	facts.Line     // AmountMinor is negative in an entry that reverses another
	Number     int // 1, 2, … within the order
	Kind       Kind
	Reverses   int // the number of the entry that it reverses; 0: none
}

// Post returns the entries to append to an order's stored ledger, so that exactly the
// wanted lines are owed. First come the reversals of the lines that are not wanted any
// more, then the wanted lines that are not owed yet. Such a line is Adjusted where an
// entry of the same cost is reversed by this call, else Earned. A line that is owed
// and wanted gets no entry. A line that may be paid from another day on is another
// line. A reversal has the day of the entry that it reverses, so that the sum of the
// entries up to any day is what may be paid by then. Numbers continue after the stored
// ones.
func Post(stored []Entry, wanted []facts.Line) []Entry {
	missing := slices.Clone(wanted)
	var posts []Entry
	reversed := map[string]bool{} // by cost id
	for _, e := range Owed(stored) {
		if i := slices.Index(missing, e.Line); i >= 0 {
			missing = slices.Delete(missing, i, i+1)
			continue
		}
		reversed[e.CostID] = true
		reversal := Entry{Line: e.Line, Kind: Reversed, Reverses: e.Number}
		reversal.AmountMinor = -reversal.AmountMinor
		posts = append(posts, reversal)
	}
	for _, line := range missing {
		kind := Earned
		if reversed[line.CostID] {
			kind = Adjusted
		}
		posts = append(posts, Entry{Line: line, Kind: kind})
	}
	last := 0
	for _, e := range stored {
		last = max(last, e.Number)
	}
	for i := range posts {
		posts[i].Number = last + 1 + i
	}
	return posts
}

// Owed returns the entries whose lines are owed, ordered by number: those that reverse
// none and that none reverses.
func Owed(entries []Entry) []Entry {
	reversed := map[int]bool{} // by number
	for _, e := range entries {
		reversed[e.Reverses] = true
	}
	var owed []Entry
	for _, e := range entries {
		if e.Reverses == 0 && !reversed[e.Number] {
			owed = append(owed, e)
		}
	}
	slices.SortFunc(owed, func(a, b Entry) int { return a.Number - b.Number })
	return owed
}

// Posting is an entry to append to an order's ledger, and why.
type Posting struct {
	Entry
	OrderID string
	Cause   facts.Cause
}
