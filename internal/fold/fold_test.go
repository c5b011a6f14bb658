package fold

import (
	"slices"
	"testing"
)

func TestFolding(t *testing.T) {
	t.Parallel()
	f := func(fold func(string) string, in, want string) {
		t.Helper()
		if got := fold(in); got != want {
			t.Errorf("fold(%q) = %q, want %q", in, got, want)
		}
	}
	f(Name, "  ANA  prádo ", "ana prado")
	f(Name, "Ana\u200b Prado", "ana prado")
	f(Name, "ＡＮＡ", "ana")
	f(Name, "Straße", "strasse")
	f(Code, " ana10\u200b", "ANA10")
	f(Code, "ＡＮＡ１０", "ANA10")
	f(Code, "verão", "VERÃO")
	f(Code, "straße", "STRASSE")
	f(Code, "STRAẞE", "STRASSE")
	f(Code, "é", "É")
	for _, invisible := range []string{"\uFE0F", "\uFE00", "\U000E0100", "\u034F", "\u3164", "\uFFA0", "\u115F", "\u1160", "\u17B4", "\u180B",
		"\u2800", "\u200D", "\u2060", "\uFEFF", "\u00AD"} {
		f(Code, invisible+" ANA"+invisible+"10"+invisible+" ", "ANA10")
		f(Name, invisible+" Ana"+invisible+" Prado"+invisible, "ana prado")
		f(Code, invisible, "")
		f(Name, invisible, "")
	}
}

func TestDiscountCodesAreCutIntoParts(t *testing.T) {
	t.Parallel()
	f := func(field string, want ...string) {
		t.Helper()
		if got := SplitCodes(field); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", field, got, want)
		}
	}
	f("")
	f("ANA10", "ANA10")
	f("a b-c.d/e", "a b-c.d/e")
	f("a,b;c|d", "a", "b", "c", "d")
	f(",;|")
}
