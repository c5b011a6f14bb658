package commerce

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

func TestCountryCodesAreISO3166(t *testing.T) {
	t.Parallel()
	f := func(code, want string) {
		t.Helper()
		o := wire.Order{OrderID: "1", CreatedAt: time.Unix(0, 0), Currency: BRL, CountryCode: wire.Some(code)}
		_, doubtful := CheckOrder(&o, &wire.Personal{}, time.Unix(0, 0))
		if got := told(doubtful); got != want || o.CountryCode.Valid != (want == "") {
			t.Errorf("%q: %s, %+v; want %s", code, got, o.CountryCode, want)
		}
	}
	f("BR", "")
	f("AZ", "")
	f("ZA", "")
	f("br", "countryCode invalid_format")
	f("076", "countryCode invalid_format")
	f("", "countryCode invalid_format")
	f("UK", "countryCode invalid_value") // reserved; the code is GB
	f("XX", "countryCode invalid_value")
	f("EU", "countryCode invalid_value") // no country
}

// With these a page or a file of a spreadsheet shows another text than it has.
func TestNoTextTurnsItsDirection(t *testing.T) {
	t.Parallel()
	f := func(text, want string) {
		t.Helper()
		var v Violations
		v.filled(place{}, "name", text, MaxName)
		if got := told(v); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
		if IsID(text) != (want == "") {
			t.Errorf("%q is an id: %t", text, IsID(text))
		}
	}
	for _, mark := range directions {
		f("Ana"+string(mark)+"Prado", "name invalid_characters")
	}
	for _, text := range []string{"Ana Prado", "עדי", "عدي\u200f", "Ana\u200e", "👩\u200d🎤"} { // marks that turn nothing
		f(text, "")
	}
}

func TestProvinceCodesAreTwoCapitals(t *testing.T) {
	t.Parallel()
	f := func(code string, want bool) {
		t.Helper()
		o := wire.Order{OrderID: "1", CreatedAt: time.Unix(0, 0), Currency: BRL, ProvinceCode: wire.Some(code)}
		_, doubtful := CheckOrder(&o, &wire.Personal{}, time.Unix(0, 0))
		if o.ProvinceCode.Valid != want || doubtful.Any() == want || doubtful.Any() && told(doubtful) != "provinceCode invalid_format" {
			t.Errorf("%q: %s; want it taken: %t", code, told(doubtful), want)
		}
	}
	for _, code := range []string{"SP", "AA", "ZZ", "AZ", "ZA"} {
		f(code, true)
	}
	for _, code := range []string{"", "S", "SPO", "@A", "[A", "A@", "A[", "sP", "Sp", "É"} {
		f(code, false)
	}
}

func TestABirthdateIsARealDay(t *testing.T) {
	t.Parallel()
	f := func(date wire.Optional[string], want string) {
		t.Helper()
		o, p := wire.Order{OrderID: "1", CreatedAt: time.Unix(0, 0), Currency: BRL}, wire.Personal{}
		p.Customer = wire.Some(wire.Customer{Birthdate: date})
		_, doubtful := CheckOrder(&o, &p, time.Unix(0, 0))
		if got := told(doubtful); got != want || want != "" && p.Customer.Value.Birthdate.Present {
			t.Errorf("%+v: %s; want %s", date, got, want)
		}
	}
	f(wire.Optional[string]{}, "")
	f(wire.Null[string](), "")
	f(wire.Some("2000-02-29"), "")
	f(wire.Some("0001-01-01"), "")
	f(wire.Some("2001-02-29"), "customer.birthdate invalid_date")
	f(wire.Some("0000-01-01"), "customer.birthdate invalid_date")
	f(wire.Some(""), "customer.birthdate invalid_date")
}

func TestAChoiceSaysWhatCanBeChosen(t *testing.T) {
	t.Parallel()
	o := wire.Order{OrderID: "1", CreatedAt: time.Unix(0, 0), Currency: BRL, Status: 7, PaymentMethod: wire.Some(7)}
	bad, doubtful := CheckOrder(&o, &wire.Personal{}, time.Unix(0, 0))
	if told(bad) != "orderStatus invalid_value" || bad.List[0].Message != "must be 0 (approved), 1 (pending) or 2 (cancelled)" {
		t.Errorf("%+v", bad.List)
	}
	if told(doubtful) != "paymentMethod invalid_value" || doubtful.List[0].Message != "must be one of 1, 2, 3, 4, 15" {
		t.Errorf("%+v", doubtful.List)
	}
}

func TestListsAreFullAtTheirBound(t *testing.T) {
	t.Parallel()
	f := func(name string, found ...Violations) {
		t.Helper()
		for _, bad := range found {
			if bad.Any() {
				t.Errorf("%s: %s", name, told(bad))
			}
		}
	}
	o := wire.Order{OrderID: "1", CreatedAt: time.Unix(0, 0), Currency: BRL, Items: wire.Some(make([]wire.Item, MaxItems)),
		Installments: wire.Some(MaxInstallments)}
	bad, doubtful := CheckOrder(&o, &wire.Personal{}, time.Unix(0, 0))
	f("items", bad, doubtful)
	f("links", Registration{Name: "Ana", Links: slices.Repeat([]string{"https://loja.example.com/"}, maxElements)}.Check())
}

func TestIDsAreAPrefixAndEightyRandomBits(t *testing.T) {
	t.Parallel()
	id, err := NewID(bytes.NewReader(bytes.Repeat([]byte{0, 1}, 5)), "c_")
	if err != nil || id != "c_aaaqaaiaaeaacaab" {
		t.Errorf("%q, %v", id, err)
	}
	if id, err := NewID(bytes.NewReader(make([]byte, 9)), "c_"); !errors.Is(err, io.ErrUnexpectedEOF) || id != "" {
		t.Errorf("%q, %v", id, err)
	}
}

// A byte from 240 on would favour the first letters: it is drawn again.
func TestEachLetterOfAShortCodeIsAsLikely(t *testing.T) {
	t.Parallel()
	times := map[rune]int{}
	for b := range 256 {
		drawn := bytes.Repeat([]byte{byte(b)}, CodeLength)
		code, err := NewShortCode(bytes.NewReader(drawn))
		if b >= 240 {
			if !errors.Is(err, io.EOF) || code != "" {
				t.Errorf("%d: %q, %v; want another draw", b, code, err)
			}
			continue
		}
		if err != nil || len(code) != CodeLength {
			t.Fatalf("%d: %q, %v", b, code, err)
		}
		times[rune(code[0])]++
	}
	for _, letter := range codeAlphabet {
		if times[letter] != 8 {
			t.Errorf("%c is drawn for %d of 240 bytes, want 8", letter, times[letter])
		}
	}
}

func TestCursorsComeByTimeThenByID(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0)
	ordered := []Cursor{{}, {At: at}, {At: at, OrderID: "a"}, {At: at, OrderID: "b"}, {At: at.Add(time.Microsecond), OrderID: "a"}}
	for i, a := range ordered {
		for j, b := range ordered {
			if a.Before(b) != (i < j) {
				t.Errorf("%v before %v: %t", a, b, a.Before(b))
			}
		}
	}
	if got := (Sale{ProcessedAt: at, OrderID: "a", CreatedAt: at.Add(-1)}).Cursor(); got != ordered[2] {
		t.Errorf("a sale is at %v", got)
	}
}
