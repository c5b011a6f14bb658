package dashboard_test

import (
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Who is between a browser and us, or has another host of the domain, can set cookies by plain HTTP: a browser takes none with the prefix
// from there, and by https we read no others (RFC 6265bis, 4.1.3; ASVS 3.3.1).
func TestByHTTPSACookieWithoutThePrefixIsNobodys(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	proxy := httptest.NewTLSServer(s.server)
	t.Cleanup(proxy.Close)
	client := proxy.Client()
	client.Timeout = 10 * time.Second
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	var err error
	if client.Jar, err = cookiejar.New(nil); err != nil {
		t.Fatal(err)
	}
	login, err := client.PostForm(proxy.URL+"/dashboard/login", url.Values{"email": {testEmail}, "password": {testPassword}})
	if err != nil || login.StatusCode != http.StatusSeeOther {
		t.Fatalf("log-in: %v, %v", login, err)
	}
	login.Body.Close()
	given := login.Cookies()
	for _, cookie := range given {
		if !strings.HasPrefix(cookie.Name, "__Secure-") || !cookie.Secure || !cookie.HttpOnly {
			t.Errorf("cookie %s", cookie)
		}
	}
	session := func(name func(string) string) int {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, proxy.URL+"/dashboard/session", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, cookie := range given {
			request.AddCookie(&http.Cookie{Name: name(cookie.Name), Value: cookie.Value})
		}
		answer, err := proxy.Client().Transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	if status := session(func(name string) string { return name }); status != http.StatusNoContent {
		t.Errorf("with the cookies as they are: %d", status)
	}
	if status := session(func(name string) string { return strings.TrimPrefix(name, "__Secure-") }); status != http.StatusUnauthorized {
		t.Errorf("with cookies that anybody between can set: %d", status)
	}
}
