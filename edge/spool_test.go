package edge

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/edge/spool"
	"github.com/tributary-io/tributary/internal/produce"
	"github.com/tributary-io/tributary/internal/wire"
)

// openSpool opens a spool in dir, and returns what gives an edge that spool.
func (s *stand) openSpool(dir string) func(*Config, *Deps) {
	s.t.Helper()
	return s.openSpoolOf(spool.Config{Dir: dir})
}

func (s *stand) openSpoolOf(config spool.Config) func(*Config, *Deps) {
	s.t.Helper()
	opened, err := spool.Open(config)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { // after the edge's end
		if err := opened.Close(); err != nil {
			s.t.Error(err)
		}
	})
	return func(_ *Config, d *Deps) { d.Spool = opened }
}

// arrivals are the events' ids in the order of their first copies in the log.
func (s *stand) arrivals() []string {
	s.t.Helper()
	var ids []string
	seen := map[string]bool{}
	for _, e := range s.events() {
		if !seen[e.EventID] {
			seen[e.EventID] = true
			ids = append(ids, e.EventID)
		}
	}
	return ids
}

// postNew sends a new event and wants its durability; "": either.
func (s *stand) postNew(durability string) string {
	s.t.Helper()
	id := newID()
	if answer := s.post(200, batchOf(pageView(id))); durability != "" && answer.Durability != durability {
		s.t.Errorf("durability %q, want %q", answer.Durability, durability)
	}
	return id
}

func (s *stand) awaitDrained() {
	s.t.Helper()
	s.eventually("the spool is drained", func() bool { return len(s.edge.deps.Spool.Partitions()) == 0 })
}

func TestEventsAreSpooledWhileTheBrokerIsAway(t *testing.T) {
	s := newBroker(t, t.TempDir())
	s.publishCompany(wire.Company{})
	s.start(s.openSpool(t.TempDir()))
	sent := []string{s.postNew("kafka")}
	addr := s.broker.Addr()
	s.broker.Stop()
	for range 5 {
		sent = append(sent, s.postNew("spool"))
	}
	if answer := s.post(200, batchOf(pageView(sent[3]))); answer.Results[0].Status != "duplicate" || answer.Durability != "spool" {
		t.Errorf("a repeat of a spooled event: %+v", answer)
	}
	rejected := s.post(200, batchOf(`{"event":"CHECKOUT_COMPLETED","payload":{}}`))
	if rejected.Durability != "spool" || rejected.Results[0].Status != "rejected" {
		t.Errorf("a dead letter: %+v", rejected)
	}
	if response, text := s.do("GET", "/readyz", ""); response.StatusCode != 200 || !strings.Contains(string(text), `"room":true`) {
		t.Errorf("readyz %d %s", response.StatusCode, text)
	}
	_, metrics := s.do("GET", "/metrics", "")
	// 5 events, a dead letter, notices of it and of the repeat
	if !strings.Contains(string(metrics), "tributary_edge_spool_spooled_records_total 8") {
		t.Errorf("metrics: %s", metrics)
	}
	s.restartBroker(addr)
	s.awaitDrained()
	if answer := s.post(200, batchOf(pageView(sent[3]))); answer.Results[0].Status != "duplicate" || answer.Durability != "kafka" {
		t.Errorf("a repeat of an event that was spooled: %+v", answer)
	}
	sent = append(sent, s.postNew(""))
	if got := s.arrivals(); !slices.Equal(got, sent) {
		t.Errorf("in the log:\n%v\nsent:\n%v", got, sent)
	}
	if letters := s.log(wire.TopicRejected); len(letters) == 0 {
		t.Error("the dead letter is lost")
	}
}

// slowProducer writes each batch a second late.
type slowProducer struct{ produce.Producer }

func (p slowProducer) ProducePartition(ctx context.Context, topic string, partition int, batch []wire.Record) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Second):
		return p.Producer.ProducePartition(ctx, topic, partition, batch)
	}
}

// A broker that is slow is not away before AwayAfter.
func TestASlowBrokerIsAwayAfterAsLongAsItIsToldTo(t *testing.T) {
	for away, durability := range map[time.Duration]string{0: "spool", 4 * time.Second: "kafka"} {
		t.Run(durability, func(t *testing.T) {
			s := newBroker(t, t.TempDir())
			s.publishCompany(wire.Company{})
			spooled := s.openSpool(t.TempDir())
			s.start(func(c *Config, d *Deps) {
				spooled(c, d)
				c.AwayAfter, d.Producer = away, slowProducer{d.Producer}
			})
			s.postNew(durability)
		})
	}
}

// The directory and the counts of partitions come from the snapshot.
func TestAnEdgeThatStartsWithoutTheBrokerSpools(t *testing.T) {
	s := newBroker(t, t.TempDir())
	s.publishCompany(wire.Company{})
	snapshot, dir := snapshotPath(t), t.TempDir()
	begin := func() func() {
		var opened *spool.Spool
		s.start(func(c *Config, d *Deps) {
			s.openSpool(dir)(c, d)
			opened, c.SnapshotFile = d.Spool, snapshot
		})
		return func() {
			if err := s.stop(); err != nil {
				t.Fatal(err)
			}
			if err := opened.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	end := begin()
	s.eventually("the counts are known", func() bool {
		s.edge.directory.mu.Lock()
		defer s.edge.directory.mu.Unlock()
		return len(s.edge.directory.partitions) == 2
	})
	end()
	addr := s.broker.Addr()
	s.broker.Stop()
	var sent []string
	for range 2 { // the second finds what the first left
		end = begin()
		sent = append(sent, s.postNew("spool"), s.postNew("spool"))
		end()
	}
	s.restartBroker(addr)
	begin()
	s.awaitDrained()
	if got := s.arrivals(); !slices.Equal(got, sent) {
		t.Errorf("in the log:\n%v\nsent:\n%v", got, sent)
	}
}

// One stranger who fills the spool in one company's name takes neither what other
// companies' strangers have, nor what is kept for API keys.
func TestNobodyFillsTheSpoolForOthers(t *testing.T) {
	const other, third = "co_other", "co_third"
	s := newBroker(t, t.TempDir())
	for _, company := range []string{testCompany, other, third} {
		s.publishCompany(wire.Company{CompanyID: company})
	}
	s.publishKey(testKey, wire.APIKey{CompanyID: other, Scopes: []string{wire.ScopeWriteEvents}})
	s.start(s.openSpoolOf(spool.Config{Dir: t.TempDir(), MaxBytes: spool.MinBytes}))
	s.eventually("the directory is read", func() bool { return s.metric("directory_companies") == 3 })
	s.postNew("kafka")
	addr := s.broker.Addr()
	s.broker.Stop()
	status := func(company string, headers ...string) int {
		event := strings.Replace(pageView(newID()), `"event"`, `"payload":{"x":"`+strings.Repeat("x ", 5<<10)+`"},"event"`, 1)
		response, text := s.do("POST", "/v1/events", strings.Replace(batchOf(event), testCompany, company, 1), headers...)
		if response.StatusCode == 200 && !strings.Contains(string(text), `"durability":"spool"`) {
			t.Errorf("%s", text)
		}
		return response.StatusCode
	}
	fill := func(company string, headers ...string) (taken int) {
		for ; status(company, headers...) == 200; taken++ {
			if taken > 200 {
				t.Fatal("the spool has no end")
			}
		}
		return taken
	}
	all := fill(testCompany, of("198.51.100.7"))
	if all < 40 {
		t.Errorf("a company that is alone has %d events", all)
	}
	strangers, keyed := fill(third, of("198.51.100.7")), fill(other, by(testKey))
	if strangers < 10 || keyed < 20 {
		t.Errorf("%d events, then another company has %d, and %d with an API key", all, strangers, keyed)
	}
	if got := status(third, of("192.0.2.7")); got != 503 {
		t.Errorf("a share that is full: %d", got)
	}
	if response, text := s.do("GET", "/readyz", ""); response.StatusCode != 200 {
		t.Errorf("one full share: readyz %d %s", response.StatusCode, text)
	}
	s.restartBroker(addr)
	s.awaitDrained()
	if n := len(s.arrivals()); n != all+strangers+keyed+1 {
		t.Errorf("%d events of %d are in the log", n, all+strangers+keyed+1)
	}
}
