package identity

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
)

func newHasher(t *testing.T, fill byte) *Hasher {
	t.Helper()
	h, err := NewHasher(bytes.Repeat([]byte{fill}, MinSecret))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestShortSecretIsRefused(t *testing.T) {
	if _, err := NewHasher(make([]byte, MinSecret-1)); err == nil {
		t.Fatal("a secret of 31 bytes was taken")
	}
}

func TestSecretIsCopied(t *testing.T) {
	secret := bytes.Repeat([]byte{1}, MinSecret)
	h, err := NewHasher(secret)
	if err != nil {
		t.Fatal(err)
	}
	before := h.Check("c")
	clear(secret)
	if h.Check("c") != before {
		t.Fatal("the caller's buffer is the hasher's secret")
	}
}

// The value is pinned: keys made today must join keys made by every later version.
func TestKeysStayAcrossVersions(t *testing.T) {
	h := newHasher(t, 7)
	f := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	f(h.Company("co_1", "BR").Email("Ana@Example.com "), pinnedEmail)
	f(h.Company("co_1", "BR").Phone("(11) 8765-4321"), pinnedPhone)
	f(h.Check("co_1"), pinnedCheck)
}

func TestKeysDifferByCompanyKindAndSecret(t *testing.T) {
	h := newHasher(t, 7)
	keys := h.Company("co_1", "BR")
	seen := map[string]string{}
	f := func(name, key string) {
		t.Helper()
		if !strings.HasPrefix(key, "k1:") || len(key) != len("k1:")+43 {
			t.Errorf("%s: %q is not a key", name, key)
		}
		if other, found := seen[key]; found {
			t.Errorf("%s and %s share a key", name, other)
		}
		seen[key] = name
	}
	f("customer", keys.Customer("42"))
	f("cart", keys.Cart("42"))
	f("network", keys.Network(netip.MustParseAddr("192.0.2.7")))
	f("other company", h.Company("co_2", "BR").Customer("42"))
	f("other secret", newHasher(t, 8).Company("co_1", "BR").Customer("42"))
	f("email", keys.Email("42@x.com"))
	if h.Check("co_1") == newHasher(t, 8).Check("co_1") || h.Check("co_1") == h.Check("co_2") {
		t.Error("the key check does not tell secrets or companies apart")
	}
	if keys.Customer("42") != h.Company("co_1", "US").Customer("42") {
		t.Error("the country moved the pepper")
	}
}

func TestNormalEmail(t *testing.T) {
	f := func(raw, want string) {
		t.Helper()
		if got := NormalEmail(raw); got != want {
			t.Errorf("NormalEmail(%q) = %q, want %q", raw, got, want)
		}
	}
	f("  Ana.Prado+1@Example.COM ", "ana.prado+1@example.com")
	f("josé@exemplo.com.br", "josé@exemplo.com.br")
	f("a@b.co.", "a@b.co")
	f("", "")
	f("null", "")
	f("ana", "")
	f("ana@", "")
	f("@example.com", "")
	f("ana@localhost", "")
	f("ana@b@c.com", "")
	f("ana prado@example.com", "")
	f("undefined@undefined", "")
	f(strings.Repeat("a", 248)+"@x.com", strings.Repeat("a", 248)+"@x.com") // 254 bytes
	f(strings.Repeat("a", 249)+"@x.com", "")
}

func TestNormalPhone(t *testing.T) {
	f := func(raw, country, want string) {
		t.Helper()
		if got := NormalPhone(raw, country); got != want {
			t.Errorf("NormalPhone(%q, %s) = %q, want %q", raw, country, got, want)
		}
	}
	f("11987654321", "BR", "+5511987654321")
	f("(11) 98765-4321", "BR", "+5511987654321")
	f("1187654321", "BR", "+5511987654321") // its ninth digit
	f("+55 11 8765-4321", "US", "+5511987654321")
	f("5511987654321", "BR", "+5511987654321")
	f("0 11 98765-4321", "BR", "+5511987654321")
	f("1133334444", "BR", "+551133334444") // a landline has none
	f("+1 (415) 555-2671", "BR", "+14155552671")
	f("+351 912 345 678", "br", "+351912345678")
	f("", "BR", "")
	f("0", "BR", "")
	f("000000000", "BR", "")
	f("+00 00000-0000", "BR", "")
	f("null", "BR", "")
	f("123", "BR", "")
	f("98765-4321", "BR", "") // no area: not one number
	f("not a phone", "BR", "")
	f("11987654321", "", "")
	f("11"+strings.Repeat(" ", 53)+"987654321", "BR", "+5511987654321") // 64 bytes
	f("11"+strings.Repeat(" ", 54)+"987654321", "BR", "")
	f("9987654321", "BR", "+5599987654321") // the last area
	f("1160000000", "BR", "+5511960000000") // the first mobile line
	// The country code with "00" or nothing before it, in whatever country the store is.
	for _, country := range []string{"BR", "US", "PT", ""} {
		f("004915112345678", country, "+4915112345678")
		f("00 49 (151) 1234-5678", country, "+4915112345678")
		f("4915112345678", country, "+4915112345678")
		f("351 912 345 678", country, "+351912345678")
		f("5511987654321", country, "+5511987654321")
	}
	f("912345678", "PT", "+351912345678")
	f("4155552671", "US", "+14155552671") // the store's country first: +41 55 552671 is none
	f("0049", "BR", "")
	f("00491", "BR", "")
	f("49999999999999", "BR", "") // valid nowhere
}

func TestNormalID(t *testing.T) {
	f := func(raw, want string) {
		t.Helper()
		if got := NormalID(raw); got != want {
			t.Errorf("NormalID(%q) = %q, want %q", raw, got, want)
		}
	}
	f(" Cust-42 ", "Cust-42")
	f("gid://shopify/Customer/1", "gid://shopify/Customer/1")
	f("100", "100")
	f(strings.Repeat("x", 512), strings.Repeat("x", 512))
	for _, nothing := range []string{"", " ", "0", "000", "null", "Undefined", "NaN", "00000000-0000-0000-0000-000000000000",
		"[object Object]", strings.Repeat("x", 513), "c-\ufffd"} {
		f(nothing, "")
	}
}

func TestANetworkIsItsKey(t *testing.T) {
	keys := newHasher(t, 7).Company("co_1", "BR")
	f := func(a, b string, same bool) {
		t.Helper()
		if x, y := keys.Network(netip.MustParseAddr(a)), keys.Network(netip.MustParseAddr(b)); x == "" || (x == y) != same {
			t.Errorf("%s %q, %s %q; want the same: %t", a, x, b, y, same)
		}
	}
	f("192.0.2.1", "192.0.2.255", true)
	f("192.0.2.1", "::ffff:192.0.2.9", true)
	f("192.0.2.1", "192.0.3.1", false)
	f("2001:db8:1:2::3", "2001:db8:1:ffff::", true)
	f("2001:db8:1:2::3", "2001:db8:2::", false)
	f("fe80::1%eth0", "fe80::2", true)
	if key := keys.Network(netip.Addr{}); key != "" {
		t.Errorf("no address has the key %q", key)
	}
}
