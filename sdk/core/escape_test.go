package core

import "testing"

// What a string's escapes stand for, and how the string stands in a canonical text.
func TestEscapesAtTheirBounds(t *testing.T) {
	f := func(text, want, wantRaw string) {
		t.Helper()
		s := Scan(text, 0)
		if got := s.Text(); got != want || !s.Done() {
			t.Errorf("Text(%s): %q, fault %d, want %q", text, got, s.Fault(), want)
		}
		s = Scan(text, 0)
		if got := s.Raw(); got != wantRaw || !s.Done() {
			t.Errorf("Raw(%s): %s, fault %d, want %s", text, got, s.Fault(), wantRaw)
		}
	}
	f(`"\u0001"`, "\x01", `"\u0001"`)
	f(`"\b\f\u0000"`, "\b\f\ufffd", "\"\\b\\f\ufffd\"") // no longer than it came
	f(`"\u0000"`, "\ufffd", "\"\ufffd\"")
	f(`"\ud7ff"`, "\ud7ff", `"\ud7ff"`)
	f(`"\ud800"`, "\ufffd", "\"\ufffd\"")
	f(`"\udbff"`, "\ufffd", "\"\ufffd\"")
	f(`"\udc00"`, "\ufffd", "\"\ufffd\"")
	f(`"\udfff"`, "\ufffd", "\"\ufffd\"")
	f(`"\ue000"`, "\ue000", `"\ue000"`)
	f(`"\ud800\udc00"`, "\U00010000", `"\ud800\udc00"`)
	f(`"\udbff\udfff"`, "\U0010ffff", `"\udbff\udfff"`)
	f(`"\ud800\udbff"`, "\ufffd\ufffd", "\"\ufffd\ufffd\"")
	f(`"\udc00\udc00"`, "\ufffd\ufffd", "\"\ufffd\ufffd\"")
	f(`"\ud800\ue000"`, "\ufffd\ue000", "\"\ufffd\ue000\"")
	f(`"\ud800\n"`, "\ufffd\n", `"`+"\ufffd"+`\n"`)
	f(`"\u09aF\u0Af9"`, "\u09af\u0af9", `"\u09aF\u0Af9"`)
}

func TestBrokenEscapesAreMalformed(t *testing.T) {
	for _, text := range []string{`"\`, `"\"`, `"\n`, `"\u`, `"\u12`, `"\u123`, `"\u1234`, `"\u123"`, `"\u12`, `"\q"`, `"\u/000"`, `"\u:000"`,
		`"\u@000"`, `"\uG000"`, "\"\\u`000\"", `"\ug000"`, `"\U0041"`} {
		s := Scan(text, 0)
		if s.Skip(); s.Fault() != Malformed {
			t.Errorf("Skip(%s): fault %d, want %d", text, s.Fault(), Malformed)
		}
	}
}
