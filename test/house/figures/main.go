// Figures prints how large the house is, beside what it should be at most. `make figures`
// runs it.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// longest is how many characters a line of source may have.
const longest = 140

// generated is what a file begins with that a program makes.
var generated = regexp.MustCompile(`(?m)^// Code generated .*DO NOT EDIT\.$`)

// large is how many methods an interface may have, but for one.
const large = 25

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

func run() error {
	listed, err := exec.Command("git", "ls-files").Output() //nolint:noctx // ends by itself
	if err != nil {
		return fmt.Errorf("git ls-files, in the project's root: %w", err)
	}
	f := figures{packages: map[string]bool{}, interfaces: map[string]int{}}
	for _, name := range strings.Fields(string(listed)) {
		if err := f.add(name); err != nil {
			return err
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "what\tis\tat most\t")
	line := func(what string, is, most int) {
		word := ""
		if is > most {
			word = "too many"
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\n", what, is, most, word)
	}
	line("lines of Go, product", f.product, 68_000)
	fmt.Fprintf(w, "lines of Go, rigs in test/\t%d\t\t\n", f.rigs)
	fmt.Fprintf(w, "lines of Go, tests\t%d\t\t\n", f.tests)
	line("packages under internal/", len(f.packages), 45)
	largest, methods := f.largestInterface()
	line("methods of the largest interface, "+largest, methods, 45)
	line(fmt.Sprintf("other interfaces of more than %d methods", large), max(0, f.largeInterfaces()-1), 0)
	fmt.Fprintf(w, "migrations\t%d\t\t\n", f.migrations)
	line(fmt.Sprintf("lines of Go and SQL over %d characters", longest), f.long, 0)
	line("direct dependencies", f.dependencies, 47)
	line("words of user docs", f.words, 25_000)
	return w.Flush()
}

type figures struct {
	product, rigs, tests, migrations, long, dependencies, words int

	packages   map[string]bool // under internal/
	interfaces map[string]int  // methods of each, by package and name
}

func (f *figures) add(name string) error {
	isSource := strings.HasSuffix(name, ".go") || strings.HasSuffix(name, ".sql")
	isPage := isUserPage(name)
	if !isSource && !isPage && name != "go.mod" {
		return nil
	}
	text, err := os.ReadFile(name) //nolint:gosec // a file of the project
	if err != nil {
		return err
	}
	if generated.Match(text[:min(len(text), 500)]) {
		return nil
	}
	switch lines := bytes.Count(text, []byte("\n")); {
	case isPage:
		f.words += len(strings.Fields(strings.ReplaceAll(string(text), "|", " ")))
	case name == "go.mod":
		f.dependencies = directDependencies(string(text))
	case strings.HasSuffix(name, ".sql"):
		if strings.Contains(name, "/migrations/") {
			f.migrations++
		}
	case strings.HasSuffix(name, "_test.go"):
		f.tests += lines
	case strings.HasPrefix(name, "test/") || strings.HasPrefix(name, "testdata/") || strings.HasPrefix(name, "."):
		f.rigs += lines
	default:
		f.product += lines
		if strings.HasPrefix(name, "internal/") {
			f.packages[path.Dir(name)] = true
		}
		if err := f.addInterfaces(name, text); err != nil {
			return err
		}
	}
	if isSource {
		for line := range bytes.Lines(text) {
			if utf8.RuneCount(bytes.TrimSuffix(line, []byte("\n"))) > longest {
				f.long++
			}
		}
	}
	return nil
}

// isUserPage reports whether a file is a page for users: decisions, notes and what make prove
// writes are for developers.
func isUserPage(name string) bool {
	for _, other := range []string{"docs/adr/", "docs/notes/", "docs/proof.md"} {
		if strings.HasPrefix(name, other) {
			return false
		}
	}
	return name == "README.md" || name == "CHANGELOG.md" || name == "sdk-js/README.md" ||
		strings.HasPrefix(name, "docs/") && strings.HasSuffix(name, ".md")
}

// directDependencies counts the modules of go.mod that are not indirect.
func directDependencies(mod string) (n int) {
	required := false
	for line := range strings.Lines(mod) {
		switch {
		case strings.HasPrefix(line, "require ("):
			required = true
		case strings.HasPrefix(line, ")"):
			required = false
		case required && !strings.Contains(line, "// indirect"):
			n++
		}
	}
	return n
}

func (f *figures) addInterfaces(name string, text []byte) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok {
			if list, ok := spec.Type.(*ast.InterfaceType); ok {
				f.interfaces[path.Dir(name)+"."+spec.Name.Name] = list.Methods.NumFields()
			}
		}
		return true
	})
	return nil
}

func (f *figures) largestInterface() (name string, methods int) {
	for of, n := range f.interfaces {
		if n > methods || n == methods && of < name {
			name, methods = of, n
		}
	}
	return name, methods
}

func (f *figures) largeInterfaces() (n int) {
	for _, methods := range f.interfaces {
		if methods > large {
			n++
		}
	}
	return n
}
