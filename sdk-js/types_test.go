package sdkjs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/devstack/devtest"
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
	command := exec.CommandContext(t.Context(), "node", append([]string{filepath.Join(home, "node_modules", "typescript", "bin", "tsc"), "--strict", "--noEmit", "--pretty", "false"}, arguments...)...)
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
	if out, err := tsc(t, ".", append([]string{"--target", "es2021", "--lib", "es2022,dom,dom.iterable", "--typeRoots", roots, "--types", "node", "--module", "esnext", "--moduleResolution", "bundler", "--noUnusedLocals"}, files...)...); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// What the types say of an identity, of a page and of an item's id is what the schema says: these lines are made of it.
func TestTheTypesFollowTheSchema(t *testing.T) {
	t.Parallel()
	type node struct {
		Type       any             `json:"type"` // a text or several
		Ref        string          `json:"$ref"`
		Properties map[string]node `json:"properties"`
	}
	var schema struct {
		node
		Defs map[string]node `json:"$defs"`
	}
	text, err := os.ReadFile("../docs/event.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	typed := func(of node) string {
		if of.Ref != "" {
			of = schema.Defs[strings.TrimPrefix(of.Ref, "#/$defs/")]
		}
		all, several := of.Type.([]any)
		if !several {
			all = []any{of.Type}
		}
		var names []string
		for _, name := range all {
			names = append(names, strings.Replace(fmt.Sprint(name), "integer", "number", 1))
		}
		return strings.Join(names, " | ")
	}
	f := func(file, within string, want []string) {
		t.Helper()
		types, err := os.ReadFile(filepath.Join("src", file))
		if err != nil {
			t.Fatal(err)
		}
		_, body, found := strings.Cut(string(types), within)
		body, _, closed := strings.Cut(body, "}")
		var got []string
		for _, member := range regexp.MustCompile(`(\w+)\?: ([^;\n]+)`).FindAllStringSubmatch(body, -1) {
			got = append(got, member[1]+": "+strings.TrimSpace(member[2]))
		}
		slices.Sort(got)
		if slices.Sort(want); !found || !closed || !slices.Equal(got, want) {
			t.Errorf("%s, %s has %q, the schema %q", file, within, got, want)
		}
	}
	members := func(of map[string]node) (all []string) {
		for name, member := range of {
			all = append(all, name+": "+typed(member))
		}
		return all
	}
	f("event-types.ts", "export interface Identity {", members(schema.Properties["identity"].Properties))
	page := schema.Properties["context"].Properties["page"].Properties
	delete(page, "path") // it follows from the url
	f("server-types.ts", "page?: {", members(page))
	types, err := os.ReadFile("src/event-types.ts")
	if err != nil {
		t.Fatal(err)
	}
	// An item's number is a whole one in the types: the schema also takes what other houses send.
	if id := typed(schema.Defs["name"]); strings.Count(string(types), "  item_id: "+id+";\n  /**") != 1 || strings.Count(string(types), "  item_id?: "+id+";") != 1 {
		t.Errorf("an item's id is no %s", id)
	}
}
