package facts

import "time"

// Unfinished is what merchants have asked for and is not done.
type Unfinished struct{ Erasures, Statements Waiting }

// Waiting is how many wait, and since when the oldest does; zero: none.
type Waiting struct {
	Count int64
	Since time.Time
}

// Add adds what waits of another company.
func (u *Unfinished) Add(other Unfinished) {
	u.Erasures.Add(other.Erasures)
	u.Statements.Add(other.Statements)
}

// Add adds what waits of another company.
func (w *Waiting) Add(other Waiting) {
	w.Count += other.Count
	if w.Since.IsZero() || !other.Since.IsZero() && other.Since.Before(w.Since) {
		w.Since = other.Since
	}
}
