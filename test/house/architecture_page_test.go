package house_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pathsOf lists what a page names as code and looks like a path: a name with a
// slash, or that of a source file.
func pathsOf(page string) (paths []string) {
	path := regexp.MustCompile(`^[\w.-]+(?:/[\w.-]+)*\.(?:go|ts|sql)$|^(?:[\w.-]+/)+[\w.-]*$`)
	for _, code := range inlineCode.FindAllString(fence.ReplaceAllString(page, ""), -1) {
		if name := strings.Trim(code, "`"); path.MatchString(name) {
			paths = append(paths, name)
		}
	}
	return paths
}

// architecturePage is the page that leads a newcomer through the files.
const architecturePage = "docs/notes/architecture.md"

// Source files that a page names exist. In the pages about the code
// directories are held to that too; elsewhere a slash may stand in a media type.
func TestEveryFileThatAPageNamesIsThere(t *testing.T) {
	atRoot(t)
	checked := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range pathsOf(string(text)) {
			strict := filepath.ToSlash(page) == architecturePage || filepath.ToSlash(page) == packagesPage
			if ext := filepath.Ext(path); !strict && ext != ".go" && ext != ".ts" && ext != ".sql" {
				continue
			}
			checked++
			_, err := os.Stat(filepath.FromSlash(path))
			if err != nil && !strict { // a page may speak of its own directory
				_, err = os.Stat(filepath.Join(filepath.Dir(page), filepath.FromSlash(path)))
			}
			if err != nil {
				t.Errorf("%s names %s, which is not there", page, path)
			}
		}
	}
	if checked < 30 {
		t.Errorf("only %d paths found", checked)
	}
}

// The two walks are read from top to bottom, file by file: none is named twice.
func TestTheWalksNameEachFileOnce(t *testing.T) {
	atRoot(t)
	text, err := os.ReadFile(architecturePage)
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Split(string(text), "\n## ")
	walked, seen := 0, map[string]bool{}
	for _, section := range sections {
		if !strings.HasPrefix(section, "The walk of ") {
			continue
		}
		walked++
		for _, path := range pathsOf(section) {
			if filepath.Ext(path) != "" && seen[path] {
				t.Errorf("the walks name %s twice", path)
			}
			seen[path] = true
		}
	}
	if walked != 2 || len(seen) < 15 {
		t.Errorf("%d walks with %d files, want two", walked, len(seen))
	}
}

// packagesPage is the page that says what each package is for.
const packagesPage = "docs/notes/packages.md"

// The tables of packages are whole: each has its place in one of them.
func TestThePackagesPageNamesEveryPackage(t *testing.T) {
	atRoot(t)
	text, err := os.ReadFile(packagesPage)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for row := range strings.Lines(string(text)) {
		cells := strings.Split(row, "|")
		if len(cells) < 3 {
			continue
		}
		for _, code := range inlineCode.FindAllString(cells[1]+cells[2], -1) {
			named[strings.Trim(code, "`")] = true
		}
	}
	packages := imports(t, "./...")
	for from := range packages {
		if path := strings.TrimPrefix(from, module); !named[path] {
			t.Errorf("%s does not name %s", packagesPage, path)
		}
	}
	if len(packages) < 50 {
		t.Errorf("only %d packages found", len(packages))
	}
}
