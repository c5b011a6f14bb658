package kafka_test

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	segment "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
)

// broker starts an empty embedded broker.
func broker(t *testing.T) (*kfake.Cluster, *kafka.Client) {
	t.Helper()
	t.Parallel() // such tests mostly wait
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	client, err := kafka.NewClient(kafka.Config{Brokers: cluster.ListenAddrs()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return cluster, client
}

var plan = kafka.TopicPlan{Partitions: 8, Replication: 1, MinInsyncReplicas: 1, KeepForever: true}

// The hashes are those of org.apache.kafka.common.utils.UtilsTest.testMurmur2,
// here as the partition among 2^31−1, which is the hash without its sign bit.
func TestPartitionsLikeKafkasOwnClients(t *testing.T) {
	f := func(key string, murmur2 int32) {
		t.Helper()
		const n = 1<<31 - 1
		if got, want := kafka.PartitionFor([]byte(key), n), int(uint32(murmur2)&0x7fffffff)%n; got != want {
			t.Errorf("PartitionFor(%q) = %d, want %d", key, got, want)
		}
	}
	f("21", -973932308)
	f("foobar", -790332482)
	f("a-little-bit-long-string", -985981536)
	f("a-little-bit-longer-string", -1486304829)
	f("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971)
	f("abc", 479470107)
}

func TestEnsureTopicsTwiceIsOnce(t *testing.T) {
	_, client := broker(t)
	for range 2 {
		if err := client.EnsureTopics(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
	}
	n, err := client.Partitions(t.Context(), wire.TopicCommerce)
	if err != nil || n != 8 {
		t.Errorf("%d partitions, %v; want 8", n, err)
	}
}

func TestEnsureTopicsRefusesAnotherCount(t *testing.T) {
	cluster, client := broker(t)
	if err := client.EnsureTopics(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	deleter := &segment.Client{Addr: segment.TCP(cluster.ListenAddrs()...)}
	if _, err := deleter.DeleteTopics(t.Context(), &segment.DeleteTopicsRequest{Topics: []string{wire.TopicBulk}}); err != nil {
		t.Fatal(err)
	}
	client, err := kafka.NewClient(kafka.Config{Brokers: cluster.ListenAddrs()}) // it knows nothing of before
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	other := plan
	other.Partitions = 16
	if err := client.EnsureTopics(t.Context(), other); err == nil || !strings.Contains(err.Error(), "8 partitions, not 16") {
		t.Errorf("got %v, want a refusal that names both counts", err)
	}
	if missing, err := client.MissingTopics(t.Context(), wire.Topics...); err != nil || len(missing) != 1 {
		t.Errorf("missing are %v (%v), want the one that was: nothing is made that is refused", missing, err)
	}
}

func TestProducedRecordsAreFollowedInOrder(t *testing.T) {
	_, client := broker(t)
	if err := client.EnsureTopics(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	producer := kafka.NewProducer(client)
	key := []byte("c_one")
	for i := range 20 {
		if err := producer.Produce(t.Context(), wire.TopicEvents, kafka.Record{Key: key, Value: fmt.Append(nil, i)}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []string
	caughtUp := false
	err := client.Follow(ctx, wire.TopicEvents, kafka.PartitionFor(key, 8), kafka.FromFirst,
		func(_ int64, r kafka.Record) error {
			got = append(got, string(r.Value))
			return nil
		},
		func() { caughtUp = true; cancel() })
	if !caughtUp {
		t.Fatalf("never caught up: %v", err)
	}
	if len(got) != 20 || got[0] != "0" || got[19] != "19" {
		t.Errorf("followed %v, want 0 to 19 in order", got)
	}
}

func TestFollowingAnEmptyLogIsCaughtUpAtOnce(t *testing.T) {
	_, client := broker(t)
	if err := client.EnsureTopics(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	caughtUp := false
	_ = client.Follow(ctx, wire.TopicDirectory, 0, kafka.FromFirst, func(int64, kafka.Record) error { return nil },
		func() { caughtUp = true; cancel() })
	if !caughtUp {
		t.Error("an empty log was not caught up")
	}
}

func TestTombstonesHaveNoValue(t *testing.T) {
	_, client := broker(t)
	if err := client.EnsureTopics(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	if err := kafka.NewProducer(client).Produce(t.Context(), wire.TopicDirectory, kafka.Record{Key: []byte("link/x")}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	seen := false
	_ = client.Follow(ctx, wire.TopicDirectory, 0, kafka.FromFirst, func(_ int64, r kafka.Record) error {
		seen = r.Value == nil
		return nil
	}, cancel)
	if !seen {
		t.Error("the tombstone came with a value, or not at all")
	}
}

func TestProducingToADeadBrokerEndsWithTheContext(t *testing.T) {
	cluster, client := broker(t)
	if err := client.EnsureTopics(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	producer := kafka.NewProducer(client)
	if _, err := producer.Partitions(t.Context(), wire.TopicEvents); err != nil {
		t.Fatal(err)
	}
	cluster.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	err := producer.Produce(ctx, wire.TopicEvents, kafka.Record{Key: []byte("k"), Value: []byte("v")})
	if err == nil || !kafka.IsTemporary(err) {
		t.Errorf("got %v, want a temporary error", err)
	}
}

// While a leader is elected, metadata has none: kafka-go then sends nothing and answers itself.
func TestAPartitionWithoutALeaderIsWaitedFor(t *testing.T) {
	cluster, client := broker(t)
	if err := client.EnsureTopics(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	host, portText, err := net.SplitHostPort(cluster.ListenAddrs()[0])
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		t.Fatal(err)
	}
	var elected atomic.Bool
	cluster.ControlKey(int16(kmsg.Metadata), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		if elected.Load() {
			return nil, nil, false
		}
		response := request.ResponseKind().(*kmsg.MetadataResponse)
		response.Brokers = []kmsg.MetadataResponseBroker{{Host: host, Port: int32(port)}}
		topic := kmsg.MetadataResponseTopic{Topic: kmsg.StringPtr(wire.TopicEvents)}
		for p := range int32(plan.Partitions) {
			topic.Partitions = append(topic.Partitions,
				kmsg.MetadataResponseTopicPartition{Partition: p, Leader: -1, ErrorCode: kerr.LeaderNotAvailable.Code})
		}
		response.Topics = append(response.Topics, topic)
		return response, nil, true
	})
	fresh, err := kafka.NewClient(kafka.Config{Brokers: cluster.ListenAddrs()}) // it knows nothing of before
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	producer := kafka.NewProducer(fresh)
	record := kafka.Record{Key: []byte("k"), Value: []byte("v")}
	if err := producer.ProducePartition(t.Context(), wire.TopicEvents, 0, []kafka.Record{record}); !kafka.IsTemporary(err) ||
		kafka.IsRefusal(err) {
		t.Fatalf("without a leader: %v, want a temporary error", err)
	}
	elected.Store(true) // the client learns it when it asks for metadata again
	if err := producer.Produce(t.Context(), wire.TopicEvents, record); err != nil {
		t.Errorf("once there is a leader: %v", err)
	}
}

func TestWhatIsTemporary(t *testing.T) {
	t.Parallel()
	f := func(want bool, err error) {
		t.Helper()
		if got := kafka.IsTemporary(fmt.Errorf("kafka: produce: %w", err)); got != want {
			t.Errorf("%v is temporary: %v, want %v", err, got, want)
		}
	}
	f(true, segment.LeaderNotAvailable)
	f(true, segment.NotLeaderForPartition)
	f(true, segment.UnknownLeaderEpoch)
	f(true, segment.KafkaStorageError)
	f(true, segment.NotEnoughReplicas)
	f(true, segment.NotEnoughReplicasAfterAppend)
	f(true, segment.UnknownTopicOrPartition)
	f(true, segment.BrokerNotAvailable) // the leader is known, and its address is not
	f(true, protocol.NewErrNoLeader("t", 1))
	f(true, protocol.NewErrNoTopic("t"))
	f(true, protocol.NewErrNoPartition("t", 1))
	f(true, context.DeadlineExceeded)
	f(false, context.Canceled)
	f(false, protocol.ErrNoRecord)
	f(false, segment.TopicAuthorizationFailed)
	f(false, segment.MessageSizeTooLarge)
}
