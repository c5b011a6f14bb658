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
		if err := f.Add("-12.50", "-x"); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Add("x"); !errors.Is(err, reports.ErrTooManyRows) {
		t.Errorf("%v, want %v", err, reports.ErrTooManyRows)
	}
	if got := f.lines[0]; got[0] != "-12.50" || got[1] != "'-x" {
		t.Errorf("%q: a number stays one, and a text is no formula", got)
	}
}
