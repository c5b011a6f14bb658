package edgefault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/kafkadist"
	"github.com/tributary-io/tributary/test/prove/history"
)

// partitions of events.v1: some companies share one.
const partitions = 8

// smallDiskBytes is enough for some seconds of events.
const smallDiskBytes = 4 << 20

// stand is one Kafka, one edge before it and the load on both, in a directory of
// its own.
type stand struct {
	size    Size
	fault   Fault
	say     func(format string, args ...any)
	cluster *kafkadist.Cluster
	proxies []*Proxy // one for each broker, if the edge goes by them
	edge    *edgeProcess
	load    *Load
	disk    func() error // ends the small disk of the spool; nil: there is none

	companies []string
}

// newStand starts everything but the load.
func newStand(ctx context.Context, r Run, nodes int, dir string) (s *stand, err error) {
	s = &stand{size: r.Size, fault: r.Fault, say: r.Say}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if err := s.startKafka(ctx, dir, nodes); err != nil {
		return s, err
	}
	spool := ""
	if !s.fault.NoSpool {
		spool = filepath.Join(dir, "spool")
	}
	if s.fault.SmallDisk {
		if err := os.Mkdir(spool, 0o700); err != nil {
			return s, err
		}
		if s.disk, err = SmallDisk(spool, smallDiskBytes); err != nil {
			return s, err
		}
	}
	brokers := s.cluster.Addrs()
	if len(s.proxies) > 0 {
		brokers = nil
		for _, p := range s.proxies {
			brokers = append(brokers, p.Addr())
		}
	}
	if s.edge, err = newEdgeProcess(r.Binary, dir, spool, brokers); err != nil {
		return s, err
	}
	if err := s.edge.start(ctx); err != nil {
		return s, err
	}
	shape := s.size.shape
	if s.fault.shape != nil {
		s.fault.shape(&shape)
	}
	s.load = NewLoad(shape, r.Seed, s.edge.url(), s.companies)
	return s, nil
}

func (s *stand) startKafka(ctx context.Context, dir string, nodes int) (err error) {
	config := kafkadist.ClusterConfig{Dir: filepath.Join(dir, "kafka"), Nodes: nodes}
	if s.fault.Proxied {
		for range nodes {
			p, err := NewProxy()
			if err != nil {
				return err
			}
			s.proxies = append(s.proxies, p)
			config.Advertise = append(config.Advertise, p.Addr())
		}
	}
	if s.cluster, err = kafkadist.StartCluster(ctx, config); err != nil {
		return err
	}
	for i, p := range s.proxies {
		p.Serve(ctx, s.cluster.Brokers[i].SideAddr())
	}
	client, err := kafka.NewClient(kafka.Config{Brokers: s.cluster.Addrs(), ClientID: "prove"})
	if err != nil {
		return err
	}
	defer client.Close()
	replicas := min(3, nodes)
	err = client.EnsureTopics(ctx, kafka.TopicPlan{
		Partitions: partitions, Replication: replicas, MinInsyncReplicas: max(1, replicas-1), KeepForever: true,
	})
	if err != nil {
		return err
	}
	return s.introduce(ctx, kafka.NewProducer(client))
}

// introduce writes the companies into the directory.
func (s *stand) introduce(ctx context.Context, directory *kafka.Producer) error {
	hasher, err := identity.NewHasher([]byte(secret))
	if err != nil {
		return err
	}
	var records []kafka.Record
	for n := range s.size.shape.Companies {
		company := fmt.Sprintf("co_prove_%d", n)
		s.companies = append(s.companies, company)
		value, err := json.Marshal(wire.Company{
			V: 1, Rev: 1, CompanyID: company, KeyCheck: hasher.Check(company), Environment: "live", Country: "BR", Timezone: "America/Sao_Paulo",
			Limits: wire.Limits{EventsPerSecond: 1e9, Burst: 1e9},
		})
		if err != nil {
			return err
		}
		records = append(records, kafka.Record{Key: []byte(wire.CompanyKeyPrefix + company), Value: value})
	}
	return directory.Produce(ctx, wire.TopicDirectory, records...)
}

// awaitSnapshot returns once the edge can start without Kafka.
func (s *stand) awaitSnapshot(ctx context.Context) error {
	return until(ctx, "the edge's snapshot has the companies and the counts of partitions", func() (bool, error) {
		text, err := os.ReadFile(s.edge.snapshot())
		if errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
		return bytes.Contains(text, []byte(wire.TopicEvents)) && bytes.Contains(text, []byte(s.companies[len(s.companies)-1])), err
	})
}

// close ends everything.
func (s *stand) close() error {
	if s.load != nil {
		s.load.Stop()
	}
	if s.edge != nil {
		s.edge.end()
	}
	for _, p := range s.proxies {
		p.Close()
	}
	if s.cluster != nil {
		s.cluster.Kill()
	}
	if s.disk != nil {
		return s.disk()
	}
	return nil
}

// awaitAcked returns once n more events are acknowledged.
func (s *stand) awaitAcked(ctx context.Context, n int) error {
	return s.awaitMore(ctx, "acknowledged", n, s.load.Acked.Load)
}

// awaitSpooled returns once n more events are acknowledged from the spool.
func (s *stand) awaitSpooled(ctx context.Context, n int) error {
	return s.awaitMore(ctx, "spooled", n, s.load.Spooled.Load)
}

func (s *stand) awaitMore(ctx context.Context, what string, n int, count func() int64) error {
	before := count()
	return until(ctx, fmt.Sprintf("%d more events are %s", n, what), func() (bool, error) {
		return count()-before >= int64(n), nil
	})
}

// awaitDraining returns once Kafka has something of the spool.
func (s *stand) awaitDraining(ctx context.Context) error {
	return until(ctx, "the edge drains its spool", func() (bool, error) {
		page, err := s.edge.get(ctx, "/metrics")
		if err != nil {
			return false, s.edge.alive()
		}
		return drainedRecords.Match(page), nil
	})
}

// drainedRecords is in /metrics once one was drained.
var drainedRecords = regexp.MustCompile(`(?m)^tributary_edge_spool_drained_records_total [^0]`)

// awaitDrained returns once the spool holds nothing any more.
func (s *stand) awaitDrained(ctx context.Context) error {
	if s.fault.NoSpool {
		return nil
	}
	return until(ctx, "the spool is drained", func() (bool, error) {
		state, err := s.edge.readiness(ctx)
		if err != nil || state.Spool == nil {
			return false, s.edge.alive()
		}
		return state.Spool.OldestAgeMs == 0, nil
	})
}

// ReadLog reads the events of a Load from events.v1 to its end as it is now, by connections of its own. misplaced are
// records in another partition, under another key or with another text than they were sent with.
func ReadLog(ctx context.Context, brokers []string) (records []history.Record, misplaced int, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client, err := kafka.NewClient(kafka.Config{Brokers: brokers, ClientID: "prove"})
	if err != nil {
		return nil, 0, err
	}
	defer client.Close()
	var mu sync.Mutex
	var wait sync.WaitGroup
	failures := make([]error, partitions)
	for p := range partitions {
		wait.Go(func() {
			read, elsewhere, err := readPartition(ctx, client, p)
			mu.Lock()
			defer mu.Unlock()
			records, misplaced, failures[p] = append(records, read...), misplaced+elsewhere, err
		})
	}
	wait.Wait()
	return records, misplaced, errors.Join(failures...)
}

func readPartition(ctx context.Context, client *kafka.Client, partition int) (records []history.Record, misplaced int, err error) {
	ended, end := context.WithCancel(ctx)
	defer end()
	err = client.Follow(ended, wire.TopicEvents, partition, kafka.FromFirst, func(_ int64, r kafka.Record) error {
		if wire.IsNotice(r.Value) {
			return nil
		}
		var e wire.Event
		var p payload
		if err := json.Unmarshal(r.Value, &e); err != nil {
			return fmt.Errorf("a record of partition %d: %w", partition, err)
		}
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			return fmt.Errorf("a record of partition %d: %w", partition, err)
		}
		if kafka.PartitionFor(r.Key, partitions) != partition || string(r.Key) != e.CompanyID || p.Text != fill {
			misplaced++
		}
		records = append(records, history.Record{Company: e.CompanyID, ID: e.EventID, Client: p.Client, Number: p.Number})
		return nil
	}, end)
	if ctx.Err() == nil && errors.Is(err, context.Canceled) {
		err = nil // it was read to its end
	}
	return records, misplaced, err
}
