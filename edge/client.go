package edge

import (
	"net/netip"
	"sync"

	"github.com/tributary-io/tributary/internal/identity"
)

// truncateIP is the first address of the network that an address is in.
func truncateIP(address netip.Addr) string {
	network, ok := identity.Network(address)
	if !ok {
		return ""
	}
	return network.Addr().String()
}

// network is what is recorded of the network that a client is in.
type network struct {
	ip     string // its first address
	key    string // its keyed hash
	former string // the same by the former hashing secret; empty: there is none
}

// knownNetworks remembers what is recorded of networks: many clients are in one, and a
// client sends many requests. Safe for concurrent use.
type knownNetworks struct {
	mu    sync.RWMutex
	known map[networkOf]network
}

type networkOf struct {
	company string
	prefix  netip.Prefix
}

// maxKnownNetworks bounds the networks that are remembered. One more empties the memory.
const maxKnownNetworks = 8192

func (n *knownNetworks) network(c *company, address netip.Addr) network {
	prefix, ok := identity.Network(address)
	if !ok {
		return network{}
	}
	of := networkOf{c.CompanyID, prefix}
	n.mu.RLock()
	made, found := n.known[of]
	n.mu.RUnlock()
	if found {
		return made
	}
	made = network{ip: truncateIP(address), key: c.keys.Network(address)}
	if former, rotates := c.keys.Former(); rotates {
		made.former = former.Network(address)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.known) >= maxKnownNetworks {
		clear(n.known)
	}
	n.known[of] = made
	return made
}
