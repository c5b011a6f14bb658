package core

import (
	"strings"
	"unicode/utf8"
)

// Kind is what a JSON value is.
type Kind byte

const (
	Invalid Kind = iota // no JSON value starts here
	End                 // only white space is left
	Null
	Bool
	Number
	String
	Array
	Object
)

// Fault is why a Scanner stopped.
type Fault byte

const (
	NoFault    Fault = iota
	Malformed        // not JSON
	TooDeep          // nested deeper than MaxDepth
	OutOfRange       // a number that no float64 holds; the database would refuse it
)

// maxNumber is the longest number literal taken, in bytes.
const maxNumber = 330

// maxMagnitude is how many digits a number may have before its decimal point,
// written without exponent: one of more is 1e308 or beyond, and the largest
// float64 is 1.8e308 (IEEE 754, binary64).
const maxMagnitude = 308

// Scanner reads values from one JSON text. Strings without escapes are parts of
// the text; nothing is allocated for them. After a fault every method returns its
// zero value and the Scanner does not move.
//
// A member or element must be consumed (Text, Raw, Skip, Enter …) before the
// next one is asked for.
type Scanner struct {
	text  string
	at    int
	depth int
	fault Fault
	fresh bool // just inside an object or array: no comma is expected
	dirty bool // Raw: what was skipped is not in canonical form
	known bool // the text is what Raw gave: it need not be checked again
}

// Scan starts at the beginning of text, which lies inside depth open objects
// and arrays already.
func Scan(text string, depth int) Scanner {
	return Scanner{text: text, depth: depth}
}

// scanKnown is Scan for a text that Raw has checked.
func scanKnown(text string, depth int) Scanner {
	return Scanner{text: text, depth: depth, known: true}
}

// Fault is why the Scanner stopped, NoFault while it has not.
func (s *Scanner) Fault() Fault { return s.fault }

// Done tells whether the text was whole: no fault and nothing but white space
// is left.
func (s *Scanner) Done() bool { return s.fault == NoFault && s.Kind() == End }

// Kind is the kind of the next value; the Scanner stays in front of it.
func (s *Scanner) Kind() Kind {
	if s.fault != NoFault {
		return Invalid
	}
	s.space()
	if s.at == len(s.text) {
		return End
	}
	switch c := s.text[s.at]; c {
	case '{':
		return Object
	case '[':
		return Array
	case '"':
		return String
	case 't', 'f':
		return Bool
	case 'n':
		return Null
	default:
		if c == '-' || c >= '0' && c <= '9' {
			return Number
		}
		return Invalid
	}
}

// Enter opens the next value, an object or an array.
func (s *Scanner) Enter() bool {
	if k := s.Kind(); k != Object && k != Array {
		return s.fail(Malformed)
	}
	if s.depth++; s.depth > MaxDepth {
		return s.fail(TooDeep)
	}
	s.at++
	s.fresh = true
	return true
}

// Key is the name of the next member of the open object; false at its end,
// which is then consumed, and after a fault.
func (s *Scanner) Key() (string, bool) {
	raw, decode, ok := s.key()
	if decode {
		raw = unescape(raw)
	}
	return raw, ok
}

// Element tells whether the open array has a next element; at its end, which
// is then consumed, and after a fault it has not.
func (s *Scanner) Element() bool { return s.next(']') }

// Text is the next value, a string, decoded. U+0000, lone surrogates and
// invalid UTF-8 become U+FFFD: a database would refuse them.
func (s *Scanner) Text() string {
	if s.Kind() != String {
		s.fail(Malformed)
		return ""
	}
	raw, escaped, replace := s.quoted()
	if escaped || replace {
		raw = unescape(raw)
	}
	s.fresh = false
	return raw
}

// Raw is the text of the next value, checked, without white space between
// tokens, and with the same characters replaced as in Text. It is a part of the
// Scanner's text if that was canonical already.
func (s *Scanner) Raw() string {
	start, dirty := s.beginRaw()
	s.Skip()
	return s.endRaw(start, dirty)
}

// Cut is the text of the next value, found by its brackets and quotes alone. What is
// broken inside it is no fault, so that one bad element does not end its list; a value
// that does not end is one.
func (s *Scanner) Cut() string {
	if s.Kind() == Invalid || s.Kind() == End {
		s.fail(Malformed)
		return ""
	}
	return s.cut()
}

// cut is Cut of a value that may be broken from its first byte on.
func (s *Scanner) cut() string {
	s.space()
	n := extent(s.text[s.at:])
	if n == 0 {
		s.fail(Malformed)
		return ""
	}
	s.at += n
	s.fresh = false
	return s.text[s.at-n : s.at]
}

// beginRaw and endRaw stand around what moves behind the value.
func (s *Scanner) beginRaw() (start int, dirty bool) {
	s.space()
	dirty = s.dirty
	s.dirty = false
	return s.at, dirty
}

func (s *Scanner) endRaw(start int, dirty bool) string {
	raw := s.text[start:s.at]
	if s.fault != NoFault {
		return ""
	}
	if s.dirty {
		raw = string(appendCompact(make([]byte, 0, len(raw)), raw))
	}
	s.dirty = dirty
	return raw
}

// Skip checks the next value and moves behind it. It recurses at most MaxDepth
// deep.
func (s *Scanner) Skip() {
	if s.known && s.fault == NoFault {
		s.at += extent(s.text[s.at:])
		s.fresh = false
		return
	}
	switch s.Kind() {
	case Object:
		s.Enter()
		for {
			if _, _, ok := s.key(); !ok {
				return
			}
			s.Skip()
		}
	case Array:
		s.Enter()
		for s.Element() {
			s.Skip()
		}
	case String:
		if _, plain := s.plain(); plain {
			return
		}
		if _, _, replace := s.quoted(); replace {
			s.dirty = true
		}
	case Number:
		s.number()
	case Bool:
		if !s.word("true") && !s.word("false") {
			s.fail(Malformed)
		}
	case Null:
		if !s.word("null") {
			s.fail(Malformed)
		}
	default:
		s.fail(Malformed)
	}
	s.fresh = false
}

// IsNull consumes the next value if it is null.
func (s *Scanner) IsNull() bool {
	if s.Kind() != Null {
		return false
	}
	s.Skip()
	return s.fault == NoFault
}

func (s *Scanner) fail(f Fault) bool {
	if s.fault == NoFault {
		s.fault = f
	}
	return false
}

func (s *Scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\n', '\r', '\t':
			s.at++
			s.dirty = true
		default:
			return
		}
	}
}

// next moves behind the comma, if one is expected, and tells whether something
// follows before end.
func (s *Scanner) next(end byte) bool {
	if s.fault != NoFault {
		return false
	}
	s.space()
	if s.at == len(s.text) {
		return s.fail(Malformed)
	}
	c := s.text[s.at]
	if c == end {
		s.at++
		s.depth--
		s.fresh = false
		return false
	}
	if s.fresh {
		s.fresh = false
		return true
	}
	if c != ',' {
		return s.fail(Malformed)
	}
	s.at++
	s.space()
	if s.at < len(s.text) && s.text[s.at] == end {
		return s.fail(Malformed)
	}
	return true
}

func (s *Scanner) key() (raw string, decode, ok bool) {
	if at, fresh := s.at, s.fresh; fresh || at < len(s.text) && s.text[at] == ',' { // nearly all names stand so
		if !fresh {
			s.at++
		}
		if name, plain := s.plain(); plain && s.at < len(s.text) && s.text[s.at] == ':' {
			s.at++
			return name, false, true
		}
		s.at, s.fresh = at, fresh
	}
	if !s.next('}') {
		return "", false, false
	}
	if s.Kind() != String {
		return "", false, s.fail(Malformed)
	}
	raw, escaped, replace := s.quoted()
	s.dirty = s.dirty || replace
	s.space()
	if s.fault != NoFault || s.at == len(s.text) || s.text[s.at] != ':' {
		return "", false, s.fail(Malformed)
	}
	s.at++
	return raw, escaped || replace, true
}

// plain is the string that begins right here, if it has nothing to decode or to
// replace; the Scanner then moves behind it, and stays where it is otherwise.
func (s *Scanner) plain() (text string, ok bool) {
	if s.fault != NoFault || s.at >= len(s.text) || s.text[s.at] != '"' {
		return "", false
	}
	start := s.at + 1
	end := plainTo(s.text, start)
	if end == len(s.text) || s.text[end] != '"' {
		return "", false
	}
	s.at, s.fresh = end+1, false
	return s.text[start:end], true
}

// quoted moves behind a string and returns what is between its quotes. replace
// tells whether it holds characters that a database would refuse.
func (s *Scanner) quoted() (raw string, escaped, replace bool) {
	start := s.at + 1
	wide := false
	for i := plainTo(s.text, start); i < len(s.text); i = plainTo(s.text, i+1) {
		switch c := s.text[i]; {
		case c == '"':
			s.at = i + 1
			raw = s.text[start:i]
			return raw, escaped, replace || wide && !utf8.ValidString(raw)
		case c == '\\':
			escaped = true
			n, bad := escape(s.text[i:])
			if n == 0 {
				return "", false, s.fail(Malformed)
			}
			replace = replace || bad
			i += n - 1
		case c < 0x20:
			return "", false, s.fail(Malformed)
		default:
			wide = true
		}
	}
	return "", false, s.fail(Malformed)
}

func (s *Scanner) word(w string) bool {
	if !strings.HasPrefix(s.text[s.at:], w) {
		return false
	}
	s.at += len(w)
	return true
}

func (s *Scanner) number() {
	start := s.at
	if s.text[s.at] == '-' {
		s.at++
	}
	whole := s.at
	n := s.digits()
	if n == 0 || n > 1 && s.text[whole] == '0' {
		s.fail(Malformed)
		return
	}
	if s.at < len(s.text) && s.text[s.at] == '.' {
		s.at++
		if s.digits() == 0 {
			s.fail(Malformed)
			return
		}
	}
	if s.at < len(s.text) && s.text[s.at]|0x20 == 'e' {
		exponent, ok := s.exponent()
		if !ok {
			return
		}
		n += exponent
	}
	if n > maxMagnitude || s.at-start > maxNumber {
		s.fail(OutOfRange)
	}
}

// exponent moves behind an exponent and returns it.
func (s *Scanner) exponent() (value int, ok bool) {
	s.at++
	negative := false
	if s.at < len(s.text) && (s.text[s.at] == '+' || s.text[s.at] == '-') {
		negative = s.text[s.at] == '-'
		s.at++
	}
	begin := s.at
	if s.digits() == 0 {
		return 0, s.fail(Malformed)
	}
	for _, digit := range []byte(strings.TrimLeft(s.text[begin:s.at], "0")) {
		if value = 10*value + int(digit-'0'); value >= maxMagnitude {
			return 0, s.fail(OutOfRange)
		}
	}
	if negative {
		value = -value
	}
	return value, true
}

func (s *Scanner) digits() (n int) {
	for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
		s.at++
		n++
	}
	return n
}

// appendCompact appends a checked JSON text in canonical form.
func appendCompact(dst []byte, raw string) []byte {
	s := Scanner{text: raw}
	for s.at < len(raw) {
		switch c := raw[s.at]; c {
		case ' ', '\n', '\r', '\t':
			s.at++
		case '"':
			text, _, replace := s.quoted()
			if replace {
				dst = AppendString(dst, unescape(text))
			} else {
				dst = append(dst, '"')
				dst = append(dst, text...)
				dst = append(dst, '"')
			}
		default:
			dst = append(dst, c)
			s.at++
		}
	}
	return dst
}

// extent is the length of the value that text begins with, 0 when it does not
// end. It looks at brackets and quotes only; a Scanner finds out whether the value
// is JSON. So a batch can be cut into items even if one of them is broken.
func extent(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			if i = stringEnd(text, i+1); i < 0 {
				return 0
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
			if depth < 0 {
				return i
			}
		case ',', ' ', '\t', '\n', '\r', ':':
			if depth == 0 {
				return i
			}
		}
	}
	if depth > 0 {
		return 0
	}
	return len(text)
}

// stringEnd is the index of the quote that ends the string whose content begins
// at i, -1 for none.
func stringEnd(text string, i int) int {
	for {
		n := strings.IndexByte(text[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		escapes := 0
		for text[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
		i++
	}
}
