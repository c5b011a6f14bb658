package kafkadist

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/tributary-io/tributary/internal/background"
)

// newAdmin talks to the cluster past all proxies. It is made for one question and
// its answer: kafka-go answers later ones about topics from its memory.
func newAdmin(brokers []string) (admin *kafka.Client, end func()) {
	transport := &kafka.Transport{}
	return &kafka.Client{Addr: kafka.TCP(brokers...), Timeout: 30 * time.Second, Transport: transport}, transport.CloseIdleConnections
}

// Layout is who leads and who follows, by partition of a topic.
func (c *Cluster) Layout(ctx context.Context, topic string) ([]kafka.Partition, error) {
	admin, end := newAdmin(c.Addrs())
	defer end()
	response, err := admin.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
	if err != nil {
		return nil, err
	}
	for _, t := range response.Topics {
		if t.Name != topic || t.Error != nil {
			continue
		}
		list := make([]kafka.Partition, len(t.Partitions))
		for _, p := range t.Partitions {
			if p.ID < 0 || p.ID >= len(list) {
				return nil, fmt.Errorf("the cluster tells of %d partitions of %s, and of partition %d", len(list), topic, p.ID)
			}
			list[p.ID] = p
		}
		return list, nil
	}
	return nil, fmt.Errorf("the cluster does not tell of %s", topic)
}

// AwaitInSync returns once every partition of the topics has all of its replicas in sync.
func (c *Cluster) AwaitInSync(ctx context.Context, topics ...string) error {
	ctx, cancel := context.WithTimeout(ctx, inSyncTimeout)
	defer cancel()
	for _, topic := range topics {
		for !c.inSync(ctx, topic) {
			if !background.Sleep(ctx, 100*time.Millisecond) {
				return fmt.Errorf("all replicas of %s are in sync: %w", topic, ctx.Err())
			}
		}
	}
	return nil
}

// inSync is false too while the cluster does not tell: a broker may be just back.
func (c *Cluster) inSync(ctx context.Context, topic string) bool {
	layout, err := c.Layout(ctx, topic)
	for _, p := range layout {
		if len(p.Isr) != min(3, len(c.Brokers)) {
			return false
		}
	}
	return err == nil && len(layout) > 0
}

// MoveLeaders makes the next replica of each of a topic's partitions its leader, and tells how
// many have another leader afterwards.
func (c *Cluster) MoveLeaders(ctx context.Context, topic string) (moved int, err error) {
	before, err := c.Layout(ctx, topic)
	if err != nil {
		return 0, err
	}
	request := kafka.AlterPartitionReassignmentsRequest{Topic: topic, Timeout: 30 * time.Second}
	election := kafka.ElectLeadersRequest{Topic: topic, Timeout: 30 * time.Second}
	for _, p := range before {
		var order []int // the first is the preferred leader
		for i := range p.Replicas {
			order = append(order, p.Replicas[(i+1)%len(p.Replicas)].ID)
		}
		request.Assignments = append(request.Assignments,
			kafka.AlterPartitionReassignmentsRequestAssignment{PartitionID: p.ID, BrokerIDs: order})
		election.Partitions = append(election.Partitions, p.ID)
	}
	admin, end := newAdmin(c.Addrs())
	defer end()
	reassigned, err := admin.AlterPartitionReassignments(ctx, &request)
	if err == nil {
		err = reassigned.Error
	}
	if err != nil {
		return 0, fmt.Errorf("reassign: %w", err)
	}
	elected, err := admin.ElectLeaders(ctx, &election)
	if err == nil {
		err = elected.Error
	}
	if err != nil {
		return 0, fmt.Errorf("elect: %w", err)
	}
	for _, p := range elected.PartitionResults {
		if p.Error != nil && !errors.Is(p.Error, kafka.ElectionNotNeeded) {
			return 0, fmt.Errorf("elect a leader of partition %d: %w", p.Partition, p.Error)
		}
	}
	after, err := c.Layout(ctx, topic)
	if err != nil {
		return 0, err
	}
	for i, p := range after {
		if p.Leader.ID != before[i].Leader.ID {
			moved++
		}
	}
	return moved, nil
}
