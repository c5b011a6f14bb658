package admin_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/admin"
)

func TestUnchangedListIs304(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	s.want(s.call("POST", "/admin/v1/influencers", s.live, anaPrado), 200, "")
	s.want(s.call("POST", "/admin/v1/costs", s.live, `{"name":"Aluguel","value":1,"frequency":"monthly","start_date":"2026-01-01"}`), 200, "")
	f := func(path string) {
		t.Helper()
		got := s.call("GET", "/admin/v1"+path, s.live, "")
		s.want(got, 200, "")
		tag := got.Header.Get("ETag")
		if !strings.HasPrefix(tag, `W/"`) || got.Header.Get("Cache-Control") != "private, no-cache" || got.Header.Get("Vary") != "Authorization" {
			t.Errorf("%s: headers %v", path, got.Header)
		}
		g := func(method, match string, status int) {
			t.Helper()
			got := s.call(method, "/admin/v1"+path, s.live, "", "If-None-Match", match)
			if got.Status != status || got.Header.Get("ETag") != tag || got.Header.Get("X-Request-Id") == "" {
				t.Errorf("%s %s with %s: %d %v", method, path, match, got.Status, got.Header)
			}
		}
		g("GET", tag, 304)
		g("HEAD", tag, 304)
		g("GET", strings.TrimPrefix(tag, "W/"), 304)
		g("GET", `"other", `+tag, 304)
		g("GET", "*", 304)
		g("GET", `W/"other"`, 200)
		g("GET", "", 200)
	}
	f("/influencers")
	f("/influencers?limit=1")
	f("/influencers/costs")
	f("/costs")
	f("/costs/historical?start_date=2026-01-01&end_date=2026-01-31")

	before := s.call("GET", "/admin/v1/influencers", s.live, "").Header.Get("ETag")
	s.want(s.call("PUT", "/admin/v1/influencers", s.live, `{"name":"Ana Prado","category":"viagem"}`), 200, "")
	changed := s.call("GET", "/admin/v1/influencers", s.live, "", "If-None-Match", before)
	if s.want(changed, 200, ""); changed.Header.Get("ETag") == before {
		t.Error("a changed list has its old tag")
	}
	refused := s.call("GET", "/admin/v1/influencers?limit=0", s.live, "", "If-None-Match", "*")
	if s.want(refused, 400, "validation_error"); refused.Header.Get("ETag") != "" || refused.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("an error can be cached: %v", refused.Header)
	}
}

func TestHEADIsGETWithoutABody(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	f := func(path, key string) {
		t.Helper()
		get := s.call("GET", path, key, "")
		request, err := http.NewRequestWithContext(t.Context(), "HEAD", s.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+key)
		head, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer head.Body.Close()
		body, err := io.ReadAll(head.Body)
		if err != nil || len(body) > 0 || head.StatusCode != get.Status {
			t.Errorf("%s: %d with %d bytes, %v; GET is %d", path, head.StatusCode, len(body), err, get.Status)
		}
		for _, name := range []string{"Content-Type", "Content-Length", "ETag", "Cache-Control", "Allow", "Www-Authenticate"} {
			if head.Header.Get(name) != get.Header.Get(name) {
				t.Errorf("%s: %s is %q, GET's %q", path, name, head.Header.Get(name), get.Header.Get(name))
			}
		}
	}
	f("/admin/v1/influencers", s.live)
	f("/admin/v1/influencers", "wrong")
	f("/admin/v1/costs/historical", s.live)
	f("/admin/v1/nowhere", s.live)
}

func TestOPTIONSTellsAllowOfEachPathWithoutAKey(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	f := func(path, allow string) {
		t.Helper()
		for _, base := range []string{"/admin/v1", "/sandbox/admin/v1"} {
			if got := s.call("OPTIONS", base+path, "", ""); got.Status != 204 || got.Header.Get("Allow") != allow {
				t.Errorf("%s: %d, Allow %q, want %q", path, got.Status, got.Header.Get("Allow"), allow)
			}
			refused := s.call("PATCH", base+path, "", "")
			if s.want(refused, 405, "method_not_allowed"); refused.Header.Get("Allow") != allow {
				t.Errorf("%s: 405 with Allow %q, want %q", path, refused.Header.Get("Allow"), allow)
			}
		}
	}
	f("/influencers", "DELETE, GET, HEAD, OPTIONS, POST, PUT")
	f("/influencers/costs", "DELETE, GET, HEAD, OPTIONS, POST")
	f("/influencers/coupons", "DELETE, OPTIONS, POST")
	f("/costs", "DELETE, GET, HEAD, OPTIONS, POST, PUT")
	f("/costs/historical", "GET, HEAD, OPTIONS")
	f("/order", "OPTIONS, POST")
	f("/product", "OPTIONS, POST")
	f("/order/1/attribution", "GET, HEAD, OPTIONS")
	s.want(s.call("OPTIONS", "/admin/v1/nowhere", "", ""), 404, "not_found")
}

func TestNoOrderHasAnIDThatIsNoText(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	for _, id := range []string{"%00", "%ff", "%20", strings.Repeat("x", 256), "a%01b"} {
		s.want(s.call("GET", "/admin/v1/order/"+id+"/attribution", s.live, ""), 404, "not_found")
	}
}
