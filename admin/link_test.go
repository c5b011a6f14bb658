package admin

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/publichost"
)

// names is a resolver with a fixed answer for each name.
type names map[string][]string

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	var addresses []netip.Addr
	for _, a := range n[strings.TrimSuffix(host, ".")] {
		addresses = append(addresses, netip.MustParseAddr(a))
	}
	if addresses == nil {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return addresses, nil
}

var publicNames = names{
	"loja.example.com":     {"93.184.216.34"},
	"six.example.com":      {"2606:2800:220:1:248:1893:25c8:1946"},
	"xn--exmple-4nf.com":   {"93.184.216.34"},
	"xn--caf-dma.com":      {"93.184.216.34"},
	"my_shop.example.com":  {"93.184.216.34"},
	"mixed.example.com":    {"93.184.216.34", "10.0.0.1"},
	"mixed6.example.com":   {"93.184.216.34", "fd00::1"},
	"loop.example.com":     {"127.0.0.1"},
	"private.example.com":  {"192.168.1.1"},
	"cgnat.example.com":    {"100.64.0.1"},
	"link.example.com":     {"169.254.1.1"},
	"metadata.example.com": {"169.254.169.254"},
	"multi.example.com":    {"224.0.0.1"},
	"zero.example.com":     {"0.0.0.0"},
	"wide.example.com":     {"255.255.255.255"},
	"future.example.com":   {"240.0.0.1"},
	"doc.example.com":      {"192.0.2.1"},
	"bench.example.com":    {"198.18.0.1"},
	"six-loop.example.com": {"::1"},
	"six-link.example.com": {"fe80::1"},
	"six-ula.example.com":  {"fc00::1"},
	"mapped.example.com":   {"::ffff:10.0.0.1"},
	"compat.example.com":   {"::7f00:1"},
	"nat64.example.com":    {"64:ff9b::a00:1"},
	"6to4.example.com":     {"2002:7f00:1::"},
	"teredo.example.com":   {"2001::1"},
	"six-multi.example":    {"ff02::1"},
}

// check refuses a URL that may not be a destination, by its form or by an
// address of its host.
func (p linkPolicy) check(ctx context.Context, raw string) error {
	host, err := publichost.OfDestination(raw)
	if err != nil {
		return err
	}
	return p.checkHost(ctx, host)
}

func TestDestinationsMustBePublicHTTPS(t *testing.T) {
	t.Parallel()
	policy := newLinkPolicy(publicNames, false)
	f := func(raw string, want error) {
		t.Helper()
		if err := policy.check(t.Context(), raw); !errors.Is(err, want) {
			t.Errorf("check(%q) = %v, want %v", raw, err, want)
		}
	}
	f("https://loja.example.com/produto?x=1#y", nil)
	f("https://loja.example.com:443/", nil)
	f("https://LOJA.Example.COM", nil)
	f("HTTPS://loja.example.com/", nil)
	f("https://loja.example.com./", nil)
	f("https://six.example.com/", nil)
	f("https://my_shop.example.com/", nil)
	f("https://café.com/", nil)
	f("https://exаmple.com/", nil) // a Cyrillic а: a name of its own, kept as given

	f("http://loja.example.com/", publichost.ErrURLScheme)
	f("ftp://loja.example.com/", publichost.ErrURLScheme)
	f("javascript:alert(1)", publichost.ErrURLForm)
	f("//loja.example.com/", publichost.ErrURLScheme)
	f("loja.example.com", publichost.ErrURLScheme)
	f("https:loja.example.com", publichost.ErrURLForm)
	f("https:/loja.example.com", publichost.ErrURLForm)
	f("https:///loja.example.com", publichost.ErrURLHost)
	f("https://", publichost.ErrURLHost)
	f("", publichost.ErrURLScheme)

	f("https://user@loja.example.com/", publichost.ErrURLUser)
	f("https://user:pass@loja.example.com/", publichost.ErrURLUser)
	f("https://@loja.example.com/", publichost.ErrURLUser)
	f("https://loja.example.com@127.0.0.1/", publichost.ErrURLUser)
	f("https://loja.example.com#@127.0.0.1/", nil) // that is a fragment, for everyone
	f(`https://loja.example.com\@127.0.0.1/`, publichost.ErrURLMalformed)
	f("https://loja.example.com/\tx", publichost.ErrURLMalformed)
	f(" https://loja.example.com/", publichost.ErrURLMalformed)

	f("https://loja.example.com:8443/", publichost.ErrURLPort)
	f("https://loja.example.com:80/", publichost.ErrURLPort)
	f("https://loja.example.com:/", publichost.ErrURLPort)
	f("https://loja.example.com:0443/", publichost.ErrURLPort)

	f("https://127.0.0.1/", publichost.ErrURLAddress)
	f("https://93.184.216.34/", publichost.ErrURLAddress) // public, but an address
	f("https://127.0.0.1./", publichost.ErrURLAddress)
	f("https://2130706433/", publichost.ErrURLAddress)
	f("https://0x7f000001/", publichost.ErrURLAddress)
	f("https://0X7F.0.0.1/", publichost.ErrURLAddress)
	f("https://0177.0.0.1/", publichost.ErrURLAddress)
	f("https://017700000001/", publichost.ErrURLAddress)
	f("https://127.1/", publichost.ErrURLAddress)
	f("https://127.0.1/", publichost.ErrURLAddress)
	f("https://1.2.3.4.5/", publichost.ErrURLAddress)
	f("https://0/", publichost.ErrURLAddress)
	f("https://0x/", publichost.ErrURLAddress)
	f("https://example.0x7f/", publichost.ErrURLAddress)
	f("https://１２７.0.0.1/", publichost.ErrURLAddress)
	f("https://127。0。0。1/", publichost.ErrURLAddress)
	f("https://①②⑦.0.0.1/", publichost.ErrURLAddress)
	f("https://%31%32%37.0.0.1/", publichost.ErrURLForm)
	f("https://[::1]/", publichost.ErrURLAddress)
	f("https://[::ffff:127.0.0.1]/", publichost.ErrURLAddress)
	f("https://[::ffff:7f00:1]/", publichost.ErrURLAddress)
	f("https://[::127.0.0.1]/", publichost.ErrURLAddress)
	f("https://[fe80::1%25eth0]/", publichost.ErrURLAddress)
	f("https://[2606:2800:220:1:248:1893:25c8:1946]/", publichost.ErrURLAddress)

	f("https://localhost/", publichost.ErrURLHost)
	f("https://LOCALHOST/", publichost.ErrURLHost)
	f("https://localhost./", publichost.ErrURLHost)
	f("https://app.localhost/", publichost.ErrURLHost)
	f("https://printer.local/", publichost.ErrURLHost)
	f("https://metadata.google.internal/", publichost.ErrURLHost)
	f("https://metadata.google.internal./", publichost.ErrURLHost)
	f("https://router.home.arpa/", publichost.ErrURLHost)
	f("https://intranet/", publichost.ErrURLHost)
	f("https://loja..example.com/", publichost.ErrURLHost)
	f("https://loja.example.com../", publichost.ErrURLHost)
	f("https://"+strings.Repeat("a", 64)+".com/", publichost.ErrURLHost)
	f("https://ａ.localhost/", publichost.ErrURLHost)
	f("https://loja.example.com\u00ad.localhost/", publichost.ErrURLHost)

	f("https://unknown.example.com/", errURLUnknown)
	f("https://mixed.example.com/", errURLPrivate)
	f("https://mixed6.example.com/", errURLPrivate)
	f("https://loop.example.com/", errURLPrivate)
	f("https://private.example.com/", errURLPrivate)
	f("https://cgnat.example.com/", errURLPrivate)
	f("https://link.example.com/", errURLPrivate)
	f("https://metadata.example.com/", errURLPrivate)
	f("https://multi.example.com/", errURLPrivate)
	f("https://zero.example.com/", errURLPrivate)
	f("https://wide.example.com/", errURLPrivate)
	f("https://future.example.com/", errURLPrivate)
	f("https://doc.example.com/", errURLPrivate)
	f("https://bench.example.com/", errURLPrivate)
	f("https://six-loop.example.com/", errURLPrivate)
	f("https://six-link.example.com/", errURLPrivate)
	f("https://six-ula.example.com/", errURLPrivate)
	f("https://mapped.example.com/", errURLPrivate)
	f("https://compat.example.com/", errURLPrivate)
	f("https://nat64.example.com/", errURLPrivate)
	f("https://6to4.example.com/", errURLPrivate)
	f("https://teredo.example.com/", errURLPrivate)
	f("https://six-multi.example/", errURLPrivate)
}

func TestDevAcceptsNamesThatDoNotResolveButNoPrivateOnes(t *testing.T) {
	t.Parallel()
	policy := newLinkPolicy(publicNames, true)
	f := func(raw string, want error) {
		t.Helper()
		if err := policy.check(t.Context(), raw); !errors.Is(err, want) {
			t.Errorf("check(%q) = %v, want %v", raw, err, want)
		}
	}
	f("https://unknown.example.com/", nil)
	f("https://loop.example.com/", errURLPrivate)
	f("https://mixed.example.com/", errURLPrivate)
	f("https://127.0.0.1/", publichost.ErrURLAddress)
	f("https://localhost/", publichost.ErrURLHost)
	f("http://unknown.example.com/", publichost.ErrURLScheme)
}
