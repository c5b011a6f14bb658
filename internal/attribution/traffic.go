package attribution

import (
	"cmp"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// Arrival returns what one event alone says about how its visitor came, and whose touch
// that is by the rules as they are now: for people who look at events. Which touches an
// order has depends on the visitor's other events, and on the order.
func (x *Index) Arrival(e *facts.Event) Touch {
	settings := x.rules.SettingsAt(e.At)
	t := x.arrivalOf(&settings, e).Touch
	t.ID, t.At, t.Visitor = e.EventID, e.At, e.Visitor
	x.match(&t, &wire.Order{CreatedAt: e.At})
	return t
}

// Traffic returns what reports count of events: how far each visitor came on each day,
// and how often short links were opened. Events of bots, of frames in other sites' pages
// and those that are read for nothing are not counted. Both lists are ordered.
func (x *Index) Traffic(events []facts.Event) ([]facts.Shopper, []facts.Clicks) {
	shoppers := map[facts.ShopperKey]facts.Stage{} // with visitors that are not packed yet
	days := daysOf{in: x.rules.Location}
	clicks := map[facts.Clicks]int64{} // by day and code
	for i := range events {
		e := &events[i]
		if !e.Human() || e.Frame || e.Withdraws() {
			continue
		}
		day := days.day(e.At)
		if e.Event.Event == core.LinkClick {
			if a := x.arrivalOf(&facts.Settings{}, e); a.Code != "" && x.links[a.Code] != nil {
				clicks[facts.Clicks{Day: day, Code: a.Code}]++
			}
			continue
		}
		if e.Visitor == "" {
			continue
		}
		key := facts.ShopperKey{Day: day, Visitor: e.Visitor}
		stage, items := e.Stage()
		shoppers[key] |= stage
		for _, id := range items {
			key.Subject = facts.OfItem(id)
			shoppers[key] |= stage
		}
		if e.Class() == facts.ClassArrival {
			a := x.arrivalOf(&facts.Settings{}, e)
			a.At = e.At
			if x.match(&a.Touch, &wire.Order{CreatedAt: e.At}); a.InfluencerID != "" {
				key.Subject = facts.OfInfluencer(a.InfluencerID, a.CampaignID)
				shoppers[key] |= stage
			}
		}
	}
	return listOfShoppers(shoppers), listOfClicks(clicks)
}

// daysOf writes days as Index.DayOf does. It writes a day once for the events of a day
// that come after each other.
type daysOf struct {
	in    *time.Location
	year  int
	month time.Month
	mday  int
	text  string
}

func (d *daysOf) day(t time.Time) string {
	t = t.In(d.in)
	if year, month, mday := t.Date(); d.text == "" || year != d.year || month != d.month || mday != d.mday {
		d.year, d.month, d.mday, d.text = year, month, mday, t.Format(time.DateOnly)
	}
	return d.text
}

func listOfShoppers(stages map[facts.ShopperKey]facts.Stage) []facts.Shopper {
	list := make([]facts.Shopper, 0, len(stages))
	for key, stage := range stages {
		key.Visitor = facts.PackedShopper(key.Visitor)
		list = append(list, facts.Shopper{ShopperKey: key, Stages: stage})
	}
	slices.SortFunc(list, func(a, b facts.Shopper) int { return a.Compare(b.ShopperKey) })
	return list
}

func listOfClicks(clicks map[facts.Clicks]int64) []facts.Clicks {
	list := make([]facts.Clicks, 0, len(clicks))
	for c, n := range clicks {
		c.Clicks = n
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b facts.Clicks) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Code, b.Code))
	})
	return list
}
