package admin

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/tributary-io/tributary/internal/account"
)

func TestDocumentNamesEveryRouteWithItsScope(t *testing.T) {
	t.Parallel()
	text, err := openapiJSON(openapiText)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	undone := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			undone[method+" "+path] = true
		}
	}
	for _, r := range (&Server{}).routes() {
		name := r.method + " " + r.path
		if !undone[name] {
			t.Errorf("%s is not in the document", name)
			continue
		}
		delete(undone, name)
		operation := doc.Paths.Value(r.path).GetOperation(r.method)
		named := "Scope `" + string(r.scope) + "`"
		if r.scope == "" {
			named = "Scope: that of "
		}
		if !strings.Contains(operation.Description, named) {
			t.Errorf("%s: the document does not name the scope %s", name, r.scope)
		}
	}
	if len(undone) > 0 {
		t.Errorf("in the document, but no route: %v", slices.Sorted(maps.Keys(undone)))
	}
}

// A key of assistants opens what tributary mcp reads, and nothing else: nothing that changes anything.
func TestWhatAKeyOfAssistantsOpens(t *testing.T) {
	t.Parallel()
	key := account.APIKey{Scopes: []account.Scope{account.ReadAssistant}}
	var opened []string
	for _, r := range (&Server{}).routes() {
		if !r.opensTo(key) {
			continue
		}
		if r.writes() {
			t.Errorf("%s %s changes something", r.method, r.path)
		}
		opened = append(opened, r.method+" "+r.path)
	}
	slices.Sort(opened)
	want := []string{"GET /influencers", "GET /key", "GET /ledger", "GET /order/{orderId}", "GET /order/{orderId}/attribution", "GET /orders",
		"GET /payouts", "GET /products", "GET /reports/channels", "GET /reports/costs", "GET /reports/coupons", "GET /reports/delivery",
		"GET /reports/funnel", "GET /reports/influencers", "GET /reports/paths", "GET /reports/products", "GET /reports/sales",
		"GET /reports/signs", "GET /reports/sources", "GET /statements", "GET /statements/{id}",
		"POST /preview"} // which asks for the scope of the change
	if !slices.Equal(opened, want) {
		t.Errorf("it opens\n%s", strings.Join(opened, "\n"))
	}
}
