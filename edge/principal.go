package edge

import (
	"hash/maphash"
	"net/http"
	"net/netip"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/edge/guard"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// principal is whose tokens a request takes: those of an API key's company, or of the
// network that the request comes from. Every request takes some, whatever
// becomes of it. What comes without a key takes its company's open tokens as well.
type principal struct {
	address netip.Addr   // the client's
	network uint64       // its network's key in Server.networks
	bearer  bool         // it shows an API key
	key     *wire.APIKey // … that may be used now; nil: any other text
	company *company     // the key's
}

// tokenBytes are the inflated bytes that cost as much as one event, about twice
// an ordinary event's.
const tokenBytes = 2 << 10

// LeastBurst is what the largest request costs, with the default Config.MaxBody: a
// company's burst is never smaller, or such a request would always be refused.
const LeastBurst = max(core.MaxBatchEvents, defaultMaxBody/tokenBytes)

// tokensFor is what a request costs: one for each event, or for each tokenBytes
// of its inflated body, whichever is more; at least one.
func tokensFor(events, bytes int) int {
	return max(1, events, (bytes+tokenBytes-1)/tokenBytes)
}

// principalOf finds out whose tokens a request takes.
func (s *Server) principalOf(ctx *fasthttp.RequestCtx, now time.Time) principal {
	p := principal{address: guard.ClientIP(ctx, s.config.TrustedProxies)}
	p.network = s.networkID(p.address)
	text, given := requestOf(ctx).apiKey()
	p.bearer = given
	if !given || len(text) > maxAPIKey {
		return p
	}
	if key := s.directory.apiKey(wire.APIKeyHash(text)); key != nil && key.ActiveAt(now) {
		if c, known := s.directory.company(key.CompanyID); known {
			p.key, p.company = key, c
		}
	}
	return p
}

// maxAPIKey is the longest text that is looked up as an API key, in bytes: twice
// the length of ours.
const maxAPIKey = 128

// networkID names the network of an address in the tables of buckets.
func (s *Server) networkID(address netip.Addr) uint64 {
	network, _ := identity.Network(address) // what has no address shares one bucket
	bytes := network.Addr().As16()
	return maphash.Bytes(s.seed, bytes[:])
}

// admit refuses a request whose principal has no tokens left, before anything is done
// for it.
func (s *Server) admit(p *principal, now time.Time) *refusal {
	if p.company != nil {
		if p.company.keyed.Left(now) < 1 {
			return refusedRate(rateWait(p.company, 1))
		}
		return nil
	}
	if wait := s.networks.Wait(p.network, now); wait > 0 {
		return refusedNetwork(wait)
	}
	return nil
}

// charge takes a request's tokens, also those that the principal does not have.
func (s *Server) charge(p *principal, now time.Time, tokens int) {
	if p.company != nil {
		p.company.keyed.Charge(now, float64(min(tokens, p.company.burst)))
		return
	}
	s.networks.Charge(p.network, now, float64(tokens))
}

func refusedNetwork(wait time.Duration) *refusal {
	return &refusal{http.StatusTooManyRequests, codeRateLimitExceeded,
		"too many events or bytes a second from this network; send them again later", boundedWait(wait)}
}

// boundedWait is what Retry-After says: from a second to a minute.
func boundedWait(wait time.Duration) time.Duration {
	return min(max(wait, time.Second), time.Minute)
}
