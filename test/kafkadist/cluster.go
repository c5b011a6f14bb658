// Package kafkadist runs a real Apache Kafka (KRaft) on loopback, of one node or
// of several, for tests that kill a broker and start it again.
//
// What may enter: downloading its jars with Maven and running it with Java.
package kafkadist

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
)

// ClusterConfig says what to start.
type ClusterConfig struct {
	Dir   string // keeps the nodes' data
	Nodes int
	// Advertise are addresses, host:port and one for each node, that a client is
	// told to dial if it came by the node's SideAddr: a proxy's. None: the nodes
	// have no such address.
	Advertise []string
}

// Cluster is a number of nodes. With three or more, each partition has three
// replicas unless its topic says otherwise, and two of them must be in sync.
type Cluster struct{ Brokers []*Broker }

// clusterSettings are the same at all nodes.
type clusterSettings struct {
	voters           string
	replicas, inSync int
}

// StartCluster formats the nodes' directories the first time and starts all of
// them on free ports. Call Kill when it is no longer needed; when we end, the
// nodes are killed.
func StartCluster(ctx context.Context, config ClusterConfig) (*Cluster, error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, fmt.Errorf("java: %w", ErrNoTool)
	}
	jars, err := fetch(ctx)
	if err != nil {
		return nil, err
	}
	if len(config.Advertise) != 0 && len(config.Advertise) != config.Nodes {
		return nil, fmt.Errorf("kafka: %d addresses to advertise for %d nodes", len(config.Advertise), config.Nodes)
	}
	c := &Cluster{}
	for n := range config.Nodes {
		b := &Broker{id: n + 1, dir: filepath.Join(config.Dir, "node"+strconv.Itoa(n+1)), jars: jars, java: java}
		if len(config.Advertise) > 0 {
			b.advertised = config.Advertise[n]
		}
		c.Brokers = append(c.Brokers, b)
	}
	if err := c.choosePorts(); err != nil {
		return nil, fmt.Errorf("kafka: free port: %w", err)
	}
	if err := c.start(ctx); err != nil {
		c.Kill()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	of := clusterSettings{replicas: min(3, len(c.Brokers)), inSync: max(1, min(3, len(c.Brokers))-1)}
	var voters []string
	for _, b := range c.Brokers {
		voters = append(voters, fmt.Sprintf("%d@%s", b.id, b.controller))
	}
	of.voters = strings.Join(voters, ",")
	formatting, formatCtx := errgroup.WithContext(ctx)
	for _, b := range c.Brokers {
		formatting.Go(func() error { return b.configure(formatCtx, of) })
	}
	if err := formatting.Wait(); err != nil {
		return err
	}
	return c.Restart(ctx)
}

// Addrs are the nodes' addresses.
func (c *Cluster) Addrs() (list []string) {
	for _, b := range c.Brokers {
		list = append(list, b.Addr())
	}
	return list
}

// Restart starts all nodes again after Kill, and returns once they are ready.
func (c *Cluster) Restart(ctx context.Context) error { return Restart(ctx, c.Brokers...) }

// Restart starts nodes again after Kill, at once, and returns once all are ready: one alone may wait for another.
func Restart(ctx context.Context, brokers ...*Broker) error {
	for _, b := range brokers {
		if err := b.launch(); err != nil {
			return err
		}
	}
	var failures []error
	for _, b := range brokers {
		failures = append(failures, b.awaitReady(ctx))
	}
	return errors.Join(failures...)
}

// Kill ends all nodes by SIGKILL.
func (c *Cluster) Kill() {
	for _, b := range c.Brokers {
		b.Kill()
	}
}

// choosePorts gives each node its addresses. A node comes back to the same after
// a kill, so they lie below the ports that the kernel gives to connections that
// go out (32768 and more, ip(7)): one of those could have been taken meanwhile.
func (c *Cluster) choosePorts() error {
	for _, b := range c.Brokers {
		addrs := []*string{&b.addr, &b.controller}
		if b.advertised != "" {
			addrs = append(addrs, &b.side)
		}
		for _, addr := range addrs {
			listener, err := ListenLow()
			if err != nil {
				return err
			}
			defer listener.Close() // all are held until all are chosen
			*addr = listener.Addr().String()
		}
	}
	return nil
}

// ListenLow listens on a free loopback port below those of connections that go
// out, for a server that comes back to its port later.
func ListenLow() (net.Listener, error) {
	const low, ports, attempts = 15000, 17000, 100
	var err error
	for range attempts {
		var listener net.Listener
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(low+rand.IntN(ports))) //nolint:gosec // a port is no secret
		if listener, err = net.Listen("tcp", address); err == nil {
			return listener, nil
		}
	}
	return nil, err
}

// FreeAddrs are so many addresses as ListenLow finds, on which nobody listens now.
func FreeAddrs(n int) (list []string, err error) {
	for range n {
		listener, err := ListenLow()
		if err != nil {
			return nil, err
		}
		defer listener.Close() // all at the end: none comes twice
		list = append(list, listener.Addr().String())
	}
	return list, nil
}
