package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
)

// field is one field of a form, as the template "field" shows it.
type field struct {
	ID    string // of the element; set by form.add
	Name  string
	Label string
	Help  string // may be empty
	// Type is an input's type, or textarea, select, checks (several of Options) or
	// check (one of yes and no).
	Type     string
	Value    string
	Values   []string // of checks
	Error    string   // may be empty
	Required bool
	Disabled bool
	Options  []option
	Max      int // characters
	Fill     string
	Group    string // heading above the field; may be empty
}

type option struct {
	Value, Label, Help string
	Chosen             bool
}

// form is a form with what was typed and what is wrong with it.
type form struct {
	l      *lang.Printer
	ids    string     // beginning of the elements' ids: "f-", another where a page has several forms
	texts  string     // beginning of the keys of its texts: "keys."
	values url.Values // what was typed; nil: the form is shown for the first time
	Fields []field
	Alert  string // what is wrong with all of it; may be empty
}

// newForm begins a form whose fields are named by the texts "<texts>.<name>" and
// explained by "<texts>.<name>_help", where there is one.
func newForm(l *lang.Printer, texts string, values url.Values) *form {
	return &form{l: l, ids: "f-", texts: texts + ".", values: values}
}

// add adds a field. What was typed replaces its value.
func (f *form) add(x field) {
	x.ID = f.ids + x.Name
	x.Label = f.l.T(f.texts + x.Name)
	if f.l.Has(f.texts + x.Name + "_help") {
		x.Help = f.l.T(f.texts + x.Name + "_help")
	}
	if f.values != nil && x.Type != "password" {
		x.Value, x.Values = f.values.Get(x.Name), f.values[x.Name]
	}
	if x.Type == "checks" || x.Type == "select" {
		for i, o := range x.Options {
			x.Options[i].Chosen = o.Value == x.Value || x.Type == "checks" && slices.Contains(x.Values, o.Value)
		}
	}
	if x.Type == "" {
		x.Type = "text"
	}
	f.Fields = append(f.Fields, x)
}

// options are values with the texts "<texts>.<key>.<value>" as labels, dots and
// dashes of the value as underscores.
func (f *form) options(key string, values ...string) (list []option) {
	for _, value := range values {
		name := f.texts + key + "_" + strings.NewReplacer(".", "_", "-", "_").Replace(value)
		o := option{Value: value, Label: textOf(f.l, name, value)}
		if f.l.Has(name + "_help") {
			o.Help = f.l.T(name + "_help")
		}
		list = append(list, o)
	}
	return list
}

// refuse shows violations at their fields: a violation's field is "links[0].url",
// and names says which field of the form that is; what no field has stands above
// the form.
func (f *form) refuse(bad commerce.Violations, names map[string]string) {
	for _, v := range bad.List {
		path := v.Field
		name, known := names[path]
		if !known {
			list, _, _ := strings.Cut(path, "[")
			if name, known = names[list]; !known {
				name = list
			}
		}
		f.fail(name, violationText(f.l, v))
	}
	if bad.Any() && f.Alert == "" {
		f.Alert = f.l.T("form.refused")
	}
}

// fail shows an error at a field, or above the form where it has no such field.
func (f *form) fail(name, text string) {
	for i := range f.Fields {
		if f.Fields[i].Name == name {
			if f.Fields[i].Error == "" {
				f.Fields[i].Error = text
			}
			if f.Alert == "" {
				f.Alert = f.l.T("form.refused")
			}
			return
		}
	}
	if f.Alert != "" && f.Alert != f.l.T("form.refused") {
		f.Alert += " "
	} else {
		f.Alert = ""
	}
	f.Alert += text
}

// Failed reports whether the form is shown again since something is wrong.
func (f *form) Failed() bool { return f != nil && f.Alert != "" }

// Field returns a field by its name, for pages that place them one by one.
func (f *form) Field(name string) field {
	for _, x := range f.Fields {
		if x.Name == name {
			return x
		}
	}
	return field{}
}

// violationText says what a violation is, in the language of the page: by the text
// "violation.<words of the format>", else in English.
func violationText(l *lang.Printer, v commerce.Violation) string {
	words := v.Format
	if words == "%s" || words == "" {
		words = v.Message
	}
	if !l.Has("violation." + violationKey(words)) {
		return v.Message
	}
	return l.T("violation."+violationKey(words), v.Args...)
}

// violationKey makes a key of a message's format: "must be at most %s" is
// "must_be_at_most_s".
func violationKey(format string) string {
	words := strings.FieldsFunc(strings.ToLower(format), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	key := strings.Join(words, "_")
	return key[:min(len(key), 60)]
}

// done leads to a page after a form was done, which says so by the text
// "done.<what>".
func done(w http.ResponseWriter, r *http.Request, path, what string) {
	http.Redirect(w, r, withValue(path, "done", what), http.StatusSeeOther)
}
