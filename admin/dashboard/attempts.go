package dashboard

import (
	"container/list"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits of log-in attempts. A person who mistypes a password does not
// notice them, and guessing at these rates takes for ever.
const (
	// Of one e-mail from one network, and of one known device.
	attemptBurst = 5
	attemptEvery = time.Minute
	// Of one network, whatever the e-mail.
	networkBurst = 20
	networkEvery = 6 * time.Second
	// maxBuckets bounds each table: the bucket that was not used for longest is
	// dropped. To push out the bucket of an e-mail, somebody has to try 10,000
	// others, which the limits by network prevent.
	maxBuckets = 10_000
)

// attempts limits log-ins. Those from a device that the e-mail has logged in
// on before have a limit of their own, so that guesses from elsewhere never
// keep a person out. All others are limited by e-mail and network together, and
// by network.
type attempts struct {
	byEmail, byNetwork, byDevice *buckets
}

func newAttempts() *attempts {
	return &attempts{
		byEmail:   newBuckets(rate.Every(attemptEvery), attemptBurst),
		byNetwork: newBuckets(rate.Every(networkEvery), networkBurst),
		byDevice:  newBuckets(rate.Every(attemptEvery), attemptBurst),
	}
}

// attempt is what allow decided about one attempt.
type attempt struct {
	ok    bool
	wait  time.Duration // until the next is allowed, where this is not
	first bool          // the first that is refused since one was allowed
}

// allow takes one attempt. device is empty where it is not known.
func (a *attempts) allow(email, network, device string, now time.Time) attempt {
	if device != "" {
		return a.byDevice.take(device, now)
	}
	if got := a.byNetwork.take(network, now); !got.ok {
		return got
	}
	return a.byEmail.take(network+" "+email, now)
}

// succeeded forgets the failed attempts before a good one.
func (a *attempts) succeeded(email, network, device string) {
	a.byDevice.forget(device)
	a.byEmail.forget(network + " " + email)
}

// buckets is a bounded table of token buckets, the last used first.
type buckets struct {
	limit rate.Limit
	burst int

	mu     sync.Mutex
	order  *list.List // of *bucket
	byName map[string]*list.Element
}

type bucket struct {
	name     string
	limiter  *rate.Limiter
	refusing bool // the last attempt was refused
}

func newBuckets(limit rate.Limit, burst int) *buckets {
	return &buckets{limit: limit, burst: burst, order: list.New(), byName: map[string]*list.Element{}}
}

func (b *buckets) take(name string, now time.Time) attempt {
	b.mu.Lock()
	defer b.mu.Unlock()
	element := b.byName[name]
	if element == nil {
		if b.order.Len() >= maxBuckets {
			oldest := b.order.Back()
			delete(b.byName, b.order.Remove(oldest).(*bucket).name)
		}
		element = b.order.PushFront(&bucket{name: name, limiter: rate.NewLimiter(b.limit, b.burst)})
		b.byName[name] = element
	}
	b.order.MoveToFront(element)
	it := element.Value.(*bucket)
	reservation := it.limiter.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait <= 0 {
		it.refusing = false
		return attempt{ok: true}
	}
	reservation.CancelAt(now)
	first := !it.refusing
	it.refusing = true
	return attempt{wait: wait, first: first}
}

func (b *buckets) forget(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if element := b.byName[name]; element != nil {
		b.order.Remove(element)
		delete(b.byName, name)
	}
}

// remoteIP is the connection's address.
func remoteIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// networkOf is the network of an address: the /24 of IPv4, the /48 of IPv6.
// That is what one household or office has at most, and names no person.
func networkOf(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return "unknown"
	}
	ip = ip.Unmap().WithZone("")
	bits := 48
	if ip.Is4() {
		bits = 24
	}
	prefix, err := ip.Prefix(bits)
	if err != nil {
		return "unknown"
	}
	return prefix.String()
}
