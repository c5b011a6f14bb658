package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tributary-io/tributary/test/prove"
)

// text is what the page says above the table.
const text = "" +
	"Three Kafka nodes with replication 3 and `min.insync.replicas` 2, a PostgreSQL with a streaming standby\n" +
	"(`synchronous_commit` remote_apply), two of each service behind balancers that ask `/readyz`, and a fake shop that is connected. Four\n" +
	"stores get events and orders, each sent until it is acknowledged, while the faults come, those without alerts first,\n" +
	"by the seed, once each or, by `-for 1h`, for an hour; each ends when more events and orders are acknowledged and stored.\n" +
	"Debian's Prometheus has our alerts. *Equal in the end*:\n" +
	"each acknowledged event and order is stored once and counted once, none that nobody sent; each order's commission to the cent; the\n" +
	"shop's orders are ours; `tributary verify` is equal; nothing ended by itself; each alert that must fire did, and none without a\n" +
	"cause; every query of the dashboard and every series that an alert reads had data. *Events* and *orders* are those\n" +
	"acknowledged meanwhile, *refused* the answers without 2xx."

// Section is the part of `make prove` about three brokers and two of everything. The first of its lines that is chosen runs
// the faults of all, on one stand.
func Section() prove.Section {
	section := prove.Section{Name: name, Title: "Three brokers, two of everything", Text: text,
		Columns: []string{"times", "it took", "events", "orders", "refused", "seen", "**equal in the end**"}}
	var once sync.Once
	var results map[string]prove.Result
	var failed error
	list := append(faults(), fault{name: atTheEnd, title: "all, at the end"})
	for _, f := range list {
		section.Cases = append(section.Cases, prove.Case{Name: f.name, Title: f.title,
			Run: func(ctx context.Context, e prove.Env) (prove.Result, error) {
				once.Do(func() { results, failed = run(ctx, e) })
				return results[f.name], failed
			}})
	}
	return section
}

const (
	name     = "cluster" // the section's
	atTheEnd = "end"     // the last line's
)

// line is what was seen of one fault, over all times that it came.
type line struct {
	times          int
	took           time.Duration
	events, orders int64 // acknowledged meanwhile
	refused        int64
	saw            string
	problems       []string
}

// suffer lets a fault come.
func (s *stand) suffer(ctx context.Context, f fault) (err error) {
	s.Say("  %s", f.title)
	if s.lines[f.name] == nil {
		s.lines[f.name] = &line{}
	}
	l, began, problems := s.lines[f.name], time.Now(), len(s.problems)
	events, orders, refused := s.events.Acked.Load(), s.orders.acked.Load(), s.refused()
	l.saw, err = f.do(ctx, s)
	s.spans = append(s.spans, span{&f, began, time.Now()})
	l.times++
	l.took += time.Since(began)
	l.events += s.events.Acked.Load() - events
	l.orders += s.orders.acked.Load() - orders
	l.refused += s.refused() - refused
	for _, problem := range s.problems[problems:] {
		s.Say("  WRONG: %s", problem)
	}
	l.problems = append(l.problems, s.problems[problems:]...)
	s.problems = s.problems[:problems]
	if err != nil {
		return fmt.Errorf("%s: %w", f.title, err)
	}
	return nil
}

// storm is all faults that are chosen, in an order by the seed, again and again for as long as was asked for. Those that are no cause
// of alerts come first: after the others an alert has a cause.
func (s *stand) storm(ctx context.Context, chosen []fault) error {
	random := rand.New(rand.NewPCG(s.Seed, 1)) //nolint:gosec // repeatable
	const mostPause = 5 * time.Second
	for began, first := time.Now(), true; first || time.Since(began) < s.For; first = false {
		order := random.Perm(len(chosen))
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(chosen[a].loud(), chosen[b].loud()) })
		for _, n := range order {
			if err := s.suffer(ctx, chosen[n]); err != nil {
				return err
			}
			if err := sleep(ctx, time.Duration(random.Int64N(int64(mostPause)))); err != nil {
				return err
			}
		}
	}
	return nil
}

// run lets the chosen faults come over the load, and judges what is left.
func run(ctx context.Context, e prove.Env) (results map[string]prove.Result, err error) {
	var chosen []fault
	for _, f := range faults() {
		if e.Chosen.Has(name, f.name) {
			chosen = append(chosen, f)
		}
	}
	s, err := newStand(ctx, e)
	if err != nil {
		return nil, err
	}
	good := false
	defer func() {
		err = errors.Join(err, s.close())
		if good || ctx.Err() != nil {
			err = errors.Join(err, os.RemoveAll(e.Dir))
		}
		if err != nil {
			err = fmt.Errorf("%w (files: %s)", err, e.Dir)
		}
	}()
	s.began = time.Now()
	s.begin(ctx)
	if err := s.progress(ctx); err != nil {
		return nil, err
	}
	if err := s.storm(ctx, chosen); err != nil {
		return nil, err
	}
	s.Say("  the load ends, and all is compared")
	o, err := s.judge(ctx)
	if err != nil {
		return nil, err
	}
	good = s.good()
	return s.results(o, e.Chosen.Has(name, atTheEnd)), nil
}

// good tells that nothing is wrong.
func (s *stand) good() bool {
	for _, l := range s.lines {
		if len(l.problems) > 0 {
			return false
		}
	}
	return len(s.problems) == 0
}

// results are the lines of the page. What is wrong in the end is wrong in the last line, and no other says that all was equal. Where
// the last line is not chosen, it is wrong in each that is.
func (s *stand) results(o outcome, endChosen bool) map[string]prove.Result {
	equal := map[bool]string{true: "yes", false: "**no**"}
	results, count := map[string]prove.Result{}, 0
	for name, l := range s.lines {
		count += l.times
		problems := l.problems
		if !endChosen {
			problems = slices.Concat(l.problems, s.problems)
		}
		results[name] = prove.Result{Problems: problems, Cells: []string{
			fmt.Sprint(l.times), l.took.Round(time.Second).String(), fmt.Sprint(l.events), fmt.Sprint(l.orders), fmt.Sprint(l.refused), l.saw,
			equal[len(l.problems)+len(s.problems) == 0]}}
	}
	alerts := strings.Join(o.Alerts, ", ")
	switch {
	case s.prom == nil:
		alerts = "not looked at"
	case alerts == "":
		alerts = "none"
	}
	results[atTheEnd] = prove.Result{Problems: s.problems, Cells: []string{
		fmt.Sprint(count), o.Lasted.Round(time.Second).String(), fmt.Sprint(o.EventsAcked), fmt.Sprint(o.OrdersAcked), fmt.Sprint(o.Refused),
		fmt.Sprintf("%d events spooled, %d orders of the shop; alerts that fired: %s", o.Spooled, o.ShopOrders, alerts),
		equal[len(s.problems) == 0]}}
	return results
}
