package site

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/tributary-io/tributary/internal/commerce"
)

// checkedBy are the files, below internal, whose rules the forms show.
var checkedBy = []string{"commerce/rule.go", "commerce/settings.go", "commerce/text.go", "commerce/entry.go", "commerce/connectlease.go",
	"account/apikey.go",
	"account/member.go", ofLinks}

const ofLinks = "publichost/publichost.go"

// Each message of a rule that a form may break is there in each language, so that a
// rule that is added is not shown in English to somebody who reads Portuguese.
func TestEveryViolationHasItsText(t *testing.T) {
	t.Parallel()
	languages, err := LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range checkedBy {
		parsed, err := parser.ParseFile(token.NewFileSet(), "../../../internal/"+file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name, index := "", 2
			if f, ok := call.Fun.(*ast.SelectorExpr); ok {
				name = f.Sel.Name
			}
			switch {
			case name == "New" && file == ofLinks:
				index = 0
			case name != "Add" || len(call.Args) <= index:
				return true
			}
			literal, ok := call.Args[index].(*ast.BasicLit)
			if !ok {
				return true
			}
			format, err := strconv.Unquote(literal.Value)
			if err != nil || format == "%s" {
				return true
			}
			seen++
			for _, l := range languages.All() {
				if key := "violation." + violationKey(format); !l.Has(key) {
					t.Errorf("%s has no text %s for %q", l.Tag, key, format)
				}
			}
			return true
		})
	}
	if seen < 25 {
		t.Errorf("only %d messages were seen", seen)
	}
}

func TestAViolationIsToldAtItsField(t *testing.T) {
	t.Parallel()
	var bad commerce.Violations
	bad.Add("window_days", commerce.CodeOutOfRange, "must be from 1 to %d", 365)
	bad.Add("origins[3]", commerce.CodeInvalidValue,
		"%q is no origin, such as https://loja.example.com: scheme and host in ASCII, without a path or a slash", "x")
	bad.Add("somewhere", commerce.CodeEmpty, "is new and not translated")
	languages, err := LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	f := NewForm(languages.Of("pt-BR"), "settings", nil)
	f.Add(Field{Name: "window_days"})
	f.Add(Field{Name: "origins"})
	f.Refuse(bad, nil)
	if got := f.Field("window_days").Error; got != "deve ser de 1 a 365" {
		t.Errorf("window_days: %q", got)
	}
	if got := f.Field("origins").Error; got == "" {
		t.Error("origins has no error")
	}
	if f.Alert != "is new and not translated" {
		t.Errorf("the form says %q", f.Alert)
	}
}
