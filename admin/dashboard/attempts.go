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

// Log-in attempts: bursts that a person who mistypes never notices, and rates
// at which guessing leads nowhere.
const (
	emailBurst = 5
	emailEvery = time.Minute
	ipBurst    = 20
	ipEvery    = 6 * time.Second
	// maxBuckets bounds each table; the one that was not used for longest makes
	// room. An attacker cannot push out an e-mail's bucket by trying others
	// without spending the bucket of each address they come from.
	maxBuckets = 10_000
)

// attempts limits log-ins by e-mail and by address.
type attempts struct {
	byEmail, byIP *buckets
}

func newAttempts() *attempts {
	return &attempts{
		byEmail: newBuckets(rate.Every(emailEvery), emailBurst),
		byIP:    newBuckets(rate.Every(ipEvery), ipBurst),
	}
}

// allow takes one attempt, or tells how long to wait.
func (a *attempts) allow(email, ip string, now time.Time) (wait time.Duration, ok bool) {
	if wait, ok := a.byIP.take(ip, now); !ok {
		return wait, false
	}
	return a.byEmail.take(email, now)
}

// succeeded forgets the misses of an e-mail.
func (a *attempts) succeeded(email string) { a.byEmail.forget(email) }

// buckets is a bounded table of token buckets, the last used first.
type buckets struct {
	limit rate.Limit
	burst int

	mu     sync.Mutex
	order  *list.List // of *bucket
	byName map[string]*list.Element
}

type bucket struct {
	name    string
	limiter *rate.Limiter
}

func newBuckets(limit rate.Limit, burst int) *buckets {
	return &buckets{limit: limit, burst: burst, order: list.New(), byName: map[string]*list.Element{}}
}

func (b *buckets) take(name string, now time.Time) (time.Duration, bool) {
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
	reservation := element.Value.(*bucket).limiter.ReserveN(now, 1)
	if wait := reservation.DelayFrom(now); wait > 0 {
		reservation.CancelAt(now)
		return wait, false
	}
	return 0, true
}

func (b *buckets) forget(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if element := b.byName[name]; element != nil {
		b.order.Remove(element)
		delete(b.byName, name)
	}
}

// remoteIP is the connection's address; of IPv6 the /64, which one customer has whole.
func remoteIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if ip = ip.Unmap(); ip.Is6() {
		if prefix, err := ip.WithZone("").Prefix(64); err == nil {
			return prefix.String()
		}
	}
	return ip.String()
}
