package tributary_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/tributary-io/tributary/internal/importer"
	"github.com/tributary-io/tributary/sdk/core"
)

// notOurs tells the directories that tools and builds leave behind.
func notOurs(path string) bool {
	name := filepath.Base(path)
	return path != "." && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "bin" || name == "data" || name == "dist")
}

// pages lists the repository's Markdown files.
func pages(t *testing.T) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && notOurs(path) {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".md") {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 5 {
		t.Fatalf("only %v", found)
	}
	return found
}

var (
	fence      = regexp.MustCompile("(?ms)^ {0,3}```.*?^ {0,3}```[ \t]*$")
	inlineCode = regexp.MustCompile("`[^`\n]+`")
	// A link or image, its target without a title; and a reference's definition.
	links   = regexp.MustCompile(`\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)|(?m:^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+))`)
	heading = regexp.MustCompile(`(?m)^ {0,3}#{1,6}\s+(.+?)\s*#*\s*$`)
)

// linksOf gives the targets that a page links to, code left out.
func linksOf(page string) (targets []string) {
	page = inlineCode.ReplaceAllString(fence.ReplaceAllString(page, ""), "")
	for _, match := range links.FindAllStringSubmatch(page, -1) {
		targets = append(targets, match[1]+match[2])
	}
	return targets
}

// anchors gives the fragments of a page's headings as GitHub makes them: lower
// case, blanks as dashes, punctuation left out.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		found[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, match[1])] = true
	}
	return found
}

func TestEveryRelativeLinkLeadsSomewhere(t *testing.T) {
	checked := 0
	for _, path := range pages(t) {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range linksOf(string(page)) {
			u, err := url.Parse(target)
			if err != nil {
				t.Errorf("%s: %q is no link: %v", path, target, err)
				continue
			}
			if u.IsAbs() || u.Host != "" {
				continue
			}
			checked++
			linked := path
			if u.Path != "" {
				linked = filepath.Join(filepath.Dir(path), filepath.FromSlash(u.Path))
			}
			if strings.HasPrefix(u.Path, "/") || strings.HasPrefix(linked, "..") {
				t.Errorf("%s: %s leads out of the repository", path, target)
				continue
			}
			if _, err := os.Stat(linked); err != nil {
				t.Errorf("%s: %s leads nowhere", path, target)
				continue
			}
			if u.Fragment == "" || !strings.HasSuffix(linked, ".md") {
				continue
			}
			text, err := os.ReadFile(linked)
			if err != nil {
				t.Fatal(err)
			}
			if !anchors(string(text))[u.Fragment] {
				t.Errorf("%s: %s names no heading of %s", path, target, linked)
			}
		}
	}
	if checked < 5 {
		t.Errorf("only %d relative links found", checked)
	}
}

func TestLinksAreFoundWhereverTheyStand(t *testing.T) {
	got := strings.Join(linksOf("[a](x.md) ![b](<y.png> \"t\") `[c](no.md)`\n\n```\n[d](no.md)\n```\n[e]: z.md\n[![f](i.svg)](w.md#h)"), " ")
	if want := "x.md y.png z.md i.svg w.md#h"; got != want {
		t.Errorf("links %q, want %q", got, want)
	}
	if got := anchors("# The `admin` API, by curl\n```\n# no\n```\n"); len(got) != 1 || !got["the-admin-api-by-curl"] {
		t.Errorf("anchors %v", got)
	}
}

// sourceOf parses the Go files of a package, without its tests.
func sourceOf(t *testing.T, dir string) (files []*ast.File) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// textsOf returns the string literals among expressions.
func textsOf(t *testing.T, expressions []ast.Expr) (texts []string) {
	t.Helper()
	for _, expression := range expressions {
		literal, ok := expression.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			continue
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	return texts
}

// docs/events.md names every code that an answer may have and every spelling
// that is understood.
func TestEventsPageTellsEveryCodeAndName(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("docs", "events.md"))
	if err != nil {
		t.Fatal(err)
	}
	// told holds the page to what of finds in the package's syntax; least guards
	// against looking for what is no longer there.
	told := func(dir, what string, least int, of func(ast.Node) []ast.Expr) {
		t.Helper()
		found := 0
		for _, file := range sourceOf(t, dir) {
			ast.Inspect(file, func(n ast.Node) bool {
				for _, text := range textsOf(t, of(n)) {
					if found++; !strings.Contains(string(page), "`"+text+"`") {
						t.Errorf("docs/events.md does not name %q, one of the %s of %s", text, what, dir)
					}
				}
				return true
			})
		}
		if found < least {
			t.Errorf("only %d %s found in %s, want at least %d", found, what, dir, least)
		}
	}
	// casesOf returns the values that the switches of a function name.
	casesOf := func(function string) func(ast.Node) []ast.Expr {
		return func(n ast.Node) (values []ast.Expr) {
			if f, ok := n.(*ast.FuncDecl); ok && f.Name.Name == function {
				ast.Inspect(f, func(n ast.Node) bool {
					if clause, ok := n.(*ast.CaseClause); ok {
						values = append(values, clause.List...)
					}
					return true
				})
			}
			return values
		}
	}
	told("sdk/core", "codes", 17, func(n ast.Node) []ast.Expr {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Names) == 1 && strings.HasPrefix(spec.Names[0].Name, "Code") {
			return spec.Values
		}
		return nil
	})
	told("sdk/core", "click ids", 14, casesOf("isClickID"))
	told("edge", "refusals", 14, func(n ast.Node) []ast.Expr {
		literal, ok := n.(*ast.CompositeLit)
		if !ok {
			return nil
		}
		if name, ok := literal.Type.(*ast.Ident); ok && name.Name == "refusal" && len(literal.Elts) > 1 {
			return literal.Elts[1:2]
		}
		return nil
	})
	for _, name := range append(core.Names(), importer.CodeTimestampRequired) {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/events.md does not name %q", name)
		}
	}
}
