package identity

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// The metadata tells Brazil's numbers apart by their first four digits at most.
func TestBrazilianMobilesAreReadAsTheLibraryReadsThem(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	read := 0
	f := func(raw, country string) {
		t.Helper()
		got := brazilianMobile(raw, country)
		if got == "" {
			return
		}
		read++
		if want := parsedPhone(raw, country); got != want {
			t.Errorf("%q in %s: got %q, the library %q", raw, country, got, want)
		}
	}
	for start := range 10_000 {
		national := fmt.Sprintf("%04d%07d", start, random.IntN(10_000_000))
		f(national, "BR")
		f("55"+national, "BR")
		f("+55"+national, "US")
		f("+55"+national, "")
	}
	if areas := 67; read != areas*10*4 {
		t.Errorf("%d numbers were read, want the 67 areas' with each digit after the 9, in 4 ways", read)
	}
}

// Whatever stands between the digits.
func FuzzBrazilianMobile(f *testing.F) {
	for _, raw := range []string{"(11) 98888-7777", "11.98888.7777", "+55 (11) 98888-7777", "5511988887777", "55 98888-7777",
		"+5511988887777", "((11)98888-7777) ",
		"11 9 8888 7777", "1-1-9-8-8-8-8-7-7-7-7", "- 11988887777", ".(+55)11988887777", "+ 55 11 98888 7777", "+(55)11988887777",
		"11988887777.", "11988887777-"} {
		f.Add(raw, uint64(0))
	}
	f.Fuzz(func(t *testing.T, raw string, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0))
		for _, raw := range []string{raw, sprinkled(random, raw), sprinkled(random, "11988887777"), sprinkled(random, "+5521977776666")} {
			for _, country := range []string{"BR", "US", ""} {
				if raw == "" || len(raw) > maxPhone {
					continue
				}
				if got := brazilianMobile(raw, country); got != "" && got != parsedPhone(raw, country) {
					t.Errorf("%q in %q: got %q, the library %q", raw, country, got, parsedPhone(raw, country))
				}
			}
		}
	})
}

// sprinkled puts what people put between digits anywhere into a text.
func sprinkled(random *rand.Rand, text string) string {
	for range random.IntN(8) {
		at := random.IntN(len(text) + 1)
		text = text[:at] + string(" ()-."[random.IntN(5)]) + text[at:]
	}
	return text
}
