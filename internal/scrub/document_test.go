package scrub

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Numbers whose check digits were made by others: the test cards of payment providers, and the
// examples of the tax authority.
func TestScrubRemovesDocumentsAndCards(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := Text(text); got != want {
			t.Errorf("Text(%q)\n got %q\nwant %q", text, got, want)
		}
		if want != text && Clean(text) {
			t.Errorf("%q is clean", text)
		}
	}
	f("CPF 529.982.247-25 do cliente", "CPF (number) do cliente")
	f("529.982.247-25", "(number)")
	f("529982247-25", "(number)")
	f("529 982 247 25", "(number)")
	f("https://x.com/u/529.982.247-25/x", "https://x.com/u/(number)/x")
	f("https://x.com/?q=529%2E982%2E247%2D25&y=1", "https://x.com/?q=(number)&y=1")
	f("https://x.com/?to=%2Fp%3Fq%3D529.982.247-25%26y", "https://x.com/?to=%2Fp%3Fq%3D(number)%26y")
	f("q=2%20529.982.247-25%203", "q=2%20(number)%203")
	f("５２９.９８２.２４７-２５", "(number)")
	f("CPF: 52998224725", "CPF: (number)")
	f("https://x.com/cpf/52998224725", "https://x.com/cpf/(number)")
	f("CPF%20n.%C2%BA%2052998224725", "CPF%20n.%C2%BA%20(number)")
	f("CPF 111.222.333-00", "CPF (number)") // its check digits are wrong: the word tells
	f("12.345.678/0001-95", "(number)")
	f("12345678/0001-95", "(number)")
	f("https://x.com/?n=12.345.678%2F0001-95&y", "https://x.com/?n=(number)&y")
	f("https://x.com/?to=%2Fp%3Fn%3D12.345.678%252F0001-95", "https://x.com/?to=%2Fp%3Fn%3D(number)")
	f("CNPJ 12345678000195", "CNPJ (number)")
	f("empresa 12.ABC.345/01DE-35.", "empresa (number).")
	f("https://x.com/?n=12.abc.345%2f01de-35", "https://x.com/?n=(number)")
	f("https://x.com/?cnpj=12ABC34501DE35", "https://x.com/?cnpj=(id)")
	f("4111 1111 1111 1111 12/28", "(number) 12/28")
	f("4111-1111-1111-1111", "(number)")
	f("card=4111+1111+1111+1111&x=1", "card=(number)&x=1")
	f("card=5555%205555%205555%204444", "card=(number)")
	f("4111111111111111", "(number)")
	f("https://x.com/?c=378282246310005", "https://x.com/?c=(number)")
	f("3782 822463 10005", "(number)")
	f("6362 9700 0045 7013", "(number)") // Elo
	f("6062828888666688", "(number)")    // Hipercard

	for _, stays := range []string{
		// a check digit is wrong, or nothing says what it is
		"529.982.247-26", "52998224725", "12.345.678/0001-96", "12345678000195", "12.ABC.345/01DE-36",
		"4111 1111 1111 1112", "1234567890123456", "1111111111111117", "6666 1234", "4111 1111 1111 11111",
		"v529.982.247-25", "529.982.247-25a", "id_4111111111111111", "4111111111111111x", "0.4111111111111111", "4111111111111111.5",
		"https://x.com/p/0b0a4111-1111-4111-8111-111111111111", "192.168.100.125", "2026-11-24 10:20:30", "1732446000000", "1732446000000000",
		"utm_campaign=120210987654321098", "7890123456789", "2000004111111114", "R$ 1.234.567,89", "sala 12/1234-56",
	} {
		f(stays, stays)
	}
}

func TestScrubJSONRemovesDocumentsAndCards(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := JSON(text); got != want {
			t.Errorf("JSON(%s)\n got %s\nwant %s", text, got, want)
		}
	}
	f(`{"a":"529.982.247-25","card":4111111111111111,"n":{"x":["12.ABC.345\/01DE-35"]}}`,
		`{"a":"(number)","card":"(number)","n":{"x":["(number)"]}}`)
	f(`{"a":"12.ABC.345/01DE-35"}`, `{"a":"(number)"}`)
	f(`{"cnpj":12345678000195,"payer_cnpj":"12ABC34501DE35"}`, `{"cnpj":"(id)","payer_cnpj":"(id)"}`)
	f(`{"a":"{\"b\":\"529.982.247-25\"}"}`, `{"a":"{\"b\":\"(number)\"}"}`)
	f(`{"529.982.247-25":1}`, `{"(number)":1}`)
	f(`{"price":0.4111111111111111,"id":52998224725}`, `{"price":0.4111111111111111,"id":52998224725}`)
	f(`{"a":"ana&#64;example.com","b":"ana\\u0040example.com","c":"ana @ example.com"}`, `{"a":"(email)","b":"(email)","c":"(email)"}`)
}

// Addresses as pages, scripts and people write them, to hide them from programs.
func TestScrubRemovesEmailsThatAreWrittenOtherwise(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := Text(text); got != want {
			t.Errorf("Text(%q)\n got %q\nwant %q", text, got, want)
		}
		if want != text && Clean(text) {
			t.Errorf("%q is clean", text)
		}
	}
	f("ana&#64;example.com", "(email)")
	f("ana&#x40;example&#46;com", "(email)")
	f("ana&#0000064example.com", "(email)")
	f("https://x.com/?e=ana%26%2364%3Bexample.com&y=1", "https://x.com/?e=(email)&y=1")
	f("https://x.com/?e=ana%2526%252364%253Bexample.com", "https://x.com/?e=(email)")
	f(`ana\u0040example.com`, "(email)")
	f(`ana\x40example\u002ecom`, "(email)")
	f("https://x.com/?e=ana%5Cu0040example.com", "https://x.com/?e=(email)")
	f("fale com ana @ example.com hoje", "fale com (email) hoje")
	f("josé @ exemplo.com.br", "(email)")
	f("https://x.com/?e=ana+@+example.com&y", "https://x.com/?e=(email)&y")
	f("https://x.com/?e=ana%20%40%20example.com&y", "https://x.com/?e=(email)&y")
	f("https://x.com/?e=ana%2520%2540%2520example.com", "https://x.com/?e=(email)")
	f("a @ b @ example.com", "a @ (email)")
	f("ana @ example.com, bia @ example.com", "(email), (email)")
	for _, stays := range []string{
		"por @ana.prado", "ana @loja", "ana @ loja", " @ example.com", "a&#64;b", "&#38;&#60;b&#62;", `C:\u0040`, "ana&#x4000;example.com",
		"ana&#;example.com", "@ @ @ @",
	} {
		f(stays, stays)
	}
}

func FuzzDocumentsGoWhole(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, "a", "b")
	}
	f.Fuzz(func(t *testing.T, seed uint64, before, after string) {
		r := rand.New(rand.NewPCG(seed, 1))
		digits := make([]byte, 11)
		for i := range digits[:9] {
			digits[i] = byte(r.IntN(10))
		}
		digits[9] = checked(digits[:9], 11)
		digits[10] = checked(digits[:10], 11)
		for i := range digits {
			digits[i] += '0'
		}
		cpf := fmt.Sprintf("%s.%s.%s-%s", digits[:3], digits[3:6], digits[6:9], digits[9:])
		text := before + " " + cpf + " " + after
		if got := Text(text); strings.Contains(got, cpf) {
			t.Errorf("%q: %q", text, got)
		}
	})
}
