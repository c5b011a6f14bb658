package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestAnOperatorIsChanged(t *testing.T) {
	f := func(source, kind string, offset int, want string) {
		t.Helper()
		got, err := mutate([]byte(source), offset, kind)
		if (err != nil) != (want == "") || string(got) != want {
			t.Errorf("%s of %q at %d: %q, %v; want %q", kind, source, offset, got, err, want)
		}
	}
	f("a<b", "CONDITIONALS_BOUNDARY", 1, "a<=b")
	f("a<=b", "CONDITIONALS_BOUNDARY", 1, "a<b")
	f("a<=b", "CONDITIONALS_NEGATION", 1, "a>b")
	f("a==b", "CONDITIONALS_NEGATION", 1, "a!=b")
	f("a-b", "ARITHMETIC_BASE", 1, "a+b")
	f("-", "INVERT_NEGATIVES", 0, "+")
	f("a==b", "CONDITIONALS_BOUNDARY", 1, "")
	f("a==b", "ARITHMETIC_BASE", 0, "")
	f("a&&b", "INVERT_LOGICAL", 1, "")
}

// A module of its own, whose tests see the first boundary and not the second.
func TestConditionsOfCasesAreRun(t *testing.T) {
	root := t.TempDir()
	const source = "package p\n\nfunc f(a int) string {\n\tswitch {\n\tcase a < 1:\n\t\treturn \"no\" + \"ne\"\n\tcase a > 9, \"-\"+\"-\" " +
		"== \"\":\n\t\treturn \"many\"\n\t}\n\treturn \"some\"\n}\n"
	const tests = "package p\n\nimport \"testing\"\n\nfunc TestF(t *testing.T) {\n\tif f(0) != \"none\" || f(1) != \"some\" || f(100) != " +
		"\"many\" {\n\t\tt.Fail()\n\t}\n}\n"
	if err := os.Mkdir(filepath.Join(root, "p"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"go.mod": "module example.org/m\n\ngo 1.26\n", "p/p.go": source, "p/p_test.go": tests} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := func(kind string, line, column int) string {
		return fmt.Sprintf(`{"type":%q,"status":%q,"line":%d,"column":%d}`, kind, statusNotCovered, line, column)
	}
	report := `{"files":[{"file_name":"p.go","mutations":[` + at("CONDITIONALS_BOUNDARY", 5, 9) + "," + at("ARITHMETIC_BASE", 6, 15) + "," +
		at("CONDITIONALS_BOUNDARY", 7, 9) + "," + at("ARITHMETIC_BASE", 7, 17) + `]}]}`
	mutants, err := readReport("p", []byte(report), func(path string) ([]byte, error) { return os.ReadFile(filepath.Join(root, path)) })
	if err != nil {
		t.Fatal(err)
	}
	if err := runCases(t.Context(), root, "p", mutants); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{statusKilled, statusNotCovered, statusLived, statusNotViable} { // text cannot be subtracted
		if mutants[i].status != want {
			t.Errorf("%s: %s, want %s", mutants[i].source, mutants[i].status, want)
		}
	}
}
