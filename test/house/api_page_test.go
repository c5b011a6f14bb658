package house_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// operationsOf are the operations of the OpenAPI document: "POST /order".
func operationsOf(t *testing.T) (list []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("admin", "openapi", "openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]yaml.Node
	}
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	for path, item := range document.Paths {
		for method := range item {
			if slices.Contains([]string{"get", "post", "put", "delete", "patch"}, method) {
				list = append(list, strings.ToUpper(method)+" "+path)
			}
		}
	}
	return list
}

var (
	shellFence = regexp.MustCompile("(?ms)^```sh[^\n]*\n(.*?)^```$")
	apiCall    = regexp.MustCompile(`curl -[^|;]*?"\$ADMIN_URL([^"?]*)`)
	ofMethod   = regexp.MustCompile(`-X ([A-Z]+)`)
)

// callsOf are the operations that a page's commands call.
func callsOf(page string) (list []string) {
	for _, fence := range shellFence.FindAllStringSubmatch(page, -1) {
		for _, call := range apiCall.FindAllStringSubmatch(strings.ReplaceAll(fence[1], "\\\n", " "), -1) {
			method := "GET"
			if m := ofMethod.FindStringSubmatch(call[0]); m != nil {
				method = m[1]
			}
			path := regexp.MustCompile(`^/order/[^/]+`).ReplaceAllString(call[1], "/order/{orderId}")
			path = regexp.MustCompile(`\$[A-Z_]+`).ReplaceAllString(path, "{id}")
			path = regexp.MustCompile(`/messages/(?:[0-9]+|\{id\})/`).ReplaceAllString(path, "/messages/{sequence}/")
			list = append(list, method+" "+path)
		}
	}
	return list
}

// A test runs each command of docs/api.md; this one says that no operation is left out.
func TestTheAPIPageCallsEveryOperation(t *testing.T) {
	atRoot(t)
	page, err := os.ReadFile(filepath.Join("docs", "api.md"))
	if err != nil {
		t.Fatal(err)
	}
	calls, operations := callsOf(string(page)), operationsOf(t)
	if len(operations) < 40 {
		t.Fatalf("only %d operations", len(operations))
	}
	for _, operation := range operations {
		if !slices.Contains(calls, operation) {
			t.Errorf("docs/api.md has no curl of %s", operation)
		}
	}
	for _, call := range calls {
		if !slices.Contains(operations, call) {
			t.Errorf("docs/api.md calls %s, which the OpenAPI document does not have", call)
		}
	}
}

func TestCallsAreFoundInAPage(t *testing.T) {
	const page = "```sh 404\nID=$(curl -sS -X POST \"$ADMIN_URL/statements\" \\\n  -d '{}' | field id)\n" +
		"curl -sS \"$ADMIN_URL/order/1001/attribution?x=1\"\ncurl -sS \\\n  -X PUT " +
		"\"$ADMIN_URL/statements/$STATEMENT_ID\"\n```\n\n```json\ncurl -sS \"$ADMIN_URL/no\"\n```\n"
	want := []string{"POST /statements", "GET /order/{orderId}/attribution", "PUT /statements/{id}"}
	if got := callsOf(page); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
