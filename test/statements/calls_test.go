package statements_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/test/statements"
)

func TestCallsListsEveryPlaceThatSendsAStatement(t *testing.T) {
	calls, err := statements.Calls(".", "./testdata/calls")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range calls {
		got = append(got, fmt.Sprintf("%s:%d %s constant=%t queued=%t local=%s name=%t",
			path.Base(c.File), c.FromLine, c.Function, c.SQL != "", c.Queued, c.Local, c.ReadsName))
	}
	want := []string{
		"calls.go:16 constant constant=true queued=false local= name=false",
		"calls.go:17 constant constant=true queued=false local= name=false",
		"calls.go:27 queued constant=true queued=true local= name=false",
		"calls.go:28 queued constant=false queued=false local= name=false",
		"calls.go:33 ended constant=false queued=false local= name=false",
		"calls.go:37 callers constant=true queued=false local= name=false",
		"calls.go:38 callers constant=true queued=false local= name=false",
		"calls.go:47 local constant=false queued=false local=sql name=false",
		"calls.go:50 local constant=false queued=false local=sql name=false",
		"calls.go:57 named constant=false queued=false local= name=true",
	}
	if !slices.Equal(got, want) {
		t.Errorf("calls:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
