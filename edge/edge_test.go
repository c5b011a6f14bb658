package edge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/dev/devstack"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// What the tests' directory holds.
const (
	testCompany = "co_test"
	testOrigin  = "https://loja.example.com"
	testCode    = "Ab12Cd"
	testLink    = "https://loja.example.com/p/camiseta?cor=azul&utm_source=old#frete"
)

func testHasher(t testing.TB) *identity.Hasher {
	t.Helper()
	h, err := identity.NewHasher(bytes.Repeat([]byte{7}, identity.MinSecret))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// stand is an edge on a listener of its own, before a broker of its own.
type stand struct {
	t      testing.TB
	url    string
	edge   *Server
	kafka  *kafka.Client
	broker *devstack.Broker
	dir    string       // the broker's
	stop   func() error // ends the edge and waits for it
}

// dial opens a connection to the edge; it is closed at the test's end.
func (s *stand) dial() net.Conn {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// newStand starts a broker with our topics and one company, and an edge before it.
func newStand(t testing.TB, change func(*Config, *Deps)) *stand {
	t.Helper()
	s := newBroker(t, "")
	s.publishCompany(wire.Company{})
	s.publish(wire.LinkKeyPrefix+testCode, wire.Link{
		V: 1, Rev: 1, CompanyID: testCompany, LinkID: "link_1", URL: testLink, Influencer: "Ana Prado", Campaign: "Verão 26",
	})
	s.start(change)
	return s
}

// newBroker starts an embedded broker, which keeps its log in dir if given.
func newBroker(t testing.TB, dir string) *stand {
	t.Helper()
	if test, ok := t.(*testing.T); ok {
		test.Parallel() // such tests mostly wait
	}
	broker, err := devstack.StartBroker(devstack.BrokerConfig{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s := standOn(t, broker.Addr())
	s.broker, s.dir = broker, dir
	t.Cleanup(func() { s.broker.Stop() })
	plan := kafka.TopicPlan{Partitions: devtest.Partitions, Replication: 1, MinInsyncReplicas: 1, KeepForever: true}
	if err := s.kafka.EnsureTopics(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	return s
}

// standOn is a stand on a broker that somebody else started.
func standOn(t testing.TB, addr string) *stand {
	t.Helper()
	client, err := kafka.NewClient(kafka.Config{Brokers: []string{addr}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &stand{t: t, kafka: client}
}

func (s *stand) publish(key string, value any) {
	s.t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		s.t.Fatal(err)
	}
	if value == nil {
		text = nil
	}
	if err := kafka.NewProducer(s.kafka).Produce(s.t.Context(), wire.TopicDirectory, kafka.Record{Key: []byte(key), Value: text}); err != nil {
		s.t.Fatal(err)
	}
}

// publishCompany publishes the test's company; what change leaves empty is filled.
func (s *stand) publishCompany(c wire.Company) {
	s.t.Helper()
	c.V = 1
	if c.CompanyID == "" {
		c.CompanyID = testCompany
	}
	if c.Rev == 0 {
		c.Rev = 1
	}
	if c.Origins == nil {
		c.Origins = []string{testOrigin}
	}
	if c.KeyCheck == "" {
		c.KeyCheck = testHasher(s.t).Check(c.CompanyID)
	}
	c.Environment, c.Country, c.Timezone = "live", "BR", "America/Sao_Paulo"
	s.publish(wire.CompanyKeyPrefix+c.CompanyID, c)
}

// start runs an edge and returns once it is ready.
func (s *stand) start(change func(*Config, *Deps)) {
	s.t.Helper()
	config := Config{ProduceTimeout: 3 * time.Second}
	deps := Deps{Producer: kafka.NewProducer(s.kafka), Directory: s.kafka, Hasher: testHasher(s.t)}
	if testing.Verbose() {
		deps.Logger = slog.New(slog.NewTextHandler(s.t.Output(), nil))
	}
	if change != nil {
		change(&config, &deps)
	}
	server, err := New(config, deps)
	if err != nil {
		s.t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, listener) }()
	stopped := false
	s.stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-ended
	}
	stop := s.stop
	s.t.Cleanup(func() {
		if err := stop(); err != nil {
			s.t.Errorf("the edge did not end cleanly: %v", err)
		}
	})
	s.edge, s.url = server, "http://"+listener.Addr().String()
	s.eventually("the edge is caught up", func() bool {
		state := server.directory.state()
		return state.CaughtUp || state.Companies > 0
	})
}

// eventually polls: what it awaits shows in the edge's state alone.
func (s *stand) eventually(what string, is func() bool) {
	s.t.Helper()
	await.Until(s.t, await.Long, is, func() string { return what })
}

// answerBody is the answer of POST /v1/events, or an error's.
type answerBody struct {
	Results []struct {
		EventID, Status, Code, Message string

		Warnings []struct{ Field, Code, Message string }
	}
	Error struct{ Code, Message string }

	Durability string `json:"durability"`
	RequestID  string `json:"request_id"`
}

// do sends a request with headers "Name: value" and reads the answer.
func (s *stand) do(method, path, body string, headers ...string) (*http.Response, []byte) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		request.Header.Set(name, value)
		if name == "Host" {
			request.Host = value
		}
	}
	response, err := testClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response, text
}

var testClient = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64},
	Timeout:       20 * time.Second,
}

// post sends events and wants the status.
func (s *stand) post(status int, body string, headers ...string) answerBody {
	s.t.Helper()
	response, text := s.do("POST", "/v1/events", body, append([]string{"Content-Type: application/json"}, headers...)...)
	var answer answerBody
	if err := json.Unmarshal(text, &answer); err != nil {
		s.t.Fatalf("status %d, not JSON: %s", response.StatusCode, text)
	}
	if response.StatusCode != status {
		s.t.Fatalf("status %d, want %d: %s", response.StatusCode, status, text)
	}
	if answer.RequestID == "" || answer.RequestID != response.Header.Get("X-Request-Id") {
		s.t.Errorf("request_id %q, header %q", answer.RequestID, response.Header.Get("X-Request-Id"))
	}
	if code := answer.Error.Code; code != "" && !slices.Contains(Codes(), Code(code)) && !slices.Contains(core.Codes(), core.Code(code)) {
		s.t.Errorf("the code %q is not among Codes", code)
	}
	if (status == 503 || status == 429) && response.Header.Get("Retry-After") == "" {
		s.t.Errorf("%d without Retry-After", status)
	}
	return answer
}

// log reads all records of a topic as they stand now.
func (s *stand) log(topic string) []kafka.Record {
	s.t.Helper()
	partitions, err := s.kafka.Partitions(s.t.Context(), topic)
	if err != nil {
		s.t.Fatal(err)
	}
	var records []kafka.Record
	for p := range partitions {
		var found []kafka.Record
		s.eventually("the partition is read", func() bool { // a broker just back may still elect its leader
			ctx, cancel := context.WithTimeout(s.t.Context(), 15*time.Second)
			defer cancel()
			if found, err = s.kafka.ReadPartition(ctx, topic, p); err != nil && !kafka.IsTemporary(err) {
				s.t.Fatal(err)
			}
			return err == nil
		})
		for _, r := range found {
			if kafka.PartitionFor(r.Key, partitions) != p {
				s.t.Errorf("%s: key %s is in partition %d", topic, r.Key, p)
			}
		}
		records = append(records, found...)
	}
	return records
}

// events reads events.v1, strictly: an unknown field fails.
func (s *stand) events() []wire.Event {
	s.t.Helper()
	var events []wire.Event
	for _, r := range s.log(wire.TopicEvents) {
		if wire.IsNotice(r.Value) {
			continue
		}
		var e wire.Event
		decoder := json.NewDecoder(bytes.NewReader(r.Value))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&e); err != nil {
			s.t.Fatalf("%v in %s", err, r.Value)
		}
		if string(r.Key) != e.CompanyID {
			s.t.Errorf("key %s of an event of %s", r.Key, e.CompanyID)
		}
		events = append(events, e)
	}
	return events
}

// notices are what the edge told of events that are not in events.v1.
func (s *stand) notices() (list []wire.Notice) {
	s.t.Helper()
	for _, r := range s.log(wire.TopicEvents) {
		if !wire.IsNotice(r.Value) {
			continue
		}
		var n wire.Notice
		if err := json.Unmarshal(r.Value, &n); err != nil {
			s.t.Fatalf("%v in %s", err, r.Value)
		}
		list = append(list, n)
	}
	return list
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

func pageView(id string) string {
	return fmt.Sprintf(`{"eventId":%q,"event":"PAGE_VIEW","timestamp":"2026-11-21T06:00:00.000Z"}`, id)
}

func batchOf(events ...string) string {
	return `{"companyId":"` + testCompany + `","events":[` + strings.Join(events, ",") + `]}`
}

func snapshotPath(t testing.TB) string { return filepath.Join(t.TempDir(), "directory.json") }
