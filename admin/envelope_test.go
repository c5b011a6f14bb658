package admin_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/admin"
)

func TestEveryAnswerIsAnEnvelope(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	f := func(method, path, body string, status int, code string, headers ...string) answer {
		t.Helper()
		got := s.call(method, path, s.live, body, headers...)
		if s.want(got, status, code); got.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s %s is answered without nosniff", method, path)
		}
		return got
	}
	order := "/admin/v1/order"
	f("GET", "/nowhere", "", 404, "not_found")
	f("GET", "/admin/v1", "", 404, "not_found")
	f("GET", "/admin/v1/", "", 404, "not_found")
	f("GET", "/admin/v1/influencers/", "", 404, "not_found")
	f("POST", "/admin/v1//order", order1001, 404, "not_found")
	f("POST", "/admin/v1/../v1/order", order1001, 404, "not_found")
	f("GET", "/healthz", "", 200, "")
	f("GET", "/readyz", "", 200, "")
	if got := f("GET", order, "", 405, "method_not_allowed"); got.Header.Get("Allow") != "OPTIONS, POST" {
		t.Errorf("Allow %q", got.Header.Get("Allow"))
	}
	if got := f("PATCH", "/admin/v1/influencers", "", 405,
		"method_not_allowed"); got.Header.Get("Allow") != "DELETE, GET, HEAD, OPTIONS, POST, PUT" {
		t.Errorf("Allow %q", got.Header.Get("Allow"))
	}
	if got := s.call("OPTIONS", order, "", ""); got.Status != 204 || got.Header.Get("Allow") != "OPTIONS, POST" {
		t.Errorf("OPTIONS: %d %v", got.Status, got.Header)
	}
	if got := s.call("HEAD", "/admin/v1/influencers", s.live, ""); got.Status != 200 {
		t.Errorf("HEAD: %d", got.Status)
	}

	f("POST", order, "", 400, "invalid_json")
	f("POST", order, "{", 400, "invalid_json")
	f("POST", order, "{'a':1}", 400, "invalid_json")
	f("POST", order, order1001+" {}", 400, "invalid_json")
	f("POST", order, order1001+" x", 400, "invalid_json")
	f("POST", order, "{\"orderId\":\"\xff\"}", 400, "invalid_json")
	f("POST", order, "[]", 400, "validation_error")
	f("POST", order, "null", 400, "validation_error")
	f("POST", order, "{}", 400, "validation_error")
	f("POST", order, strings.Repeat(" ", 1<<20-len(order1001))+order1001, 200, "")
	f("POST", order, strings.Repeat(" ", 1<<20)+order1001, 413, "payload_too_large")
	f("POST", order, order1001, 415, "unsupported_media_type", "Content-Type", "text/plain")
	f("POST", order, order1001, 415, "unsupported_media_type", "Content-Type", "application/json; charset=latin1")
	f("POST", order, order1001, 200, "", "Content-Type", "application/json; charset=UTF-8")
	f("POST", order, order1001, 415, "unsupported_media_type", "Content-Encoding", "br")

	f("POST", order, gzipped(order1001), 200, "", "Content-Encoding", "gzip")
	f("POST", order, order1001, 400, "invalid_json", "Content-Encoding", "gzip")
	f("POST", order, gzipped(order1001)[:40], 400, "invalid_json", "Content-Encoding", "gzip")
	f("POST", order, gzipped(strings.Repeat(" ", 1<<20)+order1001), 413, "payload_too_large", "Content-Encoding", "gzip")

	if got := f("GET", "/admin/v1/influencers", "", 200, "", "X-Request-Id", "mine-42"); got.RequestID != "mine-42" {
		t.Errorf("request id %q", got.RequestID)
	}
	if got := f("GET", "/admin/v1/influencers", "", 200, "", "X-Request-Id", `"><script>`); strings.Contains(got.RequestID, "script") {
		t.Errorf("request id %q", got.RequestID)
	}

	for _, phone := range []string{"5511987654321", "req-11987654321"} { // the log would hold it
		if got := f("GET", "/admin/v1/influencers", "", 200, "", "X-Request-Id", phone); strings.Contains(got.RequestID, "11987654321") {
			t.Errorf("request id %q", got.RequestID)
		}
	}

	response, err := http.Get(s.url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if metrics, _ := io.ReadAll(response.Body); !bytes.Contains(metrics,
		[]byte(`tributary_admin_requests_total{method="POST",route="/admin/v1/order",status="200"}`)) {
		t.Errorf("metrics by route are missing:\n%s", metrics)
	}
}

func gzipped(text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write([]byte(text))
	w.Close()
	return out.String()
}
