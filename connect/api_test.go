package connect

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/tracing"
	"github.com/tributary-io/tributary/test/devtest"
)

// A redirect would send orders, with their shoppers, to another host: it is not followed.
func TestTheAdminsRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host got %s %s", r.Method, r.URL)
	}))
	t.Cleanup(other.Close)
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		admin := httptest.NewServer(http.RedirectHandler(other.URL, status))
		t.Cleanup(admin.Close)
		a := newAPI(admin.URL)
		defer a.close()
		var failed *apiError
		_, _, err := a.once(t.Context(), "key", "/orders", "application/json", []byte(`{"email":"ana@example.com"}`))
		if !errors.As(err, &failed) || failed.status != status {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// The requests of one trace have ids of their own, which begin with the trace's.
func TestRequestsOfOneTraceHaveIDsOfTheirOwn(t *testing.T) {
	t.Parallel()
	var ids []string
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ids = append(ids, r.Header.Get("X-Request-Id"))
		_, _ = w.Write([]byte(`{"data":{}}`))
	}))
	defer admin.Close()
	tracer, _ := devtest.Traces(t, 1)
	visit := tracer.Root("visit", tracing.Internal, time.Now())
	defer visit.End(time.Now())
	a := newAPI(admin.URL)
	defer a.close()
	for range 3 {
		if _, _, err := a.once(tracing.Within(t.Context(), visit), "key", "/orders", "application/json", nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, id := range ids {
		if len(id) != len(visit.TraceID())+1+16 || id[:len(visit.TraceID())] != visit.TraceID() || slices.Contains(ids[:i], id) {
			t.Errorf("the ids are %q, the trace %s", ids, visit.TraceID())
		}
	}
}
