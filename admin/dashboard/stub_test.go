package dashboard_test

import (
	"os"
	"strings"
	"testing"
)

// The stub of the install page has the calls that docs/sdk.md tells.
func TestTheInstallPagesStubIsTheDocumentedOne(t *testing.T) {
	line := func(path string) string {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(string(text)) {
			if strings.Contains(l, ".forEach(function (call)") {
				return strings.TrimSpace(l)
			}
		}
		t.Fatalf("%s has no stub", path)
		return ""
	}
	if page, doc := line("site/templates/install.html"), line("../../docs/sdk.md"); page != doc {
		t.Errorf("the install page's stub is\n%s\ndocs/sdk.md's is\n%s", page, doc)
	}
}
