package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/test/prove"
)

// young are sections whose first whole run without a problem is not in the record yet.
var young = map[string]bool{}

// The page says what the record holds, and what it says holds.
func TestTheProofPageIsWhatWasSeen(t *testing.T) {
	docs := filepath.Join("..", "..", "..", "docs")
	record, err := prove.ReadRecord(filepath.Join(docs, "proof.json"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(docs, "proof.md"))
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	if err := record.WritePage(&want, sections()); err != nil {
		t.Fatal(err)
	}
	if string(page) != want.String() {
		t.Error("docs/proof.md is not what docs/proof.json makes: run go run ./test/prove/cmd for a case")
	}
	for _, section := range sections() {
		if young[section.Name] && len(record.Sections[section.Name]) == 0 {
			continue
		}
		for _, c := range section.Cases {
			line, there := record.Sections[section.Name][c.Name]
			if !there || len(line.Problems) > 0 {
				t.Errorf("%s/%s: run %d, %v", section.Name, c.Name, line.Run, line.Problems)
			}
		}
	}
}

func TestCaseNamesAreUnique(t *testing.T) {
	names := map[string]bool{}
	for _, section := range sections() {
		for _, c := range section.Cases {
			name := section.Name + "/" + c.Name
			if names[name] {
				t.Errorf("%s is there twice", name)
			}
			names[name] = true
		}
	}
	if len(names) < 20 {
		t.Errorf("only %d cases", len(names))
	}
}
