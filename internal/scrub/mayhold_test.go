package scrub

import "testing"

// A look at every eighth place finds what a look at each finds.
func FuzzMayHoldPhone(f *testing.F) {
	for _, text := range []string{"", "12345678", "a12345678", "a1234567", "abc 1234-56 78", "1 2 3 4 5 6 7 x 8", "%2D12345678",
		"abcdefg1234567abcdefgh12345678", "(11) 9.8", "        1       2"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want, digits := false, 0
		for i := range len(text) {
			switch c := text[i]; c {
			case ' ', '.', '(', ')', '-', '+', '%', 'D', 'd':
			default:
				if !isDigit(c) {
					digits = 0
				} else if digits++; digits == minDigits {
					want = true
				}
			}
		}
		if mayHoldPhone(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	})
}
