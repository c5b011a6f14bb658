package site

import "testing"

func TestTheOriginOfThePublicURL(t *testing.T) {
	t.Parallel()
	f := func(url, want string) {
		t.Helper()
		got, err := OriginOf(url)
		if err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", url, got, err, want)
		}
	}
	f("", "")
	f("https://app.example.com", "https://app.example.com")
	f("https://app.example.com:8443/dashboard/", "https://app.example.com:8443")
	for _, bad := range []string{"app.example.com", "ftp://app.example.com", "https://"} {
		if _, err := OriginOf(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
