package commerce

import "time"

// AdditionalCost is a cost of running the store: rent, platforms, marketing.
// Dates are YYYY-MM-DD; without an EndDate the cost goes on. It is one version of the
// cost: a change makes another, which counts from the day of the change on.
type AdditionalCost struct {
	ID         string // UUID
	Name       string
	Category   string
	ValueMinor int64 // BRL cents a frequency
	Frequency  string
	StartDate  string
	EndDate    string // inclusive
	Since      string // the first day on which this version counts; empty: StartDate
	Until      string // the day from which on another version counts, or none; empty: this is the current version
}

// CostFilter narrows a list of costs; an empty field does not narrow it. From and To
// are days, inclusive: a cost in force on any of them counts.
type CostFilter struct {
	Frequency string
	From      string
	To        string
}

// HasPast reports whether the version counted on a day before today, or may have.
func (c AdditionalCost) HasPast(today string) bool { return max(c.StartDate, c.Since) < today }

// On returns what a cost amounts to on a day, and whether it is in force then. A
// specific cost counts whole on its first day, a daily one whole on each day, a
// weekly one a seventh, a monthly one divided by the days of that month. Cents
// that are left over are added to the first days, so that seven days in a row,
// or a full month, always sum to the value.
func (c AdditionalCost) On(day time.Time) (minor int64, inForce bool) {
	text := day.Format(time.DateOnly)
	if text < c.StartDate || c.EndDate != "" && text > c.EndDate || text < c.Since || c.Until != "" && text >= c.Until {
		return 0, false
	}
	start, err := time.Parse(time.DateOnly, c.StartDate)
	if err != nil || c.Frequency == Specific && text != c.StartDate {
		return 0, false
	}
	return c.part(start, day), true
}

// Each calls f with each day of a period, both ends inclusive, on which the cost is in
// force, and with what it amounts to on that day (see On).
func (c AdditionalCost) Each(first, last time.Time, f func(day time.Time, minor int64)) {
	start, err := time.Parse(time.DateOnly, c.StartDate)
	if err != nil {
		return
	}
	bound := func(text string, days int, tighten func(day time.Time)) {
		if day, err := time.Parse(time.DateOnly, text); err == nil { // an empty text is no bound
			tighten(day.AddDate(0, 0, days))
		}
	}
	notBefore := func(day time.Time) {
		if day.After(first) {
			first = day
		}
	}
	notAfter := func(day time.Time) {
		if day.Before(last) {
			last = day
		}
	}
	notBefore(start)
	bound(c.Since, 0, notBefore)
	bound(c.EndDate, 0, notAfter)
	bound(c.Until, -1, notAfter)
	if c.Frequency == Specific {
		notAfter(start)
	}
	for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
		f(day, c.part(start, day))
	}
}

// part returns what the cost amounts to on a day on which it is in force.
func (c AdditionalCost) part(start, day time.Time) int64 {
	switch c.Frequency {
	case Weekly:
		elapsed := int64(day.Sub(start) / (24 * time.Hour))
		return share(c.ValueMinor, 7, elapsed%7)
	case Monthly:
		days := time.Date(day.Year(), day.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
		return share(c.ValueMinor, int64(days), int64(day.Day()-1))
	}
	return c.ValueMinor
}

// share returns the part at an index when a value is divided into n parts that
// differ by one at most, the greater ones first.
func share(value, n, index int64) int64 {
	part := value / n
	if index < value%n {
		part++
	}
	return part
}
