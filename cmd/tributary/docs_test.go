package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var (
	docsFence  = regexp.MustCompile("(?ms)^ *```[^\n]*\n(.*?)^ *```$")
	docsInline = regexp.MustCompile("`([^`\n]+)`")
	docsFlag   = regexp.MustCompile(`(?:^|[\s(\[])--([a-z][a-z0-9-]*)`)
	ofTheirs   = []string{"show-toplevel", "headless", "replace"} // flags of other programs that the pages name alone
)

// commandsIn are the calls of tributary in a page's code, each from its name to its line's end
// or to the next command of a pipe.
func commandsIn(page string) (calls []string) {
	var code []string
	for _, m := range docsFence.FindAllStringSubmatch(page, -1) {
		code = append(code, strings.Split(strings.ReplaceAll(m[1], "\\\n", " "), "\n")...)
	}
	for _, m := range docsInline.FindAllStringSubmatch(docsFence.ReplaceAllString(page, ""), -1) {
		code = append(code, m[1])
	}
	for _, line := range code {
		for _, part := range regexp.MustCompile(`[|;&]+`).Split(line, -1) {
			if _, call, found := strings.Cut(" "+strings.ReplaceAll(part, "bin/tributary", "tributary"), " tributary "); found {
				calls = append(calls, call)
			}
		}
	}
	return calls
}

// commandOf is the command that a call names, nil where it names none.
func commandOf(call string) *cobra.Command {
	cmd := newRoot()
	for _, word := range strings.Fields(call) {
		next := slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == word })
		if next < 0 {
			break
		}
		cmd = cmd.Commands()[next]
	}
	if !cmd.HasParent() {
		return nil
	}
	return cmd
}

// Each call of tributary in the documentation names a command that is there, with flags that it has. Each
// flag that is named alone is one of some command.
func TestThePagesNameCommandsAndFlagsThatAreThere(t *testing.T) {
	root, all, checked := filepath.Join("..", ".."), map[string]bool{"help": true, "version": true}, 0
	for _, cmd := range leaves(t) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { all[f.Name] = true })
	}
	var pages []string
	for _, dir := range []string{"docs", "deploy", "sdk-js"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() && entry.Name() == "node_modules" {
				return fs.SkipDir
			}
			if strings.HasSuffix(path, ".md") {
				pages = append(pages, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "CHANGELOG.md")) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range commandsIn(string(text)) {
			cmd := commandOf(call)
			if cmd == nil {
				if first, _, _ := strings.Cut(call, " "); regexp.MustCompile(`^[a-z]{3,}$`).MatchString(first) {
					t.Errorf("%s: there is no command `tributary %s`", path, call)
				}
				continue
			}
			checked++
			for _, m := range docsFlag.FindAllStringSubmatch(call, -1) {
				if !cmd.HasSubCommands() && cmd.Flags().Lookup(m[1]) == nil && m[1] != "help" {
					t.Errorf("%s: `tributary %s` has no flag --%s", path, cmd.CommandPath(), m[1])
				}
			}
		}
		for _, m := range docsInline.FindAllStringSubmatch(docsFence.ReplaceAllString(string(text), ""), -1) {
			if name := regexp.MustCompile(`^--([a-z][a-z0-9-]*)`).FindStringSubmatch(m[1]); name != nil && !all[name[1]] &&
				!slices.Contains(ofTheirs, name[1]) {
				t.Errorf("%s: no command has a flag --%s", path, name[1])
			}
		}
	}
	if checked < 60 {
		t.Errorf("only %d calls found", checked)
	}
}

func TestCallsAreFoundInPages(t *testing.T) {
	got := commandsIn("a `tributary keys list --json`, `bin/tributary dev`\n\n```sh\nzcat x | tributary import events - \\\n  --edge y > " +
		"z; echo\n$ tributary verify\n```\n")
	want := []string{"import events -    --edge y > z", "verify", "keys list --json", "dev"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
