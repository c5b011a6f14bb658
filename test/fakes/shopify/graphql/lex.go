package graphql

import (
	"fmt"
	"strconv"
	"strings"
)

// kind of a token.
type kind int

const (
	end kind = iota
	name
	number
	text
	punct
)

type token struct {
	kind         kind
	text         string
	line, column int
}

// lexer parts a document into tokens.
type lexer struct {
	source string
	at     int
	line   int
	start  int // of the line
	now    token
	err    error
}

func newLexer(source string) *lexer {
	l := &lexer{source: source, line: 1}
	l.next()
	return l
}

func letter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

func (l *lexer) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf("syntax error at line %d, column %d: %s", l.now.line, l.now.column, fmt.Sprintf(format, args...))
	}
	l.now = token{kind: end, line: l.line, column: l.at - l.start + 1}
	l.at = len(l.source)
}

// next reads the next token into now.
func (l *lexer) next() {
	l.skip()
	l.now = token{line: l.line, column: l.at - l.start + 1}
	if l.at >= len(l.source) {
		return
	}
	from := l.at
	switch c := l.source[l.at]; {
	case letter(c):
		for l.at < len(l.source) && (letter(l.source[l.at]) || digit(l.source[l.at])) {
			l.at++
		}
		l.now.kind = name
	case digit(c) || c == '-':
		for l.at < len(l.source) && (digit(l.source[l.at]) || strings.IndexByte("-+.eE", l.source[l.at]) >= 0) {
			l.at++
		}
		l.now.kind = number
	case c == '"':
		l.string()
		return
	case strings.HasPrefix(l.source[l.at:], "..."):
		l.at += 3
		l.now.kind = punct
	case strings.IndexByte("{}()[]:!$=@|&", c) >= 0:
		l.at++
		l.now.kind = punct
	default:
		l.fail("unexpected character %q", c)
		return
	}
	l.now.text = l.source[from:l.at]
}

// skip passes what means nothing: spaces, commas, comments.
func (l *lexer) skip() {
	for l.at < len(l.source) {
		switch c := l.source[l.at]; {
		case c == '\n':
			l.at++
			l.line, l.start = l.line+1, l.at
		case c == ' ' || c == '\t' || c == '\r' || c == ',':
			l.at++
		case c == '#':
			for l.at < len(l.source) && l.source[l.at] != '\n' {
				l.at++
			}
		default:
			return
		}
	}
}

// string reads "…" and """…""".
func (l *lexer) string() {
	rest := l.source[l.at:]
	l.now.kind = text
	if strings.HasPrefix(rest, `"""`) {
		to := strings.Index(rest[3:], `"""`)
		if to < 0 {
			l.fail("a text without an end")
			return
		}
		l.now.text = strings.TrimSpace(rest[3 : 3+to])
		l.at += to + 6
		return
	}
	to := 1
	for ; to < len(rest) && rest[to] != '"' && rest[to] != '\n'; to++ {
		if rest[to] == '\\' {
			to++
		}
	}
	if to >= len(rest) || rest[to] != '"' {
		l.fail("a text without an end")
		return
	}
	value, err := strconv.Unquote(strings.ReplaceAll(rest[:to+1], `\/`, `/`))
	if err != nil {
		l.fail("text %s: %v", rest[:to+1], err)
		return
	}
	l.now.text = value
	l.at += to + 1
}

// is says whether the token is a given sign or word.
func (l *lexer) is(what string) bool {
	return (l.now.kind == punct || l.now.kind == name) && l.now.text == what
}

// take passes a sign or word when it is there.
func (l *lexer) take(what string) bool {
	if !l.is(what) {
		return false
	}
	l.next()
	return true
}

// want passes a sign, or fails.
func (l *lexer) want(what string) {
	if !l.take(what) {
		l.fail("unexpected %q, want %q", l.now.text, what)
	}
}

// word passes a name and gives it.
func (l *lexer) word() string {
	if l.now.kind != name {
		l.fail("unexpected %q, want a name", l.now.text)
		return ""
	}
	word := l.now.text
	l.next()
	return word
}
