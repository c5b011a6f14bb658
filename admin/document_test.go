package admin

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestADocumentThatTheCallerHasIsNotSentAgain(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := testServer(t, &log)
	d := newDocument([]byte("{}"), "application/json")
	f := func(want int, tags ...string) {
		t.Helper()
		request := httptest.NewRequest(http.MethodGet, "/openapi.json", nil)
		request.Header["If-None-Match"] = tags
		out := httptest.NewRecorder()
		if s.serve(d)(out, request); out.Code != want {
			t.Errorf("If-None-Match %q: %d, want %d", tags, out.Code, want)
		}
	}
	f(http.StatusOK)
	f(http.StatusOK, `"another"`)
	f(http.StatusNotModified, d.etag)
	f(http.StatusNotModified, `"another", W/`+d.etag)
	f(http.StatusNotModified, `"another"`, d.etag) // in two headers
	f(http.StatusNotModified, "*")
}
