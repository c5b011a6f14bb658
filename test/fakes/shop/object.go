package shop

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Object is a JSON object whose members keep their order.
type Object []Member

// Member is a name and a value of an Object.
type Member struct {
	Name  string
	Value any
}

// O makes an object of names and values in turn.
func O(pairs ...any) Object {
	object := make(Object, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		object = append(object, Member{Name: pairs[i].(string), Value: pairs[i+1]})
	}
	return object
}

// MarshalJSON writes the members in their order.
func (o Object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, member := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(member.Name); err != nil {
			return nil, fmt.Errorf("%s: %w", member.Name, err)
		}
		out.Truncate(out.Len() - 1)
		out.WriteByte(':')
		if err := encoder.Encode(member.Value); err != nil {
			return nil, fmt.Errorf("%s: %w", member.Name, err)
		}
		out.Truncate(out.Len() - 1)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// Names lists the names of the members.
func (o Object) Names() []string {
	names := make([]string, 0, len(o))
	for _, member := range o {
		names = append(names, member.Name)
	}
	return names
}

// Get is the value of a member, or nil.
func (o Object) Get(name string) any {
	for _, member := range o {
		if member.Name == name {
			return member.Value
		}
	}
	return nil
}
