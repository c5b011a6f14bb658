package publichost

import (
	"errors"
	"testing"
)

func TestWhatAnAddressIs(t *testing.T) {
	t.Parallel()
	f := func(want bool, hosts ...string) {
		t.Helper()
		for _, host := range hosts {
			if got := IsAddress(host); got != want {
				t.Errorf("%q is an address: %v, want %v", host, got, want)
			}
		}
	}
	f(true, "127.0.0.1", "127.0.0.1.", "::1", "2001:DB8::1", "::ffff:1.2.3.4", "127.1", "2130706433", "0x7f.0.0.0x1",
		"0X7F.1", "loja.example.1")
	f(false, "", ".", "localhost", "loja.example.com", "1.2.3.4.example", "0x7g", "a1", "1a", "1.com.")
}

func TestDestinationsOfShortLinks(t *testing.T) {
	t.Parallel()
	f := func(raw, host string, want error) {
		t.Helper()
		if got, err := OfDestination(raw); got != host || !errors.Is(err, want) {
			t.Errorf("%q: %q, %v; want %q, %v", raw, got, err, host, want)
		}
	}
	f("https://example.com", "example.com", nil)
	f("https://a-b.z_y.a0z9.example.com:443/p?q=a:b@c#f", "a-b.z_y.a0z9.example.com", nil)
	f("https://Loja.EXAMPLE.com./", "loja.example.com", nil)
	f("https://ção.example.com/", "xn--o-xfal.example.com", nil)
	f("https://ｌｏｊａ。example。com/", "loja.example.com", nil)
	f("https://example.com?u=https://other.example", "example.com", nil)
	f("https://example.com#@other.example", "example.com", nil)
	f("https://0xyz.example.0xyz/", "0xyz.example.0xyz", nil)

	f("", "", ErrURLScheme)
	f("example.com", "", ErrURLScheme)
	f("http://example.com/", "", ErrURLScheme)
	f("javascript:alert(1)", "", ErrURLForm)
	f("https:example.com", "", ErrURLForm)
	f("https:/example.com", "", ErrURLForm)
	f("https://%zz/", "", ErrURLForm)

	f("https://example.com/a b", "", ErrURLMalformed)
	f("https://exa\tmple.com/", "", ErrURLMalformed)
	f("https://example.com/\x7f", "", ErrURLMalformed)
	f(`https://example.com\@other.example/`, "", ErrURLMalformed)

	f("https://user@example.com/", "", ErrURLUser)
	f("https://user:word@example.com/", "", ErrURLUser)
	f("https://example.com:80/", "", ErrURLPort)
	f("https://example.com:/", "", ErrURLPort)

	f("https:///", "", ErrURLHost)
	f("https:///a:80/", "", ErrURLHost)
	f("https://intranet/", "", ErrURLHost)
	f("https://.example.com/", "", ErrURLHost)
	f("https://a..example.com/", "", ErrURLHost)
	f("https://example.com../", "", ErrURLHost)
	f("https://a%2eexample.com/", "", ErrURLForm)
	f("https://%C3%A7.example.com/", "", ErrURLHost)
	f("https://a!.example.com/", "", ErrURLHost)
	f("https://a/.example.com/", "", ErrURLHost)
	for _, name := range []string{"localhost", "local", "internal", "localdomain", "arpa", "onion", "invalid", "test"} {
		f("https://loja."+name+"/", "", ErrURLHost)
	}

	f("https://127.0.0.1/", "", ErrURLAddress)
	f("https://127.1/", "", ErrURLAddress)
	f("https://2130706433/", "", ErrURLAddress)
	f("https://0x7f.0.0.0x1/", "", ErrURLAddress)
	f("https://a.0x/", "", ErrURLAddress)
	f("https://１２７.0.0.1/", "", ErrURLAddress)
	f("https://[::1]/", "", ErrURLAddress)
	f("https://[::1]:443/", "", ErrURLAddress)
}
