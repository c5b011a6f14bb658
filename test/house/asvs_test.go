package house_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// asvsSections has how many requirements of levels 1 and 2 each section of OWASP ASVS 5.0.0 has.
var asvsSections = map[string]int{
	"1.1": 2, "1.2": 9, "1.3": 11, "1.4": 3, "1.5": 2, "2.1": 3, "2.2": 3, "2.3": 4, "2.4": 1, "3.2": 2, "3.3": 4,
	"3.4": 6, "3.5": 5, "3.7": 2, "4.1": 3, "4.2": 1, "4.3": 2, "4.4": 4, "5.1": 1, "5.2": 3, "5.3": 2, "5.4": 3,
	"6.1": 3, "6.2": 12, "6.3": 4, "6.4": 4, "6.5": 5, "6.6": 3, "6.8": 4, "7.1": 3, "7.2": 4, "7.3": 2, "7.4": 5,
	"7.5": 2, "7.6": 2, "8.1": 2, "8.2": 3, "8.3": 1, "8.4": 1, "9.1": 3, "9.2": 4, "10.1": 2, "10.2": 2, "10.3": 4,
	"10.4": 11, "10.5": 5, "10.6": 2, "10.7": 3, "11.1": 2, "11.2": 3, "11.3": 3, "11.4": 4, "11.5": 1, "11.6": 1,
	"12.1": 3, "12.2": 2, "12.3": 4, "13.1": 1, "13.2": 5, "13.3": 2, "13.4": 5, "14.1": 2, "14.2": 4, "14.3": 3,
	"15.1": 3, "15.2": 3, "15.3": 7, "16.1": 1, "16.2": 5, "16.3": 4, "16.4": 3, "16.5": 3, "17.1": 1, "17.2": 4,
	"17.3": 2,
}

// testsOf lists the names of all tests of the repository.
func testsOf(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, path := range sources(t) {
		if !strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declared.FindAllSubmatch(text, -1) {
			found[string(m[1])] = true
		}
	}
	if len(found) < 500 {
		t.Fatalf("only %d tests were found", len(found))
	}
	return found
}

// Each requirement of levels 1 and 2 has one line in docs/notes/asvs.md; one that is met names a file, and tests that are there or that it
// has none, and any other says why it is not. That the tests show what is said, nobody but a reader can tell.
func TestTheTableOfASVSNamesWhatIsThere(t *testing.T) {
	atRoot(t)
	page, err := os.ReadFile(filepath.Join("docs", "notes", "asvs.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := testsOf(t)
	const readOnly = "read, no test"
	read := 0
	seen, sections, states := map[string]bool{}, map[string]int{}, map[string]int{}
	row := regexp.MustCompile(`(?m)^\| (\d+\.\d+)\.(\d+) \| ([12]) \| (.+) \| (.+) \| (.*) \| (.*) \|$`)
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		section, id, what, state, where, shown := m[1], m[1]+"."+m[2], m[4], m[5], m[6], m[7]
		if seen[id] || strings.TrimSpace(what) == "" {
			t.Errorf("%s is there twice, or says nothing", id)
		}
		seen[id] = true
		sections[section]++
		states[state]++
		switch state {
		case "met":
			if _, err := os.Stat(strings.Trim(where, "`")); err != nil {
				t.Errorf("%s: %v", id, err)
			}
			if shown == readOnly {
				read++
			} else if len(quotedTests.FindAllString(shown, -1)) == 0 {
				t.Errorf("%s is met, and says neither which test shows it nor that none does", id)
			}
		case "not applicable", "not met":
			if len(where) < 5 {
				t.Errorf("%s is %s, and does not say why", id, state)
			}
		default:
			t.Errorf("%s has the state %q", id, state)
		}
	}
	for section, want := range asvsSections {
		if sections[section] != want {
			t.Errorf("section %s has %d requirements, want %d", section, sections[section], want)
		}
	}
	if len(sections) != len(asvsSections) {
		t.Errorf("%d sections, want %d", len(sections), len(asvsSections))
	}
	told := strconv.Itoa(states["met"]) + " are met, " + strconv.Itoa(states["not applicable"]) + " do not apply, " +
		strconv.Itoa(states["not met"]) + " are not met. Of those that are met, no test shows " + strconv.Itoa(read) + "."
	if !strings.Contains(string(page), told) {
		t.Errorf("the page does not say: %s", told)
	}
	for _, name := range []string{filepath.Join("docs", "notes", "asvs.md"), filepath.Join("docs", "notes", "threats.md"),
		filepath.Join("docs", "notes", "security.md")} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, test := range quotedTests.FindAllString(string(text), -1) {
			if !tests[strings.Trim(test, "`")] {
				t.Errorf("%s names %s, which is no test", name, test)
			}
		}
	}
}

var quotedTests = regexp.MustCompile("`Test[A-Z]\\w+`")

// Who finds a fault is told where to write, which versions are mended, and what is promised and what is not.
func TestSecurityPagesAreWhole(t *testing.T) {
	atRoot(t)
	text, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"## Report a fault", "## Which versions", "## What is promised", "90 days"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("SECURITY.md has no %q", part)
		}
	}
	for _, link := range regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(filepath.FromSlash(link[1])); err != nil {
			t.Errorf("SECURITY.md: %v", err)
		}
	}
}
