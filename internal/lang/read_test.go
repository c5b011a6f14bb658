package lang

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/bojanz/currency"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
)

// What a page prints, the page reads back as the same amount: every currency, every
// language, amounts of each length.
func TestWhatIsPrintedIsReadBack(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(21, 1))
	codes := append(currency.GetCurrencyCodes(), "BYR", "HRK", "VEF")
	for _, p := range load(t).All() {
		for _, code := range codes {
			amounts := []int64{0, 1, 10, 99, 100, 999, 1000, 1500, 10_000, 99_999, 100_000, 150_000, 1_234_567, commerce.MaxAmountMinor}
			for digits := int64(10); digits <= commerce.MaxAmountMinor; digits *= 10 {
				amounts = append(amounts, random.Int64N(digits), digits, digits-1, digits*3/2)
			}
			for _, minor := range amounts {
				for _, minor := range []int64{minor, -minor} {
					for _, text := range []string{p.Money(minor, code), p.Plain(minor, code), " " + p.Plain(minor, code) + code + " ",
						strings.ReplaceAll(p.Money(minor, code), "\u00a0", "")} {
						if got, err := p.ReadMoney(text, code); err != nil || got != minor {
							t.Fatalf("%s: %q is read as %d %v, want %d", p.Tag, text, got, err, minor)
						}
					}
				}
			}
		}
		for range 20_000 {
			d := decimal.New(random.Int64N(100_000_000), -int32(random.IntN(7)))
			if d.GreaterThan(decimal.New(1000, 0)) {
				d = d.Shift(-5).Truncate(MaxPercentDigits)
			}
			for _, text := range []string{p.Number(d), p.Number(d) + "%", p.Number(d) + "\u00a0%"} {
				if got, err := p.ReadPercent(text); err != nil || !got.Equal(d) {
					t.Fatalf("%s: %q is read as %s %v, want %s", p.Tag, text, got, err, d)
				}
			}
		}
		for day := time.Date(1999, 12, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2030; day = day.AddDate(0, 0, 1) {
			for _, text := range []string{p.Date(day), day.Format(time.DateOnly)} {
				if got, err := p.ReadDay(text); err != nil || got != day.Format(time.DateOnly) {
					t.Fatalf("%s: %q is read as %s %v", p.Tag, text, got, err)
				}
			}
		}
	}
}

// FuzzReadMoney: what is read and printed again is the same amount.
func FuzzReadMoney(f *testing.F) {
	for _, seed := range []string{"1.500", "R$ 1.234,56", "-,5", "1 500", "١٢", "US$ 5", "5 R$", "0.000", "9999999999999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range load(t).All() {
			for _, code := range []string{"BRL", "USD", "JPY", "KWD"} {
				minor, err := p.ReadMoney(text, code)
				if err != nil {
					continue
				}
				if again, err := p.ReadMoney(p.Money(minor, code), code); err != nil || again != minor {
					t.Errorf("%s: %q is %d, and printed %d %v", p.Tag, text, minor, again, err)
				}
			}
		}
	})
}

// words says what was read, or why nothing was.
func words(p *Printer, err error, read string) string {
	var typed *TypedError
	if errors.As(err, &typed) {
		return p.T(typed.Key, typed.Args...)
	}
	if err != nil {
		return err.Error()
	}
	return read
}

func TestMoneyAsPeopleTypeIt(t *testing.T) {
	t.Parallel()
	l := load(t)
	f := func(tag, text, code, want string) {
		t.Helper()
		p := l.Of(tag)
		minor, err := p.ReadMoney(text, code)
		if got := words(p, err, commerce.FormatMinor(minor, code)); got != want {
			t.Errorf("%s %s: %q: %q, want %q", tag, code, text, got, want)
		}
	}
	const (
		both = "1,500 pode ser R$\u00a01.500,00 ou R$\u00a01,50: digite um dos dois"
		no   = "deve ser um valor, como 1.234,50"
	)
	f("pt-BR", "1.500", "BRL", "1500.00") // S1-1
	f("pt-BR", "3.100", "BRL", "3100.00")
	f("pt-BR", "1.000", "BRL", "1000.00")
	f("pt-BR", "12.345", "BRL", "12345.00")
	f("pt-BR", "1,500", "BRL", both)
	f("pt-BR", "1,555", "BRL", "1,555 pode ser R$\u00a01.555,00 ou R$\u00a01,555: digite um dos dois")
	f("pt-BR", "R$ 1,500", "BRL", both)
	f("pt-BR", "1.500,00", "BRL", "1500.00")
	f("pt-BR", "1500", "BRL", "1500.00")
	f("pt-BR", "1500,5", "BRL", "1500.50")
	f("pt-BR", "1 500,50", "BRL", "1500.50")
	f("pt-BR", "1.500.000", "BRL", "1500000.00")
	f("pt-BR", "12.5", "BRL", "12.50")
	f("pt-BR", "1,234.56", "BRL", "1234.56")
	f("pt-BR", "R$ 5,00", "BRL", "5.00") // S3-4
	f("pt-BR", "r$5", "BRL", "5.00")
	f("pt-BR", "5 BRL", "BRL", "5.00")
	f("pt-BR", "-R$ 5", "BRL", "-5.00")
	f("pt-BR", "R$ -5", "BRL", "-5.00")
	f("pt-BR", ",50", "BRL", "0.50")
	f("pt-BR", "10%", "BRL", "é um valor em dinheiro, e não uma porcentagem: tire o %")
	f("pt-BR", "US$ 5", "BRL", "é em R$: tire o sinal da outra moeda")
	f("pt-BR", "$5", "BRL", "é em R$: tire o sinal da outra moeda")
	f("pt-BR", "5 USD", "BRL", "é em R$: tire o sinal da outra moeda")
	f("pt-BR", "1234,567", "BRL", "pode ter no máximo 2 casas decimais")
	f("pt-BR", "0,500", "BRL", "pode ter no máximo 2 casas decimais")
	for _, bad := range []string{"", "muito", "5,", "1.50.00", "1..500", "1.5,0,0", "--5", "1e3", "٣", "1 50", ".", "R$", "1.500 00"} {
		f("pt-BR", bad, "BRL", no)
	}
	f("pt-BR", strings.Repeat("9", 40), "BRL", "é grande demais")
	f("pt-BR", strings.Repeat("9", 99), "BRL", no)
	f("pt-BR", "1,500", "KWD", "1.500")
	f("pt-BR", "1.500", "KWD", "1500.000")
	f("pt-BR", "1,500", "JPY", "1,500 pode ser ¥\u00a01.500 ou ¥\u00a01,5: digite um dos dois")
	f("pt-BR", "$5", "USD", "5.00")
	f("pt-BR", "5", "XXY", "is not an ISO 4217 currency code")
	f("en", "1,500", "BRL", "1500.00")
	f("en", "1.500", "BRL", "1.500 can be R$\u00a01,500.00 or R$\u00a01.50: type one of them")
	f("en", "1,234.56", "BRL", "1234.56")
	f("en", "1.234,56", "BRL", "1234.56")
	f("en", "12,5", "BRL", "12.50")
	f("en", "many", "BRL", "must be an amount, such as 1,234.50")
}

func TestPercentagesAndNumbersAsPeopleTypeThem(t *testing.T) {
	t.Parallel()
	l := load(t)
	f := func(tag, text, want string) {
		t.Helper()
		d, err := l.Of(tag).ReadPercent(text)
		if got := words(l.Of(tag), err, d.String()); got != want {
			t.Errorf("%s: %q: %q, want %q", tag, text, got, want)
		}
	}
	f("pt-BR", "10%", "10")
	f("pt-BR", "12,5 %", "12.5")
	f("pt-BR", "12,125", "12.125")
	f("pt-BR", "12.5", "12.5")
	f("pt-BR", "12.125", "12125") // which the rules refuse
	f("pt-BR", "R$ 10", "deve ser um número, como 12,5")
	f("pt-BR", "0,1234567", "pode ter no máximo 6 casas decimais")
	f("en", "12.5%", "12.5")
	f("en", "1,500", "1500")
	f("en", "-3", "-3")
	f("en", "", "must be a number, such as 12.5")
}

func TestDaysAsPeopleTypeThem(t *testing.T) {
	t.Parallel()
	l := load(t)
	f := func(tag, text, want string) {
		t.Helper()
		day, err := l.Of(tag).ReadDay(text)
		if got := words(l.Of(tag), err, day); got != want {
			t.Errorf("%s: %q: %q, want %q", tag, text, got, want)
		}
	}
	f("pt-BR", "11/01/2026", "2026-01-11")
	f("pt-BR", " 1/2/2026 ", "2026-02-01")
	f("pt-BR", "2026-01-11", "2026-01-11")
	f("pt-BR", "31/02/2026", "deve ser um dia, como 30/11/2026")
	f("pt-BR", "12/25/2026", "deve ser um dia, como 30/11/2026")
	f("pt-BR", "01/11/26", "deve ser um dia, como 30/11/2026")
	f("en", "2026-01-11", "2026-01-11")
	f("en", "11 Jan 2026", "2026-01-11")
	f("en", "11/01/2026", "11/01/2026 can be 2026-01-11 or 2026-11-01: type one of them")
	f("en", "25/12/2026", "must be a day, such as 2026-11-30")
	f("en", "", "must be a day, such as 2026-11-30")
}
