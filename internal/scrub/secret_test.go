package scrub

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	mathrand "math/rand/v2"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// guessable are tokens that somebody can make who knows a shopper or a shop.
var guessable = map[string][]string{
	"too short":   {"9f3b", "c1-1a2b3c4d5e6", "ééééééééééééééé", " a1b2c3d4e5f6a7b "},
	"only digits": {"123456789012345678901234567890", "１２３４５６７８９０１２３４５６", "5511987654321000"},
	"an e-mail": {"ana.prado@example.com", "a1b2c3d4e5f6g7h8@example.com", "ana%40mail.example.com",
		"cart:ana1b2c3d4@example.com"},
	"a phone":    {"+55 11 98765-4321", "+55 (11) 9 8765 4321", "tel:+5511987654321", "+55 11 9 8765-4321 x2"},
	"a document": {"CPF 529.982.247-25", "12.345.678/0001-95"},
	"a gid of a number": {"gid://shopify/Cart/1029384", "gid%3A%2F%2Fshopify%2FCart%2F102938475601",
		"gid://shopify/Customer/7012345678901"},
	"… in base64": {"Z2lkOi8vc2hvcGlmeS9DYXJ0LzEwMjkzODQ=", "Z2lkOi8vc2hvcGlmeS9DYXJ0LzEwMjkzODQ", "YW5hLnByYWRvQGV4YW1wbGUuY29t"},
	"a prefix and a number": {"cart-00000000002", "cart_000000000000042", "loja12-pedido000000123", "order20261123000042",
		"CARRINHO-2026-000042", "cart-00000000002a7f"},
	"a number in hex": {"0000000000000000002a7f3c", "cart-0000000000a7f3c9"},
	"a time": {"2026-11-23T20:59:38Z", "2026-11-23 20:59:38.123456", "20261123T205938.123Z", "1732395578123-0001",
		"Mon Nov 23 2026 20:59:38 GMT-0300", "cart-20261123T205938Z", "2026w47 20h59m38s000"},
	"few characters": {"aaaaaaaaaaaaaaaa", "a1a1a1a1a1a1a1a1", "abababababababab", "000000000000000a",
		"xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx"},
	"a text again": {"abc123abc123abc123", "a1b2c3-a1b2c3-a1b2c3"},
	"a filler": {"undefined-undefined", "null-null-null-null", "[object Object]", "undefinedundefined", "{{ cart.cart_token }}",
		"${cartToken}-token", "0000000000000000-0000", "================", "%3D%3D%3D%3D%3D%3D%3D%3D%3D%3D%3D%3D%3D%3D%3D%3D"},
	"words": {"abcdefghijklmnop", "guest-checkout-cart", "GuestCheckoutCart", "carrinho-da-maria-2026",
		"CART_TOKEN_PLACEHOLDER"},
	"a UUID in a text": {"{6ba7b810-9dad-11d1-80b4-00c04fd430c8}", "urn:uuid:6ba7b810-9dad-11d1-80b4-00c04fd430c8",
		"cart-6fa459ea-ee8a-3ca4-894e-db77e160355e", "886313E1-3B8A-5372-9B90-0C9AEE199E5D/42"},
	"a text in hexadecimal": {"616e612e707261646f406578616d706c652e636f6d", "636172742D31303239333834"},
	"base64 in parts":       {"eyJhbGciOiJub25lIn0.eyJzdWIiOiI0MiJ9.", "Y2FydC1hbmE=:MTIzNDU2Nzg5MDEy"},
	"base64 twice":          {"TVRJek5EVTJOemc1TURFeU16UTFOZz09", "WTJGeWRDMHhNREk1TXpnME56VTI="},
	"… again": {"MTAyOTM4NA==MTAyOTM4NA==", "MTAyOTM4NAMTAyOTM4NA", "MTAyOTM4NA.MTAyOTM4NA", "MTAyOTM4NA.MTAyOTM4NA.MTAyOTM4NA",
		"TVRBeU9UTTROQT09TVRBeU9UTTROQT09", "a1b2c3-a1b2c3-a1b2c3-x", "k9x2m/k9x2m/k9x2m/7"},
	"a time and a run": {"1732479607123abcdef0", "1732479607abcdef0123456789", "abc1732479607123456def0", "123456789abcdef0fedcba98",
		"x0123456789y9876543210z"},
	"a UUID that counts": {"01234567-89ab-4def-8123-456789abcdef", "12345678-1234-4234-8234-123456789012",
		"deadbeef-dead-4eef-8ead-beefdeadbeef", "cart-01234567-89ab-4def-8123-456789abcdef"},
	"another UUID": {"6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6fa459ea-ee8a-3ca4-894e-db77e160355e",
		"886313e1-3b8a-5372-9b90-0c9aee199e5d", "00000000-0000-0000-0000-00000000002a"},
}

// docs/attribution.md, "Proof".
func TestATokenThatCanBeGuessedIsNoSecret(t *testing.T) {
	for kind, tokens := range guessable {
		for _, token := range tokens {
			if SecretToken(token) {
				t.Errorf("%s: %q is taken for a secret", kind, token)
			}
		}
	}
	if len(guessable) < 15 {
		t.Errorf("%d kinds", len(guessable))
	}
}

// Tokens as platforms make them.
func TestATokenOfAPlatformIsASecret(t *testing.T) {
	for _, token := range []string{
		"c1-1a2b3c4d5e6f7081",
		"9f3b5c0e7a1d4f2688b1c3d5e7f90a2b",                     // 32 hexadecimal digits: WooCommerce, VTEX
		"Z2NwLXVzLWVhc3QxOjAxSFFOWDFXWTRWNVFBUjNQVjRaOUVIRTVF", // Shopify: base64 of "gcp-us-east1:" and a ULID
		"hWN1X4kZt7qJv2bYf0sLmP9r",                             // Shopify, since 2025
		"gid://shopify/Cart/c1-7a2abe82733a34e84aa472d57fb5c3c1?key=5d2f",
		"01ARZ3NDEKTSV4RRFFQ69G5FAV", // ULID
		"cart_01GZ8X2T4J5K6M7N8P9QRSTVWX",
		"cs_live_a1B2c3D4e5F6g7H8i9J0",     // Stripe
		"b1o8s4q5v0t7k2m9c6d3e1f4g8",       // PHP
		"yq6Wd3lq0dEwCkDbX6hzW1rT9uJbGm2N", // Magento
		"V1StGXR8_Z5jdHi6B-myT",            // nanoid
		"67423b7a9f1c2d3e4f5a6b7c",
		"cart-7d444840-9dc0-41d1-b245-5ffdce74fad2",
		"eyJhbGciOiJIUzI1NiJ9.eyJjYXJ0Ijo0Mn0.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV", // JSON with a signature
		"0195b2c0-5a3e-7c41-9b6d-2f8e4a7d1c03", "7D444840-9DC0-41D1-B245-5FFDCE74FAD2",
	} {
		if !SecretToken(token) {
			t.Errorf("%q is taken for one that can be guessed", token)
		}
	}
}

// Hardly any random token looks like one that can be guessed.
func TestRandomTokensAreSecrets(t *testing.T) {
	r := mathrand.New(mathrand.NewChaCha8([32]byte{1}))
	letters := func(alphabet string, n int) func() string {
		return func() string {
			b := make([]byte, n)
			for i := range b {
				b[i] = alphabet[r.IntN(len(alphabet))]
			}
			return string(b)
		}
	}
	random := func(n int, encode func([]byte) string) func() string {
		return func() string {
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			return encode(b)
		}
	}
	const small, large, n = "0123456789abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", 20_000
	f := func(name string, most int, token func() string) {
		t.Helper()
		lost, example := 0, ""
		for range n {
			if made := token(); !SecretToken(made) {
				lost, example = lost+1, made
			}
		}
		t.Logf("%s: %d of %d are taken for ones that can be guessed, such as %q", name, lost, n, example)
		if lost > most {
			t.Errorf("%s: %d of %d, at most %d are expected", name, lost, n, most)
		}
	}
	f("64 bits in hexadecimal digits", 100, random(8, hex.EncodeToString))
	f("128 bits in hexadecimal digits", 1, random(16, hex.EncodeToString))
	f("16 letters and digits", 25, letters(small+large, 16))
	f("22 letters and digits", 4, letters(small+large, 22))
	f("16 small letters and digits", 350, letters(small, 16))
	f("26 small letters and digits", 25, letters(small, 26))
	f("26 of base 32", 15, letters("0123456789ABCDEFGHJKMNPQRSTVWXYZ", 26))
	f("96 bits in base64url", 160, random(12, base64.RawURLEncoding.EncodeToString))
	f("128 bits in base64url", 20, random(16, base64.RawURLEncoding.EncodeToString))
	f("256 bits in base64", 0, random(32, base64.StdEncoding.EncodeToString))
	f("UUIDs of version 4", 0, func() string { return uuid.Must(uuid.NewRandomFromReader(rand.Reader)).String() })
	f("UUIDs of version 7", 0, func() string { return strings.ToUpper(uuid.Must(uuid.NewV7()).String()) })
}

func TestAUUIDIsASecretWhereItIsRandom(t *testing.T) {
	f := func(id string, want bool) {
		t.Helper()
		if got := SecretUUID(id); got != want {
			t.Errorf("%s: %t, want %t", id, got, want)
		}
	}
	f("7d444840-9dc0-41d1-b245-5ffdce74fad2", true)
	f("7D444840-9DC0-41D1-B245-5FFDCE74FAD2", true)
	f("0195b2c0-5a3e-7c41-9b6d-2f8e4a7d1c03", true)
	f("6ba7b810-9dad-11d1-80b4-00c04fd430c8", false) // of a clock
	f("000003e8-cbb9-21ea-b201-00045a86c8a1", false)
	f("6fa459ea-ee8a-3ca4-894e-db77e160355e", false) // MD5 of a name
	f("886313e1-3b8a-5372-9b90-0c9aee199e5d", false) // SHA-1 of a name
	f("1ec9414c-232a-6b00-b3c8-9f6bdeced846", false)
	f("2489e9ad-2ee2-8e00-8ec9-32d5f69181c0", false)
	f("7d444840-9dc0-c1d1-b245-5ffdce74fad2", false) // no version
	f("7d444840-9dc0-41d1-f245-5ffdce74fad2", false) // another variant
	f("ffffffff-ffff-ffff-ffff-ffffffffffff", false)
	f("00000000-0000-0000-0000-000000000000", false)
	f("00000000-0000-0000-0000-00000000002a", false)
	f("00000000-0000-4000-8000-00000000002a", false) // a number, filled up
	f("11111111-1111-4111-8111-111111111111", false)
	f("0195b2c0-5a3e-7000-8000-00000010293f", false)
	f("00000000-0000-4000-8000-102938475601", false)
	f("7d444840-9dc0-4102-a938-475600000000", false) // … from the other side
	f("01234567-89ab-4def-8123-456789abcdef", false) // runs that count up
	f("12345678-1234-4234-8234-123456789012", false)
	f("fedcba98-7654-4321-8fed-cba987654321", false)
	f("deadbeef-dead-4eef-8ead-beefdeadbeef", false) // a word, again and again
	f("DEADBEEF-DEAD-4EEF-8EAD-BEEFDEADBEEF", false)
	f("0195b2c0-5a3e-7000-9abc-2f8e4a7d1c03", true) // of a clock whose milliseconds have no part
	f("7d4448409dc041d1b2455ffdce74fad2", false)
	f("", false)
}
