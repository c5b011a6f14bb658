package agent

import (
	"fmt"
	"slices"
	"testing"
)

func TestBrowsersHaveAFamily(t *testing.T) {
	t.Parallel()
	var known Known
	f := func(want, userAgent string) {
		t.Helper()
		if got := Family(userAgent); got != want || !slices.Contains(Families(), got) {
			t.Errorf("%q: %s, want %s", userAgent, got, want)
		}
		for range 2 {
			if got := known.Family(userAgent); got != want {
				t.Errorf("%q: remembered %s, want %s", userAgent, got, want)
			}
		}
	}
	f(None, "")
	f(None, "  ")
	f(Chrome, "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36")
	f(Chrome, "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/126.0.0.0 Safari/537.36")
	f(Edge, "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0")
	f(Firefox, "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0")
	f(Safari, "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 "+
		"Safari/604.1")
	f(Samsung, "Mozilla/5.0 (Linux; Android 14; SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/25.0 Chrome/121.0.0.0 "+
		"Mobile Safari/537.36")
	f(Opera, "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/125.0.0.0 Safari/537.36 OPR/111.0.0.0")
	f(InApp, "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Instagram "+
		"335.0.0.29.94 (iPhone14,5; iOS 17_5)")
	f(InApp, "Mozilla/5.0 (Linux; Android 13) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/120.0 Mobile Safari/537.36 "+
		"musical_ly_2023 BytedanceWebview/d8a21c6")
	f(Other, "a browser that nobody knows")
	for n := range 2 * maxKnown {
		known.Family(fmt.Sprint("agent ", n))
	}
	if len(known.known) > maxKnown {
		t.Errorf("%d are remembered", len(known.known))
	}
}
