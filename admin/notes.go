package admin

import (
	"slices"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lenient"
	"github.com/tributary-io/tributary/internal/scrub"
	"github.com/tributary-io/tributary/internal/wire"
)

// maxWarnings bounds the warnings of an answer.
const maxWarnings = 20

// notes are what is noted of a body while it is read, beside the rules that it breaks.
type notes struct {
	strict   bool                 // what would be warned of is refused
	warnings []detail             // at most maxWarnings
	objects  []object             // the body and every object in it that was read
	names    map[string]*[]string // of the fields that were looked for, by the path of their object; [] for a list's elements
}

// newBody makes an object of a body.
func newBody(values map[string]any) object {
	n := &notes{names: map[string]*[]string{}}
	return n.reading(object{values: values, bad: &commerce.Violations{}, notes: n, names: n.of("")})
}

// of returns where the names of the fields are noted that are looked for at a path.
func (n *notes) of(path string) *[]string {
	if n == nil {
		return nil
	}
	if n.names[path] == nil {
		names := make([]string, 0, 16)
		n.names[path] = &names
	}
	return n.names[path]
}

// reading notes that an object is read.
func (n *notes) reading(o object) object {
	if n != nil {
		n.objects = append(n.objects, o)
	}
	return o
}

// warn tells of a value that is ignored: it counts as absent. Of a list's elements only the first with the
// same fault is told. message follows the field's name and has nothing of the value.
func (o object) warn(field, code, message string) {
	o.doubt(field, code, message, lenient.IsIgnored)
}

// doubt tells of a value that does not count as it was sent. instead says as what it counts.
func (o object) doubt(field, code, message, instead string) {
	if o.notes == nil || o.notes.strict {
		o.bad.Add(field, code, "%s", message)
		return
	}
	o.notes.add(detail{Field: field, Code: code, Message: message + "; " + instead})
}

// check adds what a check of the values found: the rules that are broken, and what counts
// as absent.
func (o object) check(bad, doubtful commerce.Violations) {
	o.bad.AddAll(bad)
	for _, it := range doubtful.List {
		o.warn(it.Field, it.Code, it.Message)
	}
}

func (n *notes) add(d detail) {
	kind := lenient.FieldKind(d.Field)
	known := func(other detail) bool { return other.Code == d.Code && lenient.FieldKind(other.Field) == kind }
	if len(n.warnings) < maxWarnings && !slices.ContainsFunc(n.warnings, known) {
		n.warnings = append(n.warnings, d)
	}
}

// forPeople are the warnings as the order's record has them: the dashboard shows them.
func (n *notes) forPeople() (list []wire.Warning) {
	for _, d := range n.warnings {
		list = append(list, wire.Warning{Field: d.Field, Code: d.Code, Message: d.Message, Near: d.near})
	}
	return list
}

// broken returns the problem of a body that breaks rules, nil where it breaks none. Every
// field must have been read: one that was not looked for is unknown.
func (o object) broken() error {
	if o.notes != nil {
		o.warnUnknown()
	}
	return brokenRules(o.bad)
}

// refuse is the problem of a field that breaks a rule which only its use told.
func (o object) refuse(field, code, format string, args ...any) error {
	o.bad.Add(field, code, format, args...)
	return brokenRules(o.bad)
}

// warnUnknown warns of the fields that nobody looked for. They come after what was wrong
// with known ones, which weighs more, and those that were probably meant to be known come
// first. It returns how many names it compared with known ones.
func (o object) warnUnknown() (compared int) {
	meant := map[string]string{} // the nearest of an unknown name, by its path without indexes
	var slips, others []detail
	for _, part := range o.notes.objects {
		kind := lenient.FieldKind(part.path)
		for _, name := range part.unknown() {
			near, known := meant[kind+"."+name]
			full := len(meant) == maxCompared
			if !o.notes.strict && (known || full) {
				continue
			}
			if !known && !full {
				near = lenient.Nearest(name, *part.names)
				meant[kind+"."+name] = near
			}
			unknown := detail{Field: part.at(scrub.ShownName(name)), Code: commerce.CodeUnknownField, Message: lenient.UnknownField(near),
				near: near}
			switch {
			case o.notes.strict:
				o.bad.Add(unknown.Field, unknown.Code, "%s", unknown.Message)
			case near != "":
				slips = append(slips, unknown)
			default:
				others = append(others, unknown)
			}
		}
	}
	for _, unknown := range append(slips, others...) {
		o.notes.add(unknown)
	}
	return len(meant)
}

// unknown are the names of the fields that nobody looked for, in order: at most maxCompared.
func (o object) unknown() []string {
	var names []string
	for name := range o.values {
		if !slices.Contains(*o.names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names[:min(len(names), maxCompared)]
}

// maxCompared bounds the unknown names of a body that are compared with known ones.
const maxCompared = 200
