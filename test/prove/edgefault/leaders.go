package edgefault

import (
	"context"
	"errors"
	"fmt"
	"time"

	segment "github.com/segmentio/kafka-go"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
)

// newAdmin talks to the cluster past all proxies. It is made for one question and
// its answer: kafka-go answers later ones about topics from its memory.
func newAdmin(brokers []string) (admin *segment.Client, end func()) {
	transport := &segment.Transport{}
	return &segment.Client{Addr: segment.TCP(brokers...), Timeout: 30 * time.Second, Transport: transport}, transport.CloseIdleConnections
}

// layout is who leads and who follows, by partition of events.v1.
func (s *stand) layout(ctx context.Context) ([]segment.Partition, error) {
	admin, end := newAdmin(s.cluster.Addrs())
	defer end()
	response, err := admin.Metadata(ctx, &segment.MetadataRequest{Topics: []string{wire.TopicEvents}})
	if err != nil {
		return nil, err
	}
	for _, topic := range response.Topics {
		if topic.Name == wire.TopicEvents && len(topic.Partitions) == partitions {
			list := make([]segment.Partition, partitions)
			for _, p := range topic.Partitions {
				list[p.ID] = p
			}
			return list, nil
		}
	}
	return nil, errors.New("the cluster does not tell of events.v1")
}

// leader is the index of the broker that leads the first company's partition.
func (s *stand) leader(ctx context.Context) (index int, err error) {
	err = until(ctx, "the partition has a leader", func() (bool, error) {
		layout, err := s.layout(ctx)
		if err != nil {
			return false, nil //nolint:nilerr // it is asked again
		}
		index = layout[kafka.PartitionFor([]byte(s.companies[0]), partitions)].Leader.ID - 1 // nodes are numbered from 1 on
		return index >= 0 && index < len(s.cluster.Brokers), nil
	})
	return index, err
}

// awaitInSync returns once every partition of events.v1 has all of its replicas
// in sync.
func (s *stand) awaitInSync(ctx context.Context) error {
	return until(ctx, "all replicas are in sync", func() (bool, error) {
		layout, err := s.layout(ctx)
		if err != nil {
			return false, nil //nolint:nilerr // a broker that is just back; it is asked again
		}
		for _, p := range layout {
			if len(p.Isr) != min(3, len(s.cluster.Brokers)) {
				return false, nil
			}
		}
		return true, nil
	})
}

// moveLeaders makes the next replica of each partition its leader, and tells how
// many have another leader afterwards.
func (s *stand) moveLeaders(ctx context.Context) (moved int, err error) {
	before, err := s.layout(ctx)
	if err != nil {
		return 0, err
	}
	request := segment.AlterPartitionReassignmentsRequest{Topic: wire.TopicEvents, Timeout: 30 * time.Second}
	election := segment.ElectLeadersRequest{Topic: wire.TopicEvents, Timeout: 30 * time.Second}
	for _, p := range before {
		var order []int // the first is the preferred leader
		for i := range p.Replicas {
			order = append(order, p.Replicas[(i+1)%len(p.Replicas)].ID)
		}
		request.Assignments = append(request.Assignments,
			segment.AlterPartitionReassignmentsRequestAssignment{PartitionID: p.ID, BrokerIDs: order})
		election.Partitions = append(election.Partitions, p.ID)
	}
	admin, end := newAdmin(s.cluster.Addrs())
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
		if p.Error != nil && !errors.Is(p.Error, segment.ElectionNotNeeded) {
			return 0, fmt.Errorf("elect a leader of partition %d: %w", p.Partition, p.Error)
		}
	}
	after, err := s.layout(ctx)
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
