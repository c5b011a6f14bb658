package admin

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
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
