package platform

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// A shop's server cannot lead the service, with the credentials that it sends, to another one.
func TestShopsRedirectsAreNotFollowed(t *testing.T) {
	asked := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer other.Close()
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer shop.Close()
	client := NewClient(Limits{Hosts: []string{"shop.example.com"}, PerSecond: 100, Burst: 100},
		Options{Rewrite: map[string]string{"shop.example.com": shop.URL}})
	defer client.Close()
	answer, err := client.Do(t.Context(), Request{Method: http.MethodGet, URL: "https://shop.example.com/orders",
		Header: http.Header{"Authorization": {"Bearer secret"}}})
	if err == nil || asked > 0 {
		t.Errorf("the answer is %d, %v, and another server was asked %d times", answer.Status, err, asked)
	}
}
