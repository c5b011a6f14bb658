package processor

import (
	"cmp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributary-io/tributary/internal/wire"
)

// progress is how far one owned partition has come. Safe for concurrent use.
type progress struct {
	mu     sync.Mutex
	topics map[string]*topicProgress
	moved  time.Time // when records were last applied, or there were none to apply
	halt   string    // why nothing is applied; empty where it runs
}

// topicProgress is one topic's part.
type topicProgress struct {
	next, end int64     // the first record not applied; behind the last known one
	applied   time.Time // when the newest applied record was produced
}

// Partition is what /readyz tells of an owned partition.
type Partition struct {
	Partition int                 `json:"partition"`
	State     PartitionState      `json:"state"`
	Reason    string              `json:"reason,omitempty"` // why it is halted
	Still     float64             `json:"still_seconds"`    // since records were last applied; 0 where none wait
	Topics    map[string]TopicLag `json:"topics"`
}

// PartitionState says whether a partition's records are applied.
type PartitionState string

const (
	Running PartitionState = "running"
	Stalled PartitionState = "stalled" // it has records and has not moved for long
	Halted  PartitionState = "halted"  // its log and its stored offset do not belong together
)

// TopicLag is how far behind its log a topic's partition is.
type TopicLag struct {
	Records int64   `json:"lag_records"`
	Seconds float64 `json:"lag_seconds"` // age of the newest applied record while others wait; 0 where none wait
}

// began and ended say that this member owns a partition, and that it does not.
func (p *Processor) addProgress(partition int) *progress {
	own := &progress{topics: map[string]*topicProgress{}, moved: p.Now()}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.partitions[partition] = own
	return own
}

func (p *Processor) removeProgress(partition int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.partitions, partition)
}

// at notes where a topic's partition begins to be read.
func (p *progress) setStart(topic string, next, end int64, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.topics[topic] = &topicProgress{next: next, end: end, applied: now}
	p.moved, p.halt = now, ""
}

// fetched notes how far the log goes.
func (p *progress) addFetched(topic string, r wire.Fetched, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.topics[topic]
	if t.next == t.end { // nothing waited until now
		t.applied, p.moved = r.Time, now
	}
	t.end = max(t.end, r.End, r.Offset+1)
}

// applied notes that records were applied.
func (p *progress) addApplied(records []record, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moved = now
	for _, r := range records {
		t := p.topics[r.topic]
		t.next, t.applied = r.Offset+1, r.Time
		t.end = max(t.end, t.next)
	}
}

// halted notes why nothing is applied any more.
func (p *progress) setHalted(err error, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.halt == "" {
		p.moved = now
	}
	p.halt = err.Error()
}

// Partitions tells of each owned partition how far it is, by number.
func (p *Processor) Partitions() []Partition {
	now := p.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]Partition, 0, len(p.partitions))
	for n, own := range p.partitions {
		list = append(list, own.report(n, now, p.config.StallAfter))
	}
	slices.SortFunc(list, func(a, b Partition) int { return cmp.Compare(a.Partition, b.Partition) })
	return list
}

func (p *progress) report(partition int, now time.Time, stallAfter time.Duration) Partition {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := Partition{Partition: partition, State: Running, Topics: map[string]TopicLag{}}
	waits := p.halt != ""
	for topic, t := range p.topics {
		lag := TopicLag{Records: t.end - t.next}
		if lag.Records > 0 {
			lag.Seconds = max(0, now.Sub(t.applied).Seconds())
			waits = true
		}
		out.Topics[topic] = lag
	}
	if waits {
		out.Still = max(0, now.Sub(p.moved).Seconds())
	}
	switch {
	case p.halt != "":
		out.State, out.Reason = Halted, p.halt
	case out.Still > stallAfter.Seconds():
		out.State = Stalled
	}
	return out
}

// partitionCollector tells Prometheus of the partitions that are owned now.
type partitionCollector struct{ *Processor }

var (
	lagRecordsDesc = prometheus.NewDesc("tributary_processor_lag_records", "Records in the log that are not applied yet.", []string{"topic", "partition"}, nil)
	lagSecondsDesc = prometheus.NewDesc("tributary_processor_lag_seconds", "Age of the newest applied record while others wait; 0 where none wait.", []string{"topic", "partition"}, nil)
	stillDesc      = prometheus.NewDesc("tributary_processor_partition_still_seconds", "Time since records of the partition were last applied; 0 where none wait.", []string{"partition"}, nil)
	haltedDesc     = prometheus.NewDesc("tributary_processor_partition_halted", "1 where the partition's log and stored offset do not belong together.", []string{"partition"}, nil)
	ownedDesc      = prometheus.NewDesc("tributary_processor_partitions", "Partitions owned now.", nil, nil)
)

// Describe implements prometheus.Collector.
func (c partitionCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{lagRecordsDesc, lagSecondsDesc, stillDesc, haltedDesc, ownedDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c partitionCollector) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	list := c.Partitions()
	gauge(ownedDesc, float64(len(list)))
	for _, p := range list {
		n := strconv.Itoa(p.Partition)
		for topic, lag := range p.Topics {
			gauge(lagRecordsDesc, float64(lag.Records), topic, n)
			gauge(lagSecondsDesc, lag.Seconds, topic, n)
		}
		halted := 0.0
		if p.State == Halted {
			halted = 1
		}
		gauge(stillDesc, p.Still, n)
		gauge(haltedDesc, halted, n)
	}
}
