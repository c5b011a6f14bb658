// Package throttle bounds what somebody may do who has not shown who they are:
// token buckets by name, in tables of bounded size.
//
// What may enter: counting. No I/O and no clock: callers say what time it is.
package throttle

import (
	"container/list"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/tributary-io/tributary/internal/identity"
)

// maxBuckets bounds a table: the bucket that was not used for longest is dropped.
const maxBuckets = 10_000

// Buckets is a table of token buckets by name. Safe for concurrent use.
type Buckets struct {
	every time.Duration // of one token
	burst float64

	mu     sync.Mutex
	order  *list.List // of *bucket, the last used first
	byName map[string]*list.Element
}

type bucket struct {
	name     string
	tokens   float64
	at       time.Time // when it held them
	refusing bool      // the last attempt was refused
}

// New makes a table whose buckets get a token in each interval, up to burst.
func New(every time.Duration, burst int) *Buckets {
	return &Buckets{every: every, burst: float64(burst), order: list.New(), byName: map[string]*list.Element{}}
}

// Attempt is what Take decided.
type Attempt struct {
	OK    bool
	Wait  time.Duration // until the next is allowed, where this is not
	First bool          // the first that is refused since one was allowed
}

// Take takes a token of a name's bucket.
func (b *Buckets) Take(name string, now time.Time) Attempt {
	b.mu.Lock()
	defer b.mu.Unlock()
	element := b.byName[name]
	if element == nil {
		if b.order.Len() >= maxBuckets {
			oldest := b.order.Back()
			delete(b.byName, b.order.Remove(oldest).(*bucket).name)
		}
		element = b.order.PushFront(&bucket{name: name, tokens: b.burst, at: now})
		b.byName[name] = element
	}
	b.order.MoveToFront(element)
	it := element.Value.(*bucket)
	if passed := now.Sub(it.at); passed > 0 {
		it.tokens, it.at = min(b.burst, it.tokens+float64(passed)/float64(b.every)), now
	}
	if it.tokens < 1 {
		first := !it.refusing
		it.refusing = true
		return Attempt{Wait: time.Duration((1 - it.tokens) * float64(b.every)), First: first}
	}
	it.tokens--
	it.refusing = false
	return Attempt{OK: true}
}

// Give gives a token back, where the bucket is still there.
func (b *Buckets) Give(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if element := b.byName[name]; element != nil {
		it := element.Value.(*bucket)
		it.tokens = min(b.burst, it.tokens+1)
	}
}

// Forget drops a name's bucket: the next one is full.
func (b *Buckets) Forget(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if element := b.byName[name]; element != nil {
		b.order.Remove(element)
		delete(b.byName, name)
	}
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
