package edge

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	segment "github.com/segmentio/kafka-go"

	"github.com/tributary-io/tributary/dev/devstack"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

func TestBrokerDownIs503UntilItIsBack(t *testing.T) {
	s := newBroker(t, t.TempDir())
	s.publishCompany(wire.Company{})
	var log await.Buffer
	s.start(func(c *Config, deps *Deps) {
		c.ProduceTimeout = 500 * time.Millisecond
		deps.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	before, during := newID(), newID()
	s.post(200, batchOf(pageView(before)))
	addr := s.broker.Addr()
	s.broker.Stop()
	for range 2 {
		s.post(503, batchOf(pageView(during)), "X-Request-Id: outage-1") // within the client's 20 s: forty times ProduceTimeout
	}
	if text := log.String(); !strings.Contains(text, `"events or clicks could not be stored" request_id=outage-1 `) {
		t.Errorf("the log says %q", text)
	}
	if response, text := s.do("GET", "/readyz", ""); response.StatusCode != 503 || !strings.Contains(string(text), "kafka_unavailable") {
		t.Errorf("readyz %d %s", response.StatusCode, text)
	}
	s.restartBroker(addr)
	s.eventually("events are taken again", func() bool {
		response, _ := s.do("POST", "/v1/events", batchOf(pageView(during)))
		return response.StatusCode == 200
	})
	s.eventually("the edge is ready", func() bool {
		response, _ := s.do("GET", "/readyz", "")
		return response.StatusCode == 200
	})
	ids := map[string]bool{}
	for _, e := range s.events() {
		ids[e.EventID] = true
	}
	if !ids[before] || !ids[during] {
		t.Errorf("in the log: %v", ids)
	}
}

// restartBroker starts the broker again where it was.
func (s *stand) restartBroker(addr string) {
	s.t.Helper()
	dir := s.dir
	s.eventually("the broker's address is free again", func() bool {
		broker, err := devstack.StartBroker(devstack.BrokerConfig{Addr: addr, Dir: dir})
		if err == nil {
			s.broker = broker
		}
		return err == nil
	})
}

func TestUnknownCompanyIs503UntilTheDirectoryIsRead(t *testing.T) {
	s := newBroker(t, t.TempDir())
	s.publishCompany(wire.Company{})
	snapshot := snapshotPath(t)
	withSnapshot := func(c *Config, _ *Deps) {
		c.SnapshotFile, c.ProduceTimeout, c.DirectoryFresh = snapshot, 300*time.Millisecond, time.Second
	}
	s.start(withSnapshot)
	unknown := `{"companyId":"co_new","event":"PAGE_VIEW"}`
	if code := s.post(401, unknown).Error.Code; code != "unknown_company" {
		t.Errorf("code %s", code)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	addr := s.broker.Addr()
	s.broker.Stop()
	s.start(withSnapshot) // from the snapshot alone
	if code := s.post(503, unknown).Error.Code; code != "directory_not_fresh" {
		t.Errorf("code %s", code)
	}
	if response, text := s.do("OPTIONS", "/v1/events", "", "Origin: "+testOrigin); response.StatusCode != 204 {
		t.Errorf("the snapshot's company has no preflight: %d %s", response.StatusCode, text)
	}
	if code := s.post(503, batchOf(pageView(newID()))).Error.Code; code != "unavailable" {
		t.Errorf("code %s", code)
	}
	s.restartBroker(addr)
	s.eventually("the directory is fresh", func() bool { return s.edge.directory.fresh() })
	s.post(401, unknown)
	s.publishCompany(wire.Company{CompanyID: "co_new"})
	s.eventually("the new company is let in", func() bool {
		response, _ := s.do("POST", "/v1/events", unknown)
		return response.StatusCode == 200
	})
}

func TestBrokenSnapshotIsLeftAside(t *testing.T) {
	s := newBroker(t, "")
	s.publishCompany(wire.Company{})
	snapshot := snapshotPath(t)
	if err := os.WriteFile(snapshot, []byte(`{"tributary_directory":1,"lines":2}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.start(func(c *Config, _ *Deps) { c.SnapshotFile = snapshot })
	s.post(200, batchOf(pageView(newID())))
}

func TestDirectoryKeepsTheHighestRevision(t *testing.T) {
	s := newStand(t, nil)
	s.publishCompany(wire.Company{Rev: 9, Origins: []string{"https://new.example.com"}})
	s.publishCompany(wire.Company{Rev: 8, Origins: []string{"https://old.example.com"}})
	s.publishCompany(wire.Company{CompanyID: "co_last"})
	s.eventually("all is read", func() bool { _, known := s.edge.directory.company("co_last"); return known })
	s.post(200, batchOf(pageView(newID())), "Origin: https://new.example.com")
	s.post(403, batchOf(pageView(newID())), "Origin: https://old.example.com")
	s.post(403, batchOf(pageView(newID())), "Origin: "+testOrigin)
	s.publish(wire.CompanyKeyPrefix+testCompany, nil)
	s.eventually("the deleted company is refused", func() bool {
		response, _ := s.do("POST", "/v1/events", batchOf(pageView(newID())))
		return response.StatusCode == 401
	})
}

func TestDrainAnswersWhatIsUnderWay(t *testing.T) {
	// A drain that waited for either connection would end with an error.
	s := newStand(t, func(c *Config, _ *Deps) {
		c.ReadTimeout, c.IdleTimeout, c.DrainTimeout = time.Hour, time.Hour, 30*time.Second
	})
	// An open connection that never sends its request must not hold the drain.
	s.dial() // it stays idle
	slow := s.dial()
	if _, err := slow.Write([]byte("POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-")); err != nil {
		t.Fatal(err)
	}
	id := newID()
	answered := make(chan error, 1)
	go func() {
		response, err := testClient.Post(s.url+"/v1/events", "text/plain", strings.NewReader(batchOf(pageView(id))))
		if err == nil {
			err = json.NewDecoder(response.Body).Decode(&answerBody{})
			response.Body.Close()
		}
		answered <- err
	}()
	s.eventually("the request is under way or done", func() bool { return s.edge.open.UnderWay() > 0 || len(answered) > 0 })
	if err := s.stop(); err != nil {
		t.Errorf("drain: %v", err)
	}
	if err := <-answered; err != nil {
		t.Errorf("the request under way: %v", err)
	}
	if events := s.events(); len(events) != 1 || events[0].EventID != id {
		t.Errorf("log: %+v", events)
	}
}

func TestServeEndsWhenItsContextHasEndedAlready(t *testing.T) {
	for range 20 {
		server, err := New(Config{}, Deps{Producer: &sink{}, Directory: quietDirectory{}, Hasher: testHasher(t)})
		if err != nil {
			t.Fatal(err)
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := server.Serve(ctx, listener); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSlowRequestIsCutOff(t *testing.T) {
	s := newStand(t, func(c *Config, _ *Deps) { c.ReadTimeout = 200 * time.Millisecond })
	conn := s.dial()
	if _, err := conn.Write([]byte("POST /v1/events HTTP/1.1\r\nHost: x\r\n")); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 4096)
	for {
		if _, err := conn.Read(buffer); err != nil {
			if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
				t.Fatal("the connection was still open after 30 s")
			}
			return
		}
	}
}

func TestNothingAcknowledgedIsLostOverABrokerRestart(t *testing.T) {
	s := newBroker(t, t.TempDir())
	s.publishCompany(wire.Company{})
	addr := s.broker.Addr()
	s.trafficOver(func() {
		s.broker.Stop()
		s.restartBroker(addr)
	})
}

// trafficOver sends events all through the outage, again until each is
// acknowledged, and wants every one of them in the log.
func (s *stand) trafficOver(outage func()) {
	s.t.Helper()
	s.start(func(c *Config, _ *Deps) { c.ProduceTimeout = time.Second })
	const senders, each = 8, 25
	var (
		mu    sync.Mutex
		acked = map[string]bool{}
		group sync.WaitGroup
	)
	count := func() int { mu.Lock(); defer mu.Unlock(); return len(acked) }
	for range senders {
		group.Go(func() {
			for range each {
				id := newID()
				s.eventually("the event is taken", func() bool {
					response, text := s.do("POST", "/v1/events", batchOf(pageView(id)))
					if response.StatusCode != 200 && (response.StatusCode != 503 || response.Header.Get("Retry-After") == "") {
						s.t.Errorf("%d %s", response.StatusCode, text)
					}
					return response.StatusCode == 200
				})
				mu.Lock()
				acked[id] = true
				mu.Unlock()
			}
		})
	}
	s.eventually("traffic flows", func() bool { return count() > senders*each/4 })
	outage()
	group.Wait()
	for _, e := range s.events() {
		delete(acked, e.EventID)
	}
	if len(acked) > 0 {
		s.t.Errorf("%d acknowledged events are not in the log", len(acked))
	}
}

// remakeDirectory deletes the topic and makes an empty one, as an operator may.
func (s *stand) remakeDirectory() {
	s.t.Helper()
	client := &segment.Client{Addr: segment.TCP(s.broker.Addr())}
	response, err := client.DeleteTopics(s.t.Context(), &segment.DeleteTopicsRequest{Topics: []string{wire.TopicDirectory}})
	if err == nil {
		err = response.Errors[wire.TopicDirectory]
	}
	if err != nil {
		s.t.Fatal(err)
	}
	plan := kafka.TopicPlan{Partitions: devtest.Partitions, Replication: 1, MinInsyncReplicas: 1, KeepForever: true}
	s.eventually("the topic is there again", func() bool { return s.kafka.EnsureTopics(s.t.Context(), plan) == nil })
}

func TestADirectoryMadeAnewCostsNoEvents(t *testing.T) {
	s := newBroker(t, "")
	for _, id := range []string{"co_kept", "co_gone"} {
		s.publishCompany(wire.Company{CompanyID: id})
	}
	s.start(func(c *Config, _ *Deps) { c.DirectoryFresh = time.Second })
	status := func(company string) int {
		response, _ := s.do("POST", "/v1/events?companyId="+company, "["+pageView(newID())+"]")
		return response.StatusCode
	}
	if kept, unknown := status("co_kept"), status("co_new"); kept != 200 || unknown != 401 {
		t.Fatalf("before: %d, unknown %d", kept, unknown)
	}
	s.remakeDirectory()
	s.eventually("the edge knows that it knows nothing", func() bool { return status("co_new") == 503 })
	if kept, gone := status("co_kept"), status("co_gone"); kept != 200 || gone != 200 {
		t.Errorf("companies known before: %d and %d", kept, gone)
	}
	s.publishCompany(wire.Company{CompanyID: "co_kept"})
	for _, code := range []int{status("co_new"), status("co_gone")} {
		if code == 401 { // as it would be until all is published
			t.Errorf("a company that is not published yet: %d", code)
		}
	}
	s.publishCompany(wire.Company{CompanyID: "co_new"})
	s.eventually("the new company is taken", func() bool { return status("co_new") == 200 })
	s.eventually("what was not published again is unknown", func() bool { return status("co_gone") == 401 })
	if kept := status("co_kept"); kept != 200 {
		t.Errorf("the company that stayed: %d", kept)
	}
}
