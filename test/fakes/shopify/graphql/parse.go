package graphql

import (
	"strconv"
	"strings"
)

// Variable is a value that a query leaves to its variables.
type Variable string

// Enum is a word of an enumeration.
type Enum string

// selection is a field, the spread of a fragment, or a part for one type.
type selection struct {
	line, column int
	alias, name  string // of a field
	args         map[string]any
	skip, only   any    // values of @skip and @include
	on           string // the type of an inline part; "" for all
	fragment     string
	sub          []selection
}

type operation struct {
	kind, name string
	variables  []variable
	sub        []selection
}

type variable struct {
	name, kind string
	standard   any
	has        bool // a standard value
}

type fragment struct {
	on  string
	sub []selection
}

type document struct {
	operations []operation
	fragments  map[string]fragment
}

// mostDepth bounds how deep a query may go.
const mostDepth = 30

func parse(source string) (document, error) {
	l := newLexer(source)
	doc := document{fragments: map[string]fragment{}}
	for l.err == nil && l.now.kind != end {
		switch {
		case l.is("{"):
			doc.operations = append(doc.operations, operation{kind: "query", sub: l.selections(0)})
		case l.is("query"), l.is("mutation"):
			doc.operations = append(doc.operations, l.operation())
		case l.take("fragment"):
			name := l.word()
			l.want("on")
			on := l.word()
			doc.fragments[name] = fragment{on: on, sub: l.selections(0)}
		default:
			l.fail("unexpected %q", l.now.text)
		}
	}
	return doc, l.err
}

func (l *lexer) operation() operation {
	op := operation{kind: l.word()}
	if l.now.kind == name {
		op.name = l.word()
	}
	if l.take("(") {
		for l.err == nil && !l.take(")") {
			l.want("$")
			v := variable{name: l.word()}
			l.want(":")
			v.kind = l.typeName()
			if l.take("=") {
				v.standard, v.has = l.value(0), true
			}
			op.variables = append(op.variables, v)
		}
	}
	op.sub = l.selections(0)
	return op
}

// typeName reads [Order!]! and gives it as it stands.
func (l *lexer) typeName() string {
	var out strings.Builder
	if l.take("[") {
		out.WriteString("[" + l.typeName())
		l.want("]")
		out.WriteString("]")
	} else {
		out.WriteString(l.word())
	}
	if l.take("!") {
		out.WriteString("!")
	}
	return out.String()
}

func (l *lexer) selections(depth int) (list []selection) {
	if depth > mostDepth {
		l.fail("more than %d levels", mostDepth)
		return nil
	}
	l.want("{")
	for l.err == nil && !l.take("}") {
		s := selection{line: l.now.line, column: l.now.column}
		switch {
		case l.take("...") && l.is("on"):
			l.next()
			s.on = l.word()
			l.directives(&s)
			s.sub = l.selections(depth + 1)
		case l.now.kind == name && s.spread(l):
			l.directives(&s)
		case l.is("{") || l.is("@"):
			l.directives(&s)
			s.sub = l.selections(depth + 1)
		default:
			s.name = l.word()
			s.alias = s.name
			if l.take(":") {
				s.name = l.word()
			}
			s.args = l.arguments()
			l.directives(&s)
			if l.is("{") {
				s.sub = l.selections(depth + 1)
			}
		}
		list = append(list, s)
	}
	return list
}

// spread reads the name of a fragment when "..." came just before.
func (s *selection) spread(l *lexer) bool {
	before := strings.TrimRight(l.source[:l.at-len(l.now.text)], " \t\r\n,")
	if !strings.HasSuffix(before, "...") {
		return false
	}
	s.fragment = l.word()
	return true
}

func (l *lexer) directives(s *selection) {
	for l.take("@") {
		word := l.word()
		args := l.arguments()
		switch word {
		case "include":
			s.only = args["if"]
		case "skip":
			s.skip = args["if"]
		default:
			l.fail("directive @%s is not defined", word)
		}
	}
}

func (l *lexer) arguments() map[string]any {
	if !l.take("(") {
		return nil
	}
	args := map[string]any{}
	for l.err == nil && !l.take(")") {
		name := l.word()
		l.want(":")
		args[name] = l.value(0)
	}
	return args
}

func (l *lexer) value(depth int) any {
	if depth > mostDepth {
		l.fail("more than %d levels", mostDepth)
		return nil
	}
	switch {
	case l.take("$"):
		return Variable(l.word())
	case l.take("["):
		list := []any{}
		for l.err == nil && !l.take("]") {
			list = append(list, l.value(depth+1))
		}
		return list
	case l.take("{"):
		object := map[string]any{}
		for l.err == nil && !l.take("}") {
			name := l.word()
			l.want(":")
			object[name] = l.value(depth + 1)
		}
		return object
	}
	now := l.now
	l.next()
	switch now.kind {
	case text:
		return now.text
	case number:
		if n, err := strconv.ParseInt(now.text, 10, 64); err == nil {
			return n
		}
		f, err := strconv.ParseFloat(now.text, 64)
		if err != nil {
			l.fail("number %q", now.text)
		}
		return f
	case name:
		switch now.text {
		case "true":
			return true
		case "false":
			return false
		case "null":
			return nil
		}
		return Enum(now.text)
	}
	l.fail("unexpected %q, want a value", now.text)
	return nil
}
