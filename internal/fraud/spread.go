package fraud

import (
	"cmp"
	"slices"
	"time"
)

// The bounds of CouponSpread.
const (
	spreadOrders = 30  // before and after, at least: a share of fewer says little
	spreadDays   = 7   // with orders, since it began: what goes on for days is no single post
	spreadPoints = 10  // of a hundred: how much the share of untouched orders rises at least
	spreadPeak   = 3   // days with the most orders that are left out: a viral post lasts as long
	spreadGrowth = 150 // of a hundred: how much more untouched orders there are a day at least
)

// codeDays are the sales by one code.
type codeDays struct {
	influencer string
	sales      []*Sale // by time
	days       []dayOf // by day, days without orders left out
}

type dayOf struct {
	number int  // days since 1970
	rate   Rate // untouched orders of all
}

// spread finds codes that spread: the share of their orders whose buyer never came
// by the influencer has risen on some day, stayed so, and such orders have become
// more. An order of a buyer who came by the influencer at an earlier one, and types the code now,
// says nothing and is left out. sales are ordered by time.
func spread(sales []Sale, buyers []string) []Signal {
	codes := map[string]*codeDays{}
	came := map[string]bool{} // by influencer and buyer
	for i := range sales {
		s := &sales[i]
		if s.Code == "" || s.Influencer == "" {
			continue
		}
		who := s.Influencer + "\x00" + buyers[i]
		switch {
		case s.touched():
			came[who] = true
		case buyers[i] != "" && came[who]:
			continue
		}
		key := s.Code + "\x00" + s.Influencer
		if codes[key] == nil {
			codes[key] = &codeDays{influencer: s.Influencer}
		}
		codes[key].add(s)
	}
	var found []Signal
	for _, key := range sortedKeys(codes) {
		c := codes[key]
		began, before, after, rises := c.began()
		if !rises {
			continue
		}
		// A season, or a change of the shop, concerns all codes.
		share, growth := trend(codes, key, c.days[began].number)
		if share > 0 && !above(after, before, spreadPoints+share) || !c.more(began, before, growth) {
			continue
		}
		found = append(found, c.sign(began, before, after))
	}
	return found
}

func (c *codeDays) add(s *Sale) {
	c.sales = append(c.sales, s)
	number := dayNumber(s.Day)
	if n := len(c.days); n == 0 || c.days[n-1].number != number {
		c.days = append(c.days, dayOf{number: number})
	}
	rate := &c.days[len(c.days)-1].rate
	rate.Of++
	if !s.touched() {
		rate.Count++
	}
}

// dayNumber returns the days from 1970 to a day; 0 for what is none.
func dayNumber(day string) int {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return 0
	}
	return int(at.Unix() / (24 * 60 * 60))
}

// began returns the day, as an index, since when the share is higher: of all days
// the one where before and after differ most.
func (c *codeDays) began() (day int, before, after Rate, rises bool) {
	var all, sofar Rate
	for _, d := range c.days {
		all = all.plus(d.rate)
	}
	for i, d := range c.days {
		rest := all.minus(sofar)
		if sofar.Of >= spreadOrders && rest.Of >= spreadOrders && (!rises || distance(sofar, rest).Cmp(distance(before, after)) > 0) {
			day, before, after, rises = i, sofar, rest, compareRates(rest, sofar) > 0
		}
		sofar = sofar.plus(d.rate)
	}
	if !rises || len(c.days)-day < spreadDays {
		return 0, before, after, false
	}
	usual := after
	for _, d := range c.busiest(day) {
		usual = usual.minus(d.rate)
	}
	if usual.Of < spreadOrders || !above(usual, before, spreadPoints) || !c.stays(day, before) {
		return 0, before, after, false
	}
	return day, before, after, true
}

// stays reports whether the share is higher in both halves of the days since: what a podcast
// or a newsletter brings is over after some days.
func (c *codeDays) stays(from int, before Rate) bool {
	halves := [2]Rate{}
	begin, end := c.days[from].number, c.days[len(c.days)-1].number+1
	for _, d := range c.days[from:] {
		half := 0
		if 2*d.number >= begin+end {
			half = 1
		}
		halves[half] = halves[half].plus(d.rate)
	}
	for _, h := range halves {
		// h.Count/h.Of - before.Count/before.Of in hundredths
		if difference := int64(h.Count)*int64(before.Of) - int64(before.Count)*int64(h.Of); h.Of == 0 ||
			difference*100 < spreadPoints*int64(h.Of)*int64(before.Of) {
			return false
		}
	}
	return true
}

// busiest returns the days with the most orders from a day on.
func (c *codeDays) busiest(from int) []dayOf {
	days := slices.Clone(c.days[from:])
	slices.SortFunc(days, func(a, b dayOf) int {
		return cmp.Or(cmp.Compare(b.rate.Of, a.rate.Of), cmp.Compare(a.number, b.number))
	})
	return days[:min(spreadPeak, len(days))]
}

// more reports whether the untouched orders of a day have become more, by spreadGrowth
// hundredths, days without orders counted. growth is by how many hundredths the orders of a day of
// other codes are those of before. As many as the touched ones have become fewer do not count:
// those buyers type the code now, where they opened a link before.
func (c *codeDays) more(from int, before Rate, growth int64) bool {
	after := Rate{}
	busiest := c.busiest(from)
	for _, d := range c.days[from:] {
		after = after.plus(d.rate)
	}
	for _, d := range busiest {
		after = after.minus(d.rate)
	}
	daysBefore := int64(c.days[from].number - c.days[0].number)
	daysAfter := int64(c.days[len(c.days)-1].number + 1 - c.days[from].number - len(busiest))
	// All in hundredths of orders of the days before by the days after.
	expected := func(orders int) int64 { return int64(orders) * daysAfter * growth }
	seen := func(orders int) int64 { return int64(orders) * daysBefore * 100 }
	fewer := max(0, expected(before.Of-before.Count)-seen(after.Of-after.Count))
	return (seen(after.Count)-fewer)*100 >= spreadGrowth*expected(before.Count)
}

// trend returns by how many points the share rose on a day for the code in the middle of
// all others, and how many of a hundred orders of before the one in the middle had on a day then.
func trend(codes map[string]*codeDays, but string, day int) (share int, growth int64) {
	var shares []int
	var sizes []int64
	for key, c := range codes {
		var before, after Rate
		for _, d := range c.days {
			if d.number < day {
				before = before.plus(d.rate)
			} else {
				after = after.plus(d.rate)
			}
		}
		if key != but && before.Of >= spreadOrders && after.Of >= spreadOrders {
			shares = append(shares, after.Count*100/after.Of-before.Count*100/before.Of)
			daysBefore, daysAfter := int64(day-c.days[0].number), int64(c.days[len(c.days)-1].number+1-day)
			sizes = append(sizes, int64(after.Of)*daysBefore*100/(int64(before.Of)*daysAfter))
		}
	}
	if len(shares) == 0 {
		return 0, 100
	}
	slices.Sort(shares)
	slices.Sort(sizes)
	return shares[len(shares)/2], sizes[len(sizes)/2]
}

func (c *codeDays) sign(began int, before, after Rate) Signal {
	from := c.days[began].number
	var untouched []*Sale
	sources := map[string]int{}
	for _, s := range c.sales {
		if dayNumber(s.Day) >= from && !s.touched() {
			untouched = append(untouched, s)
			sources[s.Source]++
		}
	}
	s := sign(CouponSpread, c.influencer, after, before, untouched)
	s.Code, s.Since = c.sales[0].Code, time.Unix(int64(from)*24*60*60, 0).UTC().Format(time.DateOnly)
	// As many would have had no touch as before; the others are what it costs.
	excess := int64(after.Count)*int64(before.Of) - int64(before.Count)*int64(after.Of)
	for i := range s.Costs {
		part := func(minor int64) int64 { return part(minor, excess, int64(after.Count)*int64(before.Of)) }
		s.Costs[i].Commission, s.Costs[i].Turnover = part(s.Costs[i].Commission), part(s.Costs[i].Turnover)
	}
	for _, name := range sortedKeys(sources) {
		s.Sources = append(s.Sources, Source{name, sources[name]})
	}
	slices.SortStableFunc(s.Sources, func(a, b Source) int { return cmp.Compare(b.Orders, a.Orders) })
	s.Sources = s.Sources[:min(mostSources, len(s.Sources))]
	return s
}
