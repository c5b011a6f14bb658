package dashboard

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/admin/dashboard/site/texttest"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/lang"
)

// keysInUse are the keys, and the beginnings of keys that are put together, that
// the Go files and the templates ask the catalogue for.
type keysInUse struct{ whole, plural, prefix map[string]string } // the value is where

// inTemplates matches {{t "key" …}}, {{n "key" …}} and {{t (printf "key.%s" …)}}.
var inTemplates = regexp.MustCompile(`\b(t|th|n) (?:\(printf )?"([^"]+)"`)

// ofKinds matches {{$.Text "name"}}: a text of the kind that a page is of.
var ofKinds = regexp.MustCompile(`\$\.Text "([^"]+)"`)

// ofKind are the keys of a text of pages of which there are kinds. What conversions lack is webhooks'.
func (u keysInUse) ofKind(name, file string) {
	u.whole["webhooks."+name], u.plural["conversions."+name] = file, "kinds.go"
}

func usedKeys(t *testing.T) keysInUse {
	t.Helper()
	used := keysInUse{map[string]string{}, map[string]string{}, map[string]string{}}
	files, err := os.ReadDir("site/templates")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		body, err := os.ReadFile("site/templates/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range ofKinds.FindAllStringSubmatch(string(body), -1) {
			used.ofKind(match[1], file.Name())
		}
		for _, match := range inTemplates.FindAllStringSubmatch(string(body), -1) {
			key, _, composed := strings.Cut(match[2], "%s")
			switch {
			case composed:
				used.prefix[key] = file.Name()
			case match[1] == "n":
				used.plural[key] = file.Name()
			default:
				used.whole[key] = file.Name()
			}
		}
	}
	for _, dir := range []string{".", "site", "money", "events", "report", "rules", "login", "shops", "webhooks", "mails",
		"../spreadsheet", "../mail", "../../internal/lang"} {
		sources, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, source := range sources {
			if strings.HasSuffix(source.Name(), ".go") && !strings.HasSuffix(source.Name(), "_test.go") {
				used.source(t, dir+"/"+source.Name())
			}
		}
	}
	return used
}

// textArgument says which argument of our functions is a key, by their names.
var textArgument = map[string]int{"T": 0, "N": 0, "Has": 0, "format": 0, "TextOf": 1, "note": 1, "Problem": 3, "ProblemOf": 3}

func (u keysInUse) source(t *testing.T, file string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	u.forms(parsed, file)
	ast.Inspect(parsed, func(n ast.Node) bool {
		// A key that a variable takes, and literals of keys in tables: every text of
		// the form "section.name" counts as a use.
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil && formOfKeys.MatchString(text) && !strings.HasSuffix(text, ".html") &&
				!strings.HasSuffix(text, "_") {
				u.plural[text], u.whole[text] = file, file
			}
		}
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name := ""
		switch f := call.Fun.(type) {
		case *ast.SelectorExpr:
			name = f.Sel.Name
		case *ast.Ident:
			name = f.Name
		}
		at, ofKind := map[string]int{"text": 1, "key": 1, "done": 0, "does": 0}[name]
		if ofKind && strings.HasPrefix(file, "webhooks/") && len(call.Args) > at {
			switch x := call.Args[at].(type) {
			case *ast.BasicLit:
				text, _ := strconv.Unquote(x.Value)
				if at == 1 {
					u.ofKind(text, file)
				}
				u.plural["done.webhook_"+text], u.plural["done.network_"+text] = file, file
			case *ast.BinaryExpr:
				if literal, ok := x.X.(*ast.BasicLit); ok {
					text, _ := strconv.Unquote(literal.Value)
					u.prefix["webhooks."+text], u.prefix["conversions."+text] = file, file
				}
			}
		}
		index, ours := textArgument[name]
		if !ours || len(call.Args) <= index {
			return true
		}
		if key, ok := call.Args[index].(*ast.BasicLit); ok && strings.HasPrefix(name, "Problem") {
			if text, err := strconv.Unquote(key.Value); err == nil {
				u.whole["problem."+text], u.whole["problem."+text+"_text"] = file, file
			}
		}
		if sum, ok := call.Args[index].(*ast.BinaryExpr); ok {
			for { // the leftmost operand
				left, ok := sum.X.(*ast.BinaryExpr)
				if !ok {
					break
				}
				sum = left
			}
			if literal, ok := sum.X.(*ast.BasicLit); ok {
				if text, err := strconv.Unquote(literal.Value); err == nil && strings.Contains(text, ".") {
					u.prefix[text] = file
				}
			}
		}
		return true
	})
}

// forms finds the texts of the forms of a file: "keys.name" of a field "name" and
// "keys.life_" of its options where the file calls site.NewForm(…, "keys", …), and
// "done.<what>".
func (u keysInUse) forms(parsed *ast.File, file string) {
	var forms, fields, options []string
	literal := func(n ast.Expr) string {
		if basic, ok := n.(*ast.BasicLit); ok && basic.Kind == token.STRING {
			text, _ := strconv.Unquote(basic.Value)
			return text
		}
		return ""
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if text := literal(n); text != "" && !strings.ContainsAny(text, " ./") {
				u.plural["done."+text] = file
			}
		case *ast.KeyValueExpr:
			if name, ok := n.Key.(*ast.Ident); ok && name.Name == "Name" {
				fields = append(fields, literal(n.Value))
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok {
				if f.Sel.Name == "NewForm" {
					forms = append(forms, literal(n.Args[1]))
				}
				if f.Sel.Name == "Options" {
					options = append(options, literal(n.Args[0]))
				}
			}
		}
		return true
	})
	for _, form := range forms {
		for _, name := range fields {
			u.plural[form+"."+name], u.plural[form+"."+name+"_help"] = file, file
		}
		for _, name := range options {
			u.prefix[form+"."+name+"_"] = file
		}
	}
}

var formOfKeys = regexp.MustCompile(`^[a-z]+(\.[a-z_0-9]+)+$`)

func TestEveryTextIsThereAndUsed(t *testing.T) {
	t.Parallel()
	texts, used := texttest.English(t), usedKeys(t)
	for key, file := range used.whole {
		inGo := strings.HasSuffix(file, ".go")
		if !texts.Has(key) && !(inGo && (texts.Has(key+".one") || !isSection(texts, key))) {
			t.Errorf("%s asks for the text %s, which is not there", file, key)
		}
	}
	for key, file := range used.plural {
		inGo := strings.HasSuffix(file, ".go")
		if !inGo && (!texts.Has(key+".one") || !texts.Has(key+".other")) {
			t.Errorf("%s asks for the plural %s, which is not there", file, key)
		}
	}
	for _, key := range texts.Keys() {
		base := strings.TrimSuffix(strings.TrimSuffix(key, ".one"), ".other")
		if used.whole[key] != "" || used.plural[base] != "" ||
			slices.ContainsFunc(slices.Collect(maps.Keys(used.prefix)), func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			continue
		}
		t.Errorf("nothing uses the text %s", key)
	}
}

// isSection reports whether a key's section is one of the catalogue's: other texts
// with a dot, such as the name of a file, are no keys.
func isSection(l *lang.Printer, key string) bool {
	section, _, _ := strings.Cut(key, ".")
	return slices.ContainsFunc(l.Keys(), func(known string) bool { return strings.HasPrefix(known, section+".") })
}

// The words of the explanation: a reason or kind of key that is added needs
// its text in each language.
func TestEveryReasonHasWords(t *testing.T) {
	t.Parallel()
	l, err := site.LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range l.All() {
		for _, reason := range facts.Reasons() {
			if !p.Has("reason." + string(reason)) {
				t.Errorf("%s has no text for the reason %s", p.Tag, reason)
			}
		}
		for _, kind := range facts.JoinKinds {
			if !p.Has("key."+string(kind)) || !p.Has("key.about."+string(kind)) {
				t.Errorf("%s has no text for keys of the kind %s", p.Tag, kind)
			}
		}
		for _, scope := range account.Scopes {
			if key := "keys.scope_" + strings.ReplaceAll(string(scope), ".", "_"); !p.Has(key) {
				t.Errorf("%s has no text for the scope %s: %s", p.Tag, scope, key)
			}
		}
	}
	for _, reason := range facts.Reasons() {
		if got := texttest.English(t).T("reason." + string(reason)); got != reason.Words() {
			t.Errorf("%s: %q, and the API says %q", reason, got, reason.Words())
		}
	}
}

// Each reason why a shop was not read, each state and each task has its words in each language.
func TestEveryReasonOfAShopHasWords(t *testing.T) {
	t.Parallel()
	l, err := site.LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), "../../internal/commerce/connection.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string][]string{"Shop": {"reason_", "mend_"}, "Connection": {"state_", "about_"}, "Task": {"doing_", "failed_", "done_"},
		"Proof": {"proof_"}}
	seen := 0
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		value, _ := strconv.Unquote(literal.Value)
		for beginning, keys := range wanted {
			if !strings.HasPrefix(spec.Names[0].Name, beginning) {
				continue
			}
			for _, key := range keys {
				seen++
				for _, p := range l.All() {
					if !p.Has("shops." + key + value) {
						t.Errorf("%s has no text shops.%s%s for %s", p.Tag, key, value, spec.Names[0].Name)
					}
				}
			}
		}
		return true
	})
	if seen < 60 {
		t.Errorf("only %d texts were looked for", seen)
	}
}

// Each reason why a network was not told of an order, or refused it, has its words in each language.
func TestEveryReasonOfANetworkHasWords(t *testing.T) {
	t.Parallel()
	l, err := site.LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("../../internal/commerce/network.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^\t(?:Skip|Try)\w+ += "(\w+)"`).FindAllStringSubmatch(string(source), -1)
	if len(found) < 10 {
		t.Errorf("only %d reasons were found", len(found))
	}
	for _, p := range l.All() {
		for _, reason := range found {
			if key := "conversions.failure_" + reason[1]; !p.Has(key) {
				t.Errorf("%s has no text %s", p.Tag, key)
			}
		}
		for _, network := range commerce.NetworkNames() {
			if !p.Has("conversions.network_" + network) {
				t.Errorf("%s has no name of the network %s", p.Tag, network)
			}
		}
	}
}
