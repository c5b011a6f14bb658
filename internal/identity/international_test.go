package identity

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nyaruka/phonenumbers"
)

// Every country code and length, with every 31st beginning of three digits.
func TestInternationalNumbersAreReadAsTheLibraryReadsThem(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	read := 0
	const step = 97
	for code := range 1000 {
		for length := 2; length <= 15-len(fmt.Sprint(code)); length++ {
			for start := code % step; start < 1000; start += step {
				national := fmt.Sprintf("%03d%012d", start, random.Int64N(1e12))[:length]
				raw := fmt.Sprintf("+%d%s", code, national)
				got := internationalNumber(raw)
				if got == "" {
					continue
				}
				read++
				if got != raw {
					t.Fatalf("%q was read as %q", raw, got)
				}
				if want := parsedPhone(raw, "BR"); got != want {
					t.Errorf("%q: got %q, the library %q", raw, got, want)
				}
			}
		}
	}
	if read < 6_000 {
		t.Errorf("%d numbers were read", read)
	}
}

// The library's own example of each kind, in each region.
func TestMostExamplesNeedNoParsing(t *testing.T) {
	fast, all := 0, 0
	for region := range phonenumbers.GetSupportedRegions() {
		for kind := phonenumbers.FIXED_LINE; kind <= phonenumbers.VOICEMAIL; kind++ {
			example := phonenumbers.GetExampleNumberForType(region, kind)
			if example == nil {
				continue
			}
			raw := phonenumbers.Format(example, phonenumbers.E164)
			all++
			if got := internationalNumber(raw); got != "" {
				fast++
				if want := parsedPhone(raw, "BR"); got != want {
					t.Errorf("%s: got %q, the library %q", raw, got, want)
				}
			}
			spaced := phonenumbers.Format(example, phonenumbers.INTERNATIONAL)
			if got := internationalNumber(spaced); got != "" && got != parsedPhone(spaced, "BR") {
				t.Errorf("%s: got %q, the library %q", spaced, got, parsedPhone(spaced, "BR"))
			}
		}
	}
	if fast*10 < all*7 {
		t.Errorf("%d of %d examples", fast, all)
	}
}

func FuzzInternationalNumber(f *testing.F) {
	for _, raw := range []string{"+4915112345678", "+44 20 7946 0958", "+1 (212) 555-0100", "+39 06 698", "+5491123456789", "+81-90-1234-5678",
		"+8613912345678", "+2", "+", "+. "} {
		f.Add(raw, uint64(0))
	}
	f.Fuzz(func(t *testing.T, raw string, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0))
		drawn := fmt.Sprintf("+%d", random.Uint64N(1e15))
		for _, raw := range []string{raw, sprinkled(random, raw), drawn, sprinkled(random, drawn)} {
			raw = strings.TrimSpace(raw)
			if raw == "" || len(raw) > maxPhone {
				continue
			}
			for _, country := range []string{"BR", "DE", "US", ""} {
				if got := internationalNumber(raw); got != "" && got != parsedPhone(raw, country) {
					t.Errorf("%q in %q: got %q, the library %q", raw, country, got, parsedPhone(raw, country))
				}
			}
		}
	})
}
