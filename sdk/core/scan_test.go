package core

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestStringsAreMended(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		s := Scan(text, 0)
		if got := s.Text(); got != want || !s.Done() {
			t.Errorf("Text(%s): %q, fault %d, want %q", text, got, s.Fault(), want)
		}
	}
	f(`"plain"`, "plain")
	f(`"a\"\\\/\b\f\n\r\té"`, "a\"\\/\b\f\n\r\té")
	f(`"\u00e9\uD83D\uDE00"`, "é😀")
	f(`"\u0000x"`, "\ufffdx")
	f(`"\ud83d"`, "\ufffd")
	f(`"\ude00\ud83d"`, "\ufffd\ufffd")
	f("\"a\xff\"", "a\ufffd")
}

func TestRawIsCompactAndAliasesWhatIsSo(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		s := Scan(text, 0)
		if got := s.Raw(); got != want {
			t.Errorf("Raw(%s): %s, want %s", text, got, want)
		}
	}
	f(`{"a":[1,2.50,-3e4,true,null,"x y"]}`, `{"a":[1,2.50,-3e4,true,null,"x y"]}`)
	f(" { \"a\" : [ 1 ,\n2 ] , \"b c\" : \" \" } ", `{"a":[1,2],"b c":" "}`)
	f(`{"a\u0000":"\ud83d!"}`, "{\"a\ufffd\":\"\ufffd!\"}")
	f(`"\u00e9"`, `"\u00e9"`) // a sound escape stands as it is

	text := `{"a":[1,2,{"b":"c"}]}`
	if n := testing.AllocsPerRun(100, func() {
		s := Scan(text, 0)
		if s.Raw() != text {
			t.Fatal("not canonical")
		}
	}); n != 0 {
		t.Errorf("Raw of a canonical text: %v allocations, want 0", n)
	}
}

func TestDepthAndNumbersAreBounded(t *testing.T) {
	f := func(text string, want Fault) {
		t.Helper()
		s := Scan(text, 0)
		s.Skip()
		if s.Fault() != want {
			t.Errorf("Skip(%.40s): fault %d, want %d", text, s.Fault(), want)
		}
	}
	f(strings.Repeat("[", 32)+strings.Repeat("]", 32), NoFault)
	f(strings.Repeat("[", 33)+strings.Repeat("]", 33), TooDeep)
	f(strings.Repeat(`{"a":`, 33)+"1"+strings.Repeat("}", 33), TooDeep)
	f(`1e307`, NoFault)
	f(`1e308`, OutOfRange)
	f(`1e-0000000009`, NoFault)
	f(strings.Repeat("9", 308), NoFault)
	f("-"+strings.Repeat("9", 308)+".5", NoFault)
	f(strings.Repeat("9", 309), OutOfRange) // beyond 1.8e308, the largest float64
	f(strings.Repeat("9", 330), OutOfRange)
	f(strings.Repeat("9", 300)+"e8", NoFault)
	f(strings.Repeat("9", 300)+"e9", OutOfRange)
	f(strings.Repeat("9", 320)+"e-12", NoFault)
	f(strings.Repeat("9", 320)+"e-11", OutOfRange)
	f(`1e+307`, NoFault)
	f(`1e+0000308`, OutOfRange)
	f(`1e-308`, OutOfRange)
	f(`1e99999999999999999999`, OutOfRange)
	f("0."+strings.Repeat("0", 329), OutOfRange) // longer than a number may be
	f("0."+strings.Repeat("9", 328), NoFault)
	f("0."+strings.Repeat("9", 329), OutOfRange)
	f("-0", NoFault)
	f(`10`, NoFault)
	f(`0.0`, NoFault)
	f(`1E+5`, NoFault)
	f(`1e+`, Malformed)
	f(`-01`, Malformed)
	f(`1e99`, NoFault)
	f(`1e-307`, NoFault)
	f(`1e0307`, NoFault)
	f(`1e1000`, OutOfRange)
	f("["+strings.Repeat("[],{},", 40)+"[]]", NoFault) // beside one another, not deep
	f(`01`, Malformed)
	f(`1.`, Malformed)
	f(`-`, Malformed)
	f(`1e`, Malformed)
	f(`.5`, Malformed)
	f(`"`+"\n"+`"`, Malformed)
	f(`"\x"`, Malformed)
	f(`"\u12g4"`, Malformed)
	f(`[1,]`, Malformed)
	f(`[,1]`, Malformed)
	f(`{"a":1,}`, Malformed)
	f(`{"a"}`, Malformed)
	f(`{a:1}`, Malformed)
	f(`nul`, Malformed)
	f(`"open`, Malformed)
	f("\"open and longer", Malformed)
	f("\"\x1f\"", Malformed)
	f("\" ~\x7f\"", NoFault)
	f(`[1,`, Malformed)
	f(`[1`, Malformed)
	f(`[`, Malformed)
	f(`[1 2]`, Malformed)
	f(`{"a":1,`, Malformed)
	f(`{"a":1 "b":2}`, Malformed)
	f(`{"a"`, Malformed)
	f(`{"a" 1}`, Malformed)
	f(`{"a`, Malformed)
	f(`trueish`, NoFault) // Done tells that more follows
	f(`/`, Malformed)
	f(`:`, Malformed)
	f(``, Malformed)
}

func TestAValuesExtent(t *testing.T) {
	f := func(text string, want int) {
		t.Helper()
		if got := extent(text); got != want {
			t.Errorf("extent(%s) = %d, want %d", text, got, want)
		}
	}
	f(`{"a":[1,"]}"],"b":{}},7`, len(`{"a":[1,"]}"],"b":{}}`))
	f(`[[],[]]]`, len(`[[],[]]`))
	f(`"a\"b","c"`, len(`"a\"b"`))
	f(`"a\\","c"`, len(`"a\\"`))
	f(`""`, 2)
	f(`12,3`, 2)
	f(`12]`, 2)
	f(`12}`, 2)
	f("12 ", 2)
	f("12\t", 2)
	f("12\n", 2)
	f("12\r", 2)
	f(`12:`, 2)
	f(`12`, 2)
	f(`null`, 4)
	f(``, 0)
	f(`,`, 0)
	f(`]`, 0)
	f(`{"a":1`, 0)
	f(`[[]`, 0)
	f(`"a`, 0)
	f(`"a\"`, 0)
	f(`["a`, 0)
}

func TestWhereAPlainTextEnds(t *testing.T) {
	for c := range 256 {
		plain := c >= 0x20 && c != '"' && c != '\\' && c < 0x80
		for n := range 20 { // whole rows of eight bytes, and what is left
			text := strings.Repeat(" ", n) + string([]byte{byte(c)}) + strings.Repeat("~", 19-n)
			for from := range n + 1 {
				want := n
				if plain {
					want = len(text)
				}
				if got := plainTo(text, from); got != want {
					t.Fatalf("plainTo(%q, %d) = %d, want %d", text, from, got, want)
				}
			}
		}
	}
}

// FuzzScanner holds the scanner to encoding/json: what one takes the other
// takes, but for our bounds; and what Raw gives is JSON, valid UTF-8, and its
// own canonical form.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.5,-3e4,true,false,null,"x"],"b":{}}`, `"\ud83d\ude00\u0000"`, ` [ ] `, `{"a":1,}`,
		`-0`, `01`, `1e5`, `"` + "\xff" + `"`, `{"a":{"b":[[[]]]}}`, `tru`, `"\`, `"\u`, `[[]`, `]`, ``, `nullx`, `{"":""}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := Scan(text, 0)
		raw := s.Raw()
		ok := s.Done()
		if s.Fault() == TooDeep || s.Fault() == OutOfRange {
			return
		}
		if want := json.Valid([]byte(text)); ok != want {
			t.Fatalf("%q: taken %v, encoding/json says %v", text, ok, want)
		}
		if !ok {
			return
		}
		if !json.Valid([]byte(raw)) || !utf8.ValidString(raw) {
			t.Fatalf("%q: Raw gives %q", text, raw)
		}
		again := Scan(raw, 0)
		if twice := again.Raw(); twice != raw {
			t.Fatalf("%q: Raw gives %q, then %q", text, raw, twice)
		}
		// Of a run of bytes that are no UTF-8 we make one U+FFFD, encoding/json several.
		if s := Scan(text, 0); s.Kind() == String && utf8.ValidString(text) {
			var want string
			if err := json.Unmarshal([]byte(text), &want); err != nil {
				t.Fatal(err)
			}
			if got := s.Text(); got != strings.ReplaceAll(want, "\x00", "\ufffd") {
				t.Fatalf("%q: Text %q, want %q", text, got, want)
			}
		}
	})
}

// FuzzParseBatch holds that no body panics, and that a canonical event is a
// fixed point: parsed again and appended, the bytes are the same.
func FuzzParseBatch(f *testing.F) {
	for _, seed := range []string{
		`{"event":"PAGE_VIEW"}`,
		`[["r1",null,null,"purchase","{\"items\":[{\"item_id\":\"1\",\"quantity\":1}]}","{\"email\":\"a@b.c\"}",` +
			`{"url":"https://l.example/?utm_source=x&gclid=1","seq":3}]]`,
		`{"companyId":"c","sentAt":"2026-01-01T00:00:00Z","events":[{"event":"A","payload":{"x":[1, 2]}},["r1"],3]}`,
		`[{"event":"PAGE_VIEW","context":{"page":{"url":"x"},"clickIds":{"gclid":"a","fbclid":"b"}},"identity":{"email":" 0 "}}]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		b, v := ParseBatch(body, "c", Options{Now: 1})
		if v != nil {
			return
		}
		for i := range b.Items {
			if b.Items[i].Err != nil {
				continue
			}
			text := AppendEvent(nil, &b.Items[i].Event)
			if !json.Valid(text) {
				t.Fatalf("not JSON: %s", text)
			}
			again, v := ParseBatch(string(text), "c", Options{Now: 2})
			if v != nil || len(text) <= MaxEventBytes && again.Items[0].Err != nil {
				t.Fatalf("%s is refused: %v %v", text, v, again.Items[0].Err)
			}
			if twice := AppendEvent(nil, &again.Items[0].Event); len(text) <= MaxEventBytes && string(twice) != string(text) {
				t.Fatalf("not a fixed point:\n%s\n%s", text, twice)
			}
		}
	})
}
