package attribution

import (
	"testing"

	"github.com/tributary-io/tributary/internal/facts"
)

func TestAPagesOriginIsOneOfTheCompanys(t *testing.T) {
	t.Parallel()
	x := NewIndex(&facts.Rules{Origins: []string{"https://Loja.example.com/", "http://localhost:8080"},
		Hosts: []string{"checkout.example.com"}})
	f := func(want, page string) {
		t.Helper()
		if got := x.OriginOf(page); got != want {
			t.Errorf("%q: %q, want %q", page, got, want)
		}
	}
	f("", "")
	f("https://loja.example.com", "https://loja.example.com/p/1?utm_source=a#b")
	f("https://loja.example.com", "https://LOJA.example.com:443/")
	f("https://loja.example.com", "https://loja.example.com")
	f("http://localhost:8080", "http://localhost:8080/x")
	f("https://checkout.example.com", "https://checkout.example.com/pay")
	f("other", "https://elsewhere.example/")
	f("other", "http://loja.example.com/")
	f("other", "://")
	f("other", "about:blank")
	f("other", "%zz")
}
