package devstack

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// BrokerConfig says where the embedded broker listens and keeps its log.
type BrokerConfig struct {
	Addr string // host:port on loopback; empty or port 0 takes a free port
	Dir  string // keeps the log, fsynced at each produce; empty: only in memory
	// ClusterPrefix begins the cluster's id, which is random else. A log that is there keeps its own.
	ClusterPrefix string
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
		kfake.ClusterID(config.ClusterPrefix + rand.Text()),
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

// Empty removes all records of a topic, whoever has not read them, from the log and
// from memory. Offsets go on.
func (b *Broker) Empty(ctx context.Context, topic string, partitions int) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.addr))
	if err != nil {
		return fmt.Errorf("embedded broker: %w", err)
	}
	defer client.Close()
	request := kmsg.NewDeleteRecordsRequest()
	of := kmsg.NewDeleteRecordsRequestTopic()
	of.Topic = topic
	for p := range partitions {
		partition := kmsg.NewDeleteRecordsRequestTopicPartition()
		partition.Partition, partition.Offset = int32(p), -1 // up to the end
		of.Partitions = append(of.Partitions, partition)
	}
	request.Topics, request.TimeoutMillis = append(request.Topics, of), 30_000
	response, err := request.RequestWith(ctx, client)
	if err != nil {
		return fmt.Errorf("embedded broker: empty %s: %w", topic, err)
	}
	for _, t := range response.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("embedded broker: empty %s/%d: %w", topic, p.Partition, err)
			}
		}
	}
	return nil
}

// Addr returns the broker's host:port.
func (b *Broker) Addr() string { return b.addr }

// Stop writes what is left and ends the broker. It may be called again.
func (b *Broker) Stop() { b.cluster.Close() }
