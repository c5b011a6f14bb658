package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/segmentio/kafka-go"
)

// From where Follow starts.
const (
	FromFirst int64 = kafka.FirstOffset
	FromLast  int64 = kafka.LastOffset
)

// Follow reads one partition in order, from an offset (or FromFirst, FromLast)
// until ctx ends, and hands each record to handle; an error of handle ends it.
// caughtUp, if not nil, is called once, when the end of the log as it stood at
// the start has been reached. During a broker's outage it tries again.
func (c *Client) Follow(ctx context.Context, topic string, partition int, from int64, handle func(offset int64, r Record) error,
	caughtUp func()) error {
	name := c.Named(topic)
	end, err := c.logEnd(ctx, topic, partition)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: c.config.Brokers, Topic: name, Partition: partition, Dialer: c.readingDialer(ctx),
		MinBytes: 1, MaxBytes: 4 << 20, MaxWait: pollWait,
	})
	defer reader.Close()
	defer cancel()
	if err := reader.SetOffset(from); err != nil {
		return fmt.Errorf("kafka: follow %s/%d from %d: %w", name, partition, from, err)
	}
	next := from // the offset after the last record handled
	if from == FromFirst {
		next = end.first
	}
	if caughtUp != nil && (end.first >= end.next || from == FromLast || from >= end.next) {
		caughtUp()
		caughtUp = nil
	}
	for {
		waiting, cancel := ctx, context.CancelFunc(func() {})
		if caughtUp != nil {
			waiting, cancel = context.WithTimeout(ctx, gapWait)
		}
		message, err := reader.ReadMessage(waiting)
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case caughtUp != nil && waiting.Err() != nil && errors.Is(err, waiting.Err()):
			if c.isGap(ctx, topic, partition, next, end.next) {
				caughtUp()
				caughtUp = nil
			}
			continue
		case errors.Is(err, io.EOF):
			return fmt.Errorf("kafka: follow %s/%d: reader closed", name, partition)
		case err != nil:
			return fmt.Errorf("kafka: follow %s/%d: %w", name, partition, err)
		}
		next = message.Offset + 1
		if err := handle(message.Offset, Record{Key: message.Key, Value: message.Value}); err != nil {
			return err
		}
		if caughtUp != nil && next >= end.next {
			caughtUp()
			caughtUp = nil
		}
	}
}

// gapWait is how long Follow waits for the log's end before it asks the broker
// whether any record is left up to there: the last records of a compacted topic
// may be gone, tombstones first.
const gapWait = 5 * time.Second

// isGap tells whether the broker holds no record from an offset up to end. That a
// reader waits does not show it: it may still look for the partition's leader.
func (c *Client) isGap(ctx context.Context, topic string, partition int, from, end int64) bool {
	ctx, cancel := context.WithTimeout(ctx, gapWait)
	defer cancel()
	response, err := c.client.Fetch(ctx, &kafka.FetchRequest{
		Topic: c.Named(topic), Partition: partition, Offset: from, MinBytes: 1, MaxBytes: 4 << 20, MaxWait: 100 * time.Millisecond,
	})
	if err != nil || response.Error != nil {
		return false
	}
	for response.Records != nil {
		record, err := response.Records.ReadRecord()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || record.Offset >= from && record.Offset < end {
			return false
		}
	}
	return true
}

// LogEnd is the offset that the partition's next record will get.
func (c *Client) LogEnd(ctx context.Context, topic string, partition int) (int64, error) {
	end, err := c.logEnd(ctx, topic, partition)
	return end.next, err
}

type logRange struct{ first, next int64 }

// logEnd asks where a partition's log begins and ends now.
func (c *Client) logEnd(ctx context.Context, topic string, partition int) (logRange, error) {
	topic = c.Named(topic)
	response, err := c.client.ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{
		topic: {kafka.FirstOffsetOf(partition), kafka.LastOffsetOf(partition)},
	}})
	if err != nil {
		return logRange{}, fmt.Errorf("kafka: offsets of %s/%d: %w", topic, partition, err)
	}
	for _, p := range response.Topics[topic] {
		if p.Partition == partition {
			err := p.Error
			if errors.Is(err, kafka.Unknown) { // kafka-go says so where the leader could not be reached, or ctx ended meanwhile
				err = cmp.Or(ctx.Err(), error(kafka.NetworkException))
			}
			if err != nil {
				return logRange{}, fmt.Errorf("kafka: offsets of %s/%d: %w", topic, partition, err)
			}
			return logRange{first: p.FirstOffset, next: p.LastOffset}, nil
		}
	}
	return logRange{}, fmt.Errorf("kafka: offsets of %s/%d: %w", topic, partition, kafka.UnknownTopicOrPartition)
}
