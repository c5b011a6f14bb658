package sqlrules

import "slices"

const companyColumn = "company_id"

// source is one entry of FROM, or the target of a change.
type source struct {
	alias      string
	table      string // empty for a sub-select or a function
	storeData  bool
	hasCompany bool
	bound      bool // its company equals a parameter
}

// scope is what can be named in one level of a statement (a SELECT, a change, a
// sub-select): its sources, its WITH queries, and those of the levels around it.
type scope struct {
	outer   *scope
	sources []*source
	with    []string
	equal   [][2]*source // pairs whose company_id are equal
}

func (s *scope) isWith(name string) bool {
	return s != nil && (slices.Contains(s.with, name) || s.outer.isWith(name))
}

// find returns the source with an alias, or for "" the only source that has a
// company_id; nil where there are several.
func (s *scope) find(qualifier string) *source {
	if s == nil {
		return nil
	}
	var found []*source
	for _, src := range s.sources {
		if src.alias == qualifier || qualifier == "" && src.hasCompany {
			found = append(found, src)
		}
	}
	switch len(found) {
	case 0:
		return s.outer.find(qualifier)
	case 1:
		return found[0]
	}
	return nil
}

// level checks a SELECT or a change, and all levels inside it.
func (k *check) level(kind string, n node, outer *scope) {
	switch kind {
	case "SelectStmt", "InsertStmt", "UpdateStmt", "DeleteStmt":
	case "MergeStmt":
		k.broken(2, "MERGE is a statement that this check does not know")
		return
	default:
		return
	}
	s := &scope{outer: outer}
	for _, item := range asNode(n["withClause"]).list("ctes") {
		s.with = append(s.with, as(item, "CommonTableExpr").text("ctename"))
	}
	if kind == "SelectStmt" && n["larg"] != nil { // UNION and the like
		k.level(kind, asNode(n["larg"]), s)
		k.level(kind, asNode(n["rarg"]), s)
	}
	if kind == "UpdateStmt" || kind == "DeleteStmt" {
		k.table(asNode(n["relation"]), s)
	}
	for _, item := range append(n.list("fromClause"), n.list("usingClause")...) {
		k.from(item, s)
	}
	k.equalities(n["whereClause"], s)
	s.bind()
	for _, src := range s.sources {
		if src.storeData && !src.bound {
			k.broken(2, "%s is read or changed without company_id = a parameter", src.table)
		}
	}
	if kind == "InsertStmt" {
		k.insert(n, s)
	}
	if kind != "SelectStmt" && k.StoreData[asNode(n["relation"]).text("relname")] {
		k.change(kind, n)
	}
	for _, child := range n {
		walk(child, func(kind string, inner node) bool {
			switch kind {
			case "SelectStmt", "InsertStmt", "UpdateStmt", "DeleteStmt":
				k.level(kind, inner, s)
				return false
			}
			return true
		})
	}
}

// from adds what an item of FROM names.
func (k *check) from(item any, s *scope) {
	kind, n := unwrap(item)
	switch kind {
	case "RangeVar":
		k.table(n, s)
	case "RangeSubselect", "RangeFunction":
		alias := asNode(n["alias"])
		columns := names(alias.list("colnames"))
		s.sources = append(s.sources, &source{
			alias:      alias.text("aliasname"),
			hasCompany: kind == "RangeSubselect" || slices.Contains(columns, companyColumn),
			bound:      kind == "RangeSubselect", // it is checked as a level of its own
		})
	case "JoinExpr":
		before := len(s.sources)
		k.from(n["larg"], s)
		middle := len(s.sources)
		k.from(n["rarg"], s)
		if slices.Contains(names(n.list("usingClause")), companyColumn) {
			for _, left := range s.sources[before:middle] {
				for _, right := range s.sources[middle:] {
					if left.hasCompany && right.hasCompany {
						s.equal = append(s.equal, [2]*source{left, right})
					}
				}
			}
		}
		k.equalities(n["quals"], s)
	}
}

func (k *check) table(n node, s *scope) {
	name := n.text("relname")
	alias := asNode(n["alias"]).text("aliasname")
	if alias == "" {
		alias = name
	}
	if s.isWith(name) {
		s.sources = append(s.sources, &source{alias: alias, hasCompany: true, bound: true}) // checked as a level of its own
		return
	}
	s.sources = append(s.sources, &source{alias: alias, table: name, storeData: k.StoreData[name], hasCompany: k.HasCompany[name]})
}

// equalities collects which company_id are equal to a parameter or to each other
// in a condition, or in all parts of an AND.
func (k *check) equalities(condition any, s *scope) {
	if and := as(condition, "BoolExpr"); and != nil {
		if and.text("boolop") == "AND_EXPR" {
			for _, part := range and.list("args") {
				k.equalities(part, s)
			}
		}
		return
	}
	e := as(condition, "A_Expr")
	if e == nil || e.text("kind") != "AEXPR_OP" || !slices.Equal(names(e.list("name")), []string{"="}) {
		return
	}
	left, right := e["lexpr"], e["rexpr"]
	if l, r := as(left, "RowExpr"), as(right, "RowExpr"); l != nil && r != nil {
		rights := r.list("args")
		for i, item := range l.list("args") {
			if i < len(rights) {
				k.equal(item, rights[i], s)
			}
		}
		return
	}
	k.equal(left, right, s)
}

func (k *check) equal(left, right any, s *scope) {
	l, r := companyOf(left, s), companyOf(right, s)
	switch {
	case l != nil && r != nil:
		s.equal = append(s.equal, [2]*source{l, r})
	case l != nil && isParameter(right):
		l.bound = true
	case r != nil && isParameter(left):
		r.bound = true
	}
}

// companyOf returns the source whose company_id an expression is, or nil.
func companyOf(v any, s *scope) *source {
	if as(v, "ColumnRef") == nil {
		return nil
	}
	if qualifier, name, ok := column(v); ok && name == companyColumn {
		return s.find(qualifier)
	}
	return nil
}

// bind marks what is equal to a bound company as bound.
func (s *scope) bind() {
	for changed := true; changed; {
		changed = false
		for _, pair := range s.equal {
			if pair[0].bound != pair[1].bound {
				pair[0].bound, pair[1].bound, changed = true, true, true
			}
		}
	}
}
