package commerce

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
)

func TestDecimalsAreBounded(t *testing.T) {
	t.Parallel()
	f := func(text string, want error) {
		t.Helper()
		if _, err := ParseDecimal(text); !errors.Is(err, want) {
			t.Errorf("%.40q: %v, want %v", text, err, want)
		}
	}
	f("0", nil)
	f("-12.30", nil)
	f("1e18", nil)
	f("1e19", ErrMoneyRange)
	f("1e-18", nil)
	f("1e-19", ErrMoneyRange)
	f(strings.Repeat("9", 64), nil)
	f(strings.Repeat("9", 65), ErrNotMoney)
	f("", ErrNotMoney)
	f("1,5", ErrNotMoney)
	f("NaN", ErrNotMoney)
}

func TestAmountsOfOneCurrencyAreParsedUpToTheirBound(t *testing.T) {
	t.Parallel()
	f := func(text, code string, want int64, wantErr error) {
		t.Helper()
		if got, err := ParseMinor(text, code); got != want || !errors.Is(err, wantErr) {
			t.Errorf("%s %s is %d, %v; want %d, %v", text, code, got, err, want, wantErr)
		}
	}
	f("1000000000000000", BRL, 100_000_000_000_000_000, nil)
	f("-1000000000000000", BRL, -100_000_000_000_000_000, nil)
	f("1000000000000000.01", BRL, 0, ErrMoneyRange)
	f("-1000000000000000.01", BRL, 0, ErrMoneyRange)
	f("1.0001", "CLF", 10001, nil)
	f("1", "BR", 0, ErrUnknownCurrency)
	f("1", "", 0, ErrUnknownCurrency)
}

// iso4217 is ISO 4217's list one, edition of 2026-01-01: all currencies that have minor
// units, by their number of digits.
var iso4217 = map[int]string{
	0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
	2: "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY COP COU CRC CUP " +
		"CVE CZK DKK DOP DZD " +
		"EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL " +
		"MAD MDL MGA MKD MMK " +
		"MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP " +
		"SLE SOS SRD SSP STN " +
		"SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG",
	3: "BHD IQD JOD KWD LYD OMR TND",
	4: "CLF UYW",
}

func TestCurrenciesHaveTheDigitsOfISO4217(t *testing.T) {
	t.Parallel()
	for digits, codes := range iso4217 {
		for code := range strings.FieldsSeq(codes) {
			if got, err := Exponent(code); err != nil || got != digits {
				t.Errorf("%s has %d digits, %v; want %d", code, got, err, digits)
			}
			if _, gone := withdrawn[code]; gone {
				t.Errorf("%s is current, and is said to be withdrawn", code)
			}
		}
	}
	f := func(code string, want int, wantErr error) {
		t.Helper()
		if got, err := Exponent(code); got != want || !errors.Is(err, wantErr) {
			t.Errorf("%s has %d digits, %v; want %d, %v", code, got, err, want, wantErr)
		}
	}
	f("BGN", 2, nil) // withdrawn on 2026-01-01
	f("BYR", 0, nil)
	f("SLL", 2, nil)
	for _, code := range []string{"XAU", "XXX", "XTS", "brl", "BRLX", "BR", "", "ZZZ"} {
		f(code, 0, ErrUnknownCurrency)
	}
}

func TestAmountsAreWritten(t *testing.T) {
	t.Parallel()
	f := func(minor int64, code, want string) {
		t.Helper()
		if got := FormatMinor(minor, code); got != want {
			t.Errorf("%d %s is %s, want %s", minor, code, got, want)
		}
		if got := (Amount{minor, code}).String(); got != want+" "+code {
			t.Errorf("%d %s is %s, want %s %s", minor, code, got, want, code)
		}
	}
	f(1230, BRL, "12.30")
	f(-5, BRL, "-0.05")
	f(1230, "JPY", "1230")
	f(1230, "KWD", "1.230")
	f(1230, "ZZZ", "12.30")
	f(math.MinInt64, BRL, "-92233720368547758.08")
	sum := decimal.NewFromInt(math.MaxInt64).Mul(decimal.NewFromInt(100))
	if got := FormatSum(sum, BRL); got != "9223372036854775807.00" {
		t.Errorf("a sum above any integer is %s", got)
	}
}

func TestSalesListWhatTheyEarn(t *testing.T) {
	t.Parallel()
	f := func(s Sale, want ...string) {
		t.Helper()
		var got []string
		for _, a := range s.Commissions() {
			got = append(got, a.String())
		}
		if strings.Join(got, "; ") != strings.Join(want, "; ") {
			t.Errorf("%+v: %q, want %q", s, got, want)
		}
	}
	f(Sale{Currency: "USD"})
	f(Sale{Currency: "USD", CommissionMinor: 1}, "0.01 USD")
	f(Sale{Currency: "USD", FixedBRLMinor: 500}, "5.00 BRL")
	f(Sale{Currency: "USD", CommissionMinor: -1, FixedBRLMinor: 500}, "-0.01 USD", "5.00 BRL")
}
