package dashboard_test

import (
	"os"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/rollup"
	"github.com/tributary-io/tributary/test/devtest"
)

// cameBy stores sums of orders that came by channels.
func (s *site) cameBy(day string, orders int, channels ...string) {
	s.t.Helper()
	out := facts.Outcome{Day: day, Currency: commerce.BRL, TotalMinor: 10000, Payout: facts.Payout{State: facts.PayoutNone}}
	for i, channel := range channels {
		c := facts.Credit{Position: i + 1, Channel: channel}
		for k := range c.Parts {
			c.Parts[k] = facts.Part{Given: true, Minor: 10000 / int64(len(channels))}
		}
		out.Credits = append(out.Credits, c)
	}
	var list []rollup.Order
	for range orders {
		list = append(list, rollup.Order{Outcome: &out})
	}
	s.Sum(s.live, list...)
}

// Journeys are drawn for wide and narrow screens, each label within the drawing, and the
// table behind the drawing has its numbers.
func TestJourneysAreDrawn(t *testing.T) {
	s := newSite(t)
	day := time.Now().UTC().Add(-12 * time.Hour).Format(time.DateOnly)
	for _, j := range []struct {
		orders   int
		channels []string
	}{
		{40, []string{"Ana Prado"}}, {22, []string{"Organic Search", "Ana Prado"}}, {18, []string{"Paid Social", "Organic Search", "Direct"}},
		{12, []string{"Direct"}},
		{9, []string{"Beatriz Nascimento de Albuquerque", "Email", "Direct"}},
		{7, []string{"Email", "Ana Prado", "Organic Search", "Paid Social", "Email", "Direct"}},
		{4, []string{"Display"}}, {3, []string{"Referral", "Affiliates"}}, {2, []string{"Organic Social", "Video", "Direct"}},
	} {
		s.cameBy(day, j.orders, j.channels...)
	}
	page := devtest.Shell(t).MustPage("").Timeout(3 * time.Minute)
	shots := shooter{t: t, page: page, dir: os.Getenv("TRIBUTARY_SHOTS")}
	s.enter(page)
	page.MustNavigate(s.url + "/dashboard/paths?company=" + s.live).MustWaitLoad()
	for _, width := range []int{1280, 1000, 390} {
		page.MustSetViewport(width, 800, 1, width < 500)
		got := page.MustEval(`() => {
			const shown = [...document.querySelectorAll('svg.sankey')].filter(s => getComputedStyle(s).display !== 'none');
			const box = shown[0].getBoundingClientRect();
			const texts = [...shown[0].querySelectorAll('text')];
			return {
				shown: shown.length, wide: document.documentElement.scrollWidth,
				outside: texts.filter(t => t.getBoundingClientRect().right > box.right + 1).map(t => t.textContent).join(),
				small: Math.min(...texts.map(t => t.getBoundingClientRect().height)), texts: texts.length,
			};
		}`)
		if got.Get("shown").Int() != 1 || got.Get("wide").Int() > width || got.Get("outside").Str() != "" || got.Get("small").Num() < 9 ||
			got.Get("texts").Int() < 5 {
			t.Errorf("at %d px: %v", width, got)
		}
	}
	page.MustElement("details.numbers summary").MustClick()
	if text := page.MustElement("details.numbers").MustText(); !contains(text, "Ana Prado", "Orders", "62") {
		t.Errorf("the table reads %q", text)
	}
	axeInBothSchemes(t, page, "journeys")
	shots.take("paths")
}
