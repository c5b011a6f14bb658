package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestModelsAreComputedFromAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "paths.csv")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := func(wantStatus int, want string, args ...string) {
		t.Helper()
		out, status := command(t, append([]string{"models"}, args...)...)
		if status != wantStatus || !strings.Contains(out, want) {
			t.Errorf("%v: exit status %d and\n%s\nwant %d and %q", args, status, out, wantStatus, want)
		}
	}
	write("path,total_conversions,total_conversion_value,total_null\nC1 > C2 > C3,1,50,0\nC1,0,0,1\nC2 > C3,0,0,1\n")
	f(0, "channel,model,conversions,value\nC1,first,1.0000000000,50.0000000000\n", path)
	f(0, "C1,markov,0.2000000000,10.0000000000\nC1,shapley,0.3333333333,16.6666666667\nC2,first,0.0000000000", path)
	f(0, `{"channel":"C3","model":"markov","conversions":0.4000000000,"value":20.0000000000},`, path, "--json")
	f(statusUsage, "PATHS.csv is missing: tributary models PATHS.csv")
	f(1, "no such file", path+".missing")

	write("path,total_conversions,total_null\na,1,-3\n")
	f(1, "tributary: "+path+": line 2, column total_null: \"-3\" is negative\n", path)
	write("path\na > b\n")
	f(1, `tributary: `+path+`: line 1: no column is called total_conversions or total_conversion_value, only "path": without both all `+
		`results are 0`, path)
	write("path,total_conversion,total_null\na > b,1,2\n")
	f(1, `line 1: the column "total_conversion" is not known: is it total_conversions?`, path)
}

func TestModelsAreComputedFromStandardInput(t *testing.T) {
	root := newRoot()
	var out, said bytes.Buffer
	root.SetIn(strings.NewReader("path;total_conversions\na;2\n"))
	root.SetOut(&out)
	root.SetErr(&said)
	root.SetArgs([]string{"models", "-"})
	if err := root.ExecuteContext(t.Context()); err != nil || said.Len() > 0 ||
		!strings.HasSuffix(out.String(), "\na,shapley,2.0000000000,0.0000000000\n") {
		t.Errorf("%v, %q and\n%s", err, said.String(), out.String())
	}
	root.SetIn(strings.NewReader("campaign;total_conversions\na;2\n"))
	if err := root.ExecuteContext(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "standard input: line 1: ") {
		t.Errorf("%v", err)
	}
}
