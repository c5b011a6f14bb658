// Package books compares the credits of each day, currency and model with the approved orders
// (docs/attribution.md, "Channel credit"): they are to be equal all the time.
//
// The processor asks for checks beside its batches, and tells which days have changed.
// internal/postgres/upkeep has the SQL.
package books

import (
	"context"
	"time"
)

// Bounds of a check. They keep its part of a connection and of memory small; the
// numbers were chosen, not measured.
const (
	maxChangedDays    = 10_000     // changed days that wait; what is more is found by going through all days
	maxImbalances     = 1000       // that are remembered
	maxImbalancesOf   = 100        // that one check reads
	daysPerCheck      = 31         // days of one check …
	ordersPerCheck    = 20_000     // … and about how many orders they have; a single day may have more
	companiesPerCheck = 50         // companies without orders that one check passes
	lastDay           = "infinity" // behind every day
)

// Check compares credits with approved orders, a few days of one company at a time.
type Check struct {
	store     Store
	companies Companies
	found     found
	walk      walk
	checks    int // that were begun
}

// New makes a Check.
func New(store Store, companies Companies) *Check {
	return &Check{store: store, companies: companies, found: newFound()}
}

// Note asks for days to be looked at soon. Safe for concurrent use.
func (c *Check) Note(days []Day) { c.found.note(days) }

// Found returns what differs, ordered, and when the last check was; zero: there was none.
// Safe for concurrent use.
func (c *Check) Found() (list []Imbalance, checked time.Time) { return c.found.list() }

// Next makes one check: in turn of days that have changed, and of the next days of all. mine
// tells which companies are looked at; what was found of others is forgotten. It returns
// what was not found before, and false where there was nothing to look at. One caller at a
// time may call it.
func (c *Check) Next(ctx context.Context, mine func(companyID string) bool, now time.Time) (fresh []Imbalance, checked bool, err error) {
	c.found.keep(mine)
	c.checks++
	company, days := "", []string(nil)
	if c.checks%2 == 1 {
		company, days = c.found.takeChanged()
	}
	if len(days) == 0 {
		if company, days, err = c.walk.next(ctx, c.store, c.companies, mine); err != nil {
			return nil, false, err
		}
	}
	if len(days) == 0 {
		return nil, false, nil
	}
	imbalances, err := c.store.Imbalances(ctx, company, days, maxImbalancesOf)
	if err != nil {
		return nil, false, err
	}
	return c.found.put(company, days, imbalances, now), true, nil
}

// walk goes through all days with orders of all companies, each company from its newest
// day on, and begins again at the end.
type walk struct {
	companies []string // of the last page; the first is looked at now
	before    string   // days of the first company that are still to come are before this one
	last      string   // the last company of the page
}

// next returns the next days of a company; none where there is nothing to be found now.
func (w *walk) next(
	ctx context.Context, store Store, companies Companies, mine func(companyID string) bool,
) (company string, days []string, err error) {
	for range companiesPerCheck {
		if len(w.companies) == 0 {
			page, err := companies.CompaniesAfter(ctx, w.last, companiesPerCheck)
			if err != nil {
				return "", nil, err
			}
			if len(page) == 0 { // all have been looked at
				w.last = ""
				return "", nil, nil
			}
			w.companies, w.last, w.before = page, page[len(page)-1], lastDay
		}
		company := w.companies[0]
		if mine(company) {
			sold, err := store.SoldDays(ctx, company, w.before, daysPerCheck)
			if err != nil {
				return "", nil, err
			}
			if days := fewOrders(sold); len(days) > 0 {
				w.before = days[len(days)-1]
				return company, days, nil
			}
		}
		w.companies, w.before = w.companies[1:], lastDay
	}
	return "", nil, nil
}

// fewOrders returns the first days that have ordersPerCheck orders together, but at least
// one.
func fewOrders(sold []SoldDay) (days []string) {
	var orders int64
	for _, d := range sold {
		if orders += d.Orders; orders > ordersPerCheck && len(days) > 0 {
			break
		}
		days = append(days, d.Day)
	}
	return days
}
