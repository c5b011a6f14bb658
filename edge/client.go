package edge

import (
	"net"
	"net/netip"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/internal/identity"
)

// clientIP is the address of the client: the connection's, or, behind trusted
// proxies, the last address in X-Forwarded-For that is not one of theirs.
func clientIP(ctx *fasthttp.RequestCtx, trusted []netip.Prefix) netip.Addr {
	remote, ok := ctx.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	address := remote.AddrPort().Addr().Unmap()
	if !within(trusted, address) {
		return address
	}
	var hops []string
	for _, header := range ctx.Request.Header.PeekAll("X-Forwarded-For") {
		hops = append(hops, strings.Split(string(header), ",")...)
	}
	for i := len(hops) - 1; i >= 0; i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break // the client may have made up what stands before it
		}
		address = hop.Unmap().WithZone("")
		if !within(trusted, address) {
			break
		}
	}
	return address
}

func within(prefixes []netip.Prefix, address netip.Addr) bool {
	for _, p := range prefixes {
		if p.Contains(address) {
			return true
		}
	}
	return false
}

// truncateIP is the first address of the network that an address is in.
func truncateIP(address netip.Addr) string {
	network, ok := identity.Network(address)
	if !ok {
		return ""
	}
	return network.Addr().String()
}
