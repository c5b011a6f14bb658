package house_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// comment is one comment, or several on adjacent lines, without its markers.
// Its lines are the source's, so that a place in it has a line.
type comment struct {
	path string
	line int // of the first line
	text string
}

// goComments reads the comments of a Go file.
func goComments(path string, source []byte) (found []comment, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, group := range file.Comments {
		var lines []string
		for _, c := range group.List {
			lines = append(lines, strings.TrimSuffix(c.Text[2:], "*/"))
		}
		found = append(found, comment{path, files.Position(group.Pos()).Line, strings.Join(lines, "\n")})
	}
	return found, nil
}

// scanComments reads the comments of a language that has line comments after
// marker and blocks within /* and */. It steps over what is quoted by one of
// quotes; a regular expression is read as code, which these files allow.
func scanComments(path, source, marker, quotes string) (found []comment) {
	line := 1
	for rest := source; rest != ""; {
		var length int
		text := ""
		switch {
		case strings.HasPrefix(rest, marker):
			length = strings.IndexByte(rest+"\n", '\n')
			text = rest[len(marker):length]
		case strings.HasPrefix(rest, "/*"):
			inside, _, _ := strings.Cut(rest[2:], "*/")
			length = min(len(rest), len(inside)+4)
			text = inside
		case strings.IndexByte(quotes, rest[0]) >= 0:
			for length = 1; length < len(rest) && rest[length] != rest[0]; length++ {
				if rest[length] == '\\' {
					length++
				}
			}
			length = min(len(rest), length+1)
		default:
			length = 1
		}
		if text != "" {
			last := len(found) - 1
			if last >= 0 && found[last].line+strings.Count(found[last].text, "\n")+1 == line {
				found[last].text += "\n" + text
			} else {
				found = append(found, comment{path, line, text})
			}
		}
		line += strings.Count(rest[:length], "\n")
		rest = rest[length:]
	}
	return found
}

// comments reads the comments of every Go, TypeScript, JavaScript and SQL file.
func comments(t *testing.T) (found []comment) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if notOurs(path) {
				return filepath.SkipDir
			}
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if regexp.MustCompile(`(?m)^// Code generated .*DO NOT EDIT\.$`).Match(source[:min(len(source), 500)]) {
			return nil
		}
		switch filepath.Ext(path) {
		case ".go":
			list, err := goComments(path, source)
			found = append(found, list...)
			return err
		case ".ts", ".js":
			found = append(found, scanComments(path, string(source), "//", "\"'`")...)
		case ".sql":
			found = append(found, scanComments(path, string(source), "--", "'")...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

var (
	// citedPage is a page's path, perhaps with a section of it in quotation marks.
	citedPage = regexp.MustCompile(`([A-Za-z0-9_][A-Za-z0-9_./-]*\.md)\b(?:,\s+"([^"]+)")?`)
	citedADR  = regexp.MustCompile(`\b(?:docs/adr/|ADR )([0-9]{1,4})\b`)
)

// unresolved tells which references of a comment lead nowhere, and how many
// references it has. The repository's root is where pages are looked for.
func unresolved(c comment) (wrong []string, references int) {
	text := strings.ReplaceAll(c.text, "\n", " ")
	tell := func(at int, format string, args ...any) {
		line := c.line + strings.Count(c.text[:at], "\n")
		wrong = append(wrong, fmt.Sprintf("%s:%d: ", c.path, line)+fmt.Sprintf(format, args...))
	}
	for _, m := range citedPage.FindAllStringSubmatchIndex(text, -1) {
		references++
		page := text[m[2]:m[3]]
		content, err := os.ReadFile(filepath.FromSlash(page))
		if err != nil {
			tell(m[0], "there is no page %s", page)
			continue
		}
		if m[4] < 0 {
			continue
		}
		if section := strings.Join(strings.Fields(text[m[4]:m[5]]), " "); !hasSection(string(content), section) {
			tell(m[0], "%s has no section %q", page, section)
		}
	}
	for _, m := range citedADR.FindAllStringSubmatchIndex(text, -1) {
		references++
		number := text[m[2]:m[3]]
		found, err := filepath.Glob(filepath.Join("docs", "adr", strings.Repeat("0", 4-len(number))+number+"-*.md"))
		if err != nil || len(found) != 1 {
			tell(m[0], "%d decisions have the number %s", len(found), number)
		}
	}
	return wrong, references
}

func hasSection(page, section string) bool {
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		if strings.EqualFold(strings.ReplaceAll(m[1], "`", ""), section) {
			return true
		}
	}
	return false
}

// Comments cite pages of this repository, so that a reader can open them.
func TestEveryPageThatACommentCitesIsThere(t *testing.T) {
	atRoot(t)
	checked := 0
	for _, c := range comments(t) {
		wrong, references := unresolved(c)
		checked += references
		for _, text := range wrong {
			t.Error(text)
		}
	}
	if checked < 20 {
		t.Errorf("only %d references found", checked)
	}
}

func TestReferencesAreFoundInComments(t *testing.T) {
	atRoot(t)
	f := func(list []comment, want ...string) {
		t.Helper()
		var got []string
		for _, c := range list {
			wrong, _ := unresolved(c)
			got = append(got, wrong...)
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	list, err := goComments("a.go", []byte("// Package a is good (docs/adr/0001, README.md).\npackage a\n\nvar s = \"no.md\"\n\n"+
		"// b (docs/attribution.md,\n// \"Two hops\"; gone.md) and docs/attribution.md, \"Three\n// hops\"; see ADR 99.\nvar b /* "+
		"lost.md */ int\n"))
	if err != nil {
		t.Fatal(err)
	}
	f(list, `a.go:7: there is no page gone.md`, `a.go:7: docs/attribution.md has no section "Three hops"`,
		"a.go:8: 0 decisions have the number 99", "a.go:9: there is no page lost.md")
	f(scanComments("a.ts",
		"let a = 'it\\'s // no.md'; // gone.md\n/* b\n lost.md */ let u = `http://x/y.md`;\n// docs/wire.md,\n// \"Money\"\n", "//", "\"'`"),
		"a.ts:1: there is no page gone.md", "a.ts:3: there is no page lost.md")
	f(scanComments("a.sql", "select '-- no.md'; -- gone.md\n-- docs/wire.md, \"Nothing\"\n", "--", "'"),
		"a.sql:1: there is no page gone.md", `a.sql:2: docs/wire.md has no section "Nothing"`)
}
