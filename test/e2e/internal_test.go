package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// TestTheInternalPortHasWhatThePublicOneHasNot starts an edge with --internal-addr.
func TestTheInternalPortHasWhatThePublicOneHasNot(t *testing.T) {
	addr, internal := freeAddr(t), freeAddr(t)
	edge := startIn(t, []string{"TRIBUTARY_HASHING_SECRET=" + strings.Repeat("h", 48)}, "edge",
		"--addr", addr, "--internal-addr", internal, "--kafka-brokers", devtest.Kafka(t))
	get := func(url string) (status int, body string) {
		got, err := call(t.Context(), http.MethodGet, "http://"+url, "", nil)
		if err != nil {
			return 0, err.Error()
		}
		return got.status, string(got.body)
	}
	var status int
	var body string
	await.Until(t, await.Long, func() bool {
		status, body = get(internal + "/readyz")
		return strings.Contains(body, `"caught_up":true`)
	}, func() string { return "the edge has read its directory: " + body })
	if got, public := get(addr + "/readyz"); got != status || strings.Contains(public, "directory") || !strings.Contains(public, `ready"}`) {
		t.Errorf("public readyz: %d %s, the internal one %d", got, public, status)
	}
	if status, _ := get(addr + "/metrics"); status != http.StatusNotFound {
		t.Errorf("public metrics: %d", status)
	}
	if status, page := get(internal + "/metrics"); status != http.StatusOK || !strings.Contains(page, "tributary_edge_requests_total") {
		t.Errorf("internal metrics: %d", status)
	}
	edge.stop(t)
	if status, body := get(internal + "/healthz"); status != 0 {
		t.Errorf("after the edge's end: %d %s", status, body)
	}
}
