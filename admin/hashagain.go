package admin

import (
	"context"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// Bounds of making the keys of contacts anew.
const (
	hashEvery  = time.Hour
	hashAtOnce = 20 // influencers, whose company's rules are locked meanwhile
)

// hashAgain makes keys by both hashing secrets of the contacts that were saved before a rotation began, so that an influencer's own
// orders are known after it too.
func (s *Server) hashAgain(ctx context.Context) error {
	keys := func(companyID, country string, c commerce.Contacts) []commerce.IdentityKey {
		return facts.PartnerKeys(commerce.DetailsChange{Email: wire.Some(c.Email), Phone: wire.Some(c.Phone), Document: wire.Some(c.Document)},
			s.deps.Hasher.Company(companyID, country))
	}
	var place commerce.ContactsPlace
	for more := true; more; {
		limited, cancel := context.WithTimeout(ctx, s.config.DependencyTimeout)
		var err error
		place, more, err = s.deps.Database.HashAgain(limited, place, hashAtOnce, s.now(), keys)
		if cancel(); err != nil {
			return err
		}
	}
	return nil
}
