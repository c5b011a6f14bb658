// Package texttest reads the dashboard's texts for tests.
//
// What belongs here: languages. What a text says is for the test to know.
package texttest

import (
	"testing"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/lang"
)

// English is the first language.
func English(t testing.TB) *lang.Printer {
	t.Helper()
	list, err := site.LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	return list.Of("en")
}
