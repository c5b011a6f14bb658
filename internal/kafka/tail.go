package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"

	"github.com/tributary-io/tributary/internal/wire"
)

const (
	// tailFetch is how many bytes are asked for at once.
	tailFetch = 1 << 20
	// tailBytes bounds the values that are kept; of more the first ones are skipped.
	tailBytes = 2 << 20
)

// Tail reads the partition of a topic in which records of a key lie, from an offset to
// its end as it stands now, and keeps the records of the key. It reads at most the last
// `most` records, of all keys. A negative offset, or one of another log, reads these.
// Unlike Follow it tries nothing again, and waits for no record that comes later.
func (c *Client) Tail(ctx context.Context, topic string, key []byte, from int64, most int) (wire.Tail, error) {
	n, err := c.Partitions(ctx, topic)
	if err != nil {
		return wire.Tail{}, err
	}
	if n == 0 {
		return wire.Tail{}, fmt.Errorf("kafka: topic %s: %w", topic, kafka.UnknownTopicOrPartition)
	}
	partition := PartitionFor(key, n)
	end, err := c.logEnd(ctx, topic, partition)
	if err != nil {
		return wire.Tail{}, err
	}
	first := max(end.first, end.next-int64(most))
	t := tail{key: key, Tail: wire.Tail{Next: end.next}}
	switch {
	case from < 0 || from > end.next:
	case from < first:
		t.Skipped = first - from
	default:
		first = from
	}
	for next := first; next < end.next; {
		response, err := c.client.Fetch(ctx,
			&kafka.FetchRequest{Topic: c.Named(topic), Partition: partition, Offset: next, MinBytes: 1, MaxBytes: tailFetch, MaxWait: fetchWait})
		if err == nil {
			err = response.Error
		}
		if errors.Is(err, kafka.OffsetOutOfRange) { // deleted meanwhile: the next look begins where the log does
			break
		}
		before := next
		var records []Record
		if err == nil {
			next, err = readRecords(response.Records, next, end.next, &records)
		}
		if err != nil {
			return wire.Tail{}, fmt.Errorf("kafka: read %s/%d from %d: %w", topic, partition, before, err)
		}
		t.add(records)
		if next == before { // what is left up to the end is no record
			break
		}
	}
	return t.Tail, nil
}

// tail is a Tail while it is read.
type tail struct {
	wire.Tail
	key  []byte
	size int
}

func (t *tail) add(records []Record) {
	for _, r := range records {
		if bytes.Equal(r.Key, t.key) && r.Value != nil {
			t.Values, t.size = append(t.Values, r.Value), t.size+len(r.Value)
		}
	}
	for t.size > tailBytes {
		t.size -= len(t.Values[0])
		t.Values, t.Skipped = t.Values[1:], t.Skipped+1
	}
}
