package sqlrules

import (
	"slices"
	"strings"
)

// insert checks where the company of inserted rows comes from: from a parameter
// (rule 2), or where rows of store data are read, from those (rule 7). Several
// rows need ON CONFLICT (rule 5).
func (k *check) insert(n node, s *scope) {
	table := asNode(n["relation"]).text("relname")
	if !k.StoreData[table] {
		return
	}
	at := -1
	for i, item := range n.list("cols") {
		if as(item, "ResTarget").text("name") == companyColumn {
			at = i
		}
	}
	if at < 0 {
		k.broken(2, "insert into %s does not name company_id among its columns", table)
		return
	}
	k.insertedCompany(table, at, as(n["selectStmt"], "SelectStmt"), s)
	if k.insertsMany(n) && n["onConflictClause"] == nil {
		k.broken(5, "insert of several rows into %s without ON CONFLICT", table)
	}
}

func (k *check) insertedCompany(table string, at int, rows node, s *scope) {
	if rows["larg"] != nil {
		k.insertedCompany(table, at, asNode(rows["larg"]), s)
		k.insertedCompany(table, at, asNode(rows["rarg"]), s)
		return
	}
	for _, item := range rows.list("valuesLists") {
		if values := as(item, "List").list("items"); at >= len(values) || !isParameter(values[at]) {
			k.broken(2, "insert into %s: company_id is not a parameter", table)
		}
	}
	if len(rows.list("valuesLists")) > 0 {
		return
	}
	var company any
	if targets := rows.list("targetList"); at < len(targets) {
		company = as(targets[at], "ResTarget")["val"]
	}
	read := &scope{outer: s} // the tables that are read
	silent := &check{Catalog: k.Catalog}
	for _, item := range asNode(rows["withClause"]).list("ctes") {
		read.with = append(read.with, as(item, "CommonTableExpr").text("ctename"))
	}
	for _, item := range rows.list("fromClause") {
		silent.from(item, read)
	}
	fromStoreData := slices.ContainsFunc(read.sources, func(src *source) bool { return src.storeData })
	qualifier, name, isColumn := column(company)
	switch {
	case isColumn && name == companyColumn:
		src := read.find(qualifier)
		if src == nil || src.table == "" && !src.bound || fromStoreData && src.table != "" && !src.storeData {
			k.broken(7, "insert into %s … select: company_id does not come from the table that is read", table)
		}
	case fromStoreData:
		k.broken(7, "insert into %s … select: company_id does not come from the table that is read", table)
	case !isParameter(company):
		k.broken(2, "insert into %s: company_id is not a parameter", table)
	}
}

// change checks which functions and casts a change uses (rule 4), and that no
// row's company changes (rule 1).
func (k *check) change(kind string, n node) {
	conflict := asNode(n["onConflictClause"])
	if kind == "UpdateStmt" {
		k.computed("UPDATE", []any{n["targetList"], n["fromClause"], n["whereClause"]}, false)
		k.keepsCompany(n.list("targetList"))
	}
	k.computed("ON CONFLICT", conflict["targetList"], false)
	k.computed("WHERE of ON CONFLICT", conflict["whereClause"], true)
	k.keepsCompany(conflict.list("targetList"))
	k.computed("RETURNING", n["returningList"], false)
}

func (k *check) keepsCompany(targets []any) {
	for _, item := range targets {
		if as(item, "ResTarget").text("name") == companyColumn {
			k.broken(1, "company_id is updated")
		}
	}
}

// computed refuses what may give another result on another machine: volatile
// functions, stable functions of columns, and casts of columns. With noClock it
// refuses now() too.
func (k *check) computed(where string, v any, noClock bool) {
	walk(v, func(kind string, n node) bool {
		switch kind {
		case "FuncCall":
			parts := names(n.list("funcname"))
			name := strings.Join(parts[len(parts)-1:], "")
			switch volatility := k.Volatility[name]; {
			case volatility == "":
				k.broken(4, "%s() in %s is not known", name, where)
			case volatility == "v":
				k.broken(4, "%s() in %s is volatile", name, where)
			case volatility == "s" && (noClock || hasColumn(n["args"])):
				k.broken(4, "%s() in %s is stable, not immutable", name, where)
			}
		case "SQLValueFunction":
			if noClock {
				k.broken(4, "the transaction's time or user in %s", where)
			}
		case "TypeCast":
			if hasColumn(n["arg"]) {
				k.broken(4, "a column is cast in %s: bind typed parameters, format in Go", where)
			}
		}
		return true
	})
}
