package devstack

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/twmb/franz-go/pkg/kfake"
)

// BrokerConfig says where the embedded broker listens and keeps its log.
type BrokerConfig struct {
	Addr string // host:port on loopback; empty or port 0 takes a free port
	Dir  string // keeps the log, fsynced at each produce; empty: only in memory
}

// Broker is an embedded single-node Kafka: franz-go's kfake. It holds its
// whole log in memory and is for trying out, demos and tests. Make its topics
// with TopicPlan.KeepForever: it applies its default retention to all topics
// once one of them is compacted.
type Broker struct {
	cluster *kfake.Cluster
	addr    string
}

// StartBroker starts the embedded broker. With a Dir it continues with the log
// that is there.
func StartBroker(config BrokerConfig) (*Broker, error) {
	host, port := "127.0.0.1", 0
	if config.Addr != "" {
		h, p, err := net.SplitHostPort(config.Addr)
		if err != nil {
			return nil, fmt.Errorf("broker address: %w", err)
		}
		if port, err = strconv.Atoi(p); err != nil {
			return nil, fmt.Errorf("broker address %s: the port is not a number", config.Addr)
		}
		host = h
	}
	options := []kfake.Opt{
		kfake.Ports(port),
		kfake.ListenFn(func(network, _ string) (net.Listener, error) {
			return net.Listen(network, net.JoinHostPort(host, strconv.Itoa(port)))
		}),
		// A new log is a new cluster, so that offsets of an earlier one are refused.
		kfake.ClusterID(rand.Text()),
		// The defaults for topics that set nothing else: see Broker.
		kfake.BrokerConfigs(map[string]string{"log.retention.ms": "-1", "log.retention.bytes": "-1"}),
	}
	if config.Dir != "" {
		if err := os.MkdirAll(config.Dir, 0o700); err != nil {
			return nil, fmt.Errorf("broker directory: %w", err)
		}
		options = append(options, kfake.DataDir(config.Dir), kfake.SyncWrites())
	}
	cluster, err := kfake.NewCluster(options...)
	if err != nil {
		return nil, fmt.Errorf("embedded broker: %w", err)
	}
	addrs := cluster.ListenAddrs()
	if len(addrs) != 1 {
		cluster.Close()
		return nil, errors.New("embedded broker: no listener")
	}
	return &Broker{cluster: cluster, addr: addrs[0]}, nil
}

// Addr returns the broker's host:port.
func (b *Broker) Addr() string { return b.addr }

// Stop writes what is left and ends the broker. It may be called again.
func (b *Broker) Stop() { b.cluster.Close() }
