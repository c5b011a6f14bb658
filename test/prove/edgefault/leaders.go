package edgefault

import (
	"context"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
)

// leader is the index of the broker that leads the first company's partition.
func (s *stand) leader(ctx context.Context) (index int, err error) {
	err = until(ctx, "the partition has a leader", func() (bool, error) {
		layout, err := s.cluster.Layout(ctx, wire.TopicEvents)
		if err != nil || len(layout) != partitions {
			return false, nil //nolint:nilerr // it is asked again
		}
		index = layout[kafka.PartitionFor([]byte(s.companies[0]), partitions)].Leader.ID - 1 // nodes are numbered from 1 on
		return index >= 0 && index < len(s.cluster.Brokers), nil
	})
	return index, err
}
