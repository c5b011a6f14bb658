package reporttest

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

// What each stored order has by which whoever knows it can claim the sale: the visitor's id,
// the cart's token and its keyed hash, and where the buyer was.
const (
	VisitorOfOrders = "0195b2c0-51ce-7a37-9d42-7e8f01b3c6aa"
	TokenOfOrders   = "9f3b5c0e7a1d4f2688b1c3d5e7f90a2b"
	cartOfOrders    = "k1:Y2FydC1vZi1ldmVyeS1zdG9yZWQtb3JkZXItb2YtdGhlbQ"
	addressOfOrders = "198.51.100.77"
)

// WantNoProof fails the test where an answer shows what proves a sale.
func WantNoProof(t testing.TB, what string, answer []byte) {
	t.Helper()
	for _, proof := range []string{VisitorOfOrders, TokenOfOrders, cartOfOrders, addressOfOrders, strings.ReplaceAll(VisitorOfOrders, "-", "")} {
		if bytes.Contains(bytes.ToLower(answer), []byte(strings.ToLower(proof))) {
			t.Errorf("%s shows %s: whoever reads it can claim the sale", what, proof)
		}
	}
}

// Watched is a transport that looks at each answer as WantNoProof does.
type Watched struct{ T testing.TB }

// RoundTrip makes one request.
func (w Watched) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil || answer.StatusCode == http.StatusSwitchingProtocols {
		return answer, err
	}
	body, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	answer.Body = io.NopCloser(bytes.NewReader(body))
	WantNoProof(w.T, request.Method+" "+request.URL.Path, body)
	return answer, err
}
