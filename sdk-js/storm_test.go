package sdkjs_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/go-rod/rod"

	"github.com/tributary-io/tributary/sdk/core"
	"github.com/tributary-io/tributary/test/devtest"
)

// window is how long all requests of three tabs are counted after a call in one of them.
const window = 10 * time.Second

// counted makes a page count how often it has looked for what earlier pages left, which it does twice after its start.
const counted = `
	window.looked = 0;
	const request = navigator.locks.request.bind(navigator.locks);
	navigator.locks.request = (name, ...rest) => {
		const done = request(name, ...rest);
		if (name == "trb:recover") done.finally(() => looked++);
		return done;
	};
`

// A call in one tab costs what it says here, however many tabs of the shop are open: another tab that hears of it makes no
// request of its own but for events that wait in it.
func TestWhatACallCostsWithThreeTabs(t *testing.T) {
	devtest.NeedsIntegration(t)
	t.Parallel()
	const init = counted + `tributary.init({companyId:"loja",linger:0,worker:false})`
	const asks = counted + `tributary.init({companyId:"loja",linger:0,worker:false,requireConsent:true})`
	events, forget := map[string]int{"/v1/events": 1}, map[string]int{"/v1/forget": 1}
	cases := []struct {
		page, call string
		want       map[string]int
	}{
		{init, `tributary.init({companyId:"loja"})`, nil},
		{init, `tributary.track("NOTE")`, events},
		{init, `tributary.page()`, events},
		{init, `tributary.identify({email:"ana@example.com"})`, nil},
		{init, `tributary.reset()`, forget},
		{init, `tributary.consent("denied")`, forget},
		{init, `tributary.consent("denied");tributary.optOut();tributary.consent("denied")`, forget},
		{init, `tributary.consent("granted")`, nil},
		{asks, `tributary.consent("denied")`, forget},
		{asks, `tributary.consent("granted")`, map[string]int{"/v1/events": 3}}, // each tab has its view
		{init, `tributary.optOut()`, forget},
		{init, `tributary.optIn()`, nil},
		{init, `tributary.optOut();tributary.optIn();tributary.optOut();tributary.optIn()`, map[string]int{"/v1/forget": 2}},
		{init, `tributary.flush()`, nil},
		{init, `tributary.debug()`, nil},
		{init, `tributary.getVisitorId()`, nil},
	}
	dist, browser := build(t), devtest.Browser(t)
	slots := make(chan struct{}, 4) // contexts that are open at a time
	for _, c := range cases {
		t.Run(map[bool]string{c.page == asks: "asks first: "}[true]+c.call, func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			e, b := newEdge(t, dist), browser.MustIncognito()
			defer b.MustClose()
			s := shop(t, map[string]string{"/": e.stubbed(c.page)})
			var tabs []*rod.Page
			for range 3 {
				tab := open(t, b, s.URL+"/")
				ready(t, tab)
				tabs = append(tabs, tab)
			}
			if c.page == init {
				e.wait(t, "the views", func(s seen) bool { return s.copies(core.PageView) == 3 })
				for _, tab := range tabs {
					until(t, tab, `() => looked >= 2`)
					until(t, tab, noneStored)
				}
			}
			before := e.seen().paths
			tabs[0].MustEval("() => { " + c.call + " }")
			<-time.After(window)
			got := e.seen().paths
			for path, n := range before {
				if got[path] -= n; got[path] == 0 {
					delete(got, path)
				}
			}
			if !maps.Equal(got, c.want) {
				t.Errorf("three tabs make %s in %v, want %s", fmt.Sprint(got), window, fmt.Sprint(c.want))
			}
		})
	}
}
