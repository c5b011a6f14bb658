package admin

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"code.dny.dev/ssrf"
	"golang.org/x/net/idna"
	"golang.org/x/sync/errgroup"
)

// Bounds of looking up the hosts of one request's links.
const (
	maxURL         = 2048 // characters; what browsers and Kafka records take without thought
	lookUpTimeout  = 1500 * time.Millisecond
	lookUpsAtATime = 8
)

// linkPolicy decides which destinations a short link may have (anti-SSRF). The
// service never fetches them; whoever follows or previews a link might.
type linkPolicy struct {
	resolver         Resolver
	acceptUnresolved bool
	public           *ssrf.Guardian // IANA's special-purpose registries
}

func newLinkPolicy(resolver Resolver, acceptUnresolved bool) linkPolicy {
	return linkPolicy{resolver: resolver, acceptUnresolved: acceptUnresolved, public: ssrf.New()}
}

// Reasons for refusing a destination, as they are told.
var (
	errURLForm      = errors.New("is not a URL")
	errURLScheme    = errors.New("must be an https URL")
	errURLUser      = errors.New("must not carry a user name or password")
	errURLPort      = errors.New("must use port 443")
	errURLHost      = errors.New("has a host that is not a public name")
	errURLAddress   = errors.New("must name its host, not an IP address")
	errURLPrivate   = errors.New("has a host that resolves to an address that is not public")
	errURLUnknown   = errors.New("has a host that does not resolve")
	errURLMalformed = errors.New("has spaces, control characters or backslashes")
)

// check tells whether a URL may be a destination: its form, then every address
// of its host.
func (p linkPolicy) check(ctx context.Context, raw string) error {
	host, err := destinationHost(raw)
	if err != nil {
		return err
	}
	return p.checkHost(ctx, host)
}

// destinationHost checks a destination's form and gives its host in ASCII.
func destinationHost(raw string) (string, error) {
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return "", errURLMalformed // browsers read a backslash as a slash and drop tabs
	}
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" {
		return "", errURLForm
	}
	if u.Scheme != "https" {
		return "", errURLScheme
	}
	// The raw authority is judged, not Go's reading of it: others read it otherwise.
	_, rest, _ := strings.Cut(raw, ":")
	if !strings.HasPrefix(rest, "//") {
		return "", errURLForm
	}
	authority := rest[2:]
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority = authority[:end]
	}
	if u.User != nil || strings.Contains(authority, "@") {
		return "", errURLUser
	}
	if strings.HasPrefix(authority, "[") || strings.Count(authority, ":") > 1 {
		return "", errURLAddress
	}
	host, port, hasPort := strings.Cut(authority, ":")
	if hasPort && port != "443" {
		return "", errURLPort
	}
	if strings.Contains(host, "%") {
		return "", errURLHost
	}
	return publicName(host)
}

// hostProfile maps a host as browsers do (UTS 46: width, case, dots) without
// refusing underscores, which are in use.
func hostProfile() *idna.Profile {
	return idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false), idna.VerifyDNSLength(true))
}

// publicName is a host's ASCII form, refused where it is an address in any
// spelling or a name that only means something inside a network.
func publicName(host string) (string, error) {
	// One trailing dot, the root's, is no part of the name; idna may make one
	// of an ideographic dot.
	name, rooted := strings.CutSuffix(host, ".")
	ascii, err := hostProfile().ToASCII(name)
	if err != nil {
		return "", errURLHost
	}
	if !rooted {
		ascii = strings.TrimSuffix(ascii, ".")
	}
	if strings.ContainsFunc(ascii, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_'
	}) {
		return "", errURLHost
	}
	labels := strings.Split(ascii, ".")
	last := labels[len(labels)-1]
	// A last label that is a number makes a browser read the host as IPv4, in
	// decimal, octal, hex or shortened (WHATWG URL, "ends in a number").
	if _, err := netip.ParseAddr(ascii); err == nil || isNumber(last) {
		return "", errURLAddress
	}
	if len(labels) < 2 || slices.Contains(labels, "") {
		return "", errURLHost
	}
	switch last {
	case "localhost", "local", "internal", "localdomain", "arpa", "onion", "invalid", "test":
		return "", errURLHost
	}
	return ascii, nil
}

func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}

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

// checkAll checks many destinations at once, a host once, and reports each
// refused one under its path.
func (p linkPolicy) checkAll(ctx context.Context, links []pathURL, bad *violations) {
	ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	hosts := map[string]error{}
	hostOf := make([]string, len(links))
	failed := make([]error, len(links))
	for i, link := range links {
		if hostOf[i], failed[i] = destinationHost(link.url); failed[i] == nil {
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
	group.Wait()
	for i, link := range links {
		err := failed[i]
		if err == nil {
			err = hosts[hostOf[i]]
		}
		if err != nil {
			bad.add(link.path, codeInvalidURL, "%s", err)
		}
	}
}

// pathURL is a URL and where in the body it stood.
type pathURL struct{ path, url string }
