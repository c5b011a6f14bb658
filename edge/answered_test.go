package edge

import (
	"net/http"
	"testing"
)

// No browser takes an answer for something else than its Content-Type says, whatever was asked for.
func TestEveryAnswerIsNotSniffed(t *testing.T) {
	s := newStand(t, nil)
	for _, path := range []string{"/v1/events", "/v1/known", "/v1/pixel.gif", "/s/" + testCode, "/s/nothing", "/sdk/v1/nothing.js", "/healthz",
		"/readyz", "/metrics", "/segment/v1/t", "/nothing"} {
		for _, method := range []string{"GET", "POST", "OPTIONS", "DELETE"} {
			if response, _ := s.do(method, path, "{}"); response.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s %s: %d without nosniff", method, path, response.StatusCode)
			}
		}
	}
}

// TRACE would send a request's headers back.
func TestNobodyIsSentTheirHeaders(t *testing.T) {
	s := newStand(t, nil)
	for _, path := range []string{"/v1/events", "/s/" + testCode, "/healthz", "/"} {
		response, text := s.do("TRACE", path, "", "Cookie: trb_vid=secret")
		if response.StatusCode != http.StatusMethodNotAllowed && response.StatusCode != http.StatusNotFound {
			t.Errorf("TRACE %s: %d %s", path, response.StatusCode, text)
		}
	}
}
