package admin

import (
	"context"
	"time"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// Bounds of making the keys of contacts anew.
const (
	hashEvery  = time.Hour   // while the secret is being rotated: another admin may still save contacts by the former one
	hashRetry  = time.Minute // after a failure
	hashAtOnce = 20          // influencers, whose company's rules are locked meanwhile
)

// keepHashed hashes contacts at the start, since a new secret may have replaced a lost one, and while it is being rotated again
// and again, until ctx ends. While the secret is a wrong one it hashes nothing.
func (s *Server) keepHashed(ctx context.Context) {
	var place commerce.ContactsPlace
	for {
		err := s.deps.Secret(ctx)
		if err == nil {
			place, err = s.hashAgain(ctx, place)
		}
		wait := hashRetry
		switch {
		case err != nil && ctx.Err() == nil:
			s.log.Warn("contacts could not be hashed by the new secret, and are tried again", "error", err)
		case err == nil && s.deps.Hasher.Rotates():
			wait = hashEvery
		case err == nil:
			return
		}
		if !background.Sleep(ctx, wait) {
			return
		}
	}
}

// hashAgain makes keys by the hashing secret, and by the former one where there is one, of the contacts that lack them, so that an
// influencer's own orders are known by it too. It begins after a place, and goes past a company that fails. next is where to go on: it
// is zero behind the last company. The error is the first one.
func (s *Server) hashAgain(ctx context.Context, after commerce.ContactsPlace) (next commerce.ContactsPlace, err error) {
	keys := func(companyID, country string, c commerce.Contacts) []commerce.IdentityKey {
		return facts.PartnerKeys(commerce.DetailsChange{Email: wire.Some(c.Email), Phone: wire.Some(c.Phone), Document: wire.Some(c.Document)},
			s.deps.Hasher.Company(companyID, country))
	}
	for more := true; more; {
		limited, cancel := context.WithTimeout(ctx, s.config.DependencyTimeout)
		var failed error
		next, more, failed = s.deps.Database.HashAgain(limited, after, hashAtOnce, s.now(), keys)
		if cancel(); failed != nil {
			if err == nil {
				err = failed
			}
			if next == after || ctx.Err() != nil {
				return after, err
			}
			more = true
		}
		after = next
	}
	return commerce.ContactsPlace{}, err
}
