package facts

import (
	"slices"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/uuidtext"
	"github.com/tributary-io/tributary/internal/wire"
)

// SubjectKeys returns the keys by which facts know a person, by each hashing secret, and the fields
// that make none: an e-mail that is none, or a word such as "null".
func SubjectKeys(p commerce.DataSubject, hash identity.Keys) (keys []Key, wrong []string) {
	keys, wrong = subjectKeys(p, hash)
	if former, rotates := hash.Former(); rotates {
		more, _ := subjectKeys(p, former)
		for _, k := range more {
			if !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	return keys, wrong
}

func subjectKeys(p commerce.DataSubject, hash identity.Keys) (keys []Key, wrong []string) {
	add := func(field, raw string, key string, kinds ...KeyKind) {
		switch {
		case raw == "":
		case key == "":
			wrong = append(wrong, field)
		default:
			for _, kind := range kinds {
				keys = append(keys, Key{kind, boundedID(key)})
			}
		}
	}
	add("email", p.Email, hash.Email(p.Email), KeyEmail)
	add("phone", p.Phone, hash.Phone(p.Phone), KeyPhone)
	add("customer_id", p.CustomerID, hash.Customer(p.CustomerID), KeyCustomer)
	visitor := p.Visitor
	if id, _, signed := wire.CutMAC(visitor); signed && uuidtext.Is(id) { // trb_vid as the browser has it
		visitor = id
	}
	if id := hash.VisitorID(visitor); IsSecretID(id) {
		add("visitor", visitor, id, KeyVisitor, KeyCookie, KeyUser) // the last in orders that came with a wrong mac
	} else {
		add("visitor", visitor, id, KeyUser)
	}
	return keys, wrong
}
