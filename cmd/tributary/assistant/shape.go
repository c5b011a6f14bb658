package assistant

import (
	"encoding/json"
	"slices"
	"strings"
)

// shape is what an answer, or a part of it, may have. It is a JSON Schema (schema), and what is kept of an
// answer of the admin API (keep).
type shape struct {
	kind   string // of JSON Schema: string, number, integer, boolean, array, object
	what   string // a description
	fields []field
	of     *shape // of an array
}

// field is a field of an object. Each may be absent: the admin API's null is left out.
type field struct {
	name string
	shape
}

func list(of shape) shape { return shape{kind: "array", of: &of} }

func object(groups ...[]field) shape { return shape{kind: "object", fields: slices.Concat(groups...)} }

// texts are fields of texts, by their names with spaces between.
func texts(names string) []field { return fieldsOf("string", names) }

// numbers are fields of numbers, likewise; amounts are in the unit of the currency beside them.
func numbers(names string) []field { return fieldsOf("number", names) }

// flags are fields that are true or false, likewise.
func flags(names string) []field { return fieldsOf("boolean", names) }

func fieldsOf(kind, names string) (fields []field) {
	for name := range strings.FieldsSeq(names) {
		fields = append(fields, field{name, shape{kind: kind}})
	}
	return fields
}

// one is a field of any shape.
func one(name string, s shape) []field { return []field{{name, s}} }

// said is a shape with a description.
func said(what string, s shape) shape {
	s.what = what
	return s
}

// schema is the shape as a JSON Schema.
func (s shape) schema() map[string]any {
	schema := map[string]any{"type": s.kind}
	if s.what != "" {
		schema["description"] = s.what
	}
	switch s.kind {
	case "array":
		schema["items"] = s.of.schema()
	case "object":
		properties := map[string]any{}
		for _, f := range s.fields {
			properties[f.name] = f.schema()
		}
		schema["properties"], schema["additionalProperties"] = properties, false
	}
	return schema
}

// keep returns what a shape has of a value that was decoded with json.Number, its texts cleaned. ok is false
// where the value is null or of another kind.
func (s shape) keep(value any) (kept any, ok bool) {
	switch value := value.(type) {
	case string:
		return clean(value), s.kind == "string"
	case json.Number:
		return value, s.kind == "number" || s.kind == "integer"
	case bool:
		return value, s.kind == "boolean"
	case []any:
		if s.kind != "array" {
			return nil, false
		}
		elements := make([]any, 0, len(value))
		for _, element := range value {
			if element, ok := s.of.keep(element); ok {
				elements = append(elements, element)
			}
		}
		return elements, true
	case map[string]any:
		if s.kind != "object" {
			return nil, false
		}
		return s.fieldsIn(value), true
	}
	return nil, false
}

func (s shape) fieldsIn(value map[string]any) map[string]any {
	kept := map[string]any{}
	for _, f := range s.fields {
		if v, ok := f.keep(value[f.name]); ok {
			kept[f.name] = v
		}
	}
	return kept
}
