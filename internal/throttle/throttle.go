// Package throttle bounds how often somebody may do something, whoever they are: token
// buckets by key or by name, in tables of bounded size.
//
// What may enter: counting. No I/O and no clock: callers say what time it is.
package throttle

import (
	"hash/maphash"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/tributary-io/tributary/internal/identity"
)

// Buckets is a table of token buckets by name. Where it has no place left for a new name,
// it forgets the one whose bucket is fullest. Safe for concurrent use.
type Buckets struct {
	table *Table
	seed  maphash.Seed
}

// New makes a table whose buckets get a token in each interval, up to burst.
func New(every time.Duration, burst int) *Buckets {
	return &Buckets{table: &Table{rate: rate{every: float64(every), burst: float64(burst)}, fresh: true}, seed: maphash.MakeSeed()}
}

// PerSecond is New with the tokens of a second.
func PerSecond(tokens float64, burst int) *Buckets {
	return &Buckets{table: NewTable(tokens, float64(burst), true), seed: maphash.MakeSeed()}
}

func (b *Buckets) key(name string) uint64 { return maphash.String(b.seed, name) }

// Attempt is what Take decided.
type Attempt struct {
	OK    bool
	Wait  time.Duration // until the next is allowed, where this is not
	First bool          // the first that is refused since one was allowed
}

// Take takes a token of a name's bucket.
func (b *Buckets) Take(name string, now time.Time) (got Attempt) {
	b.table.with(b.key(name), now, func(it *bucket) {
		if got.OK = it.tokens >= 1; got.OK {
			it.tokens--
			it.key &^= refusing
			return
		}
		got.Wait, got.First = b.table.untilOne(it), it.key&refusing == 0
		it.key |= refusing
	})
	return got
}

// Left is how many tokens a name's bucket has.
func (b *Buckets) Left(name string, now time.Time) (left float64) {
	b.table.with(b.key(name), now, func(it *bucket) { left = it.tokens })
	return left
}

// Give gives a token back, where the bucket is still there.
func (b *Buckets) Give(name string) {
	b.table.whereHeld(b.key(name), func(it *bucket) { it.tokens = min(b.table.burst, it.tokens+1) })
}

// Forget drops a name's bucket: the next one is full.
func (b *Buckets) Forget(name string) {
	b.table.whereHeld(b.key(name), func(it *bucket) { *it = bucket{} })
}

// Limits of Guesses: a network's, and those of all networks together, since one
// sender may have many (an IPv6 provider gives out /48s). Whoever shows secrets
// that are known pays nothing, so the limits may be low.
const (
	networkEvery = 100 * time.Millisecond
	networkBurst = 100
	allEvery     = 5 * time.Millisecond
	allBurst     = 1000
)

// Guesses bounds how often secrets that nobody has are looked up in a database.
type Guesses struct{ byNetwork, all *Buckets }

// NewGuesses makes the tables.
func NewGuesses() *Guesses {
	return &Guesses{byNetwork: New(networkEvery, networkBurst), all: New(allEvery, allBurst)}
}

// Begin takes a token for a look-up, or says how long to wait. Call Known where
// the secret was found.
func (g *Guesses) Begin(network string, now time.Time) Attempt {
	got := g.byNetwork.Take(network, now)
	if !got.OK {
		return got
	}
	if got = g.all.Take("", now); !got.OK {
		g.byNetwork.Give(network)
	}
	return got
}

// Known gives the token back.
func (g *Guesses) Known(network string) {
	g.byNetwork.Give(network)
	g.all.Give("")
}

// RemoteIP is the address of a request's connection.
func RemoteIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// Network names the network of an address: the /24 of IPv4, the /48 of IPv6. That
// is what one household or office has at most, and names no person.
func Network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return "unknown"
	}
	network, found := identity.Network(ip)
	if !found {
		return "unknown"
	}
	return network.String()
}
