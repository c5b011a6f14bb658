package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"

	"github.com/tributary-io/tributary/internal/background"
)

// Producer writes records with acks=all. Safe for concurrent use; order within
// a partition holds only between calls that wait for one another.
type Producer struct {
	client *Client
	acks   kafka.RequiredAcks
	sets   sync.Pool // of *[]byte, for encoded records

	mu         sync.Mutex
	partitions map[string]int // by topic; counts are fixed for life
}

// NewProducer makes a producer on the client's connections.
func NewProducer(client *Client) *Producer {
	return &Producer{client: client, acks: kafka.RequireAll, partitions: map[string]int{}}
}

// NewLossyProducer makes a producer whose records the partition's leader alone has
// acknowledged: they are lost with it. It is there to price acks=all (test/bench/edge).
func NewLossyProducer(client *Client) *Producer {
	return &Producer{client: client, acks: kafka.RequireOne, partitions: map[string]int{}}
}

// retryPause is the wait before a failed produce is tried again; a leader
// election takes a few hundred milliseconds.
const retryPause = 100 * time.Millisecond

// Produce writes records to the topic, each to its key's partition (Murmur2,
// as Kafka's own clients do), and returns once all in-sync replicas have all of
// them. Temporary failures are retried until ctx ends, so a caller bounds the
// wait by ctx; on error some records may have been written, perhaps twice.
func (p *Producer) Produce(ctx context.Context, topic string, records ...Record) error {
	n, err := p.Partitions(ctx, topic)
	if err != nil {
		return err
	}
	batches := map[int][]Record{}
	for _, r := range records {
		partition := PartitionFor(r.Key, n)
		batches[partition] = append(batches[partition], r)
	}
	for partition, batch := range batches {
		for {
			err := p.ProducePartition(ctx, topic, partition, batch)
			if err == nil {
				break
			}
			if !IsTemporary(err) || ctx.Err() != nil {
				return err
			}
			if !background.Sleep(ctx, retryPause) {
				return err
			}
		}
	}
	return nil
}

// ProducePartition writes one batch to one partition, once, without a retry.
// A record's time is now, never an event's time: Kafka's retention counts from it.
func (p *Producer) ProducePartition(ctx context.Context, topic string, partition int, batch []Record) error {
	if len(batch) == 0 {
		return nil
	}
	set, _ := p.sets.Get().(*[]byte)
	if set == nil {
		set = new([]byte)
	}
	*set = appendRecordSet((*set)[:0], batch, time.Now())
	response, err := p.client.client.RawProduce(ctx, &kafka.RawProduceRequest{
		Topic: p.client.Named(topic), Partition: partition, RequiredAcks: p.acks,
		RawRecords: protocol.RawRecordSet{Reader: bytes.NewReader(*set)},
	})
	if err == nil && cap(*set) <= maxKeptSet {
		p.sets.Put(set) // after an error the connection may still be reading it
	}
	if err == nil {
		err = response.Error
	}
	if err != nil {
		return fmt.Errorf("kafka: produce to %s/%d: %w", topic, partition, err)
	}
	return nil
}

// maxKeptSet is the largest buffer that is used again, in bytes: twice a batch
// of the edge.
const maxKeptSet = 2 << 20

// Partitions is the topic's partition count, asked once.
func (p *Producer) Partitions(ctx context.Context, topic string) (int, error) {
	p.mu.Lock()
	n := p.partitions[topic]
	p.mu.Unlock()
	if n > 0 {
		return n, nil
	}
	n, err := p.client.Partitions(ctx, topic)
	if err != nil {
		return 0, err
	}
	p.mu.Lock()
	p.partitions[topic] = n
	p.mu.Unlock()
	return n, nil
}

// PartitionFor is the partition of a key among n, by Kafka's Murmur2.
func PartitionFor[Key []byte | string](key Key, n int) int {
	return int(murmur2(key)&0x7fffffff) % n
}

// murmur2 is the hash of Kafka's DefaultPartitioner (org.apache.kafka.common.utils.Utils.murmur2).
func murmur2[Key []byte | string](data Key) uint32 {
	const (
		seed uint32 = 0x9747b28c
		m    uint32 = 0x5bd1e995
		r           = 24
	)
	length := len(data)
	h := seed ^ uint32(length)
	for ; len(data) >= 4; data = data[4:] {
		k := uint32(data[0]) | uint32(data[1])<<8 | uint32(data[2])<<16 | uint32(data[3])<<24
		k *= m
		k ^= k >> r
		k *= m
		h *= m
		h ^= k
	}
	switch len(data) {
	case 3:
		h ^= uint32(data[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(data[1]) << 8
		fallthrough
	case 1:
		h ^= uint32(data[0])
		h *= m
	}
	h ^= h >> 13
	h *= m
	h ^= h >> 15
	return h
}

// IsRefusal tells whether Kafka refused the records themselves: they will never
// be taken, whatever becomes of the cluster.
func IsRefusal(err error) bool {
	var code kafka.Error
	if !errors.As(err, &code) {
		return false
	}
	switch code {
	case kafka.MessageSizeTooLarge, kafka.RecordListTooLarge, kafka.InvalidTimestamp, kafka.UnsupportedForMessageFormat, kafka.InvalidRecord:
		return true
	}
	return false
}

// IsTemporary tells whether the same produce may succeed later: the cluster
// cannot take it now, rather than never.
func IsTemporary(err error) bool {
	var code kafka.Error
	if errors.As(err, &code) {
		return code.Temporary() || code == kafka.BrokerNotAvailable // that is of kafka-go: it knows no address of the leader
	}
	var unsent protocol.Error
	if errors.As(err, &unsent) { // by the metadata that kafka-go has, which it asks for again
		return unsent == protocol.ErrNoLeader || unsent == protocol.ErrNoTopic || unsent == protocol.ErrNoPartition
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, context.DeadlineExceeded)
}
