package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/wire"
)

// TopicPlan says how EnsureTopics creates what is missing.
type TopicPlan struct {
	Partitions        int // of events, commerce and bulk: fixed for life; 64 by default, 8 in dev
	Replication       int
	MinInsyncReplicas int
	// KeepForever sets retention.ms=-1 on every topic: kfake applies its
	// default retention to all topics once one is compacted.
	KeepForever bool
}

// commerceRetentionMs is how long orders' personal fields stay on Kafka: 7 days
// (docs/notes/wire.md, "Topics").
const commerceRetentionMs = 7 * 24 * 60 * 60 * 1000

// EnsureTopics creates the missing topics and refuses a cluster whose topics of
// wire.Processed have unequal or other partition counts than planned.
func (c *Client) EnsureTopics(ctx context.Context, plan TopicPlan) error {
	topic := func(name string, partitions int, retentionMs int64, more ...kafka.ConfigEntry) kafka.TopicConfig {
		if plan.KeepForever {
			retentionMs = -1
		}
		entries := append([]kafka.ConfigEntry{
			{ConfigName: "retention.ms", ConfigValue: strconv.FormatInt(retentionMs, 10)},
			{ConfigName: "min.insync.replicas", ConfigValue: strconv.Itoa(plan.MinInsyncReplicas)},
		}, more...)
		return kafka.TopicConfig{
			Topic: c.Named(name), NumPartitions: partitions, ReplicationFactor: plan.Replication, ConfigEntries: entries,
		}
	}
	const month = 30 * 24 * 60 * 60 * 1000
	wanted := []kafka.TopicConfig{
		topic(wire.TopicEvents, plan.Partitions, month),
		topic(wire.TopicCommerce, plan.Partitions, commerceRetentionMs),
		topic(wire.TopicBulk, plan.Partitions, commerceRetentionMs),
		topic(wire.TopicDirectory, 1, -1, kafka.ConfigEntry{ConfigName: "cleanup.policy", ConfigValue: "compact"}),
		topic(wire.TopicRejected, 1, month),
		topic(wire.TopicResults, 1, 60*60*1000),
	}
	// To create asks the controller, whose address is not known yet: where nobody answers, that error does not say who was asked.
	if _, err := c.Cluster(ctx); err != nil {
		return fmt.Errorf("no broker answers at %s: %w", strings.Join(c.config.Brokers, ", "), err)
	}
	there, err := c.topics(ctx, wire.Processed)
	if err != nil {
		return err
	}
	if err := checkPartitions(there, plan.Partitions); err != nil { // before any is made
		return err
	}
	response, err := c.client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: wanted})
	if err != nil {
		return fmt.Errorf("kafka: create topics: %w", err)
	}
	for name, err := range response.Errors {
		if err != nil && !errors.Is(err, kafka.TopicAlreadyExists) {
			return fmt.Errorf("kafka: create topic %s: %w", name, err)
		}
	}
	return c.awaitLeaders(ctx, wire.Topics...)
}

// checkPartitions compares the partition counts of the topics that are there with each other and with the plan's.
func checkPartitions(there map[string]kafka.Topic, planned int) error {
	first, count := "", 0
	for _, name := range wire.Processed {
		topic, found := there[name]
		switch n := len(topic.Partitions); {
		case !found:
		case first == "":
			first, count = name, n
		case n != count:
			return fmt.Errorf("kafka: %s has %d partitions and %s %d: they must be equal, since one processor owns the same partition of each",
				first, count, name, n)
		}
	}
	if first != "" && count != planned {
		return fmt.Errorf("kafka: the topics have %d partitions, not %d: give --partitions %d; another count is an offline operation",
			count, planned, count)
	}
	return nil
}

// leadersTimeout bounds how long a new topic waits for its leaders.
const leadersTimeout = 30 * time.Second

// awaitLeaders waits until the leader of each partition of topics answers: a cluster of several brokers says that a topic
// is made before they all know it.
func (c *Client) awaitLeaders(ctx context.Context, topics ...string) error {
	ctx, cancel := context.WithTimeout(ctx, leadersTimeout)
	defer cancel()
	for _, topic := range topics {
		for {
			err := c.leadersAnswer(ctx, topic)
			if err == nil {
				break
			}
			if !IsTemporary(err) {
				return err
			}
			if !background.Sleep(ctx, retryPause) {
				return err
			}
		}
	}
	return nil
}

// leadersAnswer asks the leader of each partition of a topic once.
func (c *Client) leadersAnswer(ctx context.Context, topic string) error {
	n, err := c.Partitions(ctx, topic)
	if err != nil {
		return err
	}
	for partition := range n {
		if _, err := c.logEnd(ctx, topic, partition); err != nil {
			return err
		}
	}
	return nil
}

// Partitions tells how many partitions a topic has.
func (c *Client) Partitions(ctx context.Context, topic string) (int, error) {
	topic = c.Named(topic)
	metadata, err := c.client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
	if err != nil {
		return 0, fmt.Errorf("kafka: metadata of %s: %w", topic, err)
	}
	for _, t := range metadata.Topics {
		if t.Name != topic {
			continue
		}
		if t.Error != nil {
			return 0, fmt.Errorf("kafka: topic %s: %w", topic, t.Error)
		}
		return len(t.Partitions), nil
	}
	return 0, fmt.Errorf("kafka: topic %s: %w", topic, kafka.UnknownTopicOrPartition)
}

// ClusterID names the cluster: offsets of one mean nothing in another.
func (c *Client) ClusterID(ctx context.Context) (string, error) {
	metadata, err := c.client.Metadata(ctx, &kafka.MetadataRequest{})
	if err != nil {
		return "", fmt.Errorf("kafka: cluster id: %w", err)
	}
	return metadata.ClusterID, nil
}
