package sdkjs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Every member of Config is in the table of docs/sdk.md, with the tag's attribute that says the same: the
// browser makes data-page-views of pageViews. A function has none, and the company's is shorter.
func TestEveryOptionIsInTheDocs(t *testing.T) {
	types, err := os.ReadFile("src/types.ts")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/sdk.md")
	if err != nil {
		t.Fatal(err)
	}
	_, options, _ := strings.Cut(string(page), "\n## Options\n")
	options, _, _ = strings.Cut(options, "\n## ")
	_, config, _ := strings.Cut(string(types), "export interface Config {\n")
	config, _, _ = strings.Cut(config, "\n}\n")
	members := regexp.MustCompile(`(?m)^  (\w+)\??:`).FindAllStringSubmatch(config, -1)
	if len(members) < 10 {
		t.Fatalf("%d members of Config", len(members))
	}
	for _, member := range members {
		attribute := "`data-" + strings.ToLower(regexp.MustCompile(`[A-Z]`).ReplaceAllString(member[1], "-$0"))
		switch member[1] {
		case "companyId":
			attribute = "`data-company"
		case "before_send":
			attribute = ""
		}
		row := regexp.MustCompile(`(?m)^\| ?` + attribute + "[^|]*\\| `" + member[1] + "` \\|")
		if !row.MatchString(options) {
			t.Errorf("docs/sdk.md has no row of %s, %s", member[1], attribute)
		}
	}
	if rows := regexp.MustCompile("(?m)^\\|[^|]*\\| `\\w+` \\|").FindAllString(options, -1); len(rows) != len(members)+1 { // with its head
		t.Errorf("docs/sdk.md has %d options, Config %d", len(rows)-1, len(members))
	}
}
