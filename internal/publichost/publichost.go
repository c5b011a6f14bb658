// Package publichost tells which hosts a short link may lead to, which are IP addresses, and
// which are of one site, as browsers read them. It looks no name up.
package publichost

import (
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// Reasons for refusing a destination by its form; they are sent to the caller.
var (
	ErrURLForm      = errors.New("is not a URL")
	ErrURLScheme    = errors.New("must be an https URL")
	ErrURLUser      = errors.New("must not carry a user name or password")
	ErrURLPort      = errors.New("must use port 443")
	ErrURLHost      = errors.New("has a host that is not a public name")
	ErrURLAddress   = errors.New("must name its host, not an IP address")
	ErrURLMalformed = errors.New("has spaces, control characters or backslashes")
)

// OfDestination checks the form of a short link's destination and returns its
// host in ASCII: https, port 443, and a name that can be a public one. It
// does not look the name up.
func OfDestination(raw string) (string, error) {
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return "", ErrURLMalformed // browsers read a backslash as a slash and drop tabs
	}
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" {
		return "", ErrURLForm
	}
	if u.Scheme != "https" {
		return "", ErrURLScheme
	}
	// The text of the authority is checked, not what net/url makes of it: other
	// programs may read it differently.
	_, rest, _ := strings.Cut(raw, ":")
	if !strings.HasPrefix(rest, "//") {
		return "", ErrURLForm
	}
	authority := rest[2:]
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority = authority[:end]
	}
	if u.User != nil || strings.Contains(authority, "@") {
		return "", ErrURLUser
	}
	if strings.HasPrefix(authority, "[") || strings.Count(authority, ":") > 1 {
		return "", ErrURLAddress
	}
	host, port, hasPort := strings.Cut(authority, ":")
	if hasPort && port != "443" {
		return "", ErrURLPort
	}
	if strings.Contains(host, "%") {
		return "", ErrURLHost
	}
	return publicName(host)
}

// hostProfile maps a host as browsers do (UTS 46: width, case, dots) without
// refusing underscores, which are in use.
func hostProfile() *idna.Profile {
	return idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false), idna.VerifyDNSLength(true))
}

// publicName returns a host's ASCII form. It refuses an address in any spelling,
// and names that have a meaning only inside a network.
func publicName(host string) (string, error) {
	// One dot at the end stands for the root and is no part of the name. idna may
	// turn an ideographic dot into one.
	name, rooted := strings.CutSuffix(host, ".")
	ascii, err := hostProfile().ToASCII(name)
	if err != nil {
		return "", ErrURLHost
	}
	if !rooted {
		ascii = strings.TrimSuffix(ascii, ".")
	}
	if strings.ContainsFunc(ascii, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_'
	}) {
		return "", ErrURLHost
	}
	labels := strings.Split(ascii, ".")
	last := labels[len(labels)-1]
	if IsAddress(ascii) {
		return "", ErrURLAddress
	}
	if len(labels) < 2 || slices.Contains(labels, "") {
		return "", ErrURLHost
	}
	switch last {
	case "localhost", "local", "internal", "localdomain", "arpa", "onion", "invalid", "test":
		return "", ErrURLHost
	}
	return ascii, nil
}

// IsAddress reports whether a host, without brackets, is an IP address. A last label that is a
// number makes a browser read the host as IPv4, in decimal, octal, hex or shortened (WHATWG URL,
// "ends in a number").
func IsAddress(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	_, err := netip.ParseAddr(host)
	return err == nil || isNumber(host[strings.LastIndexByte(host, '.')+1:])
}

func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}

// SameSite reports whether two hosts, in lower case and without ports, share a registrable
// domain (Public Suffix List), or are the same.
func SameSite(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	if a == b {
		return true
	}
	siteA, errA := publicsuffix.EffectiveTLDPlusOne(a)
	siteB, errB := publicsuffix.EffectiveTLDPlusOne(b)
	return errA == nil && errB == nil && siteA == siteB && !IsAddress(a)
}

// maxOrigin bounds an origin in bytes: a host has at most 253 (RFC 1035).
const maxOrigin = 280

// OfOrigin returns the host of an origin as browsers send it: http or https, in ASCII and lower
// case, perhaps with a port. ok is false for any other text.
func OfOrigin(origin string) (host string, ok bool) {
	u, err := url.Parse(origin)
	if err != nil || len(origin) > maxOrigin || u.Scheme != "https" && u.Scheme != "http" || u.Scheme+"://"+u.Host != origin {
		return "", false
	}
	host = u.Hostname()
	return host, host != "" && !strings.ContainsFunc(host, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-._:", r)
	})
}
