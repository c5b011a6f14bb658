package attribution

import (
	"net/url"
	"strings"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/publichost"
)

// OriginOf returns the origin of a page: one of the company's, facts.OtherOrigin, or "" for
// a text that is empty. So there are few, whatever anybody sends.
func (x *Index) OriginOf(pageURL string) string {
	if pageURL == "" {
		return ""
	}
	if origin := originPart(pageURL); x.origins[origin] { // as most are
		return origin
	}
	if len(x.origins) == 0 {
		return facts.OtherOrigin
	}
	origin := originOf(pageURL)
	if x.origins[origin] {
		return origin
	}
	return facts.OtherOrigin
}

// OwnSite reports whether an origin has the registrable domain of one of the company's.
func (x *Index) OwnSite(origin string) bool {
	host, ok := publichost.OfOrigin(origin)
	for listed := range x.origins {
		if own, _ := publichost.OfOrigin(listed); ok && publichost.SameSite(host, own) {
			return true
		}
	}
	return false
}

// originPart returns the part of a URL that is its origin where the URL is written as
// browsers write it.
func originPart(pageURL string) string {
	scheme, rest, ok := strings.Cut(pageURL, "://")
	if !ok {
		return ""
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return pageURL[:len(scheme)+len("://")+len(rest)]
}

// originOf returns an origin as browsers write it: lower case, without a default port.
func originOf(pageURL string) string {
	u, err := url.Parse(pageURL)
	if err != nil {
		return ""
	}
	origin := strings.ToLower(u.Scheme + "://" + u.Host)
	switch u.Scheme {
	case "https":
		return strings.TrimSuffix(origin, ":443")
	case "http":
		return strings.TrimSuffix(origin, ":80")
	}
	return origin
}

// originsOf are those of a company's settings: the origins that may send events, and its
// own hosts, whose pages need not be listed where the edge is on their site.
func originsOf(rules *facts.Rules) map[string]bool {
	origins := map[string]bool{}
	for _, origin := range rules.Origins {
		origins[originOf(origin)] = true
	}
	for _, host := range rules.Hosts {
		origins[originOf("https://"+host)] = true
	}
	delete(origins, "")
	delete(origins, "://") // of "null", which no page has
	return origins
}
