package edge

import (
	"cmp"
	"strings"

	"github.com/tributary-io/tributary/internal/publichost"
	"github.com/tributary-io/tributary/internal/wire"
)

// A link of one store that opens under another store's host would look like that store's own.
// So under a host that a store has (wire.Company.Hosts, and all hosts below) only its own links
// open, and those that lead to it. The host of short links is everybody's, and so are addresses:
// a name alone can look like somebody's.

// opensOn tells whether a link may be opened under a host, which leads to a destination. What
// leads to the host's own site always may. Of the hosts that stores have, the nearest counts: who
// has the one above it, such as "example", says nothing of the one below. Where several stores
// have it, none is believed.
func (d *directory) opensOn(host string, l *wire.Link, destination string) bool {
	host = strings.TrimSuffix(hostname(host), ".")
	short, _, _ := strings.Cut(d.shortBase(), "/")
	if publichost.IsAddress(host) || host == hostname(d.config.ShortHost) || host == hostname(short) || sameSite(host, destination) {
		return true
	}
	own := l.CompanyID
	if c, known := d.company(own); known {
		own = c.store()
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	for above := host; above != ""; _, above, _ = strings.Cut(above, ".") {
		found := false
		for _, state := range []*entries{d.served, d.rebuilt} {
			if state == nil {
				continue
			}
			for _, id := range state.hosts[above] {
				found = true
				if c := state.companies[id]; c.store() != own && !c.hasHost(destination) {
					return false
				}
			}
		}
		if found {
			return true
		}
	}
	return true
}

// shortBase is what short links begin with, as the admin API has published it.
func (d *directory) shortBase() string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if base := d.served.shortBase; base != "" || d.rebuilt == nil {
		return base
	}
	return d.rebuilt.shortBase
}

// store names the store of which the company is the live or the sandbox one.
func (c *company) store() string { return cmp.Or(c.StoreID, c.CompanyID) }

// hasHost tells whether a host is one of the company's, or below one.
func (c *company) hasHost(host string) bool {
	host = hostname(host)
	for _, own := range c.Hosts {
		if own = ownHost(own); host == own || strings.HasSuffix(host, "."+own) {
			return true
		}
	}
	return false
}

// ownHost is a company's host as it is compared: that of "www.loja.example.com" has all of
// loja.example.com.
func ownHost(host string) string {
	return strings.TrimPrefix(strings.ToLower(host), "www.")
}

// addHosts and removeHosts keep which companies have a host.
func (s *entries) addHosts(c *company) {
	for _, host := range c.Hosts {
		host = ownHost(host)
		s.hosts[host] = append(s.hosts[host], c.CompanyID)
	}
}

func (s *entries) removeHosts(c *company) {
	for _, host := range c.Hosts {
		host = ownHost(host)
		var others []string
		for _, id := range s.hosts[host] {
			if id != c.CompanyID {
				others = append(others, id)
			}
		}
		if s.hosts[host] = others; len(others) == 0 {
			delete(s.hosts, host)
		}
	}
}
