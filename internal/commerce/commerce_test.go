package commerce

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"
)

func TestParseMinorIsExact(t *testing.T) {
	t.Parallel()
	f := func(text, code string, want int64, wantErr error) {
		t.Helper()
		got, err := ParseMinor(text, code)
		if !errors.Is(err, wantErr) || got != want {
			t.Errorf("ParseMinor(%q, %s) = %d, %v; want %d, %v", text, code, got, err, want, wantErr)
		}
	}
	f("12.30", "BRL", 1230, nil)
	f("12.3", "BRL", 1230, nil)
	f("0.1", "BRL", 10, nil)
	f("1e2", "BRL", 10000, nil)
	f("12.3000", "BRL", 1230, nil)
	f("12.301", "BRL", 0, ErrTooManyDigits)
	f("12", "JPY", 12, nil)
	f("12.5", "JPY", 0, ErrTooManyDigits)
	f("1.234", "KWD", 1234, nil)
	f("-1.00", "BRL", -100, nil)
	f("1e999999999", "BRL", 0, ErrNotMoney)
	f("99999999999999999999", "BRL", 0, ErrMoneyRange)
	f("abc", "BRL", 0, ErrNotMoney)
	f("1", "ZZZ", 0, ErrUnknownCurrency)
	f("1", "brl", 0, ErrUnknownCurrency)
}

func TestAmountIsWrittenWithoutTrailingZeros(t *testing.T) {
	t.Parallel()
	f := func(minor int64, code, want string) {
		t.Helper()
		got, err := Amount{minor, code}.MarshalJSON()
		if err != nil || string(got) != want {
			t.Errorf("%d %s = %s, %v; want %s", minor, code, got, err, want)
		}
	}
	f(1230, "BRL", "12.3")
	f(1200, "BRL", "12")
	f(100, "JPY", "100")
	f(-5, "BRL", "-0.05")
	f(0, "BRL", "0")
}

func TestShortCodesAreUnambiguous(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		code, err := NewShortCode(rand.Reader)
		if err != nil || len(code) != CodeLength || strings.Trim(code, codeAlphabet) != "" || seen[code] {
			t.Fatalf("%q %v", code, err)
		}
		seen[code] = true
	}
	if strings.ContainsAny(codeAlphabet, "01oilu") {
		t.Error("the alphabet has letters that are mistaken for one another")
	}
}
