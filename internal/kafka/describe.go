package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/segmentio/kafka-go"
)

// Cluster is what the brokers say of themselves.
type Cluster struct {
	ID      string
	Brokers []string // host:port, as the brokers tell clients to reach them
}

// Cluster asks the brokers which cluster they are.
func (c *Client) Cluster(ctx context.Context) (Cluster, error) {
	metadata, err := c.client.Metadata(ctx, &kafka.MetadataRequest{})
	if err != nil {
		return Cluster{}, fmt.Errorf("kafka: cluster: %w", err)
	}
	cluster := Cluster{ID: metadata.ClusterID}
	for _, b := range metadata.Brokers {
		cluster.Brokers = append(cluster.Brokers, net.JoinHostPort(b.Host, strconv.Itoa(b.Port)))
	}
	slices.Sort(cluster.Brokers)
	return cluster, nil
}

// Reach connects to one broker, with TLS and log-in as configured, and hangs up.
func (c *Client) Reach(ctx context.Context, broker string) error {
	conn, err := c.dialer().DialContext(ctx, "tcp", broker)
	if err != nil {
		return fmt.Errorf("kafka: connect to %s: %w", broker, err)
	}
	return conn.Close()
}

// TopicState is what the cluster says of a topic.
type TopicState struct {
	Name        string
	Partitions  int               // 0: there is no such topic
	Replication int               // replicas of the partition that has the fewest
	InSync      int               // replicas in sync of the partition that has the fewest
	Leaderless  int               // partitions without a leader: they take nothing
	Settings    map[string]string // "retention.ms" …, the broker's defaults included
}

// MissingTopics returns those of names that the cluster has not got.
func (c *Client) MissingTopics(ctx context.Context, names ...string) (missing []string, err error) {
	topics, err := c.topics(ctx, names)
	for _, name := range names {
		if _, there := topics[name]; err == nil && !there {
			missing = append(missing, name)
		}
	}
	return missing, err
}

// topics returns what the cluster says of topics, by name; missing ones are left out.
func (c *Client) topics(ctx context.Context, names []string) (map[string]kafka.Topic, error) {
	request := &kafka.MetadataRequest{}
	for _, name := range names {
		request.Topics = append(request.Topics, c.Named(name))
	}
	metadata, err := c.client.Metadata(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("kafka: metadata: %w", err)
	}
	there := map[string]kafka.Topic{}
	for _, topic := range metadata.Topics {
		switch {
		case errors.Is(topic.Error, kafka.UnknownTopicOrPartition):
		case topic.Error != nil:
			return nil, fmt.Errorf("kafka: topic %s: %w", topic.Name, topic.Error)
		default:
			there[strings.TrimPrefix(topic.Name, c.config.TopicPrefix)] = topic
		}
	}
	return there, nil
}

// Topics describes topics, in the order of names. A missing one has no
// partitions and no settings.
func (c *Client) Topics(ctx context.Context, names ...string) ([]TopicState, error) {
	topics, err := c.topics(ctx, names)
	if err != nil {
		return nil, err
	}
	states := make([]TopicState, len(names))
	var there kafka.DescribeConfigsRequest
	for i, name := range names {
		states[i] = TopicState{Name: name}
		if topic, found := topics[name]; found {
			states[i].addPartitions(topic.Partitions)
			there.Resources = append(there.Resources,
				kafka.DescribeConfigRequestResource{ResourceType: kafka.ResourceTypeTopic, ResourceName: c.Named(name)})
		}
	}
	if len(there.Resources) == 0 {
		return states, nil
	}
	described, err := c.client.DescribeConfigs(ctx, &there)
	if err != nil {
		return nil, fmt.Errorf("kafka: settings of topics: %w", err)
	}
	for _, r := range described.Resources {
		if r.Error != nil {
			return nil, fmt.Errorf("kafka: settings of %s: %w", r.ResourceName, r.Error)
		}
		settings := make(map[string]string, len(r.ConfigEntries))
		for _, e := range r.ConfigEntries {
			settings[e.ConfigName] = e.ConfigValue
		}
		if at := slices.Index(names, strings.TrimPrefix(r.ResourceName, c.config.TopicPrefix)); at >= 0 {
			states[at].Settings = settings
		}
	}
	return states, nil
}

func (s *TopicState) addPartitions(partitions []kafka.Partition) {
	s.Partitions = len(partitions)
	for i, p := range partitions {
		if i == 0 || len(p.Replicas) < s.Replication {
			s.Replication = len(p.Replicas)
		}
		if i == 0 || len(p.Isr) < s.InSync {
			s.InSync = len(p.Isr)
		}
		if p.Leader.Host == "" {
			s.Leaderless++
		}
	}
}
