package shop

import (
	"fmt"
	"strconv"
	"strings"
)

// Money is an amount in hundredths of the shop's currency (all fakes use currencies with two decimals).
type Money int64

// String is the amount with two decimals: "1234.50".
func (m Money) String() string {
	sign := ""
	if m < 0 {
		sign, m = "-", -m
	}
	return fmt.Sprintf("%s%d.%02d", sign, m/100, m%100)
}

// ParseMoney reads "12", "12.5" and "12.50", also negative. More decimals must be zeros.
func ParseMoney(text string) (Money, error) {
	rest, negative := strings.CutPrefix(text, "-")
	whole, decimals, _ := strings.Cut(rest, ".")
	decimals = strings.TrimRight(decimals, "0")
	if len(decimals) > 2 || whole == "" || len(whole) > 15 {
		return 0, fmt.Errorf("amount %q: want digits with at most two decimals", text)
	}
	number, err := strconv.ParseUint(whole+(decimals + "00")[:2], 10, 63)
	if err != nil {
		return 0, fmt.Errorf("amount %q: %w", text, err)
	}
	if negative {
		return -Money(number), nil
	}
	return Money(number), nil
}

// Percent is the share of m that hundredths of a percent make (1000 = 10 %), rounded half up.
func (m Money) Percent(hundredths int64) Money {
	return Money((int64(m)*hundredths + 5000) / 10000)
}

// share parts m over weights, so that the parts sum to m: what rounding leaves goes to the first parts.
func share(m Money, weights []Money) []Money {
	parts := make([]Money, len(weights))
	var sum, given Money
	for _, weight := range weights {
		sum += weight
	}
	if sum == 0 {
		return parts
	}
	m = min(m, sum)
	for i, weight := range weights {
		parts[i] = Money(int64(m) * int64(weight) / int64(sum))
		given += parts[i]
	}
	for i := 0; given < m; i = (i + 1) % len(parts) {
		if parts[i] < weights[i] {
			parts[i]++
			given++
		}
	}
	return parts
}
