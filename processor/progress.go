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

// progress is how many records of one owned partition are applied. Safe for
// concurrent use.
type progress struct {
	mu     sync.Mutex
	topics map[string]*topicProgress // by topic
	moved  time.Time                 // when records were last applied, or a first one came after a time without any
	halt   string                    // why the partition is halted; empty where it is not
}

// topicProgress is the progress of one topic.
type topicProgress struct {
	next    int64     // offset of the first record that is not applied
	end     int64     // offset after the last record that is known
	applied time.Time // when the newest applied record was produced
}

// Partition describes an owned partition in /readyz.
type Partition struct {
	Partition int                 `json:"partition"`
	State     PartitionState      `json:"state"`
	Reason    string              `json:"reason,omitempty"` // why it is halted
	Still     float64             `json:"still_seconds"`    // seconds since records were last applied; 0 where none wait
	Topics    map[string]TopicLag `json:"topics"`           // by topic
}

// PartitionState says whether the records of a partition are applied.
type PartitionState string

const (
	Running PartitionState = "running"
	Stalled PartitionState = "stalled" // it has records and has applied none for stallAfter
	Halted  PartitionState = "halted"  // its log and its stored offset do not match: see ErrPastEnd
)

// TopicLag is how far the applied records are behind a topic's log.
type TopicLag struct {
	Records int64   `json:"lag_records"` // that are not applied
	Seconds float64 `json:"lag_seconds"` // age of the newest applied record while others wait; 0 where none wait
}

// addProgress adds a partition to those that this member owns.
func (p *Processor) addProgress(partition int) *progress {
	own := &progress{topics: map[string]*topicProgress{}, moved: p.Now()}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.partitions[partition] = own
	return own
}

// removeProgress removes a partition that this member does not own any more.
func (p *Processor) removeProgress(partition int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.partitions, partition)
}

// setStart sets from which record a topic is read.
func (p *progress) setStart(topic string, next, end int64, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.topics[topic] = &topicProgress{next: next, end: end, applied: now}
}

// endHalt says that all topics can be read: none does while one cannot.
func (p *progress) endHalt(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moved, p.halt = now, ""
}

// addFetched adds a record that was read.
func (p *progress) addFetched(topic string, r wire.Fetched, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.topics[topic]
	if t.next == t.end { // nothing waited until now
		t.applied, p.moved = r.Time, now
	}
	t.end = max(t.end, r.End, r.Offset+1)
}

// addApplied adds records that were applied.
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

// waiting is how many records of a topic are in the log and not applied.
func (p *progress) waiting(topic string) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.topics[topic]
	return t.end - t.next
}

// setHalted sets why no record is applied any more.
func (p *progress) setHalted(err error, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.halt == "" {
		p.moved = now
	}
	p.halt = err.Error()
}

// Partitions returns the owned partitions, ordered by number.
func (p *Processor) Partitions() []Partition {
	now := p.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]Partition, 0, len(p.partitions))
	for n, own := range p.partitions {
		list = append(list, own.report(n, now))
	}
	slices.SortFunc(list, func(a, b Partition) int { return cmp.Compare(a.Partition, b.Partition) })
	return list
}

// partitionNow returns a partition, if this member owns it now.
func (p *Processor) partitionNow(number int) (Partition, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := p.partitions[number]
	if own == nil {
		return Partition{}, false
	}
	return own.report(number, p.Now()), true
}

// stallAfter is for how long a partition that has records may apply none until /readyz fails.
const stallAfter = 5 * time.Minute

// report returns the partition's state at an instant.
func (p *progress) report(partition int, now time.Time) Partition {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := Partition{Partition: partition, State: Running, Topics: map[string]TopicLag{}}
	waiting := p.halt != ""
	for topic, t := range p.topics {
		lag := TopicLag{Records: t.end - t.next}
		if lag.Records > 0 {
			lag.Seconds = max(0, now.Sub(t.applied).Seconds())
			waiting = true
		}
		out.Topics[topic] = lag
	}
	if waiting {
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

// partitionCollector gives Prometheus the metrics of the partitions that are owned
// now. A partition that is not owned any more disappears from them.
type partitionCollector struct{ *Processor }

var (
	lagRecordsDesc = prometheus.NewDesc("tributary_processor_lag_records", "Records in the log that are not applied yet.",
		[]string{"topic", "partition"}, nil)
	lagSecondsDesc = prometheus.NewDesc("tributary_processor_lag_seconds",
		"Age of the newest applied record while others wait; 0 where none wait.", []string{"topic", "partition"}, nil)
	stillDesc = prometheus.NewDesc("tributary_processor_partition_still_seconds",
		"Time since records of the partition were last applied; 0 where none wait.", []string{"partition"}, nil)
	haltedDesc = prometheus.NewDesc("tributary_processor_partition_halted",
		"1 where the partition is halted: its log and its stored offset do not match.", []string{"partition"}, nil)
	ownedDesc = prometheus.NewDesc("tributary_processor_partitions", "Partitions owned now.", nil, nil)
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
