package wire

import "encoding/json"

// Optional is a field that may be absent, null or set. Its zero value is
// absent; with `json:",omitzero"` an absent field is left out.
type Optional[T any] struct {
	Present bool // the field was there, perhaps as null
	Valid   bool // … and it was not null
	Value   T
}

// Some is a field set to v.
func Some[T any](v T) Optional[T] { return Optional[T]{Present: true, Valid: true, Value: v} }

// Null is a field that clears.
func Null[T any]() Optional[T] { return Optional[T]{Present: true} }

// Or is the value, or other where there is none.
func (o Optional[T]) Or(other T) T {
	if o.Valid {
		return o.Value
	}
	return other
}

// IsZero tells encoding/json's omitzero that the field is absent.
func (o Optional[T]) IsZero() bool { return !o.Present }

func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if !o.Valid {
		return []byte("null"), nil
	}
	return json.Marshal(o.Value)
}

func (o *Optional[T]) UnmarshalJSON(b []byte) error {
	o.Present = true
	if string(b) == "null" {
		return nil
	}
	o.Valid = true
	return json.Unmarshal(b, &o.Value)
}
