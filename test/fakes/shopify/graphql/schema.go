package graphql

import (
	"fmt"
	"strings"
)

// Type is an object, an interface or a union of the schema.
type Type struct {
	Name   string
	Fields map[string]Field
	// Members are the types of a union, or those that implement an interface.
	Members []string
	Union   bool
}

// Field is a field of a type, or of an input.
type Field struct {
	Type string // as in the schema: "[Order!]!"
	Args map[string]string
}

// Schema is what a query is checked against.
type Schema struct {
	Types  map[string]*Type
	Inputs map[string]map[string]string // fields of inputs with their types
	Enums  map[string]map[string]bool
}

// ParseSchema reads types, interfaces, unions, inputs and enums.
func ParseSchema(source string) (*Schema, error) {
	l := newLexer(source)
	s := &Schema{Types: map[string]*Type{}, Inputs: map[string]map[string]string{}, Enums: map[string]map[string]bool{}}
	implements := map[string][]string{}
	for l.err == nil && l.now.kind != end {
		switch what := l.word(); what {
		case "type", "interface":
			t := &Type{Name: l.word(), Fields: map[string]Field{}}
			for l.take("implements") || l.take("&") {
				of := l.word()
				implements[of] = append(implements[of], t.Name)
			}
			l.want("{")
			for l.err == nil && !l.take("}") {
				field, args := l.word(), map[string]string{}
				if l.take("(") {
					for l.err == nil && !l.take(")") {
						arg := l.word()
						l.want(":")
						args[arg] = l.typeName()
					}
				}
				l.want(":")
				t.Fields[field] = Field{Type: l.typeName(), Args: args}
			}
			s.Types[t.Name] = t
		case "union":
			t := &Type{Name: l.word(), Union: true}
			l.want("=")
			for t.Members = append(t.Members, l.word()); l.take("|"); {
				t.Members = append(t.Members, l.word())
			}
			s.Types[t.Name] = t
		case "input":
			name, fields := l.word(), map[string]string{}
			l.want("{")
			for l.err == nil && !l.take("}") {
				field := l.word()
				l.want(":")
				fields[field] = l.typeName()
			}
			s.Inputs[name] = fields
		case "enum":
			name, words := l.word(), map[string]bool{}
			l.want("{")
			for l.err == nil && !l.take("}") {
				words[l.word()] = true
			}
			s.Enums[name] = words
		default:
			l.fail("unexpected %q", what)
		}
	}
	for of, names := range implements {
		if s.Types[of] == nil {
			return nil, fmt.Errorf("interface %s is not defined", of)
		}
		s.Types[of].Members = names
	}
	return s, l.err
}

// bare is a type's name without brackets and exclamation marks.
func bare(kind string) string { return strings.Trim(kind, "[]!") }

// fits says whether an object of a type can be in the place of another.
func (s *Schema) fits(object, place string) bool {
	if object == place {
		return true
	}
	t := s.Types[place]
	if t == nil {
		return false
	}
	for _, member := range t.Members {
		if member == object {
			return true
		}
	}
	return false
}
