package facts

import (
	"slices"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
)

// keyedField is a field of an order that is a keyed hash, and that of wire.Former.
type keyedField struct {
	current func(o *wire.Order) *wire.Optional[string]
	former  func(f *wire.Former) *string
}

var keyedFields = []keyedField{
	{func(o *wire.Order) *wire.Optional[string] { return &o.EmailKey }, func(f *wire.Former) *string { return &f.EmailKey }},
	{func(o *wire.Order) *wire.Optional[string] { return &o.PhoneKey }, func(f *wire.Former) *string { return &f.PhoneKey }},
	{func(o *wire.Order) *wire.Optional[string] { return &o.CustomerKey }, func(f *wire.Former) *string { return &f.CustomerKey }},
	{func(o *wire.Order) *wire.Optional[string] { return &o.CartKey }, func(f *wire.Former) *string { return &f.CartKey }},
	{func(o *wire.Order) *wire.Optional[string] { return &o.CartNoKey }, func(f *wire.Former) *string { return &f.CartNoKey }},
	{func(o *wire.Order) *wire.Optional[string] { return &o.NetKey }, func(f *wire.Former) *string { return &f.NetKey }},
	{func(o *wire.Order) *wire.Optional[string] { return &o.VisitorID }, func(f *wire.Former) *string { return &f.UserKey }},
}

// values returns a field's value by each hashing secret; the current one comes first.
func (k keyedField) values(o *wire.Order) []string {
	var list []string
	if current := k.current(o); current.Valid && current.Value != "" {
		list = append(list, current.Value)
	}
	for i := range o.Former {
		if value := *k.former(&o.Former[i]); value != "" {
			list = append(list, value)
		}
	}
	return list
}

// foldKeys sets the keys of an order by its versions, which are ordered, oldest first. Each
// counts as it stands in the newest version that has it. A version that was made after a
// rotation of the hashing secret has none by the former one: that stays as an older version
// has it, as long as no version between them says that the value is another.
func foldKeys(out *wire.Order, versions []StoredVersion) {
	if len(versions) == 1 {
		return
	}
	out.Former = nil
	for _, field := range keyedFields {
		var known []string
		current := field.current(out)
		newest := len(versions) - 1
		for newest > 0 && !field.current(&versions[newest].Order).Present {
			newest--
		}
		for i := newest; i >= 0; i-- {
			o := &versions[i].Order
			if i == newest {
				*current, known = *field.current(o), field.values(o)
				if current == &out.VisitorID {
					out.UserIDMAC = o.UserIDMAC
				}
			} else if is := field.current(o); is.Present && (!is.Valid || !addKnown(&known, field.values(o))) {
				break
			}
			if !current.Valid {
				break
			}
		}
		for _, value := range known {
			if value != current.Value {
				*field.former(formerOf(out, identity.Mark(value))) = value
			}
		}
	}
}

// addKnown adds the values of an older version by other secrets, and reports whether they are of
// the same text as far as can be told: by one secret they are equal. What no secret made, such
// as a UUID, is equal or another.
func addKnown(known *[]string, older []string) bool {
	for _, value := range older {
		for _, is := range *known {
			if a, b := identity.Mark(value), identity.Mark(is); value != is && (a == b || a == "" || b == "") {
				return false
			}
		}
	}
	for _, value := range older {
		if !slices.Contains(*known, value) {
			*known = append(*known, value)
		}
	}
	return len(*known) > 0
}

// formerOf returns the place of the keys by the secret of a mark.
func formerOf(o *wire.Order, mark string) *wire.Former {
	for i := range o.Former {
		for _, field := range keyedFields {
			if value := *field.former(&o.Former[i]); value != "" && identity.Mark(value) == mark {
				return &o.Former[i]
			}
		}
	}
	o.Former = append(o.Former, wire.Former{})
	return &o.Former[len(o.Former)-1]
}
