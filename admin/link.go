package admin

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"code.dny.dev/ssrf"
	"golang.org/x/sync/errgroup"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/publichost"
)

// Bounds of looking up the hosts of one request's links.
const (
	lookUpTimeout  = 1500 * time.Millisecond
	lookUpsAtATime = 8
)

// linkPolicy decides to which destinations a short link may lead. It protects
// programs inside a network that follow or preview links: the service itself
// never fetches them.
type linkPolicy struct {
	resolver         Resolver
	acceptUnresolved bool
	public           *ssrf.Guardian // IANA's special-purpose registries
}

func newLinkPolicy(resolver Resolver, acceptUnresolved bool) linkPolicy {
	return linkPolicy{resolver: resolver, acceptUnresolved: acceptUnresolved, public: ssrf.New()}
}

// Reasons for refusing a host that is a public name; they are sent to the caller.
var (
	errURLPrivate = errors.New("has a host that resolves to an address that is not public")
	errURLUnknown = errors.New("has a host that does not resolve")
)

// checkHost refuses a host of which any address is not global unicast.
func (p linkPolicy) checkHost(ctx context.Context, host string) error {
	// The trailing dot keeps the resolver's search domains out of it.
	addresses, err := p.resolver.LookupNetIP(ctx, "ip", host+".")
	if err != nil || len(addresses) == 0 {
		if p.acceptUnresolved {
			return nil
		}
		return errURLUnknown
	}
	for _, address := range addresses {
		if err := p.public.SafeAddr(address.Unmap().WithZone("")); err != nil {
			return errURLPrivate
		}
	}
	return nil
}

// checkAll checks destinations at the same time, each host once, and adds a
// violation for each that is refused.
func (p linkPolicy) checkAll(ctx context.Context, links []pathURL, bad *commerce.Violations) {
	ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	hosts := map[string]error{}
	hostOf := make([]string, len(links))
	failed := make([]error, len(links))
	for i, link := range links {
		if hostOf[i], failed[i] = publichost.OfDestination(link.url); failed[i] == nil {
			hosts[hostOf[i]] = nil
		}
	}
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(lookUpsAtATime)
	for _, host := range slices.Collect(maps.Keys(hosts)) {
		group.Go(func() error {
			err := p.checkHost(ctx, host)
			mu.Lock()
			hosts[host] = err
			mu.Unlock()
			return nil
		})
	}
	_ = group.Wait() // the error of each host is in hosts
	for i, link := range links {
		err := failed[i]
		if err == nil {
			err = hosts[hostOf[i]]
		}
		if err != nil {
			bad.Add(link.path, codeInvalidURL, "%s", err)
		}
	}
}

// CheckLinks says of each destination why it is refused, or nil, as POST /influencers
// does.
func (s *Server) CheckLinks(ctx context.Context, urls []string) []error {
	return s.links.refused(ctx, urls)
}

// CheckLinks is Server.CheckLinks without a server; the system looks the hosts up.
func CheckLinks(ctx context.Context, urls []string) []error {
	return newLinkPolicy(net.DefaultResolver, false).refused(ctx, urls)
}

func (p linkPolicy) refused(ctx context.Context, urls []string) []error {
	list, refused := make([]pathURL, len(urls)), make([]error, len(urls))
	for i, url := range urls {
		list[i] = pathURL{strconv.Itoa(i), url}
	}
	var bad commerce.Violations
	p.checkAll(ctx, list, &bad)
	for _, v := range bad.List {
		if i, err := strconv.Atoi(v.Field); err == nil {
			refused[i] = errors.New(v.Message)
		}
	}
	return refused
}

// pathURL is a URL and the path of its field in the body.
type pathURL struct{ path, url string }
