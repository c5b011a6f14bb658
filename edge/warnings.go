package edge

import (
	"slices"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/lenient"
	"github.com/tributary-io/tributary/internal/scrub"
	"github.com/tributary-io/tributary/sdk/core"
)

// maxWarnings bounds the warnings of an answer.
const maxWarnings = 20

const (
	// maxLookedAt is how many events of a request are read again for what was not read of them:
	// the events of one sender have the same faults.
	maxLookedAt = 100
	// maxCompared is how many unknown names of a request are compared with known ones.
	maxCompared = 100
)

// warning tells what of an event was not read, or counts as absent. Nothing of a value is in it.
type warning struct {
	event   int // its place in the request
	field   string
	kind    string // of the field (lenient.FieldKind)
	code    core.Code
	message string
}

// warnings are those of one request, by event. Of several with the same fault the first is told.
type warnings struct {
	strict   bool              // what would be warned of is refused
	list     []warning         // at most maxWarnings
	refused  *core.Violation   // strict: of the event that is looked at
	lookedAt int               // events
	meant    map[string]string // what an unknown name was probably meant to be, by its place and name; "" for nothing
}

// reset forgets the request and keeps the memory.
func (w *warnings) reset() {
	clear(w.list)
	*w = warnings{list: w.list[:0]}
}

// add tells what is wrong with a field, and what comes of that.
func (w *warnings) add(event int, field string, code core.Code, wrong, outcome string) {
	if w.enough() {
		return
	}
	kind := lenient.FieldKind(field)
	told := func(other warning) bool { return other.code == code && other.kind == kind }
	switch {
	case w.strict:
		w.refused = &core.Violation{Code: code, Field: field, Message: wrong + outcome}
	case !slices.ContainsFunc(w.list, told):
		w.list = append(w.list, warning{event, field, kind, code, wrong + outcome})
	}
}

// enough tells that nothing more can be told of an event.
func (w *warnings) enough() bool { return w.refused != nil || len(w.list) == maxWarnings }

// look looks for what core did not read of an event that is Unread. Where not each must be judged
// it looks at the first maxLookedAt alone. The browser SDK's envelopes are not looked at: nobody
// reads their answers.
func (w *warnings) look(event int, item *core.Item) {
	if item.Raw || item.Err != nil && !readable(item.Err.Code) {
		return
	}
	if w.lookedAt++; !w.strict && w.lookedAt > maxLookedAt {
		return
	}
	s := core.Scan(item.Text, 0)
	w.members(event, &s, &eventNames)
	w.items(event, item)
}

// members looks at the members of the object that comes next, until there is a fault or enough is told.
func (w *warnings) members(event int, s *core.Scanner, of *memberNames) {
	s.Enter()
	for name, ok := s.Key(); ok && !w.enough(); name, ok = s.Key() {
		inner, wrong := of.objects[name], of.keys[name]
		switch {
		case inner != nil && s.Kind() == core.Object:
			w.members(event, s, inner)
			continue
		case wrong != "" && s.Kind() == core.String:
			if core.IsNothing(s.Text()) {
				w.absent(event, of.path+name, wrong)
			}
			continue
		case !slices.Contains(of.known, name):
			w.unknown(event, of, name)
		case of.fits != nil:
			if of.misfit(name, s) {
				w.absent(event, of.path+name, lenient.NoNetworkID)
			}
			continue
		}
		s.Skip()
	}
}

// unknown looks whether a name that is not known was meant to be one that is. Others are ignored:
// senders have members of their own.
func (w *warnings) unknown(event int, of *memberNames, name string) {
	place := of.path + name
	near, known := w.meant[place]
	switch {
	case known && !w.strict: // told, or nothing to tell
		return
	case !known && len(w.meant) == maxCompared && !w.strict:
		return
	case !known && len(w.meant) < maxCompared:
		if w.meant == nil {
			w.meant = map[string]string{}
		}
		near = of.nearest(name)
		w.meant[place] = near
	case !known: // so many are wrong themselves
		w.add(event, of.path+scrub.ShownName(name), core.CodeUnknownField, lenient.UnknownField(""), "")
		return
	}
	if near != "" {
		w.add(event, of.path+scrub.ShownName(name), core.CodeUnknownField, lenient.UnknownField(near), "")
	}
}

// items tells of items that stay as they were sent, and of those that are elsewhere.
func (w *warnings) items(event int, item *core.Item) {
	wrong := core.UnreadItems(&item.Event)
	if wrong == nil {
		return
	}
	if wrong.Code != core.CodeItemsRequired {
		if item.Err == nil {
			w.add(event, wrong.Field, wrong.Code, wrong.Message, "; the items stay as they were sent")
		}
		return
	}
	s := core.Scan(item.Event.Payload, 1)
	s.Enter()
	for name, ok := s.Key(); ok; name, ok = s.Key() {
		switch {
		case name == "contents" && s.Kind() == core.Array:
			w.elsewhere(event, "payload.contents")
		case name == "ecommerce" && s.Kind() == core.Object:
			s.Enter()
			for name, ok := s.Key(); ok; name, ok = s.Key() {
				if name == "items" && s.Kind() == core.Array {
					w.elsewhere(event, "payload.ecommerce.items")
				}
				s.Skip()
			}
			continue
		}
		s.Skip()
	}
}

func (w *warnings) elsewhere(event int, field string) {
	w.add(event, field, core.CodeUnknownField, lenient.UnknownField("payload.items"), "")
}

// sentKeys are what an event says of who it is of, as it was sent.
type sentKeys struct {
	visitor string
	who     core.Identity
}

// unkeyed tells of ids that make no key. keys has made those of this event last, or will make
// them next: so they are made once.
func (w *warnings) unkeyed(event int, sent *sentKeys, keys *identity.Recent) {
	if sent.visitor != "" && len(keys.VisitorID(sent.visitor)) == 0 {
		w.absent(event, "visitorId", lenient.Placeholder)
	}
	who := &sent.who
	if who.Email != "" && len(keys.Email(who.Email)) == 0 {
		w.absent(event, "identity.email", lenient.NoEmail)
	}
	if who.Phone != "" && len(keys.Phone(who.Phone)) == 0 {
		w.absent(event, "identity.phone", lenient.NoPhone)
	}
	if who.CustomerID != "" && len(keys.Customer(who.CustomerID)) == 0 {
		w.absent(event, "identity.customer_id", lenient.Placeholder)
	}
	if who.CartToken != "" && len(keys.Cart(who.CartToken)) == 0 {
		w.absent(event, "identity.cart_token", lenient.Placeholder)
	}
}

func (w *warnings) absent(event int, field, wrong string) {
	w.add(event, field, core.CodeInvalidValue, wrong, "; "+lenient.IsIgnored)
}

// appendWarnings appends the member "warnings" of the first one's event, and returns those of
// the events after it.
func appendWarnings(dst []byte, list []warning) (appended []byte, others []warning) {
	event, before := list[0].event, `,"warnings":[{"field":`
	for ; len(list) > 0 && list[0].event == event; list = list[1:] {
		dst = core.AppendString(append(dst, before...), list[0].field)
		dst = core.AppendString(append(dst, `,"code":`...), string(list[0].code))
		dst = core.AppendString(append(dst, `,"message":`...), list[0].message)
		before = `},{"field":`
	}
	return append(dst, `}]`...), list
}
