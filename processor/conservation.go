package processor

// This file checks all the time that the credits of each day, currency and model are what
// its approved orders come to.

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/upkeep/books"
)

// Bounds of the check. They keep its part of a connection and of memory small; the
// numbers were chosen, not measured.
const (
	maxChangedDays    = 10_000     // changed days that wait; what is more is found by going through all days
	maxImbalances     = 1000       // that are remembered of one member
	maxImbalancesOf   = 100        // that one check reads
	daysPerCheck      = 31         // days of one check …
	ordersPerCheck    = 20_000     // … and about how many orders they have; a single day may have more
	companiesPerCheck = 50         // companies without orders that one check passes
	restPerCheck      = 20         // the pause after a check, in times that the check took
	lastDay           = "infinity" // behind every day
	shownImbalances   = 20         // in /readyz
	checkTimeout      = 5 * time.Minute
)

// companyDay names a day of a company's orders.
type companyDay struct{ companyID, day string }

// conservation is what the check has found. Safe for concurrent use.
type conservation struct {
	mu      sync.Mutex
	changed map[companyDay]bool              // to be looked at soon
	wrong   map[companyDay][]books.Imbalance // of days that differ
	checked time.Time                        // the last check; zero: none yet
}

func newConservation() *conservation {
	return &conservation{changed: map[companyDay]bool{}, wrong: map[companyDay][]books.Imbalance{}}
}

// note asks for days to be looked at.
func (c *conservation) note(days []companyDay) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range days {
		if len(c.changed) < maxChangedDays {
			c.changed[d] = true
		}
	}
}

// takeChanged returns one company's days that are to be looked at. Where no day has
// changed, they are those that differed: they may have been repaired.
func (c *conservation) takeChanged() (company string, days []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.changed) == 0 {
		for d := range c.wrong {
			c.changed[d] = true
		}
	}
	for d := range c.changed {
		if company == "" {
			company = d.companyID
		}
		if d.companyID == company && len(days) < daysPerCheck {
			days = append(days, d.day)
			delete(c.changed, d)
		}
	}
	return company, days
}

// put keeps what was found of a company's days.
func (c *conservation) put(company string, days []string, found []books.Imbalance, at time.Time) (fresh []books.Imbalance) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checked = at
	was := map[string]bool{}
	for _, day := range days {
		d := companyDay{company, day}
		_, was[day] = c.wrong[d]
		delete(c.wrong, d)
	}
	for _, i := range found {
		if c.count() < maxImbalances {
			d := companyDay{company, i.Day}
			c.wrong[d] = append(c.wrong[d], i)
		}
		if !was[i.Day] {
			fresh = append(fresh, i)
		}
	}
	return fresh
}

func (c *conservation) count() (n int) {
	for _, list := range c.wrong {
		n += len(list)
	}
	return n
}

// keep forgets what was found of companies that another member has now.
func (c *conservation) keep(mine func(companyID string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, days := range []any{c.changed, c.wrong} {
		switch days := days.(type) {
		case map[companyDay]bool:
			maps.DeleteFunc(days, func(d companyDay, _ bool) bool { return !mine(d.companyID) })
		case map[companyDay][]books.Imbalance:
			maps.DeleteFunc(days, func(d companyDay, _ []books.Imbalance) bool { return !mine(d.companyID) })
		}
	}
}

// found returns what differs, ordered, and when the last check was.
func (c *conservation) found() (list []books.Imbalance, checked time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range c.wrong {
		list = append(list, of...)
	}
	slices.SortFunc(list, func(a, b books.Imbalance) int {
		return cmp.Or(cmp.Compare(a.CompanyID, b.CompanyID), cmp.Compare(b.Day, a.Day), cmp.Compare(a.Currency, b.Currency),
			cmp.Compare(a.Model, b.Model))
	})
	return list, c.checked
}

// keepBooks checks one part after the other until ctx ends: in turn days that have
// changed, and the next days of all.
func (p *Processor) keepBooks(ctx context.Context) {
	var walk dayWalk
	for turn := 0; background.Sleep(ctx, p.config.CheckEvery); turn++ {
		began := time.Now()
		if err := p.checkNext(ctx, &walk, turn%2 == 0); err != nil && ctx.Err() == nil {
			p.metrics.checksFailed.Inc()
			p.Logger.Warn("credits and approved orders could not be compared", "error", err)
		}
		if !background.Sleep(ctx, restPerCheck*time.Since(began)) {
			return
		}
	}
}

// checkNext makes one check.
func (p *Processor) checkNext(ctx context.Context, walk *dayWalk, changed bool) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	mine, err := p.ownCompanies(ctx)
	if err != nil {
		return err
	}
	p.books.keep(mine)
	company, days := "", []string(nil)
	if changed {
		company, days = p.books.takeChanged()
	}
	if len(days) == 0 {
		if company, days, err = walk.next(ctx, p.Books, p.Store.CompaniesAfter, mine); err != nil {
			return err
		}
	}
	if len(days) == 0 {
		return nil
	}
	found, err := p.Books.Imbalances(ctx, company, days, maxImbalancesOf)
	if err != nil {
		return err
	}
	for _, i := range p.books.put(company, days, found, p.Now()) {
		p.Logger.Error("credits are not what the approved orders come to; see docs/operations.md", "imbalance", i.String())
	}
	p.metrics.checks.Inc()
	return nil
}

// ownCompanies returns a function that tells whether a company is of a partition that is
// owned now.
func (p *Processor) ownCompanies(ctx context.Context) (mine func(companyID string) bool, err error) {
	owned := map[int]bool{}
	p.mu.Lock()
	for partition := range p.partitions {
		owned[partition] = true
	}
	p.mu.Unlock()
	if _, err := p.Log.PartitionOf(ctx, nil); err != nil { // Kafka has never answered
		return nil, err
	}
	return func(companyID string) bool {
		partition, err := p.Log.PartitionOf(ctx, []byte(companyID))
		return err == nil && owned[partition]
	}, nil
}

// dayWalk goes through all days with orders of all companies, each company from its newest
// day on, and begins again at the end.
type dayWalk struct {
	companies []string // of the last page; the first is looked at now
	before    string   // days of the first company that are still to come are before this one
	last      string   // the last company of the page
}

// next returns the next days of a company; none where there is nothing to be found now.
func (w *dayWalk) next(ctx context.Context, sales books.Store,
	companiesAfter func(ctx context.Context, companyID string, limit int) ([]string, error), mine func(companyID string) bool) (company string,
	days []string, err error) {
	for range companiesPerCheck {
		if len(w.companies) == 0 {
			page, err := companiesAfter(ctx, w.last, companiesPerCheck)
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
			sold, err := sales.SoldDays(ctx, company, w.before, daysPerCheck)
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
func fewOrders(sold []books.SoldDay) (days []string) {
	var orders int64
	for _, d := range sold {
		if orders += d.Orders; orders > ordersPerCheck && len(days) > 0 {
			break
		}
		days = append(days, d.Day)
	}
	return days
}

// booksState is what /readyz tells of the check.
type booksState struct {
	State      string      `json:"state"` // ok | error: something differs | unknown: nothing was checked yet
	CheckedAt  *time.Time  `json:"checked_at,omitempty"`
	Imbalances []imbalance `json:"imbalances,omitempty"` // the first shownImbalances of them
	More       int         `json:"more,omitempty"`       // that are not shown
}

// imbalance is books.Imbalance in /readyz. Amounts are minor units.
type imbalance struct {
	CompanyID string `json:"company_id"`
	Day       string `json:"day"`
	Currency  string `json:"currency"`
	Model     string `json:"model"`
	Credited  string `json:"credited_minor"`
	Approved  string `json:"approved_minor"`
}

func (c *conservation) state() booksState {
	found, checked := c.found()
	s := booksState{State: "unknown"}
	if !checked.IsZero() {
		at := checked.UTC().Truncate(time.Second)
		s.State, s.CheckedAt = "ok", &at
	}
	for n, i := range found {
		s.State = "error"
		if n < shownImbalances {
			s.Imbalances = append(s.Imbalances, imbalance{i.CompanyID, i.Day, i.Currency, i.Model, i.Credited.String(), i.Approved.String()})
		} else {
			s.More++
		}
	}
	return s
}

// booksCollector is the check as metrics.
type booksCollector struct{ *conservation }

var (
	imbalancesDesc = prometheus.NewDesc("tributary_processor_imbalances",
		"Sums of credits by company, day, currency and model that are not what the approved orders come to, as the last checks found.", nil, nil)
	checkedDesc = prometheus.NewDesc("tributary_processor_books_checked_timestamp_seconds",
		"When credits and approved orders were compared last; 0: not yet.", nil, nil)
)

// Describe implements prometheus.Collector.
func (c booksCollector) Describe(out chan<- *prometheus.Desc) {
	out <- imbalancesDesc
	out <- checkedDesc
}

// Collect implements prometheus.Collector.
func (c booksCollector) Collect(out chan<- prometheus.Metric) {
	found, checked := c.found()
	at := 0.0
	if !checked.IsZero() {
		at = float64(checked.UnixMilli()) / 1000
	}
	out <- prometheus.MustNewConstMetric(imbalancesDesc, prometheus.GaugeValue, float64(len(found)))
	out <- prometheus.MustNewConstMetric(checkedDesc, prometheus.GaugeValue, at)
}
