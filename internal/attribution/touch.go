package attribution

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// Touch is one arrival of a visitor at the shop (docs/attribution.md, "Touches").
type Touch struct {
	facts.SnapshotTouch
	Visitor string

	AfterCheckout bool // an influencer's, and InCheckout

	// What Index.match adds. All but Channel are empty where the touch is nobody's.
	Channel        string
	InfluencerID   string
	InfluencerName string
	CampaignID     string
}

// sessionIdle is the time without an event after which a session has ended. It is
// also how long after its click a landing is the same touch (docs/attribution.md,
// "Touches").
const sessionIdle = 30 * time.Minute

// arrival is what one event says about how its visitor came.
type arrival struct {
	Touch
	key      campaignKey
	referrer string // host of another site, whatever other evidence there is
}

// campaignKey tells campaigns apart: another key is another campaign.
type campaignKey struct {
	utm wire.Campaign
	id  string // of a click
}

func arrivalBy(key campaignKey, t facts.SnapshotTouch) arrival {
	return arrival{key: key, Touch: Touch{SnapshotTouch: t}}
}

// campaign reports whether the arrival is by a campaign, which begins a session.
func (a *arrival) campaign() bool {
	return a.Kind == facts.ByClick || a.Kind == facts.ByUTM || a.Kind == facts.ByAdClick
}

// visit is what one visitor did: events, oldest first. They are not copied: an event is
// large, and an order may have thousands.
type visit struct {
	visitor string
	events  []*facts.Event
}

// visitOf returns those events of a visitor that count, which are in any order.
func visitOf(visitor string, events []facts.Event, counts func(e *facts.Event) bool) visit {
	v := visit{visitor: visitor, events: make([]*facts.Event, 0, len(events))}
	for i := range events {
		if e := &events[i]; counts(e) {
			v.events = append(v.events, e)
		}
	}
	slices.SortFunc(v.events, func(a, b *facts.Event) int { return compareEvents(a, b.At, b.EventID) })
	return v
}

// appendTouches cuts one visitor's events into sessions and adds their touches under the
// settings of an order, oldest first.
func (x *Index) appendTouches(touches []Touch, settings *facts.Settings, v visit) []Touch {
	var last time.Time       // of the event before
	var seen map[string]bool // referrers since the last pause of sessionIdle
	var current campaignKey  // the session's; another one begins a session
	var direct *Touch        // the touch of a session without evidence so far
	addDirect := func() {
		if direct != nil {
			touches = append(touches, *direct)
			direct = nil
		}
	}
	for _, e := range v.events {
		if !e.Human() || e.Withdraws() {
			continue
		}
		if seen == nil || e.At.Sub(last) > sessionIdle {
			addDirect()
			seen, current = map[string]bool{}, campaignKey{}
			direct = &Touch{SnapshotTouch: facts.SnapshotTouch{ID: e.EventID, At: e.At, Kind: facts.Direct}, Visitor: v.visitor}
		}
		last = e.At
		a := x.arrivalOf(settings, e)
		// In a single-page shop every page has the first page's referrer. So the same
		// referrer again is no new arrival, even where the URL has no UTM values now.
		again := a.Kind == facts.ByReferrer && seen[a.referrer]
		if a.referrer != "" {
			seen[a.referrer] = true
		}
		if a.campaign() {
			again, current = a.key == current, a.key
		}
		if a.Kind == facts.Direct || again {
			continue
		}
		if a.campaign() && direct != nil && direct.ID != e.EventID {
			addDirect() // the session before this campaign had no evidence
		}
		direct = nil
		a.Touch.ID, a.Touch.At, a.Touch.Visitor = e.EventID, e.At, v.visitor
		touches = append(touches, a.Touch)
	}
	addDirect()
	return touches
}

// inOrder returns touches oldest first; equal ones stay as they are. It moves each of them
// once: they are large.
func inOrder(touches []Touch) []Touch {
	if slices.IsSortedFunc(touches, compareTouches) {
		return touches
	}
	places := make([]int, len(touches))
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(a, b int) int { // a touch is large: of a stranger there may be 2,000
		x, y := &touches[a], &touches[b]
		if by := x.At.Compare(y.At); by != 0 {
			return by
		}
		return cmp.Or(cmp.Compare(x.ID, y.ID), cmp.Compare(a, b))
	})
	list := make([]Touch, len(touches))
	for i, place := range places {
		list[i] = touches[place]
	}
	return list
}

// compareTouches orders touches by time, then by id.
func compareTouches(a, b Touch) int {
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
}

// compareEvents orders events by time, then by id.
func compareEvents(e *facts.Event, at time.Time, id string) int {
	return cmp.Or(e.At.Compare(at), cmp.Compare(e.EventID, id))
}

// arrivalOf returns what one event says about how its visitor came. Where the event
// has a page URL, only the UTM values and click ids in it count: the SDK repeats
// them in the context of later pages. The context counts for events without a URL,
// such as those of a backend.
func (x *Index) arrivalOf(settings *facts.Settings, e *facts.Event) arrival {
	if e.Event.Event == core.LinkClick && e.Click != nil && e.Click.Name() != "" {
		campaign, _ := urlArrival(e.Click.Destination)
		return clickArrival(e.Click.Name(), campaign)
	}
	if e.Address == nil { // orders of one customer share their events
		e.Address = addressOf(&e.Context)
	}
	campaign, clickIDs := e.Address.Campaign, e.Address.ClickIDs
	referrer := x.foreignHost(settings, e.Address)
	var a arrival
	a.Kind = facts.Direct
	if click := wire.ClickName(clickIDs[core.TrbClick]); click != "" {
		a = clickArrival(click, campaign)
	} else if campaign != (wire.Campaign{}) {
		a = utmArrival(campaign)
	} else if ad := adArrival(clickIDs); ad.Kind != "" {
		a = ad
	} else if referrer != "" {
		a.Kind = facts.ByReferrer
	}
	a.referrer = referrer
	if referrer != "" && a.Source == "" && a.Medium == "" { // nothing else says where the visitor came from
		a.Source, a.Medium = referrerSource(referrer)
	}
	return a
}

// addressOf returns what the URLs in an event's context say.
func addressOf(c *wire.Context) *facts.Address {
	a := &facts.Address{Campaign: c.Campaign, ClickIDs: c.ClickIDs}
	if c.Page.URL != "" {
		_, a.Host = SiteOf(c.Page.URL)
		a.Campaign, a.ClickIDs = urlArrival(c.Page.URL)
	}
	scheme, host := SiteOf(c.Page.Referrer)
	a.Referrer, a.FromApp = host, scheme == "android-app"
	return a
}

// urlArrival returns the UTM values and the click ids of a URL, read as the edge reads
// them: a bare "%" in it hides none.
func urlArrival(address string) (wire.Campaign, map[string]string) {
	c, ids := core.ParseCampaign(address)
	clickIDs := make(map[string]string, len(ids))
	for _, id := range ids {
		clickIDs[id.Name] = id.Value
	}
	return wire.Campaign(c), clickIDs
}

// utmArrival returns the arrival by UTM values.
func utmArrival(c wire.Campaign) arrival {
	return arrivalBy(campaignKey{utm: c},
		facts.SnapshotTouch{Kind: facts.ByUTM, Source: c.Source, Medium: c.Medium, Campaign: c.Name, Content: c.Content})
}

// adArrival returns the arrival by the click id of an ad network, and one of no kind where
// there is none.
func adArrival(clickIDs map[string]string) arrival {
	for _, name := range core.ClickIDs() {
		if value := clickIDs[name]; value != "" && name != core.TrbClick {
			ad := adClicks[name]
			return arrivalBy(campaignKey{id: "ad:" + name + "=" + value},
				facts.SnapshotTouch{Kind: facts.ByAdClick, Source: ad.source, Medium: ad.medium})
		}
	}
	return arrival{}
}

// clickArrival returns the arrival by a short link, from a trb_click. It is the
// link's code, a dot and a unique part.
func clickArrival(click string, campaign wire.Campaign) arrival {
	code := ""
	if i := strings.LastIndexByte(click, '.'); i > 0 {
		code = click[:i]
	}
	return arrivalBy(campaignKey{id: "click:" + click}, facts.SnapshotTouch{
		Kind: facts.ByClick, Click: click, Code: code,
		Source: campaign.Source, Medium: campaign.Medium, Campaign: campaign.Name, Content: campaign.Content,
	})
}

// merged returns those of an order's touches that stay; into is what mergedInto returned. A
// click and its landing within sessionIdle are one touch, even where two visitor ids know
// them: the server's cookie the click and the SDK's the landing.
func merged(touches []Touch, into []int) []Touch {
	stay := 0
	for i, first := range into {
		if first == i {
			stay++
		}
	}
	if stay == len(touches) {
		return touches
	}
	out := make([]Touch, 0, stay)
	for i, first := range into {
		if first == i {
			out = append(out, touches[i])
		}
	}
	return out
}

// mergedInto returns, of each of the touches, the place of the one that it becomes: its own
// where that stays. touches is ordered, oldest first.
func mergedInto(touches []Touch) []int {
	into := make([]int, len(touches))
	lastClick := map[string]int{}
	for i := range touches {
		t := &touches[i]
		into[i] = i
		if t.Click == "" {
			continue
		}
		if first, ok := lastClick[t.Click]; ok && t.At.Sub(touches[first].At) <= sessionIdle {
			into[i] = first
			continue
		}
		lastClick[t.Click] = i
	}
	return into
}
