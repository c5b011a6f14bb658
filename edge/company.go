package edge

import (
	"strings"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/scrub"
	"github.com/tributary-io/tributary/internal/throttle"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// company is a wire.Company with what requests need of it computed.
type company struct {
	wire.Company
	key           []byte // of its records: the company's id
	keys          identity.Keys
	wrongKey      bool             // the directory's keys are made with other hashing secrets
	open          *throttle.Bucket // what comes without an API key
	keyed         *throttle.Bucket // what comes with one of the company's: a stranger cannot use it up
	origins       map[string]bool
	burst         int
	perSecond     float64
	honoursDenial bool
}

func (d *directory) newCompany(c wire.Company) *company {
	made := &company{
		Company:       c,
		key:           []byte(c.CompanyID),
		keys:          d.hasher.Company(c.CompanyID, c.Country),
		wrongKey:      !d.hasher.Fits(c.CompanyID, c.KeyCheck, c.FormerKeyCheck),
		origins:       map[string]bool{},
		perSecond:     c.Limits.EventsPerSecond,
		burst:         c.Limits.Burst,
		honoursDenial: c.ConsentPolicy == wire.ConsentRequired || c.ConsentPolicy == wire.ConsentHonorGPC,
	}
	if made.perSecond <= 0 {
		made.perSecond = d.config.EventsPerSecond
	}
	if made.burst <= 0 {
		made.burst = d.config.Burst
	}
	made.burst = max(made.burst, tokensFor(core.MaxBatchEvents, d.config.MaxBody)) // or a full batch would always be refused
	made.open = throttle.NewBucket(made.perSecond, float64(made.burst))
	made.keyed = throttle.NewBucket(made.perSecond, float64(made.burst))
	for _, origin := range c.Origins {
		made.origins[normalOrigin(origin)] = true
	}
	return made
}

// takeBuckets makes the company go on with the buckets of its former record: what
// is used up stays used up.
func (c *company) takeBuckets(former *company) {
	c.open, c.keyed = former.open, former.keyed
	for _, bucket := range []*throttle.Bucket{c.open, c.keyed} {
		bucket.Resize(c.perSecond, float64(c.burst))
	}
}

// normalOrigin is an origin as browsers send it: lower case, no path, no
// default port.
func normalOrigin(origin string) string {
	origin = strings.TrimRight(strings.ToLower(strings.TrimSpace(origin)), "/")
	switch {
	case strings.HasPrefix(origin, "https://"):
		return strings.TrimSuffix(origin, ":443")
	case strings.HasPrefix(origin, "http://"):
		return strings.TrimSuffix(origin, ":80")
	}
	return origin
}

// consent is the consent that an event is recorded with: what the shopper said,
// or what the browser's signal says where the company honours it.
func (c *company) consent(said core.Consent, signal bool) wire.Consent {
	switch {
	case signal && c.ConsentPolicy == wire.ConsentHonorGPC,
		signal && c.ConsentPolicy == wire.ConsentRequired && said != core.ConsentGranted:
		return wire.ConsentDenied
	case said == "":
		return wire.ConsentUnknown
	}
	return wire.Consent(said) // core takes no other
}

// mayCookie tells whether a visitor with this consent may be given a cookie,
// and recognised by it.
func (c *company) mayCookie(consent wire.Consent) bool {
	switch c.ConsentPolicy {
	case wire.ConsentRequired:
		return consent == wire.ConsentGranted
	case wire.ConsentHonorGPC:
		return consent != wire.ConsentDenied
	}
	return true
}

// anonymous tells whether an event with this consent must name nobody: neither an
// identity nor a visitor.
func (c *company) anonymous(consent wire.Consent) bool {
	return consent == wire.ConsentDenied && c.honoursDenial
}

// appendIdentity appends the member "identity", with the keyed hashes of whom the
// event names.
func (c *company) appendIdentity(dst []byte, keys *identity.Recent, who *core.Identity) []byte {
	if *who == (core.Identity{}) {
		return dst
	}
	before := len(dst)
	dst = append(dst, `,"identity":{`...)
	first := len(dst)
	dst = appendIdentityKeys(dst, keys, who)
	if who.Verified {
		dst = appendTrue(dst, first, "verified")
	}
	if len(dst) == first { // junk alone
		return dst[:before]
	}
	return append(dst, '}')
}

// appendIdentityKeys appends the keyed hashes of whom an event names, as the first members of
// an object.
func appendIdentityKeys(dst []byte, keys *identity.Recent, who *core.Identity) []byte {
	first := len(dst)
	dst = appendKey(dst, first, "emailKey", keys.Email(who.Email))
	dst = appendKey(dst, first, "phoneKey", keys.Phone(who.Phone))
	dst = appendKey(dst, first, "customerKey", keys.Customer(who.CustomerID))
	cart := "cartNoKey"
	if scrub.SecretToken(who.CartToken) {
		cart = "cartKey"
	}
	return appendKey(dst, first, cart, keys.Cart(who.CartToken))
}
