package facts

import (
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
)

// Identity is a key by which an order names an influencer as its own customer. It counts for orders that
// were created from Since on until Until.
type Identity struct {
	InfluencerID string
	Key
	Since, Until time.Time // Until is exclusive; zero: it goes on
}

// PartnerKeys returns the keyed hashes of an influencer's e-mail, phone and document, of those that a
// change has, by each hashing secret: as those of an order's customer are made. A document is a key
// where the shop gives it as the customer's id, with its signs or without.
func PartnerKeys(c commerce.DetailsChange, hash identity.Keys) (keys []commerce.IdentityKey) {
	if hash == (identity.Keys{}) {
		return nil // no secret is known here, as in a preview of the command line
	}
	add := func(field string, kind KeyKind, hashed string) {
		if hashed == "" {
			return
		}
		k := Key{kind, boundedID(hashed)}
		keys = append(keys, commerce.IdentityKey{Field: field, Kind: kind.Code(), Key: k.Pack()})
	}
	for _, of := range secretsOf(hash) {
		add(commerce.DetailEmail, KeyEmail, of.Email(c.Email.Value))
		add(commerce.DetailPhone, KeyPhone, of.Phone(c.Phone.Value))
		if document := c.Document.Value; document != "" {
			add(commerce.DetailDocument, KeyCustomer, of.Customer(document))
			add(commerce.DetailDocument, KeyCustomer, of.Customer(commerce.ShownDocument(document)))
		}
	}
	return slices.Clip(keys)
}

// secretsOf are a company's keys by the current hashing secret, and by the former one while that is
// being rotated.
func secretsOf(hash identity.Keys) []identity.Keys {
	all := []identity.Keys{hash}
	if former, rotates := hash.Former(); rotates {
		all = append(all, former)
	}
	return all
}
