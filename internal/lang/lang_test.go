package lang

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
)

// load reads the dashboard's catalogues.
func load(t *testing.T) *Languages {
	t.Helper()
	l, err := Load(os.DirFS("../../admin/dashboard/site"))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestTheCataloguesHaveTheSameKeysAndArguments(t *testing.T) {
	t.Parallel()
	l := load(t)
	slots := regexp.MustCompile(`\{\d\}|<[^>]*>`)
	slotsOf := func(text string) string {
		list := slots.FindAllString(text, -1)
		slices.Sort(list)
		return strings.Join(slices.Compact(list), " ")
	}
	first := l.Of(Tags[0])
	for _, other := range l.All()[1:] {
		for key, text := range first.texts {
			translated, ok := other.texts[key]
			if !ok {
				t.Errorf("%s has no %s", other.Tag, key)
			} else if slotsOf(text) != slotsOf(translated) {
				t.Errorf("%s: %s has %q, and %s has %q", key, first.Tag, slotsOf(text), other.Tag, slotsOf(translated))
			}
		}
		for key := range other.texts {
			if !first.Has(key) {
				t.Errorf("%s has %s, which %s has not", other.Tag, key, first.Tag)
			}
		}
	}
}

func TestALanguageIsFoundByWhatABrowserAsksFor(t *testing.T) {
	t.Parallel()
	l := load(t)
	f := func(accept, want string) {
		t.Helper()
		if got := l.Match(accept).Tag; got != want {
			t.Errorf("%.60q: %s, want %s", accept, got, want)
		}
	}
	f("", "en")
	f("pt-BR,pt;q=0.9,en;q=0.8", "pt-BR")
	f("pt-PT", "pt-BR")
	f("pt", "pt-BR")
	f("en-GB,pt;q=0.5", "en")
	f("de,pt;q=0.5", "pt-BR")
	f("de", "en")
	f("pt-BR;q=0", "en")
	f(";;;", "en")
	f(strings.Repeat("pt,", 10_000), "en")
}

func TestNumbersAndMoney(t *testing.T) {
	t.Parallel()
	l := load(t)
	en, pt := l.Of("en"), l.Of("pt-BR")
	f := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f(en.Money(18887273, "BRL"), "R$\u00a0188,872.73")
	f(pt.Money(18887273, "BRL"), "R$\u00a0188.872,73")
	f(pt.Money(-5, "BRL"), "−R$\u00a00,05")
	f(en.Money(100, "JPY"), "¥\u00a0100")
	f(pt.Money(1234567, "KWD"), "KWD\u00a01.234,567")
	f(en.Money(100000000, "USD"), "US$\u00a01,000,000.00")
	f(en.Money(0, "EUR"), "€\u00a00.00")
	f(en.Count(-1234), "−1,234")
	f(pt.Count(1234), "1.234")
	f(pt.Number(decimal.RequireFromString("12.5")), "12,5")
	f(en.Number(decimal.RequireFromString("-1234.5")), "−1,234.5")
	share := func(l *Printer, part, whole int64) string {
		return l.Share(decimal.NewFromInt(part), decimal.NewFromInt(whole))
	}
	f(share(en, 1, 3), "33.3%")
	f(share(pt, 2, 3), "66,7%")
	f(share(en, 1, 16), "6.3%") // rounded half up
	f(share(en, 0, 0), "–")
}

func TestPlurals(t *testing.T) {
	t.Parallel()
	l := load(t)
	f := func(tag string, n int64, want string) {
		t.Helper()
		if got := l.Of(tag).N("sales.n_orders", n); got != want {
			t.Errorf("%s, %d: %q, want %q", tag, n, got, want)
		}
	}
	f("en", 0, "0 orders")
	f("en", 1, "1 order")
	f("en", 1234, "1,234 orders")
	f("pt-BR", 0, "0 pedidos") // CLDR has "0 pedido", which nobody writes
	f("pt-BR", 1, "1 pedido")
	f("pt-BR", 2, "2 pedidos")
	f("pt-BR", 1234, "1.234 pedidos")
	f("pt-BR", 1_000_000_000_000, "1.000.000.000.000 pedidos")
}

func TestDates(t *testing.T) {
	t.Parallel()
	l := load(t)
	at := time.Date(2026, 3, 5, 9, 4, 7, 0, time.UTC)
	f := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	en, pt := l.Of("en"), l.Of("pt-BR")
	f(en.Date(at), "5 Mar 2026")
	f(pt.Date(at), "05/03/2026")
	f(en.LongDate(at), "Thursday, 5 March 2026")
	f(pt.LongDate(at), "quinta-feira, 5 de março de 2026")
	f(en.Time(at), "5 Mar 2026, 09:04")
	f(pt.Instant(at), "05/03/2026, 09:04:07")
	f(en.Day("soon"), "soon")
	f(en.Period("", ""), "always")
	f(en.Period("2026-11-01", ""), "from 1 Nov 2026")
	f(pt.Period("", "2026-11-30"), "até 30/11/2026")
	f(pt.Period("2026-11-01", "2026-11-30"), "01/11/2026\u00a0– 30/11/2026")
	f(en.Period("2026-11-01", "2026-11-01"), "on 1 Nov 2026")
}

func TestAMistakeInACatalogueIsFound(t *testing.T) {
	t.Parallel()
	f := func(catalogue string) {
		t.Helper()
		if texts, err := parse(catalogue); err == nil {
			t.Errorf("%q was read as %v", catalogue, texts)
		}
	}
	f("a = b")
	f("[x]\na: b")
	f("[x]\na = b\na = c")
	f("[x]\na =")
}
