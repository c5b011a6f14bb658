package attribution

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// Touch is one arrival of a visitor: (visitor, session, trb_click or UTM tuple
// or referrer); reloads collapse into it.
type Touch struct {
	ID        string // of the event it was first seen in
	At        time.Time
	Visitor   string
	Kind      facts.Arrival
	Source    string
	Medium    string
	Campaign  string // utm_campaign as it came
	Content   string // utm_content as it came
	Click     string // trb_click
	Code      string // the link's code, from trb_click
	MatchedBy string // kind of the key that led to the visitor

	Channel        string
	InfluencerID   string
	InfluencerName string
	CampaignID     string
}

// sessionIdle ends a session, and is how long after its click a landing is
// still the same touch (docs/attribution.md, "Touches").
const sessionIdle = 30 * time.Minute

// arrival is what one event says of how its visitor came; key tells campaigns apart.
type arrival struct {
	Touch
	key      string
	referrer string // foreign host, whatever else there is
}

// campaign tells whether it begins a session of its own.
func (a *arrival) campaign() bool {
	return a.Kind == facts.ByClick || a.Kind == facts.ByUTM || a.Kind == facts.ByAdClick
}

// touchesOf cuts one visitor's events into sessions and gives their touches,
// oldest first. Events need not be sorted.
func (x *Index) touchesOf(v facts.Visitor) []Touch {
	events := slices.Clone(v.Events)
	slices.SortFunc(events, func(a, b facts.Event) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.EventID, b.EventID))
	})
	var touches []Touch
	var last time.Time
	var seen map[string]bool // referrers of this run of activity
	var current string       // the session's campaign; another one begins a session
	var direct *Touch        // begins a session that has shown no evidence yet
	flush := func() {
		if direct != nil {
			touches = append(touches, *direct)
			direct = nil
		}
	}
	for i := range events {
		e := &events[i]
		if !e.Human() {
			continue
		}
		if seen == nil || e.At.Sub(last) > sessionIdle {
			flush()
			seen, current = map[string]bool{}, ""
			direct = &Touch{ID: e.EventID, At: e.At, Visitor: v.ID, Kind: facts.Direct}
		}
		last = e.At
		a := x.arrivalOf(e)
		// A single-page shop shows its first referrer on every page: the same
		// referrer again is the same arrival, even where the URL lost its UTMs.
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
			flush() // the session before the new campaign had none
		}
		direct = nil
		a.Touch.ID, a.Touch.At, a.Touch.Visitor = e.EventID, e.At, v.ID
		touches = append(touches, a.Touch)
	}
	flush()
	slices.SortStableFunc(touches, compareTouches)
	return touches
}

func compareTouches(a, b Touch) int {
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
}

// arrivalOf reads one event. UTMs and click ids count where the page's URL
// carries them: the SDK keeps them in the context for the whole window, so the
// context speaks only where there is no URL (events of backends).
func (x *Index) arrivalOf(e *facts.Event) arrival {
	if e.Event.Event == core.LinkClick && e.Click != nil && e.Click.ClickID != "" {
		u, _ := url.Parse(e.Click.Destination)
		return clickArrival(e.Click.ClickID, campaignOf(u))
	}
	campaign, clickIDs := e.Context.Campaign, e.Context.ClickIDs
	var pageHost string
	if e.Context.Page.URL != "" {
		campaign, clickIDs = wire.Campaign{}, nil
		if u, err := url.Parse(e.Context.Page.URL); err == nil {
			pageHost = u.Hostname()
			campaign, clickIDs = campaignOf(u), clickIDsOf(u)
		}
	}
	referrer := x.foreignHost(e.Context.Page.Referrer, pageHost)
	if click := clickIDs[core.TrbClick]; click != "" {
		a := clickArrival(click, campaign)
		a.referrer = referrer
		return a
	}
	if campaign.Source != "" || campaign.Medium != "" || campaign.Name != "" {
		a := arrival{key: "utm:" + strings.Join([]string{campaign.Source, campaign.Medium, campaign.Name, campaign.Content, campaign.Term}, "\x00"), referrer: referrer}
		a.Touch = Touch{Kind: facts.ByUTM, Source: campaign.Source, Medium: campaign.Medium, Campaign: campaign.Name, Content: campaign.Content}
		return a
	}
	for _, name := range core.ClickIDs() {
		if value := clickIDs[name]; value != "" {
			ad := adClicks[name]
			return arrival{Touch: Touch{Kind: facts.ByAdClick, Source: ad.source, Medium: ad.medium}, key: "ad:" + name + "=" + value, referrer: referrer}
		}
	}
	if referrer != "" {
		source, medium := referrerSource(referrer)
		return arrival{Touch: Touch{Kind: facts.ByReferrer, Source: source, Medium: medium}, referrer: referrer}
	}
	return arrival{Touch: Touch{Kind: facts.Direct}}
}

func clickArrival(click string, campaign wire.Campaign) arrival {
	code := ""
	if i := strings.LastIndexByte(click, '.'); i > 0 {
		code = click[:i]
	}
	return arrival{
		key: "click:" + click,
		Touch: Touch{
			Kind: facts.ByClick, Click: click, Code: code,
			Source: campaign.Source, Medium: campaign.Medium, Campaign: campaign.Name, Content: campaign.Content,
		},
	}
}

func campaignOf(u *url.URL) wire.Campaign {
	if u == nil || u.RawQuery == "" {
		return wire.Campaign{}
	}
	q := u.Query()
	get := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	return wire.Campaign{Source: get("utm_source"), Medium: get("utm_medium"), Name: get("utm_campaign"), Content: get("utm_content"), Term: get("utm_term")}
}

func clickIDsOf(u *url.URL) map[string]string {
	if u.RawQuery == "" {
		return nil
	}
	q, ids := u.Query(), map[string]string{}
	for _, name := range core.ClickIDs() {
		if value := q.Get(name); value != "" {
			ids[name] = value
		}
	}
	return ids
}

// mergeTouches joins the touches of all an order's visitors, oldest first. A click
// and its landing within sessionIdle are one touch, even where the click is
// known by the server's cookie and the landing by the SDK's.
func mergeTouches(touches []Touch) []Touch {
	slices.SortStableFunc(touches, compareTouches)
	var out []Touch
	lastClick := map[string]time.Time{}
	for _, t := range touches {
		if t.Click != "" {
			if at, ok := lastClick[t.Click]; ok && t.At.Sub(at) <= sessionIdle {
				continue
			}
			lastClick[t.Click] = t.At
		}
		out = append(out, t)
	}
	return out
}
