package platform

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A shop's address that leads inside is not dialled, whatever name it has: what the operator's own servers answer stays there.
func TestAShopsAddressInsideIsNotDialled(t *testing.T) {
	asked := 0
	inside := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer inside.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(inside.URL, "https://"), ":")
	client := NewClient(Limits{PerSecond: 100, Burst: 100}, Options{})
	defer client.Close()
	client.http.Transport.(*http.Transport).TLSClientConfig = inside.Client().Transport.(*http.Transport).TLSClientConfig
	for _, url := range []string{inside.URL, "https://localhost:" + port, "https://[::ffff:127.0.0.1]:" + port,
		"https://169.254.169.254/latest/meta-data/", "https://10.0.0.1/", "https://[::1]/"} {
		answer, err := client.Do(t.Context(), Request{Method: http.MethodGet, URL: url, Once: true})
		if err == nil || asked > 0 {
			t.Errorf("%s: the answer is %d, %v, and the server inside was asked %d times", url, answer.Status, err, asked)
		}
	}
}
