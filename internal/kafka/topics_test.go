package kafka_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tributary-io/tributary/internal/wire"
)

// Brokers of several choose the leaders of a new topic after they have answered that it is made.
func TestEnsureTopicsWaitsForTheLeadersOfNewTopics(t *testing.T) {
	cluster, client := broker(t)
	var refusals, asked atomic.Int64
	var code atomic.Int32
	cluster.ControlKey(int16(kmsg.ListOffsets), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		if asked.Add(1); refusals.Add(-1) < 0 {
			return nil, nil, false
		}
		response := request.ResponseKind().(*kmsg.ListOffsetsResponse)
		for _, topic := range request.(*kmsg.ListOffsetsRequest).Topics {
			answer := kmsg.ListOffsetsResponseTopic{Topic: topic.Topic}
			for _, p := range topic.Partitions {
				answer.Partitions = append(answer.Partitions,
					kmsg.ListOffsetsResponseTopicPartition{Partition: p.Partition, ErrorCode: int16(code.Load())})
			}
			response.Topics = append(response.Topics, answer)
		}
		return response, nil, true
	})
	// kafka-go says the second where there is none yet
	for _, refusal := range []*kerr.Error{kerr.NotLeaderForPartition, kerr.BrokerNotAvailable} {
		code.Store(int32(refusal.Code))
		asked.Store(0)
		refusals.Store(7)
		if err := client.EnsureTopics(t.Context(), plan); err != nil {
			t.Fatal(err)
		}
		if left := refusals.Load(); left >= 0 || asked.Load() < 8+8+8+3 {
			t.Errorf("%d refusals are left, and %d partitions were asked: it does not wait", left, asked.Load())
		}
	}
	refusals.Store(1)
	code.Store(int32(kerr.TopicAuthorizationFailed.Code))
	err := client.EnsureTopics(t.Context(), plan)
	if err == nil || !strings.Contains(err.Error(), wire.Processed[0]) {
		t.Errorf("%v, want the refusal", err)
	}
}
