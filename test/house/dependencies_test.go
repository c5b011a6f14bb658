package house_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each module that go.mod requires directly has its reason, and nothing else has one.
func TestEveryDependencyHasItsReason(t *testing.T) {
	atRoot(t)
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var required, told []string
	for _, found := range regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(read("go.mod"), -1) {
		required = append(required, found[1])
	}
	for _, found := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| \\S").FindAllStringSubmatch(read("docs/notes/dependencies.md"), -1) {
		told = append(told, found[1])
	}
	slices.Sort(required)
	slices.Sort(told)
	if len(required) < 20 || !slices.Equal(required, told) {
		t.Errorf("go.mod requires\n%s\nand docs/notes/dependencies.md tells of\n%s", strings.Join(required, "\n"), strings.Join(told, "\n"))
	}
}
