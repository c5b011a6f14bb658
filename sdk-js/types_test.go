package sdkjs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/test/devtest"
)

// tsc runs the TypeScript compiler of .ci/typescript, which npm installs at its pinned version.
func tsc(t *testing.T, dir string, arguments ...string) (string, error) {
	t.Helper()
	home, err := filepath.Abs("../.ci/typescript")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(home, "node_modules")); err != nil {
		install := exec.CommandContext(t.Context(), "npm", "ci", "--no-audit", "--no-fund")
		install.Dir = home
		if out, err := install.CombinedOutput(); err != nil {
			t.Fatalf("npm ci in .ci/typescript: %v\n%s", err, out)
		}
	}
	command := exec.CommandContext(t.Context(), "node",
		append([]string{filepath.Join(home, "node_modules", "typescript", "bin", "tsc"), "--strict", "--noEmit", "--pretty", "false"},
			arguments...)...)
	command.Dir = dir
	out, err := command.CombinedOutput()
	return string(out), err
}

func TestTypes(t *testing.T) {
	devtest.NeedsIntegration(t)
	dir := packages(t)
	for _, name := range []string{"good.ts", "bad.ts"} {
		text, err := os.ReadFile(filepath.Join("testdata", "types", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for module, resolution := range map[string]string{"nodenext": "nodenext", "esnext": "bundler"} {
		options := []string{"--target", "es2021", "--lib", "es2021,dom", "--module", module, "--moduleResolution", resolution}
		if out, err := tsc(t, dir, append(options, "good.ts")...); err != nil {
			t.Errorf("%s: %v\n%s", module, err, out)
		}
	}
	out, err := tsc(t, dir, "--target", "es2021", "--lib", "es2021,dom", "--module", "esnext", "--moduleResolution", "bundler", "bad.ts")
	if err == nil {
		t.Fatal("the wrong calls compile")
	}
	messages := map[int]string{} // by line
	n := 0
	for _, line := range strings.Split(out, "\n") { // a message may have several lines
		place, message, found := strings.Cut(line, "): error ")
		if !found {
			messages[n] += line
			continue
		}
		number, _, _ := strings.Cut(strings.TrimPrefix(place, "bad.ts("), ",")
		if n, err = strconv.Atoi(number); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		messages[n] += message
	}
	text, err := os.ReadFile(filepath.Join("testdata", "types", "bad.ts"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines[1:] { // i is the index of the line before
		named, found := strings.CutPrefix(lines[i], "// ")
		if !found || !strings.HasSuffix(line, ";") || i < 4 {
			continue
		}
		if message := messages[i+2]; !strings.Contains(message, named) {
			t.Errorf("%s: the message does not name %q: %q", line, named, message)
		}
	}
}

// The source is held by the same compiler; esbuild only strips its types.
func TestTheSourceIsStrict(t *testing.T) {
	devtest.NeedsIntegration(t)
	files, err := filepath.Glob("src/*.ts")
	if err != nil || len(files) == 0 {
		t.Fatalf("source: %v %v", files, err)
	}
	roots, err := filepath.Abs("../.ci/typescript/node_modules/@types")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := tsc(t, ".",
		append([]string{"--target", "es2021", "--lib", "es2022,dom,dom.iterable", "--typeRoots", roots, "--types", "node", "--module", "esnext",
			"--moduleResolution", "bundler", "--noUnusedLocals"}, files...)...); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
