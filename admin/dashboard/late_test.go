package dashboard_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/proto"

	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// On a slow line a page is seen before its scripts run. What they show then has its place
// already: nothing moves.
func TestPagesDoNotMoveWhenTheirScriptsComeLate(t *testing.T) {
	s := newSite(t)
	places := fillSite(s)
	w := s.newWalk(t, devtest.Shell(t), "pt-BR")
	w.enter(w.page)
	list := []string{"/dashboard/?company=" + s.live, "/dashboard/events?company=" + s.live, "/dashboard/install?company=" + s.live}
	for _, path := range places.member {
		if strings.HasPrefix(path, "/dashboard/influencer?") {
			list = append(list, path)
		}
	}
	router := w.page.HijackRequests()
	router.MustAdd("*/dashboard/assets/*.js*", func(h *rod.Hijack) {
		await.Until(t, await.Long, func() bool {
			seen, err := w.page.Eval(`() => performance.getEntriesByType('paint').some((e) => e.name === 'first-contentful-paint')`)
			return err == nil && seen.Value.Bool()
		}, func() string { return "nothing is painted without " + h.Request.URL().Path })
		h.ContinueRequest(&proto.FetchContinueRequest{})
	})
	go router.Run()
	defer router.MustStop()
	for _, path := range list {
		for _, width := range []int{1280, 390} {
			w.page.MustSetViewport(width, 800, 1, width < 500)
			w.page.MustNavigate(s.url + path).MustWaitLoad()
			if has, _, err := w.page.Timeout(time.Second).Has("#live.idle, #live[data-state]"); err == nil && has {
				w.page.MustElement("#live[data-state=on]")
			}
			// 0.01 is a tenth of what counts as good (web.dev/cls): less than a line of text. On busy cores 0.007 was seen.
			if shift := w.shift(); shift > 0.01 {
				t.Errorf("%s at %d px moves by %.3f when its scripts come: %s", path, width, shift, w.moved())
			}
		}
	}
}

// On a slow line a page is seen once it is whole: a table that is shown while its rows come
// moves with each of them.
func TestPagesDoNotMoveOnASlowLine(t *testing.T) {
	s := newSite(t)
	fillSite(s)
	w := s.newWalk(t, devtest.Shell(t), "en")
	w.enter(w.page)
	if err := (proto.NetworkEnable{}).Call(w.page); err != nil {
		t.Fatal(err)
	}
	const slow = 20_000 // bytes a second: a page comes in some parts
	if err := (proto.NetworkEmulateNetworkConditions{Latency: 20, DownloadThroughput: slow, UploadThroughput: -1}).Call(w.page); err != nil {
		t.Fatal(err)
	}
	w.page.MustSetViewport(1280, 800, 1, false)
	for _, path := range []string{"influencers", "orders", "payouts", "products", "statements"} {
		w.page.MustNavigate(s.url + "/dashboard/" + path + "?company=" + s.live).MustWaitLoad()
		if shift := w.shift(); shift > 0.01 {
			t.Errorf("%s moves by %.3f while it comes: %s", path, shift, w.moved())
		}
	}
}
