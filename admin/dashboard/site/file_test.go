package site

import (
	"errors"
	"testing"

	"github.com/tributary-io/tributary/internal/reports"
)

func TestAListsFileIsBounded(t *testing.T) {
	t.Parallel()
	var f ListFile
	for range mostFileRows {
		f.Add("-12.50", "-x")
	}
	if f.err != nil {
		t.Error("a file of the most rows is refused")
	}
	read := 0
	err := f.AddPages(func() (int, error) {
		f.Add("x")
		read++
		return RowsPerRead, nil
	})
	if err != nil || !errors.Is(f.err, reports.ErrTooManyRows) || read != 1 {
		t.Errorf("%v, %v of a row too many, after %d pages", err, f.err, read)
	}
	if got := f.lines[0]; got[0] != "-12.50" || got[1] != "'-x" {
		t.Errorf("%q: a number stays one, and a text is no formula", got)
	}
}
