package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/segmentio/kafka-go"
)

// fetchWait is how long a broker waits for records that are not there.
const fetchWait = 100 * time.Millisecond

// ReadPartition reads a partition's records from its beginning to its end as it stands
// now, and keeps all of them: it is for logs of a known size. Unlike Follow it tries
// nothing again, and waits for no record that comes later.
func (c *Client) ReadPartition(ctx context.Context, topic string, partition int) ([]Record, error) {
	end, err := c.logEnd(ctx, topic, partition)
	if err != nil {
		return nil, err
	}
	var records []Record
	for next := end.first; next < end.next; {
		response, err := c.client.Fetch(ctx, &kafka.FetchRequest{
			Topic: c.Named(topic), Partition: partition, Offset: next, MinBytes: 1, MaxBytes: 4 << 20, MaxWait: fetchWait,
		})
		if err == nil {
			err = response.Error
		}
		before := next
		if err == nil {
			next, err = readRecords(response.Records, next, end.next, &records)
		}
		if err != nil {
			return nil, fmt.Errorf("kafka: read %s/%d from %d: %w", topic, partition, before, err)
		}
		if next == before { // what is left up to the end was compacted
			break
		}
	}
	return records, nil
}

// readRecords adds the records from one offset up to another to a list, and returns the
// offset after the last one that it has read.
func readRecords(from kafka.RecordReader, first, end int64, to *[]Record) (next int64, err error) {
	next = first
	for from != nil {
		r, err := from.ReadRecord()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return next, err
		}
		if r.Offset < first { // of a batch that began before
			continue
		}
		if r.Offset >= end {
			return end, nil
		}
		record, err := readRecord(r)
		if err != nil {
			return next, err
		}
		*to, next = append(*to, record), r.Offset+1
	}
	return next, nil
}

// readRecord reads a record's key and value.
func readRecord(r *kafka.Record) (record Record, err error) {
	if r.Key != nil {
		if record.Key, err = io.ReadAll(r.Key); err != nil {
			return Record{}, err
		}
	}
	if r.Value != nil {
		if record.Value, err = io.ReadAll(r.Value); err != nil {
			return Record{}, err
		}
	}
	return record, nil
}
