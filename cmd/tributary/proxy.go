package main

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"github.com/spf13/pflag"

	"github.com/tributary-io/tributary/edge/guard"
)

// proxyFlag is the networks whose X-Forwarded-For is believed.
type proxyFlag struct{ networks []string }

func (p *proxyFlag) register(flags *pflag.FlagSet) {
	flags.StringSliceVar(&p.networks, "trusted-proxy", nil,
		"network that may name the client in X-Forwarded-For (CIDR); repeat or separate by commas")
}

func (p *proxyFlag) prefixes() ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	for _, text := range p.networks {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			return nil, misuse(fmt.Errorf("--trusted-proxy: %w", err))
		}
		prefixes = append(prefixes, prefix.Masked())
	}
	return prefixes, nil
}

// forwardedFor returns a function that returns the client's address of a
// request: the connection's, or, if that is a trusted proxy's, the last address
// in X-Forwarded-For that is not a trusted proxy's. Of an IPv6 address it returns
// the /64 network, since one customer has all of it. Without trusted proxies it
// returns nil, which selects the dashboard's default.
func forwardedFor(trusted []netip.Prefix) func(*http.Request) string {
	if len(trusted) == 0 {
		return nil
	}
	return func(r *http.Request) string {
		remote, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil {
			return r.RemoteAddr
		}
		address := guard.ForwardedFor(remote.Addr().Unmap().WithZone(""), r.Header.Values("X-Forwarded-For"), trusted)
		return guard.OneClient(address).String()
	}
}
