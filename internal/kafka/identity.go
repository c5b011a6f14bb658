package kafka

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/tributary-io/tributary/internal/wire"
)

// asking is a client for the one question that kafka-go cannot ask: it reads a topic's
// metadata as of version 8, and topics have ids since version 10 (KIP-516).
type asking struct {
	once   sync.Once
	client *kgo.Client
	err    error
}

func (c *Client) asker() (*kgo.Client, error) {
	c.asking.once.Do(func() {
		options := []kgo.Opt{
			kgo.SeedBrokers(c.config.Brokers...), kgo.ClientID(c.config.ClientID), kgo.RetryTimeout(dialTimeout), kgo.DialTimeout(dialTimeout),
		}
		if c.config.TLS != nil {
			options = append(options, kgo.DialTLSConfig(c.config.TLS.Clone()))
		}
		by := c.config.SASL
		shared := func(context.Context) (scram.Auth, error) {
			return scram.Auth{User: by.Username, Pass: by.password()}, nil
		}
		switch by.Mechanism {
		case "PLAIN":
			options = append(options, kgo.SASL(plain.Plain(func(context.Context) (plain.Auth, error) {
				return plain.Auth{User: by.Username, Pass: by.password()}, nil
			})))
		case "SCRAM-SHA-256":
			options = append(options, kgo.SASL(scram.Sha256(shared)))
		case "SCRAM-SHA-512":
			options = append(options, kgo.SASL(scram.Sha512(shared)))
		}
		c.asking.client, c.asking.err = kgo.NewClient(options...)
	})
	return c.asking.client, c.asking.err
}

// TopicID is the id that the cluster gave to a topic when it was made: a topic that is deleted
// and made again has another one. It is empty where the brokers know no such ids.
func (c *Client) TopicID(ctx context.Context, topic string) (string, error) {
	client, err := c.asker()
	if err != nil {
		return "", fmt.Errorf("kafka: id of topic %s: %w", topic, err)
	}
	request := kmsg.NewPtrMetadataRequest()
	of := kmsg.NewMetadataRequestTopic()
	of.Topic = kmsg.StringPtr(c.Named(topic))
	request.Topics = append(request.Topics, of)
	response, err := request.RequestWith(ctx, client)
	if err != nil {
		return "", fmt.Errorf("kafka: id of topic %s: %w", topic, err)
	}
	for _, t := range response.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return "", fmt.Errorf("kafka: id of topic %s: %w", topic, err)
		}
		if t.TopicID != [16]byte{} {
			return hex.EncodeToString(t.TopicID[:]), nil
		}
	}
	return "", nil
}

// RecordAt reads the record of an offset; false where the log has none there.
func (c *Client) RecordAt(ctx context.Context, topic string, partition int, offset int64) (wire.Fetched, bool, error) {
	response, err := c.client.Fetch(ctx, &kafka.FetchRequest{
		// a broker sends at least one batch
		Topic: c.Named(topic), Partition: partition, Offset: offset, MinBytes: 1, MaxBytes: 1, MaxWait: fetchWait,
	})
	if err == nil {
		err = response.Error
	}
	if errors.Is(err, kafka.OffsetOutOfRange) {
		return wire.Fetched{}, false, nil
	}
	if err != nil {
		return wire.Fetched{}, false, fmt.Errorf("kafka: read %s/%d at %d: %w", topic, partition, offset, err)
	}
	for response.Records != nil {
		r, err := response.Records.ReadRecord()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return wire.Fetched{}, false, fmt.Errorf("kafka: read %s/%d at %d: %w", topic, partition, offset, err)
		}
		if r.Offset < offset { // of a batch that began before
			continue
		}
		record, err := readRecord(r)
		if err != nil {
			return wire.Fetched{}, false, fmt.Errorf("kafka: read %s/%d at %d: %w", topic, partition, offset, err)
		}
		return wire.Fetched{Record: record, Offset: r.Offset, Time: r.Time, End: response.HighWatermark}, r.Offset == offset, nil
	}
	return wire.Fetched{}, false, nil
}

// TopicID is Client.TopicID.
func (g *Group) TopicID(ctx context.Context, topic string) (string, error) {
	return g.client.TopicID(ctx, topic)
}

// RecordAt is Client.RecordAt.
func (g *Group) RecordAt(ctx context.Context, topic string, partition int, offset int64) (wire.Fetched, bool, error) {
	return g.client.RecordAt(ctx, topic, partition, offset)
}
