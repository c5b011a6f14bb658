package processor

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	segment "github.com/segmentio/kafka-go"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/devtest"
)

// remake deletes topics and makes them again, empty.
func (s *stack) remake(broker string, topics ...string) {
	s.t.Helper()
	admin := &segment.Client{Addr: segment.TCP(broker)}
	response, err := admin.DeleteTopics(s.ctx, &segment.DeleteTopicsRequest{Topics: topics})
	if err != nil {
		s.t.Fatal(err)
	}
	for topic, err := range response.Errors {
		if err != nil {
			s.t.Fatalf("delete %s: %v", topic, err)
		}
	}
	s.await("the topics are made again", func() bool { // a broker may still be deleting them
		return s.client.EnsureTopics(s.ctx,
			kafka.TopicPlan{Partitions: devtest.Partitions, Replication: 1, MinInsyncReplicas: 1, KeepForever: true}) == nil
	})
}

// countedLog counts how often a partition was looked at.
type countedLog struct {
	*kafka.Group
	looks atomic.Int64
}

func (l *countedLog) Bounds(ctx context.Context, topic string, partition int) (first, next int64, err error) {
	l.looks.Add(1)
	return l.Group.Bounds(ctx, topic, partition)
}

// mine is the partition of the shop's company.
func (s *stack) mine() int {
	s.t.Helper()
	mine, err := s.group().PartitionOf(s.ctx, []byte(s.company))
	if err != nil {
		s.t.Fatal(err)
	}
	return mine
}

// staysHalted waits until the company's partition is halted for a reason, and until it was
// tried again several times.
func (s *stack) staysHalted(p *Processor, log *countedLog, mine int, reason string) {
	s.t.Helper()
	halted := func() bool {
		own, owned := p.partitionNow(mine)
		return owned && own.State == Halted && strings.Contains(own.Reason, reason)
	}
	s.await("the partition is halted: "+reason, halted)
	seen := log.looks.Load()
	s.await("it was tried again", func() bool { return log.looks.Load() > seen+100 })
	if !halted() {
		own, _ := p.partitionNow(mine)
		s.t.Errorf("it went on by itself: %+v", own)
	}
	if n := s.metric(p, "tributary_processor_partition_halted"); n == 0 {
		s.t.Error("the metric says that no partition is halted")
	}
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), reason) {
		s.t.Errorf("/readyz: %d %s", w.Code, w.Body)
	}
}

// reset does what `tributary offsets reset` does.
func (s *stack) reset(topic string, partition int) {
	s.t.Helper()
	to := facts.LogReset{Topic: topic, Partition: partition}
	var err error
	if to.ClusterID, err = s.client.ClusterID(s.ctx); err == nil {
		to.LogID, err = s.client.TopicID(s.ctx, topic)
	}
	if err == nil {
		to.First, _, err = s.group().Bounds(s.ctx, topic, partition)
	}
	if err == nil {
		err = s.store.ResetOffset(s.ctx, to)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stack) quick(log *countedLog) *Processor {
	p := s.processor(log, s.producer)
	p.config.HaltPause, p.config.CheckLogEvery = 5*time.Millisecond, 20*time.Millisecond
	return p
}

func (s *stack) someEvents(from, n int) (list []any) {
	for i := range n {
		list = append(list, s.event("v1", noon, from+i, nil))
	}
	return list
}

// TestATopicMadeAgainStaysHaltedHoweverManyRecordsItGets: the topics are deleted and made again
// while the processor is stopped, or runs, and get more records than were applied.
func TestATopicMadeAgainStaysHaltedHoweverManyRecordsItGets(t *testing.T) {
	t.Parallel()
	for name, running := range map[string]bool{"while it is stopped": false, "while it runs": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStack(t)
			theTopicIsMadeAgain(t, s, s.broker, running)
		})
	}
}

func theTopicIsMadeAgain(t *testing.T, s *stack, broker string, running bool) {
	mine := s.mine()
	log := &countedLog{Group: s.group()}
	p := s.quick(log)
	stop := s.runs(p)
	s.produce(s.someEvents(0, 5)...)
	s.produce(s.order("o1", noon, 100, nil), s.order("o2", noon, 100, nil))
	s.await("the first events and orders are stored", func() bool {
		return s.int(`select count(*) from event_fact`) == 5 && s.int(`select count(*) from orders`) == 2
	})
	if !running {
		stop()
	}
	s.remake(broker, wire.TopicEvents, wire.TopicCommerce)
	s.produce(s.someEvents(100, 9)...)
	s.produce(s.order("o3", noon, 100, nil), s.order("o4", noon, 100, nil), s.order("o5", noon, 100, nil))
	if !running {
		p = s.quick(log)
		s.runs(p)
	}
	s.staysHalted(p, log, mine, ErrReplaced.Error())
	s.reset(wire.TopicCommerce, mine)
	s.staysHalted(p, log, mine, "events.v1")
	s.reset(wire.TopicEvents, mine)
	s.await("all events and orders of the new topics are stored", func() bool {
		return s.int(`select count(*) from event_fact`) == 14 && s.int(`select count(*) from orders`) == 5
	})
	s.await("the partition runs", func() bool { own, owned := p.partitionNow(mine); return owned && own.State == Running })
}

// TestOnRealKafkaATopicMadeAgainStaysHalted is the same on Apache Kafka.
func TestOnRealKafkaATopicMadeAgainStaysHalted(t *testing.T) {
	t.Parallel()
	broker := devtest.RealKafka(t)
	s := newStackOn(t, broker.Addr)
	theTopicIsMadeAgain(t, s, broker.Addr, false)
}

// TestALogThatWasCutAndGrewAgainStaysHalted: a broker that comes back with an older disk has the
// same topic, with fewer records; then new ones come. So does a halt that a former version has
// left, which knew nothing of the log.
func TestALogThatWasCutAndGrewAgainStaysHalted(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	mine := s.mine()
	log := &countedLog{Group: s.group()}
	s.produce(s.someEvents(0, 5)...)
	stop := s.runs(s.quick(log))
	s.await("the events are stored", func() bool { return s.int(`select count(*) from event_fact`) == 5 })
	stop()
	// What it applied last was another record than the one that the log has there now.
	s.exec(`update consumer_offset set last = set_byte(last, 20, get_byte(last, 20) # 1) where last is not null`)
	p := s.quick(log)
	stop = s.runs(p)
	s.staysHalted(p, log, mine, "another record stands at 4")
	stop()
	s.exec(`update consumer_offset set log_id = '', last = null, next = 7 where topic = 'events.v1' and partition = $1`, mine)
	p = s.quick(log)
	stop = s.runs(p)
	s.staysHalted(p, log, mine, "stored 7, past the end")
	s.produce(s.someEvents(10, 9)...)
	s.staysHalted(p, log, mine, "stored 7, past the end")
	if n := s.int(`select count(*) from event_fact`); n != 5 {
		t.Errorf("%d events are stored, want 5: some were skipped", n)
	}
	s.reset(wire.TopicEvents, mine)
	s.await("all are stored", func() bool { return s.int(`select count(*) from event_fact`) == 14 })
	stop()
}

// TestARunningPartitionThatIsResetIsReadAnew: nothing is halted, and no record comes.
func TestARunningPartitionThatIsResetIsReadAnew(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	mine := s.mine()
	s.produce(s.someEvents(0, 5)...)
	p := s.quick(&countedLog{Group: s.group()})
	s.runs(p)
	s.await("the events are stored", func() bool { return s.int(`select count(*) from event_fact`) == 5 })
	before := s.metric(p, "tributary_processor_records_total")
	s.reset(wire.TopicEvents, mine)
	s.await("they are read again", func() bool { return s.metric(p, "tributary_processor_records_total") == before+5 })
	if n := s.int(`select count(*) from event_fact`); n != 5 {
		t.Errorf("%d events are stored, want 5", n)
	}
}
