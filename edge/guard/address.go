package guard

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
)

// ClientIP is the address of the client: the connection's, or, behind trusted
// proxies, the last address in X-Forwarded-For that is not one of theirs.
func ClientIP(ctx *fasthttp.RequestCtx, trusted []netip.Prefix) netip.Addr {
	remote, ok := ctx.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	address := remote.AddrPort().Addr().Unmap()
	if !Within(trusted, address) {
		return address
	}
	var forwarded []string
	for _, header := range ctx.Request.Header.PeekAll("X-Forwarded-For") {
		forwarded = append(forwarded, string(header))
	}
	return ForwardedFor(address, forwarded, trusted)
}

// ForwardedFor is the address of the client that a connection's address and the headers X-Forwarded-For name.
func ForwardedFor(address netip.Addr, forwarded []string, trusted []netip.Prefix) netip.Addr {
	hops := strings.Split(strings.Join(forwarded, ","), ",")
	for i := len(hops) - 1; i >= 0 && Within(trusted, address); i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break // the client may have made up what stands before it
		}
		address = hop.Unmap().WithZone("")
	}
	return address
}

// Within tells whether an address is in one of some networks.
func Within(prefixes []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(address) })
}

// OneClient is an address as one client may have it: of an IPv6 address the
// /64, since one customer has all of it.
func OneClient(address netip.Addr) netip.Addr {
	address = address.Unmap().WithZone("")
	if address.Is6() {
		network, _ := address.Prefix(64) // 64 bits are always there
		return network.Addr()
	}
	return address
}
