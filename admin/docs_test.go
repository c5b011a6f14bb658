package admin_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-rod/rod/lib/proto"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

func TestReferencePageIsDrawnFromThisServerAlone(t *testing.T) {
	s := start(t, admin.Config{})
	browser := devtest.Shell(t)
	doc, err := contract()
	if err != nil {
		t.Fatal(err)
	}
	operations := 0
	for _, item := range doc.Paths.Map() {
		operations += len(item.Operations())
	}
	f := func(path string, width int) {
		t.Helper()
		page := browser.MustPage("about:blank").Timeout(3 * await.Long)
		defer page.MustClose()
		page.MustSetViewport(width, 900, 1, false)
		var mu sync.Mutex
		var complaints []string
		complain := func(text string) {
			mu.Lock()
			defer mu.Unlock()
			complaints = append(complaints, text)
		}
		// It listens until the page is closed.
		go page.EachEvent(func(e *proto.NetworkRequestWillBeSent) {
			if !strings.HasPrefix(e.Request.URL, s.url+"/") && !strings.HasPrefix(e.Request.URL, "data:") {
				complain("asked for " + e.Request.URL)
			}
		}, func(e *proto.LogEntryAdded) {
			if e.Entry.Level == proto.LogLogEntryLevelError {
				complain(e.Entry.Text)
			}
		}, func(e *proto.RuntimeExceptionThrown) {
			complain(e.ExceptionDetails.Text)
		})()
		if err := (proto.NetworkEnable{}).Call(page); err != nil {
			t.Fatal(err)
		}
		if err := (proto.LogEnable{}).Call(page); err != nil {
			t.Fatal(err)
		}
		page.MustNavigate(s.url + path)
		page.MustElement("#operations-Orders-sendOrder .opblock-summary-control").MustClick()
		page.MustElement("#operations-Orders-sendOrder .responses-table")
		if got := len(page.MustElements(".opblock")); got != operations {
			t.Errorf("%s at %d px: %d operations are drawn, want %d", path, width, got, operations)
		}
		if got := page.MustEval(`() => document.documentElement.scrollWidth`).Int(); got > width {
			t.Errorf("%s at %d px: the page is %d px wide", path, width, got)
		}
		if got, want := page.MustElement(".servers select").MustProperty("value").String(), strings.TrimSuffix(path, "/docs"); got != want {
			t.Errorf("%s: the chosen server is %s", path, got)
		}
		for _, scheme := range []string{"light", "dark"} {
			if err := (proto.EmulationSetEmulatedMedia{Features: []*proto.EmulationMediaFeature{{Name: "prefers-color-scheme", Value: scheme},
				{Name: "prefers-reduced-motion", Value: "reduce"}}}).Call(page); err != nil {
				t.Fatal(err)
			}
			devtest.Axe(t, page, fmt.Sprintf("%s at %d px, %s", path, width, scheme))
			ground := page.MustEval(`() => getComputedStyle(document.body).backgroundColor`).Str()
			if dark := ground != "rgb(255, 255, 255)"; dark != (scheme == "dark") {
				t.Errorf("%s: the ground is %s in the %s scheme", path, ground, scheme)
			}
			if dir := os.Getenv("TRIBUTARY_SHOTS"); dir != "" {
				page.MustScreenshot(filepath.Join(dir, fmt.Sprintf("reference-%d-%s.png", width, scheme)))
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if len(complaints) > 0 {
			t.Errorf("%s at %d px: %s", path, width, strings.Join(complaints, "\n"))
		}
	}
	f("/admin/v1/docs", 1280)
	f("/sandbox/admin/v1/docs", 390)
}
