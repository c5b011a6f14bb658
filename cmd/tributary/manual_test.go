package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// manual writes all pages, and gives them by name.
func manual(t *testing.T) (dir string, pages map[string]string) {
	t.Helper()
	dir, pages = t.TempDir(), map[string]string{}
	if out, status := command(t, "manual", dir); status != 0 {
		t.Fatal(out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "man1", "*.1.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		zipped, err := gzip.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		pages[strings.TrimSuffix(filepath.Base(path), ".1.gz")] = string(readAll(t, zipped))
		file.Close()
	}
	return dir, pages
}

func TestEveryCommandHasAManualPage(t *testing.T) {
	dir, pages := manual(t)
	for path, cmd := range leaves(t) {
		page := pages["tributary-"+strings.ReplaceAll(path, " ", "-")]
		if !strings.HasPrefix(page, ".TH TRIBUTARY") || !strings.Contains(page, "\n.SH EXAMPLES\n.nf\n") ||
			!strings.Contains(page, `\- `+roff(cmd.Short)+"\n") {
			t.Errorf("the page of %s:\n%s", path, page)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(page, "\n.B "+roff("--"+f.Name)) {
				t.Errorf("the page of %s says nothing of --%s", path, f.Name)
			}
		})
	}
	if page := pages["tributary"]; !strings.Contains(page, `tributary\-import(1)`) || strings.Contains(page, `tributary\-manual`) {
		t.Errorf("the first page:\n%s", page)
	}
	for name, want := range map[string]string{"tributary.bash": "__start_tributary", "_tributary": "#compdef tributary",
		"tributary.fish": "complete -c tributary"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, without %s", name, err, want)
		}
	}
	again, _ := manual(t)
	for name := range pages {
		file := filepath.Join("man1", name+".1.gz")
		if one, other := readFile(t, dir, file), readFile(t, again, file); !bytes.Equal(one, other) {
			t.Errorf("%s is another when it is written again", file)
		}
	}
}

func readFile(t *testing.T, path ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// What groff prints is what the help says, without a warning.
func TestManualPagesAreReadByGroff(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Fatal("groff is not here: apt-get install groff-base")
	}
	_, pages := manual(t)
	for name, page := range pages {
		cmd := exec.CommandContext(t.Context(), groff, "-k", "-man", "-ww", "-Tutf8", "-P-cbou")
		var out, warned bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(page), &out, &warned
		if err := cmd.Run(); err != nil || bytes.Contains(warned.Bytes(), []byte("warning: macro")) || out.Len() < 200 {
			t.Errorf("%s: %v\n%s", name, err, warned.String())
		}
		row := "path                    channels with > between them: email > (direct) > ads"
		if name == "tributary-models" && !strings.Contains(out.String(), row) {
			t.Errorf("a table's columns are lost:\n%s", out.String())
		}
	}
	if got := roff(".SH a\n'b\\c"); got != "\\&.SH a\n\\&'b\\ec" {
		t.Errorf("a text is read as a macro: %q", got)
	}
}
