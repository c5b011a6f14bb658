package money

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
)

// statementKinds are the states by which the page narrows statements: of what is closed it tells what is to be
// paid from what is carried.
var statementKinds = []string{"due", "carried", commerce.StatementPaid, commerce.StatementClosing}

// statementFilter reads what the page of statements is narrowed by, and the pairs of the address that say so.
func statementFilter(query url.Values) (f commerce.StatementFilter, narrow []string, ok bool) {
	f.Name = strings.TrimSpace(query.Get("q"))
	if f.Name != "" {
		if !commerce.IsID(f.Name) {
			return f, nil, false
		}
		narrow = append(narrow, "q", f.Name)
	}
	kind := query.Get("state")
	if kind != "" {
		narrow = append(narrow, "state", kind)
	}
	carried := kind == "carried"
	switch kind {
	case "", commerce.StatementPaid, commerce.StatementClosing:
		f.State = kind
	case "due", "carried":
		f.State, f.Carried = commerce.StatementClosed, &carried
	default:
		return f, nil, false
	}
	return f, narrow, true
}

// statementKind is the kind of a statement.
func statementKind(state string, carried bool) string {
	switch {
	case carried:
		return "carried"
	case state == commerce.StatementClosed:
		return "due"
	}
	return state
}

// statementsKept are the pairs of the address of the page of statements that a form or a page was reached from: what it was narrowed
// by, and where it began. What is not good is left out.
func statementsKept(query url.Values) (kept []string) {
	if _, narrow, ok := statementFilter(query); ok {
		kept = narrow
	}
	if after := query.Get("after"); after != "" {
		if _, err := commerce.ParseStatementCursor(after); err == nil {
			kept = append(kept, "after", after)
		}
	}
	return kept
}

// statementsBack is the page of statements as the request's form or page was reached from it.
func statementsBack(r *http.Request, v site.Request) string {
	return v.Path(site.StatementsPath, statementsKept(r.URL.Query())...)
}

func statementOptions(l *lang.Printer, chosen string) []site.Option {
	list := []site.Option{{Label: l.T("statements.any_state"), Chosen: chosen == ""}}
	for _, kind := range statementKinds {
		list = append(list, site.Option{Value: kind, Label: kindWord(l, kind), Chosen: chosen == kind})
	}
	return list
}

func kindWord(l *lang.Printer, kind string) string {
	switch kind {
	case "due":
		return l.T("statements.state_closed")
	case "carried":
		return l.T("statements.carried")
	}
	return l.T("statements.state_" + kind)
}

// statementSum says how many statements there are, and of each kind how many and what they sum to: of those
// that are carried no sum, since it is in later ones too.
func statementSum(l *lang.Printer, totals []commerce.StatementTotal, home string) string {
	var all int64
	count, amounts := map[string]int64{}, map[string]sums{}
	for _, t := range totals {
		kind := statementKind(t.State, t.Carried)
		all, count[kind] = all+t.Count, count[kind]+t.Count
		if amounts[kind] == nil {
			amounts[kind] = sums{}
		}
		amounts[kind].add(t.Currency, t.NetMinor)
	}
	if all == 0 {
		return ""
	}
	parts := []string{l.N("statements.n", all)}
	for _, kind := range statementKinds {
		switch {
		case count[kind] == 0:
		case kind == "due" || kind == commerce.StatementPaid:
			parts = append(parts, l.T("statements.sum_of", kindWord(l, kind), count[kind], strings.Join(amounts[kind].lines(l, home), " + ")))
		default:
			parts = append(parts, l.T("statements.count_of", kindWord(l, kind), count[kind]))
		}
	}
	return strings.Join(parts, " · ")
}
