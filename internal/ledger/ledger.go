// Package ledger says which entries make an order's ledger equal what the
// order owes. Entries are only ever appended: a line that is no longer owed is
// taken back by an entry that points at it.
//
// What belongs here: pure rules of entries. No I/O, no clock.
package ledger

import (
	"slices"

	"github.com/tributary-io/tributary/internal/facts"
)

// Kind says what an entry does.
type Kind string

const (
	Earned   Kind = "earned"   // a line is owed
	Reversed Kind = "reversed" // an earlier entry is taken back in full
	Adjusted Kind = "adjusted" // a line is owed in place of another of the same cost
)

// Entry is one entry of an order's ledger. A line is owed while its entry is
// not reversed.
type Entry struct {
	facts.Line
	Number   int // 1, 2, … within the order
	Kind     Kind
	Reverses int // the number of the entry it takes back; 0: none
}

// Post gives the entries to append to an order's ledger so that the lines owed
// are the wanted ones: each line owed that is not wanted any more is reversed
// in full, then each wanted line that is not owed yet is posted. A line whose
// cost has an entry taken back just now is an adjustment. A line that is owed
// and wanted is left alone. Numbers go on from the stored entries.
func Post(stored []Entry, wanted []facts.Line) []Entry {
	missing := slices.Clone(wanted)
	var posts []Entry
	takenBack := map[string]bool{} // by cost
	for _, e := range Owed(stored) {
		if i := slices.Index(missing, e.Line); i >= 0 {
			missing = slices.Delete(missing, i, i+1)
			continue
		}
		takenBack[e.CostID] = true
		reversal := Entry{Line: e.Line, Kind: Reversed, Reverses: e.Number}
		reversal.AmountMinor = -reversal.AmountMinor
		posts = append(posts, reversal)
	}
	for _, line := range missing {
		kind := Earned
		if takenBack[line.CostID] {
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

// Owed are the entries that no other takes back, by number.
func Owed(entries []Entry) []Entry {
	reversed := map[int]bool{}
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

// Posting is an entry to append to an order's ledger, and what made it.
type Posting struct {
	Entry
	OrderID string
	Cause   facts.Cause
}
