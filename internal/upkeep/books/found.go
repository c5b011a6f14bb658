package books

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"
)

// found is what the checks have found, and the days to be looked at soon. Safe for
// concurrent use.
type found struct {
	mu      sync.Mutex
	changed map[Day]bool        // to be looked at soon
	wrong   map[Day][]Imbalance // of days that differ
	checked time.Time           // the last check; zero: none yet
}

func newFound() found { return found{changed: map[Day]bool{}, wrong: map[Day][]Imbalance{}} }

// note asks for days to be looked at.
func (f *found) note(days []Day) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range days {
		if len(f.changed) < maxChangedDays {
			f.changed[d] = true
		}
	}
}

// takeChanged returns one company's days that are to be looked at. Where no day has
// changed, they are those that differed: they may have been repaired.
func (f *found) takeChanged() (company string, days []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.changed) == 0 {
		for d := range f.wrong {
			f.changed[d] = true
		}
	}
	for d := range f.changed {
		if company == "" {
			company = d.CompanyID
		}
		if d.CompanyID == company && len(days) < daysPerCheck {
			days = append(days, d.Day)
			delete(f.changed, d)
		}
	}
	return company, days
}

// put keeps what a check has found of a company's days, and returns what is of days that
// were right before.
func (f *found) put(company string, days []string, imbalances []Imbalance, at time.Time) (fresh []Imbalance) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.checked = at
	wrongBefore := map[string]bool{}
	for _, day := range days {
		d := Day{company, day}
		_, wrongBefore[day] = f.wrong[d]
		delete(f.wrong, d)
	}
	kept := 0
	for _, list := range f.wrong {
		kept += len(list)
	}
	for _, i := range imbalances {
		if kept < maxImbalances {
			d := Day{company, i.Day}
			f.wrong[d] = append(f.wrong[d], i)
			kept++
		}
		if !wrongBefore[i.Day] {
			fresh = append(fresh, i)
		}
	}
	return fresh
}

// keep forgets what was found of all companies but mine.
func (f *found) keep(mine func(companyID string) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.changed, func(d Day, _ bool) bool { return !mine(d.CompanyID) })
	maps.DeleteFunc(f.wrong, func(d Day, _ []Imbalance) bool { return !mine(d.CompanyID) })
}

// list returns what differs, ordered, and when the last check was.
func (f *found) list() (list []Imbalance, checked time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, imbalances := range f.wrong {
		list = append(list, imbalances...)
	}
	slices.SortFunc(list, func(a, b Imbalance) int {
		return cmp.Or(cmp.Compare(a.CompanyID, b.CompanyID), cmp.Compare(b.Day, a.Day), cmp.Compare(a.Currency, b.Currency),
			cmp.Compare(a.Model, b.Model))
	})
	return list, f.checked
}
