package admin

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Of these amounts, every cent below a thousand reais and those around the
// bound, a float makes other ones in many places.
func TestAmountsAreReadAndWrittenToTheCent(t *testing.T) {
	t.Parallel()
	f := func(minor int64) {
		t.Helper()
		text := fmt.Sprintf("%d.%02d", minor/100, minor%100)
		if got, fault := money(commerce.BRL)(json.Number(text)); fault != nil || got != minor {
			t.Fatalf("%s is read as %d, %v", text, got, fault)
		}
		written, err := json.Marshal(commerce.Amount{Minor: minor, Currency: commerce.BRL})
		if err != nil {
			t.Fatal(err)
		}
		if got, fault := money(commerce.BRL)(json.Number(written)); fault != nil || got != minor {
			t.Fatalf("%d is written as %s and read as %d, %v", minor, written, got, fault)
		}
	}
	for minor := range int64(100_000) {
		f(minor)
		f(commerce.MaxAmountMinor - minor)
		f(9_007_199_254_740_993 + minor) // beyond 2^53 a float64 has no odd numbers
	}
}

func TestPricesKeepEveryDigit(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0.1", "0.123456789012345678", "9007199254740993.1", "1.005", "0.30000000000000004", "90071992547409931"} {
		if got, fault := price("BRL")(json.Number(text)); fault != nil || got != text {
			t.Errorf("%s is read as %s, %v", text, got, fault)
		}
	}
}
