package admin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

// object is a JSON object of a body while it is read. Every rule that is broken
// is collected with the path of its field.
type object struct {
	path   string // of the object itself; empty for the body
	values map[string]any
	bad    *commerce.Violations
	notes  *notes // of a body; nil: of a query
	names  *[]string
}

func (o object) at(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

// fault says why a value is refused.
type fault struct{ code, message string }

// reader turns a JSON value that is not null into a T, or refuses it.
type reader[T any] func(value any) (T, *fault)

// required reads a field that must be sent.
func required[T any](o object, name string, read reader[T]) T {
	field := optional(o, name, read)
	if _, there := o.values[name]; !there || field.Present && !field.Valid {
		o.bad.Add(o.at(name), commerce.CodeRequired, "is required")
	}
	return field.Value
}

// optional reads a field that may be absent or null. A value that is refused is
// returned as absent; the request fails anyway.
func optional[T any](o object, name string, read reader[T]) wire.Optional[T] {
	got, fault := take(o, name, read)
	if fault != nil {
		o.bad.Add(o.at(name), fault.code, "%s", fault.message)
	}
	return got
}

// sent is optional for a field of which an empty text counts as absent.
func sent[T any](o object, name string, read reader[T]) wire.Optional[T] {
	if isEmpty(o.values[name]) {
		read = nil
	}
	return optional(o, name, read)
}

// doubtful is sent for a field without which the rest is still right: a value that is
// refused is warned of and counts as absent.
func doubtful[T any](o object, name string, read reader[T]) wire.Optional[T] {
	if isEmpty(o.values[name]) {
		read = nil
	}
	got, fault := take(o, name, read)
	if fault != nil {
		o.warn(o.at(name), fault.code, fault.message)
	}
	return got
}

// take reads a field. Without a reader, and with a fault, it is absent.
func take[T any](o object, name string, read reader[T]) (wire.Optional[T], *fault) {
	if o.names != nil && !slices.Contains(*o.names, name) {
		*o.names = append(*o.names, name)
	}
	value, there := o.values[name]
	switch {
	case !there, read == nil:
		return wire.Optional[T]{}, nil
	case value == nil:
		return wire.Null[T](), nil
	}
	got, fault := read(value)
	if fault != nil {
		return wire.Optional[T]{}, fault
	}
	return wire.Some(got), nil
}

// isEmpty reports whether a value is a text of nothing but white space.
func isEmpty(value any) bool {
	s, ok := value.(string)
	return ok && strings.TrimSpace(s) == ""
}

// below reads the object in a field.
func (o object) below(name string) reader[object] {
	return func(value any) (object, *fault) {
		values, ok := value.(map[string]any)
		if !ok {
			return object{}, wrongType("an object", value)
		}
		return o.part(o.at(name), values, o.notes.of(o.at(name))), nil
	}
}

// part is an object within o.
func (o object) part(path string, values map[string]any, names *[]string) object {
	return o.notes.reading(object{path: path, values: values, bad: o.bad, notes: o.notes, names: names})
}

// children returns the objects in an array field of at most max elements.
func (o object) children(name string, max int) wire.Optional[[]object] {
	return optional(o, name, o.list(name, max))
}

// list reads the objects in an array of at most max elements.
func (o object) list(name string, max int) reader[[]object] {
	return func(value any) ([]object, *fault) {
		elements, fault := array(max)(value)
		if fault != nil {
			return nil, fault
		}
		for i, element := range elements {
			if _, ok := element.(map[string]any); !ok {
				f := wrongType("an object", element)
				o.bad.Add(o.element(name, i), f.code, "%s", f.message)
			}
		}
		return o.parts(name, elements), nil
	}
}

// doubtfulChildren is children of a field without which the rest is still right: where it is
// no list of objects, or is too long, all of it counts as absent.
func (o object) doubtfulChildren(name string, max int) wire.Optional[[]object] {
	return doubtful(o, name, o.objects(name, max))
}

// objects reads an array of at most max elements, all of which must be objects.
func (o object) objects(name string, max int) reader[[]object] {
	return func(value any) ([]object, *fault) {
		elements, fault := array(max)(value)
		if fault != nil {
			return nil, fault
		}
		for _, element := range elements {
			if _, ok := element.(map[string]any); !ok {
				return nil, wrongType("an array of objects", element)
			}
		}
		return o.parts(name, elements), nil
	}
}

// element is the path of an element of a list.
func (o object) element(name string, index int) string {
	return fmt.Sprintf("%s[%d]", o.at(name), index)
}

// parts are the objects of a list. What is none is read as one without fields.
func (o object) parts(name string, elements []any) []object {
	list, names := make([]object, 0, len(elements)), o.notes.of(o.at(name)+"[]")
	for i, element := range elements {
		values, _ := element.(map[string]any)
		list = append(list, o.part(o.element(name, i), values, names))
	}
	return list
}

func array(max int) reader[[]any] {
	return func(value any) ([]any, *fault) {
		elements, ok := value.([]any)
		if !ok {
			return nil, wrongType("an array", value)
		}
		if len(elements) > max {
			return nil, &fault{commerce.CodeTooMany, fmt.Sprintf("has %d elements; at most %d are taken", len(elements), max)}
		}
		return elements, nil
	}
}
