package attribution

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// at is an event some minutes in. The text is the page's URL after the shop's
// host, then " < referrer" where there is one; "click X" is a short link's click.
func at(minute int, text string) facts.Event {
	e := facts.Event{At: start.Add(time.Duration(minute) * time.Minute)}
	e.EventID = fmt.Sprintf("e%03d", minute)
	page, referrer, _ := strings.Cut(text, " < ")
	unsigned := strings.TrimPrefix(page, "signed ")
	if click, ok := strings.CutPrefix(unsigned, "click "); ok {
		code, id, _ := strings.Cut(click, ".")
		e.Event.Event, e.Click = core.LinkClick,
			&wire.Click{ID: id, Code: code, Verified: unsigned != page, Destination: "https://loja.example.com/?utm_source=influencer"}
		return e
	}
	e.Event.Event = core.PageView
	e.Context.Page = wire.Page{URL: "https://loja.example.com" + page, Referrer: referrer}
	return e
}

func TestTouchesOfSessions(t *testing.T) {
	x := testIndex(nil)
	f := func(name, want string, events ...facts.Event) {
		t.Helper()
		var got []string
		for _, touch := range x.appendTouches(nil, &facts.Settings{}, allOf(events)) {
			touch.MatchedBy = ""
			x.match(&touch, orderAt(start))
			got = append(got, fmt.Sprintf("%d %s %s", int(touch.At.Sub(start).Minutes()), touch.Kind, touch.Channel))
		}
		if text := strings.Join(got, "; "); text != want {
			t.Errorf("%s:\n got %s\nwant %s", name, text, want)
		}
	}
	const ana, beto = "/?utm_source=ig&utm_campaign=ana", "/?utm_source=ig&utm_campaign=beto"
	const code = "abc.0195b2c0-0000-7000-8000-000000000000"
	f("nothing", "")
	f("a session without evidence is direct", "0 direct Direct", at(0, "/"), at(10, "/p"), at(39, "/q"))
	f("30 minutes idle end a session", "0 direct Direct; 31 direct Direct", at(0, "/"), at(31, "/p"))
	f("30 minutes exactly do not", "0 direct Direct", at(0, "/"), at(30, "/p"))
	f("reloads collapse", "0 utm Organic Social", at(0, ana), at(1, ana), at(20, "/p"), at(45, ana))
	f("the same campaign in a later session is another touch", "0 utm Organic Social; 60 utm Organic Social", at(0, ana), at(60, ana))
	f("a new campaign begins a session, also one that was there before", "0 utm Organic Social; 5 utm Organic Social; 6 utm Organic Social",
		at(0, ana), at(5, beto), at(6, ana), at(7, ana))
	f("a campaign within a direct session begins another", "0 direct Direct; 5 utm Organic Social", at(0, "/"), at(5, ana))
	f("order of arrival does not matter", "0 utm Organic Social; 5 utm Organic Social; 6 utm Organic Social", at(6, ana),
		at(5, beto), at(0, ana))
	f("search", "0 referrer Organic Search", at(0, "/ < https://www.google.com.br/"), at(1, "/p < https://loja.example.com/"))
	f("another site", "0 referrer Referral", at(0, "/ < https://blog.example.org/x"))
	f("in-app browsers are people", "0 referrer Organic Social", at(0, "/ < https://l.instagram.com/"))
	f("payment hosts are no arrival", "0 utm Organic Social", at(0, ana), at(5, "/thanks < https://www.mercadopago.com.br/checkout"))
	f("sign-in hosts are no arrival", "0 direct Direct", at(0, "/ < https://accounts.google.com/o/oauth2"))
	f("the store's own hosts are no arrival", "0 direct Direct", at(0, "/ < https://www.loja.example.com/"),
		at(1, "/ < https://checkout.loja.example.com/"))
	f("a single-page shop keeps its first referrer", "0 utm Organic Social", at(0, ana+" < https://l.instagram.com/"),
		at(2, "/p < https://l.instagram.com/"))
	f("ad click ids", "0 click_id Paid Search", at(0, "/?gclid=1"), at(1, "/p"))
	f("ad click ids", "0 click_id Paid Social", at(0, "/?rdt_cid=1"), at(1, "/p"))
	f("X", "0 referrer Organic Social", at(0, "/ < https://x.com/ana"))
	f("X's own short links", "0 referrer Organic Social", at(0, "/ < https://t.co/AbC"))
	f("a host label t is no social network", "0 referrer Referral", at(0, "/ < https://t.example.org/"))
	f("a host label x is no social network", "0 referrer Referral", at(0, "/ < https://x.example.org/"))
	f("a domain that ends as x.com does", "0 referrer Referral", at(0, "/ < https://netflix.com/"))
	f("a content alone", "0 utm Other", at(0, "/?utm_content=banner"), at(1, "/p"))
	f("a term alone", "0 utm Other", at(0, "/?utm_term=tenis"))
	f("a content alone, from another site", "0 utm Organic Search", at(0, "/?utm_content=banner < https://www.google.com/"))
	f("a campaign alone is not direct", "0 utm Other", at(0, "/?utm_campaign=carla"))
	f("a bare % in the path", "0 utm Organic Social", at(0, "/promo-50%-off"+ana))
	f("… in the fragment", "0 utm Organic Social", at(0, ana+"#50%"))
	f("… in a value", "0 utm Organic Social", at(0, ana+"&utm_content=50%+OFF"))
	f("… before a click of ours", "0 trb_click Referral", at(0, "/50%/?utm_medium=link&trb_click="+code))
	f("… before an ad's click", "0 click_id Paid Search", at(0, "/50%?gclid=1"))
	f("… in another site's path", "0 referrer Organic Search", at(0, "/ < https://www.google.com/search/50%?q=100%"))
	f("… in the store's own", "0 direct Direct", at(0, "/ < https://loja.example.com/50%"))
	f("a single-page shop has its query in the fragment", "0 utm Organic Social", at(0, "/#/p?utm_source=ig&utm_campaign=ana"))
	f("click and landing are one touch", "0 trb_click Other", at(0, "click "+code), at(1, "/?trb_click="+code+"&utm_source=influencer"))
	const signed = "/?trb_click=" + code + ".1aB-_56789abc&utm_source=influencer"
	f("so are they where they are signed", "0 trb_click Other", at(0, "signed click "+code), at(1, signed))
	f("and a landing of before and of after", "0 trb_click Other", at(0, "click "+code), at(1, signed), at(2, "/?trb_click="+code))
	f("a forwarded signed URL is its own", "0 trb_click Other; 40 trb_click Other", at(0, "signed click "+code), at(40, signed))
	f("a forwarded URL is its own", "0 trb_click Other; 40 trb_click Other", at(0, "click "+code),
		at(40, "/?trb_click="+code+"&utm_source=influencer"))
}

// docs/attribution.md, "Touches": a bare "%" in a value is a sign like others.
func TestABarePercentSignStaysInItsValue(t *testing.T) {
	touches := testIndex(nil).appendTouches(nil, &facts.Settings{},
		allOf([]facts.Event{at(0, "/50%/?utm_campaign=Ana&utm_content=50%+OFF#100%")}))
	if len(touches) != 1 || touches[0].Campaign != "Ana" || touches[0].Content != "50% OFF" {
		t.Errorf("touches %+v", touches)
	}
	touches = testIndex(nil).appendTouches(nil, &facts.Settings{},
		allOf([]facts.Event{at(0, "/50%/?trb_click=abc.0195b2c0-0000-7000-8000-000000000000#100%")}))
	if len(touches) != 1 || touches[0].Code != "abc" {
		t.Errorf("touches %+v", touches)
	}
}

func TestEventsOfBotsMakeNoTouches(t *testing.T) {
	e := at(0, "/?utm_source=ig")
	e.Bot = "known"
	if got := testIndex(nil).appendTouches(nil, &facts.Settings{}, allOf([]facts.Event{e})); len(got) != 0 {
		t.Errorf("%d touches, want none", len(got))
	}
}

func TestBackendEventsSpeakByTheirContext(t *testing.T) {
	e := facts.Event{At: start}
	e.Context.Campaign = wire.Campaign{Source: "news", Medium: "email"}
	touches := testIndex(nil).appendTouches(nil, &facts.Settings{}, allOf([]facts.Event{e}))
	if len(touches) != 1 || touches[0].Kind != facts.ByUTM || touches[0].Medium != "email" {
		t.Errorf("touches %+v", touches)
	}
	// With a URL the context is what the SDK remembers, no arrival of today.
	e.Context.Page.URL = "https://loja.example.com/"
	if touches := testIndex(nil).appendTouches(nil, &facts.Settings{}, allOf([]facts.Event{e})); touches[0].Kind != facts.Direct {
		t.Errorf("touches %+v", touches)
	}
}

// allOf is the visit of events that all count.
func allOf(events []facts.Event) visit {
	return visitOf("v", events, func(*facts.Event) bool { return true })
}
