package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is linked in has a license that a release may have, and its text is in the file that goes along.
func TestTheLicensesOfOthersGoAlong(t *testing.T) {
	tree, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for pkg, env := range map[string][]string{"./cmd/tributary": {"GOOS=linux", "GOARCH=arm64"}, "./wasm": {"GOOS=wasip1", "GOARCH=wasm"}} {
		all, err := licenses(t.Context(), tree, env, pkg)
		if err != nil {
			t.Fatal(err)
		}
		text := string(told(all))
		if !strings.HasPrefix(all[0].name, "stdlib@1.") || all[0].licenses != "BSD-3-Clause" || !strings.Contains(text, "The Go Authors") {
			t.Errorf("%s: the first is %s (%s)", pkg, all[0].name, all[0].licenses)
		}
		if pkg == "./wasm" {
			continue
		}
		for _, want := range []string{"github.com/jackc/pgx/v5@v5.", " (MIT)", " (Apache-2.0)", "Jack Christensen"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: nothing of %q", pkg, want)
			}
		}
		for _, m := range all {
			if len(m.texts) < 200 {
				t.Errorf("%s: %q", m.name, m.texts)
			}
		}
	}
}

func TestCodeWithoutALicenseIsNotReleased(t *testing.T) {
	mit := "https://opensource.org/licenses/MIT"
	own, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		t.Fatal(err)
	}
	for name, texts := range map[string]map[string]string{
		"no license":           {"README.md": mit},
		"% of":                 {"LICENSE": string(own) + strings.Repeat(" Nobody may sell it, nor keep it, on any day of the year.", 1000)},
		"no license is known":  {"LICENSE": strings.Repeat("All rights reserved. ", 40)},
		"the license AGPL-3.0": {"LICENSE": mit, "inside/of/COPYING": "https://www.gnu.org/licenses/agpl.txt"},
	} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "inside", "of"), 0o700); err != nil {
			t.Fatal(err)
		}
		for path, text := range texts {
			if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := readLicenses("example.com/m@v1.0.0", dir, []string{filepath.Join(dir, "inside", "of")})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
