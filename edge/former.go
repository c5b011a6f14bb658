package edge

import (
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/sdk/core"
)

// formerKeys are the keys of an event by the former hashing secret. Without keys there are none: no
// rotation lasts.
type formerKeys struct {
	keys    *identity.Recent
	visitor []byte // of the visitor's id
	stream  []byte
}

// read reads the ids of an event before they are replaced by their digests.
func (f *formerKeys) read(keys *identity.Recent, e *core.Event) {
	f.keys, f.visitor, f.stream = keys, keys.VisitorID(e.VisitorID), keys.Stream(e.Stream)
}

// append appends the member "former" (wire.Former) of an event that is recorded as e now.
func (f *formerKeys) append(dst []byte, e *core.Event, network string) []byte {
	before := len(dst)
	dst = append(dst, `,"former":{`...)
	first := len(dst)
	dst = appendIdentityKeys(dst, f.keys, &e.Identity)
	dst = appendMember(dst, first, "netKey", network)
	if e.VisitorID != "" && string(f.visitor) != e.VisitorID {
		dst = appendKey(dst, first, "userKey", f.visitor)
	}
	if string(f.stream) != e.Stream {
		dst = appendKey(dst, first, "stream", f.stream)
	}
	if len(dst) == first {
		return dst[:before]
	}
	return append(dst, '}')
}
