package processor

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/devtest"
)

func TestHealthTellsWhatIsMissing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	client, err := kafka.NewClient(kafka.Config{Brokers: []string{devtest.Kafka(t)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	p := s.processor(kafka.NewGroup(client, "processor", nil, wire.TopicEvents, wire.TopicCommerce), nil)
	f := func(path string, status int, contains string) {
		t.Helper()
		w := httptest.NewRecorder()
		p.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != status || !strings.Contains(w.Body.String(), contains) {
			t.Errorf("%s: %d %s, want %d and %q", path, w.Code, w.Body, status, contains)
		}
	}
	f("/healthz", 200, "ok")
	f("/readyz", 200, `"postgres":"ok"`)
	f("/metrics", 200, "tributary_processor_partitions 0")
	s.db.Close()
	f("/readyz", 503, `"postgres":"unavailable"`)
	f("/healthz", 200, "ok")
}
