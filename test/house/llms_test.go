package house_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// docs/llms.txt has the form of llmstxt.org: a title, a summary, then sections of links with a line each. It lists each page for
// users, once, and each link leads to a file.
func TestLLMsTextListsEveryPage(t *testing.T) {
	atRoot(t)
	text, err := os.ReadFile(filepath.Join("docs", "llms.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`\A# [^\n]+\n\n> [^\n]+\n`).Match(text) || strings.Count(string(text), "\n# ") > 0 {
		t.Error("it does not begin with one title and its summary")
	}
	item := regexp.MustCompile(`^- \[[^\]]+\]\(([^)\s]+)\): \S.*[^.]$`)
	listed, inSection := map[string]int{}, false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		inSection = inSection || strings.HasPrefix(line, "## ")
		if !inSection || line == "" || strings.HasPrefix(line, "## ") {
			continue
		}
		found := item.FindStringSubmatch(line)
		if found == nil {
			t.Errorf("%q is no link with a line about it", line)
			continue
		}
		linked := filepath.Join("docs", filepath.FromSlash(found[1]))
		if _, err := os.Stat(linked); err != nil {
			t.Errorf("%s leads nowhere", found[1])
		}
		listed[linked]++
	}
	pages, err := filepath.Glob(filepath.Join("docs", "*.md"))
	if err != nil || len(pages) < 15 {
		t.Fatalf("only %v, %v", pages, err)
	}
	for _, page := range append(pages, "README.md") {
		if listed[page] != 1 {
			t.Errorf("%s is listed %d times", page, listed[page])
		}
	}
}
