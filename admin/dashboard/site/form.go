package site

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
)

// Field is one field of a form, as the template "field" shows it.
type Field struct {
	ID    string // of the element; set by form.add
	Name  string
	Label string // where form.Add gets none, the text of the name
	Help  string // may be empty
	// Type is an input's type, or textarea, select, checks (several of Options) or
	// check (one of yes and no).
	Type     string
	Value    string
	Values   []string // of checks
	Error    string   // may be empty
	Required bool
	Disabled bool
	Options  []Option
	Max      int // characters
	Fill     string
	Group    string // heading above the field; may be empty
	before   string // its value before something was typed
}

// Option is a value that a field offers.
type Option struct {
	Value, Label, Help string
	Chosen             bool
}

// Form is a form with what was typed and what is wrong with it.
type Form struct {
	Lang   *lang.Printer
	IDs    string     // beginning of the elements' ids: "f-", another where a page has several forms
	texts  string     // beginning of the keys of its texts: "keys."
	values url.Values // what was typed; nil: the form is shown for the first time
	Fields []Field
	Alert  string // what is wrong with all of it; may be empty
	Stored *Form  // the form of what is stored now, for Stale; nil: it shows nothing that is stored
	Now    []Saved
	stale  bool     // what it changes was changed meanwhile
	Said   []Said   // the amounts that were read: they are shown before they are saved
	Warned []string // what is probably not meant: it is shown before it is saved
}

// Saved is what is stored of a field where it differs from what was typed.
type Saved struct{ Label, Text string }

// NewForm begins a form whose fields are named by the texts "<texts>.<name>" and
// explained by "<texts>.<name>_help", where there is one.
func NewForm(l *lang.Printer, texts string, values url.Values) *Form {
	return &Form{Lang: l, IDs: "f-", texts: texts + ".", values: values}
}

// Add adds a field. What was typed replaces its value.
func (f *Form) Add(x Field) {
	x.ID = f.IDs + x.Name
	if x.Label == "" {
		x.Label = f.Lang.T(f.texts + x.Name)
	}
	if f.Lang.Has(f.texts + x.Name + "_help") {
		x.Help = f.Lang.T(f.texts + x.Name + "_help")
	}
	x.before = x.Value
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

// Options are values with the texts "<texts>.<key>.<value>" as labels, dots and
// dashes of the value as underscores.
func (f *Form) Options(key string, values ...string) (list []Option) {
	for _, value := range values {
		name := f.texts + key + "_" + strings.NewReplacer(".", "_", "-", "_").Replace(value)
		o := Option{Value: value, Label: TextOf(f.Lang, name, value)}
		if f.Lang.Has(name + "_help") {
			o.Help = f.Lang.T(name + "_help")
		}
		list = append(list, o)
	}
	return list
}

// Refuse shows violations at their fields: a violation's field is "links[0].url",
// and names says which field of the form that is; what no field has stands above
// the form.
func (f *Form) Refuse(bad commerce.Violations, names map[string]string) {
	for _, v := range bad.List {
		path := v.Field
		name, known := names[path]
		if !known {
			list, _, _ := strings.Cut(path, "[")
			if name, known = names[list]; !known {
				name = list
			}
		}
		f.Fail(name, ViolationText(f.Lang, v))
	}
	if bad.Any() && f.Alert == "" {
		f.Alert = f.Lang.T("form.refused")
	}
}

// Fail shows an error at a field, or above the form where it has no such field.
func (f *Form) Fail(name, text string) {
	for i := range f.Fields {
		if f.Fields[i].Name == name {
			if f.Fields[i].Error == "" {
				f.Fields[i].Error = text
			}
			if f.Alert == "" {
				f.Alert = f.Lang.T("form.refused")
			}
			return
		}
	}
	if f.Alert != "" && f.Alert != f.Lang.T("form.refused") {
		f.Alert += " "
	} else {
		f.Alert = ""
	}
	f.Alert += text
}

// Warn says before the form is saved what is probably not meant; an empty text says nothing.
func (f *Form) Warn(text string) {
	if text != "" && !slices.Contains(f.Warned, text) {
		f.Warned = append(f.Warned, text)
	}
}

// Failed reports whether the form is shown again since something is wrong.
func (f *Form) Failed() bool { return f != nil && f.Alert != "" }

// Status is that of the page which shows a form again.
func (f *Form) Status() int {
	if f.stale {
		return http.StatusConflict
	}
	return http.StatusUnprocessableEntity
}

// Field returns a field by its name, for pages that place them one by one.
func (f *Form) Field(name string) Field {
	for _, x := range f.Fields {
		if x.Name == name {
			return x
		}
	}
	return Field{}
}

// ViolationText says what a violation is, in the language of the page: by the text
// "violation.<words of the format>", else in English.
func ViolationText(l *lang.Printer, v commerce.Violation) string {
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

// Done leads to a page after a form was done, which says so by the text
// "done.<what>".
func Done(w http.ResponseWriter, r *http.Request, path, what string) {
	http.Redirect(w, r, WithValue(path, "done", what), http.StatusSeeOther)
}
