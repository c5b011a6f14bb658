package graphql

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Error is a problem of a query, as it stands in an answer's "errors".
type Error struct {
	Message    string         `json:"message"`
	Locations  []Location     `json:"locations,omitempty"`
	Path       []any          `json:"path,omitempty"`
	Extensions map[string]any `json:"extensions,omitempty"`
}

// Location is where in the query a problem is.
type Location struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

func (e *Error) Error() string { return e.Message }

// Object is a value with fields. A field's value is a scalar, nil, an Object, a []Object, a []string, or a function of the
// field's arguments that gives one of these. Typename names the object's type where the schema has an interface or union.
type Object map[string]any

// Typename is the member of an Object that names its type.
const Typename = "__typename"

// Call is what a field with arguments is: it may fail.
type Call = func(args map[string]any) (any, error)

// Query is a query that was checked: it can be priced and run.
type Query struct {
	schema    *Schema
	doc       document
	op        operation
	variables map[string]any
}

// Mutation says whether the query writes.
func (q *Query) Mutation() bool { return q.op.kind == "mutation" }

func (s *Schema) root(kind string) string {
	if kind == "mutation" {
		return "Mutation"
	}
	return "QueryRoot"
}

// Check parses a query and holds it against the schema.
func (s *Schema) Check(source, operationName string, variables map[string]any) (*Query, []*Error) {
	doc, err := parse(source)
	if err != nil {
		return nil, []*Error{{Message: err.Error()}}
	}
	at := slices.IndexFunc(doc.operations, func(op operation) bool { return operationName == "" || op.name == operationName })
	if at < 0 || operationName == "" && len(doc.operations) > 1 {
		return nil, []*Error{{Message: "An operation name is required"}}
	}
	q := &Query{schema: s, doc: doc, op: doc.operations[at], variables: map[string]any{}}
	var problems []*Error
	known := map[string]bool{}
	for _, v := range q.op.variables {
		known[v.name] = true
		value, given := variables[v.name]
		switch {
		case given:
			q.variables[v.name] = value
		case v.has:
			q.variables[v.name] = v.standard
		}
		if strings.HasSuffix(v.kind, "!") && q.variables[v.name] == nil {
			problems = append(problems, &Error{Message: fmt.Sprintf("Variable $%s of type %s was provided invalid value", v.name, v.kind)})
		}
	}
	c := checker{schema: s, doc: doc, known: known}
	c.selections(s.root(q.op.kind), q.op.sub, []any{q.op.kind}, 0)
	return q, append(problems, c.problems...)
}

type checker struct {
	schema   *Schema
	doc      document
	known    map[string]bool
	problems []*Error
}

func (c *checker) add(at selection, path []any, code, message string, more map[string]any) {
	extensions := map[string]any{"code": code}
	maps.Copy(extensions, more)
	c.problems = append(c.problems, &Error{
		Message: message, Locations: []Location{{at.line, at.column}}, Path: slices.Clone(path), Extensions: extensions,
	})
}

func (c *checker) selections(on string, list []selection, path []any, depth int) {
	if depth > mostDepth || len(c.problems) > 20 {
		return
	}
	t := c.schema.Types[on]
	for _, s := range list {
		switch {
		case s.fragment != "":
			f, ok := c.doc.fragments[s.fragment]
			if !ok {
				c.add(s, path, "useAndDefineFragment", "Fragment "+s.fragment+" was used, but not defined", nil)
				continue
			}
			c.part(s, on, f.on, f.sub, path, depth)
		case s.name == "":
			into := s.on
			if into == "" {
				into = on
			}
			c.part(s, on, into, s.sub, path, depth)
		case s.name == Typename:
		default:
			here := append(slices.Clone(path), s.alias)
			field, ok := t.Fields[s.name]
			if !ok {
				c.add(s, here, "undefinedField", fmt.Sprintf("Field '%s' doesn't exist on type '%s'", s.name, on),
					map[string]any{"typeName": on, "fieldName": s.name})
				continue
			}
			c.arguments(s, on, field, here)
			sub := bare(field.Type)
			switch object := c.schema.Types[sub] != nil; {
			case object && len(s.sub) == 0:
				c.add(s, here, "selectionMismatch", fmt.Sprintf(
					"Field must have selections (field '%s' returns %s but has no selections. Did you mean '%s { ... }'?)", s.name, sub, s.name), nil)
			case !object && len(s.sub) > 0:
				c.add(s, here, "selectionMismatch", fmt.Sprintf("Selections can't be made on scalars (field '%s' returns %s)", s.name, sub), nil)
			case object:
				c.selections(sub, s.sub, here, depth+1)
			}
		}
	}
}

// part checks a fragment: its type must be one that the place can have.
func (c *checker) part(s selection, on, into string, sub []selection, path []any, depth int) {
	if c.schema.Types[into] == nil {
		c.add(s, path, "undefinedType", "No such type "+into+", so it can't be a fragment condition", nil)
		return
	}
	if !c.schema.fits(into, on) && !c.schema.fits(on, into) {
		c.add(s, path, "cannotSpreadFragment", fmt.Sprintf("Fragment on %s can't be spread inside %s", into, on), nil)
		return
	}
	c.selections(into, sub, path, depth+1)
}

func (c *checker) arguments(s selection, on string, field Field, path []any) {
	for name, value := range s.args {
		kind, ok := field.Args[name]
		if !ok {
			c.add(s, path, "argumentNotAccepted", fmt.Sprintf("Field '%s' doesn't accept argument '%s'", s.name, name),
				map[string]any{"name": s.name, "typeName": "Field", "argumentName": name})
			continue
		}
		c.value(s, path, name, kind, value)
	}
	for name, kind := range field.Args {
		if _, ok := s.args[name]; !ok && strings.HasSuffix(kind, "!") {
			c.add(s, path, "missingRequiredArguments", fmt.Sprintf("Field '%s' is missing required arguments: %s", s.name, name), nil)
		}
	}
}

// value checks the words of enumerations and the names in inputs that stand in the query itself.
func (c *checker) value(s selection, path []any, name, kind string, value any) {
	switch value := value.(type) {
	case Variable:
		if !c.known[string(value)] {
			c.add(s, path, "variableNotDefined", fmt.Sprintf("Variable $%s is used but not declared", string(value)), nil)
		}
	case Enum:
		if words := c.schema.Enums[bare(kind)]; !words[string(value)] {
			c.add(s, path, "argumentLiteralsIncompatible", fmt.Sprintf("Argument '%s' on Field '%s' has an invalid value (%s). Expected type '%s'.",
				name, s.name, string(value), kind), nil)
		}
	case []any:
		for _, one := range value {
			c.value(s, path, name, strings.Trim(kind, "[]!"), one)
		}
	case map[string]any:
		if err := c.schema.Input(bare(kind), value); err != nil {
			c.add(s, path, "argumentLiteralsIncompatible", err.Error(), nil)
		}
	}
}

// Input says which name of an input object is not in the schema.
func (s *Schema) Input(kind string, object map[string]any) error {
	fields, ok := s.Inputs[kind]
	if !ok {
		return fmt.Errorf("%s is not an input", kind)
	}
	for name, value := range object {
		of, ok := fields[name]
		if !ok {
			return fmt.Errorf("InputObject '%s' doesn't accept argument '%s'", kind, name)
		}
		if inner, ok := value.(map[string]any); ok {
			if err := s.Input(bare(of), inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// resolved puts the variables into a value.
func (q *Query) resolved(value any) any {
	switch value := value.(type) {
	case Variable:
		return q.variables[string(value)]
	case Enum:
		return string(value)
	case []any:
		list := make([]any, 0, len(value))
		for _, one := range value {
			list = append(list, q.resolved(one))
		}
		return list
	case map[string]any:
		object := map[string]any{}
		for name, one := range value {
			object[name] = q.resolved(one)
		}
		return object
	}
	return value
}

func (q *Query) taken(s selection) bool {
	skip, _ := q.resolved(s.skip).(bool)
	only, given := q.resolved(s.only).(bool)
	return !skip && (!given || only)
}

// Cost prices the query before it runs: each object one point, a mutation ten, a connection two and its members by size,
// which gives how many points of a hundred members are charged for the argument "first" or "last".
func (q *Query) Cost(size func(members int) int) int {
	cost := q.cost(q.schema.root(q.op.kind), q.op.sub, size)
	if q.Mutation() {
		return cost + 10
	}
	return cost
}

func (q *Query) cost(on string, list []selection, size func(int) int) (sum int) {
	for _, s := range list {
		switch {
		case !q.taken(s):
		case s.fragment != "":
			f := q.doc.fragments[s.fragment]
			sum += q.cost(f.on, f.sub, size)
		case s.name == "":
			into := s.on
			if into == "" {
				into = on
			}
			sum += q.cost(into, s.sub, size)
		case s.name != Typename:
			kind := bare(q.schema.Types[on].Fields[s.name].Type)
			if q.schema.Types[kind] == nil {
				continue
			}
			sub := q.cost(kind, s.sub, size)
			switch {
			case strings.HasSuffix(kind, "Connection"):
				members := max(whole(q.resolved(s.args["first"])), whole(q.resolved(s.args["last"])))
				sum += 2 + size(members)*max(1, sub)
			case kind == "PageInfo" || strings.HasSuffix(kind, "Edge"):
				sum += sub
			default:
				sum += 1 + sub
			}
		}
	}
	return sum
}

func whole(v any) int {
	switch v := v.(type) {
	case int64:
		return int(v)
	case float64:
		return int(v)
	case json.Number:
		n, _ := v.Int64()
		return int(n)
	}
	return 0
}

// Run resolves the query from the root object. Each field that fails is null, and its error is in the list.
func (q *Query) Run(root Object) (json.RawMessage, []*Error) {
	r := runner{q: q}
	data := r.object(q.schema.root(q.op.kind), root, q.op.sub, nil)
	return data, r.problems
}

type runner struct {
	q        *Query
	problems []*Error
}

func (r *runner) object(on string, object Object, list []selection, path []any) json.RawMessage {
	var out bytes.Buffer
	out.WriteByte('{')
	written := map[string]bool{}
	r.members(&out, written, on, object, list, path)
	out.WriteByte('}')
	return out.Bytes()
}

func (r *runner) members(out *bytes.Buffer, written map[string]bool, on string, object Object, list []selection, path []any) {
	kind := on
	if own, ok := object[Typename].(string); ok {
		kind = own
	}
	for _, s := range list {
		if !r.q.taken(s) {
			continue
		}
		into, sub := s.on, s.sub
		if s.fragment != "" {
			f := r.q.doc.fragments[s.fragment]
			into, sub = f.on, f.sub
		}
		if s.name == "" {
			if into == "" || r.q.schema.fits(kind, into) {
				r.members(out, written, kind, object, sub, path)
			}
			continue
		}
		if written[s.alias] {
			continue
		}
		written[s.alias] = true
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		fmt.Fprintf(out, "%q:", s.alias)
		out.Write(r.field(kind, object, s, append(slices.Clone(path), s.alias)))
	}
}

func (r *runner) field(kind string, object Object, s selection, path []any) json.RawMessage {
	if s.name == Typename {
		return encode(kind)
	}
	value := object[s.name]
	if call, ok := value.(Call); ok {
		args := map[string]any{}
		for name, arg := range s.args {
			args[name] = r.q.resolved(arg)
		}
		got, err := call(args)
		if err != nil {
			problem := &Error{Message: err.Error()}
			if own, ok := err.(*Error); ok { //nolint:errorlint // our own calls return it bare
				problem = own
			}
			problem.Path, problem.Locations = path, []Location{{s.line, s.column}}
			r.problems = append(r.problems, problem)
			return encode(nil)
		}
		value = got
	}
	of := bare(r.q.schema.Types[kind].Fields[s.name].Type)
	switch value := value.(type) {
	case nil:
		return encode(nil)
	case Object:
		if value == nil {
			return encode(nil)
		}
		return r.object(of, value, s.sub, path)
	case []Object:
		parts := make([]string, 0, len(value))
		for i, one := range value {
			parts = append(parts, string(r.object(of, one, s.sub, append(slices.Clone(path), i))))
		}
		return json.RawMessage("[" + strings.Join(parts, ",") + "]")
	default:
		return encode(value)
	}
}

func encode(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("fake GraphQL: %v", err)) // our own values: cannot fail
	}
	return text
}
