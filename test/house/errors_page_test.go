package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// sourcesOf are the files of a package, but for its tests.
func sourcesOf(t *testing.T, dir string) (files []*ast.File) {
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

// codesOf are the values of the constants of a package whose names begin with prefix. One that is another package's constant has the value
// that others gives it.
func codesOf(t *testing.T, dir, prefix string, others map[string]string) map[string]string {
	t.Helper()
	values := map[string]string{}
	for _, file := range sourcesOf(t, dir) {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			for i := 0; ok && i < len(spec.Values) && i < len(spec.Names); i++ {
				name := spec.Names[i].Name
				if rest, found := strings.CutPrefix(name, prefix); !found || rest == "" || rest[0] < 'A' || rest[0] > 'Z' {
					continue
				}
				switch value := spec.Values[i].(type) {
				case *ast.BasicLit:
					if text, err := strconv.Unquote(value.Value); err == nil {
						values[name] = text
					}
				case *ast.SelectorExpr:
					if values[name] = others[value.Sel.Name]; values[name] == "" {
						t.Errorf("%s: the value of %s is not known", dir, name)
					}
				}
			}
			return true
		})
	}
	return values
}

// sorted are the values of a map, each once, in order.
func sorted(values map[string]string) (list []string) {
	for _, value := range values {
		list = append(list, value)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Every code that an answer of the admin API may have has its address in docs/errors.md and is in the OpenAPI document, and nothing
// else is.
func TestEveryErrorCodeHasItsAddress(t *testing.T) {
	atRoot(t)
	rules := codesOf(t, filepath.Join("internal", "commerce"), "Code", nil)
	errorCodes := codesOf(t, "admin", "code", rules)
	if len(errorCodes) < 25 || len(rules) < 15 {
		t.Fatalf("only %d codes and %d rules", len(errorCodes), len(rules))
	}
	// An error has its code from one of those constants, or from its first detail.
	for _, file := range sourcesOf(t, "admin") {
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if name, ok := literal.Type.(*ast.Ident); !ok || name.Name != "problem" {
				return true
			}
			for _, element := range literal.Elts {
				pair, ok := element.(*ast.KeyValueExpr)
				if !ok || pair.Key.(*ast.Ident).Name != "code" {
					continue
				}
				if value, ok := pair.Value.(*ast.Ident); !ok || value.Name != "code" && errorCodes[value.Name] == "" {
					t.Errorf("admin: a problem has a code that is no constant code…: %v", pair.Value)
				}
			}
			return true
		})
	}

	page, err := os.ReadFile(filepath.Join("docs", "errors.md"))
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| (?:[45][0-9][0-9] \\| )?<a id=\"([a-z_]+)\"></a>`([a-z_]+)` \\| [^|]+ \\|")
	var addresses, ofErrors []string
	for _, match := range row.FindAllStringSubmatch(string(page), -1) {
		addresses = append(addresses, match[1])
		if match[1] != match[2] {
			t.Errorf("docs/errors.md: the address of %s is %s", match[2], match[1])
		}
		if regexp.MustCompile(`^\| [45]`).MatchString(match[0]) {
			ofErrors = append(ofErrors, match[1])
		}
	}
	told := slices.Sorted(slices.Values(addresses))
	if got := slices.Compact(slices.Clone(told)); len(got) != len(told) || strings.Count(string(page), "<a id=") != len(told) {
		t.Errorf("docs/errors.md: an address is there twice, or a row is none: %q", told)
	}
	all := append(sorted(errorCodes), sorted(rules)...)
	slices.Sort(all)
	if all = slices.Compact(all); !slices.Equal(told, all) {
		t.Errorf("docs/errors.md has\n%q\nthe code has\n%q", told, all)
	}
	slices.Sort(ofErrors)
	if !slices.Equal(ofErrors, sorted(errorCodes)) {
		t.Errorf("docs/errors.md tells of the errors\n%q\nthe code has\n%q", ofErrors, sorted(errorCodes))
	}

	text, err := os.ReadFile(filepath.Join("admin", "openapi", "openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	type coded struct {
		Properties struct{ Code struct{ Enum []string } }
	}
	var document struct {
		Info       struct{ Description string }
		Components struct {
			Schemas struct {
				Error  coded `yaml:"Error"`
				Detail coded `yaml:"Detail"`
			}
		}
	}
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	enum := slices.Sorted(slices.Values(document.Components.Schemas.Error.Properties.Code.Enum))
	if !slices.Equal(enum, sorted(errorCodes)) {
		t.Errorf("the OpenAPI document has the codes\n%q\nthe code has\n%q", enum, sorted(errorCodes))
	}
	for _, code := range enum {
		if !strings.Contains(document.Info.Description, "`"+code+"`") {
			t.Errorf("the table of errors in the OpenAPI document has no %s", code)
		}
	}
	of := map[string]string{"taken": "name_taken", "period": "coupon_period_conflict"} // which details have too
	for name, code := range rules {
		of[name] = code
	}
	if enum := slices.Sorted(slices.Values(document.Components.Schemas.Detail.Properties.Code.Enum)); !slices.Equal(enum, sorted(of)) {
		t.Errorf("the OpenAPI document has the rules\n%q\nthe code has\n%q", enum, sorted(of))
	}
}
