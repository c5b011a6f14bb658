package identity

import (
	"encoding/json"
	"testing"
)

func TestScrubRemovesEmailsAndPhones(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := Scrub(text); got != want {
			t.Errorf("Scrub(%q)\n got %q\nwant %q", text, got, want)
		}
	}
	f("https://loja.example.com/?email=ana@example.com&x=1", "https://loja.example.com/?email=(email)&x=1")
	f("https://loja.example.com/?email=ana%40example.com&x=1", "https://loja.example.com/?email=(email)&x=1")
	f("https://loja.example.com/?to=%2Fp%3Femail%3Dana%2540example.com", "https://loja.example.com/?to=%2Fp%3Femail%3D(email)")
	f("https://loja.example.com/u/ana.prado+1@example.com.br/x", "https://loja.example.com/u/(email)/x")
	f("josé@exemplo.com.br wrote", "(email) wrote")
	f("https://x.com/?e=jos%C3%A9%40exemplo.com.br", "https://x.com/?e=(email)")
	f("mailto:Ana@Example.com?subject=Oi", "mailto:(email)?subject=Oi")
	f("Bem-vinda, ana@example.com!", "Bem-vinda, (email)!")
	f("https://x.com/?phone=11987654321&y=2", "https://x.com/?phone=(phone)&y=2")
	f("https://x.com/?user_phone=11987654321", "https://x.com/?user_phone=(phone)")
	f("https://x.com/?telefone=(11)+98765-4321#top", "https://x.com/?telefone=(phone)#top")
	f("https://x.com/?t=%2B5511987654321", "https://x.com/?t=(phone)")
	f("https://x.com/?q=%2811%29%2098765-4321", "https://x.com/?q=(phone)")
	f("+55 (11) 98765-4321", "(phone)")
	f("ligue 11 98765-4321 hoje", "ligue (phone) hoje")
	f("https://wa.me/5511987654321?text=oi", "https://wa.me/(phone)?text=oi")
	f("tel:+5511987654321", "tel:(phone)")
}

func TestScrubLeavesTheRest(t *testing.T) {
	for _, text := range []string{
		"",
		"https://loja.example.com/produto/7654321098765?variant=44123456789012",
		"https://loja.example.com/?utm_source=influencer&utm_campaign=21987654321&gclid=EAIaIQobChMI40",
		"https://loja.example.com/?fbclid=IwAR0a1b2c3d4e5f6g7h8i9j0&_t=1763704883000",
		"https://medium.com/@ana/post-4012",
		"https://cdn.example.com/logo@2x.png",
		"https://x.com/npm/foo@1.2.3/",
		"https://x.com/?trb_click=Ab12Cd.018f3f5e-7b2a-7c3d-8e4f-0123456789ab",
		"2026-11-21T06:00:00.000Z",
		"Preço R$ 1.299,90",
		"018f3f5e-7b2a-7c3d-8e4f-0123456789ab",
	} {
		if got := Scrub(text); got != text {
			t.Errorf("Scrub(%q) = %q", text, got)
		}
	}
}

func TestScrubJSON(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := ScrubJSON(text); got != want {
			t.Errorf("ScrubJSON(%s)\n got %s\nwant %s", text, got, want)
		}
	}
	f(`{"items":[{"item_id":"44123456789012","item_quantity":1}]}`, `{"items":[{"item_id":"44123456789012","item_quantity":1}]}`)
	f(`{"note":"write to ana@example.com"}`, `{"note":"write to (email)"}`)
	f(`{"note":"ana\u0040example.com"}`, `{"note":"(email)"}`)
	f(`{"note":"\u0061na@example.com", "n": 1.50}`, `{"note":"(email)", "n": 1.50}`)
	f(`{"phone":5511987654321,"id":5511987654321}`, `{"phone":"(phone)","id":5511987654321}`)
	f(`{"customer_phone" : "11987654321"}`, `{"customer_phone" : "(phone)"}`)
	f(`{"phones":["x"],"phone":["11987654321"],"id":"11987654321"}`, `{"phones":["x"],"phone":["(phone)"],"id":"11987654321"}`)
	f(`{"ana@example.com":true}`, `{"(email)":true}`)
	f(`{"broken":"ana@example.com"`, ``)
	f(`{"phone":null,"id":12345678901}`, `{"phone":null,"id":12345678901}`)
}

func FuzzScrubJSONStaysValid(f *testing.F) {
	f.Add(`{"a":"\\ana\u0040example.com","phone":12345678901,"b":[1,"+5511987654321"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return
		}
		if got := ScrubJSON(text); !json.Valid([]byte(got)) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

func BenchmarkScrubOrdinaryURL(b *testing.B) {
	text := "https://loja.example.com/produto/camiseta?utm_source=influencer&utm_medium=link&utm_campaign=Ana&trb_click=Ab12Cd.018f3f5e-7b2a-7c3d-8e4f-0123a56789ab"
	b.ReportAllocs()
	for b.Loop() {
		Scrub(text)
	}
}

func BenchmarkScrubURLWithAnEmail(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Scrub("https://loja.example.com/conta?email=ana%40example.com&order=1")
	}
}
