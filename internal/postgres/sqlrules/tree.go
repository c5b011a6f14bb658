package sqlrules

import (
	"encoding/json"
	"fmt"

	"github.com/wasilibs/go-pgquery/parser"
)

// node is the fields of one node of PostgreSQL's parse tree. A field with a child
// is {"Kind": fields}, or only the fields where its kind is always the same.
type node map[string]any

// parse returns the parse trees of a text's statements.
func parse(sql string) (statements []node, err error) {
	text, err := parser.ParseToJSON(sql)
	if err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	var tree struct {
		Stmts []struct{ Stmt node }
	}
	if err := json.Unmarshal([]byte(text), &tree); err != nil {
		return nil, fmt.Errorf("parse tree: %w", err)
	}
	for _, s := range tree.Stmts {
		statements = append(statements, s.Stmt)
	}
	return statements, nil
}

// unwrap returns the kind and the fields of {"Kind": fields}; "" for all else.
func unwrap(v any) (kind string, fields node) {
	m := asNode(v)
	if len(m) != 1 {
		return "", nil
	}
	for key, value := range m {
		if key[0] >= 'A' && key[0] <= 'Z' {
			return key, asNode(value)
		}
	}
	return "", nil
}

// as returns the fields of {"Kind": fields} where the kind is the one asked for,
// else nil.
func as(v any, kind string) node {
	if k, fields := unwrap(v); k == kind {
		return fields
	}
	return nil
}

func asNode(v any) node {
	switch v := v.(type) {
	case node:
		return v
	case map[string]any:
		return v
	}
	return nil
}

func (n node) list(field string) []any { list, _ := n[field].([]any); return list }
func (n node) text(field string) string {
	text, _ := n[field].(string)
	return text
}

// walk calls f for each {"Kind": fields} in v, outermost first. Where f returns
// false, it skips those inside.
func walk(v any, f func(kind string, n node) bool) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			walk(item, f)
		}
	case node:
		if kind, fields := unwrap(v); kind != "" && !f(kind, fields) {
			return
		}
		for _, child := range v {
			walk(child, f)
		}
	case map[string]any:
		walk(node(v), f)
	}
}

// names returns the texts of a list of strings, such as the parts of a name.
func names(list []any) (parts []string) {
	for _, item := range list {
		if s := as(item, "String"); s != nil {
			parts = append(parts, s.text("sval"))
		}
	}
	return parts
}

// column returns the qualifier and the name of a column, which may be cast; ok is
// false for all else.
func column(v any) (qualifier, name string, ok bool) {
	ref := as(uncast(v), "ColumnRef")
	if ref == nil {
		return "", "", false
	}
	parts := names(ref.list("fields"))
	switch len(parts) {
	case 1:
		return "", parts[0], true
	case 2:
		return parts[0], parts[1], true
	}
	return "", "", false
}

func uncast(v any) any {
	for {
		cast := as(v, "TypeCast")
		if cast == nil {
			return v
		}
		v = cast["arg"]
	}
}

func isParameter(v any) bool { return as(uncast(v), "ParamRef") != nil }

func hasColumn(v any) (found bool) {
	walk(v, func(kind string, _ node) bool {
		found = found || kind == "ColumnRef"
		return !found
	})
	return found
}
