package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/tributary-io/tributary/dev"
	"github.com/tributary-io/tributary/dev/devstack"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/factstore"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// patient runs doctor and looks for lines in what it prints.
type patient struct {
	t *testing.T
	examination
}

// hasLine looks for a line of a level that begins and goes on with these texts.
func hasLine(out, level, about, what string) bool {
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, level) && strings.Contains(line, about) && strings.Contains(line, what) {
			return true
		}
	}
	return false
}

// examine runs doctor as the command does. The error says that something failed.
func (p *patient) examine(out io.Writer) error {
	f := findings{out: out}
	if err := p.run(p.t.Context(), &f); err != nil {
		return err
	}
	return f.problem()
}

// finds runs doctor, which must print such a line and, for a FAIL, fail.
func (p *patient) finds(level, about, what string) string {
	p.t.Helper()
	var out bytes.Buffer
	err := p.examine(&out)
	if !hasLine(out.String(), level, about, what) || level == "FAIL" && err == nil {
		p.t.Errorf("%v; want a line %s %q %q in\n%s", err, level, about, what, out.String())
	}
	return out.String()
}

func oneBroker(addr string) examination {
	return examination{kafka: kafka.Config{Brokers: []string{addr}}, replication: 1, minInSync: 1, spoolBytes: 1 << 20}
}

func hasherOf(t *testing.T, letter string) *identity.Hasher {
	t.Helper()
	h, err := identity.NewHasher([]byte(strings.Repeat(letter, identity.MinSecret)))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// durablePostgres is a server of the test's own, as the product runs it: that of
// devtest.Postgres makes nothing durable.
func durablePostgres(t *testing.T) (dsn string) {
	t.Helper()
	devtest.NeedsIntegration(t)
	dir, err := os.MkdirTemp("", "tributary-doctor-") // not t.TempDir: the server may run as nobody
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	server, err := devstack.StartPostgres(t.Context(), devstack.PostgresConfig{
		Dir: filepath.Join(dir, "postgres"), Repository: os.Getenv("TRIBUTARY_POSTGRES_REPOSITORY"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	return server.DSN()
}

func TestDoctorFindsNothingInAWholeInstallation(t *testing.T) {
	dsn, broker := durablePostgres(t), devtest.RealKafka(t)
	p := &patient{t, oneBroker(broker.Addr)}
	p.dsn = dsn
	p.finds("FAIL", "schema", "older than this program")
	if err := postgres.Migrate(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := claimTopics(t.Context(), newClient(t, broker.Addr), db, false); err != nil {
		t.Fatal(err)
	}
	made, err := merchant.New(db).CreateStore(t.Context(),
		commerce.NewStore{Name: "Loja", Actor: "test", Random: rand.Reader, KeyCheck: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	publishCompany(t, broker.Addr, made.Live.CompanyID, hasherOf(t, "a"))
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") }))
	defer service.Close()
	dir := t.TempDir()
	p.hasher, p.services = hasherOf(t, "a"), []string{service.URL}
	p.snapshot, p.spool = filepath.Join(dir, "directory.json"), filepath.Join(dir, "deep", "spool")
	var out bytes.Buffer
	// The tests' topics are kept for ever, as those of `tributary dev` are.
	if err := p.examine(&out); err != nil || !strings.Contains(out.String(), "\nfailed: 0, warnings: 2\n") ||
		!hasLine(out.String(), "WARN", "topic commerce.v1", "longer than 7 days") ||
		!hasLine(out.String(), "WARN", "topic bulk.v1", "longer than 7 days") {
		t.Errorf("%v:\n%s", err, out.String())
	}
	if strings.Contains(out.String(), "not checked") {
		t.Errorf("something was left out:\n%s", out.String())
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("doctor left %v (%v)", left, err)
	}
}

// publishCompany publishes a company to the directory.
func publishCompany(t *testing.T, broker, id string, h *identity.Hasher) {
	t.Helper()
	client := newClient(t, broker)
	value, err := json.Marshal(wire.Company{V: 1, Rev: 1, CompanyID: id, KeyCheck: h.Check(id), FormerKeyCheck: h.FormerCheck(id)})
	if err == nil {
		err = kafka.NewProducer(client).Publish(t.Context(), wire.TopicDirectory, []byte(wire.CompanyKeyPrefix+id), value)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func newClient(t *testing.T, broker string) *kafka.Client {
	t.Helper()
	client, err := kafka.NewClient(kafka.Config{Brokers: []string{broker}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// Each wrong setting is planted in a real Apache Kafka.
func TestDoctorNamesEachWrongSettingOfATopic(t *testing.T) {
	broker := devtest.RealKafka(t)
	p := &patient{t, oneBroker(broker.Addr)}
	admin := &kafkago.Client{Addr: kafkago.TCP(broker.Addr)}
	sees := func(topic, what string, ok func(kafka.TopicState) bool) { // the broker follows its controller some time later
		t.Helper()
		client := newClient(t, broker.Addr)
		await.Until(t, await.Long, func() bool {
			states, err := client.Topics(t.Context(), topic)
			return err == nil && ok(states[0])
		}, func() string { return "the broker does not see of " + topic + ": " + what })
	}
	set := func(topic, name, value string) {
		t.Helper()
		response, err := admin.IncrementalAlterConfigs(t.Context(),
			&kafkago.IncrementalAlterConfigsRequest{Resources: []kafkago.IncrementalAlterConfigsRequestResource{{
				ResourceType: kafkago.ResourceTypeTopic, ResourceName: topic,
				Configs: []kafkago.IncrementalAlterConfigsRequestConfig{{Name: name, Value: value, ConfigOperation: kafkago.ConfigOperationSet}},
			}}})
		if err == nil {
			err = response.Resources[0].Error
		}
		if err != nil {
			t.Fatal(err)
		}
		sees(topic, name+"="+value, func(state kafka.TopicState) bool { return state.Settings[name] == value })
	}
	var out bytes.Buffer
	if err := p.examine(&out); err != nil {
		t.Fatalf("%v:\n%s", err, out.String())
	}
	f := func(topic, name, value, level, what, do string) {
		t.Helper()
		states, err := newClient(t, broker.Addr).Topics(t.Context(), topic)
		if err != nil {
			t.Fatal(err)
		}
		set(topic, name, value)
		if out := p.finds(level, "topic "+topic, what); !strings.Contains(out, do) {
			t.Errorf("%s=%s: what to do, %q, is not in\n%s", name, value, do, out)
		}
		set(topic, name, states[0].Settings[name])
	}
	f("events.v1", "unclean.leader.election.enable", "true", "FAIL", "may become the leader",
		"--topic events.v1 --add-config unclean.leader.election.enable=false")
	f("commerce.v1", "unclean.leader.election.enable", "true", "FAIL", "may become the leader", "--topic commerce.v1")
	f("events.v1", "cleanup.policy", "compact", "FAIL", "one record of each is kept", "cleanup.policy=delete")
	f("directory.v1", "cleanup.policy", "delete", "FAIL", "companies and links disappear", "cleanup.policy=compact")
	f("directory.v1", "cleanup.policy", "compact,delete", "FAIL", "companies and links disappear", "cleanup.policy=compact")
	f("commerce.v1", "retention.ms", "3600000", "FAIL", "retention.ms is 3600000, 1h0m0s", "retention.ms=604800000")
	f("commerce.v1", "retention.ms", "604800001", "WARN", "longer than 7 days", "retention.ms=604800000")
	f("events.v1", "retention.bytes", "1000000000", "FAIL", "removed by size", "retention.bytes=-1")
	f("events.v1", "max.message.bytes", "500000", "FAIL", "max.message.bytes is 500000", "max.message.bytes=1048576")

	p.minInSync = 2
	p.finds("FAIL", "topic events.v1", "min.insync.replicas is 1, not 2")
	p.minInSync, p.replication = 1, 3
	p.finds("FAIL", "topic commerce.v1", "has 1 replicas, not 3")
	p.replication = 1
	f("events.v1", "min.insync.replicas", "2", "FAIL", "1 replicas in sync, and min.insync.replicas is 2", "start the brokers")

	response, err := admin.CreatePartitions(t.Context(),
		&kafkago.CreatePartitionsRequest{Topics: []kafkago.TopicPartitionsConfig{{Name: "commerce.v1", Count: devtest.Partitions + 1}}})
	if err != nil || response.Errors["commerce.v1"] != nil {
		t.Fatal(err, response)
	}
	sees("commerce.v1", "one more partition", func(state kafka.TopicState) bool { return state.Partitions == devtest.Partitions+1 })
	p.finds("FAIL", "topics", "events.v1 has 8 partitions and commerce.v1 9")
	if _, err := admin.DeleteTopics(t.Context(), &kafkago.DeleteTopicsRequest{Topics: []string{"directory.v1"}}); err != nil {
		t.Fatal(err)
	}
	sees("directory.v1", "that it is deleted", func(state kafka.TopicState) bool { return state.Partitions == 0 })
	if out := p.finds("FAIL", "topic directory.v1", "is not there"); !strings.Contains(out, "run `tributary migrate`") {
		t.Errorf("doctor does not say how to make the topic:\n%s", out)
	}
	broker.Kill()
	if out := p.finds("FAIL", "Kafka", broker.Addr); !hasLine(out, "-", "topics", "not checked") {
		t.Errorf("without Kafka:\n%s", out)
	}
}

func TestDoctorWritesJSON(t *testing.T) {
	d := reported[diagnosis](t, statusFailed, "doctor", "--kafka-brokers", "127.0.0.1:1")
	by := map[string]finding{}
	for _, f := range d.Findings {
		by[f.About] = f
	}
	if kafka := by["Kafka"]; d.Failed != 1 || kafka.Level != "failure" || kafka.ToDo == "" || !strings.Contains(kafka.What, "127.0.0.1:1") ||
		by["services"] != (finding{"not_checked", "services", "no --service is given", ""}) {
		t.Errorf("--json: %+v", d)
	}
}

func TestDoctorSeesABrokerThatItCannotReach(t *testing.T) {
	var out bytes.Buffer
	f := &findings{out: &out}
	e := oneBroker(devtest.Kafka(t))
	client, err := kafka.NewClient(e.kafka)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if !e.checkBrokers(t.Context(), f, client) || f.Failed != 0 {
		t.Errorf("a broker that answers: %s", out.String())
	}
	if err := client.Reach(t.Context(), "127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("nothing listens there: %v", err)
	}
}

func TestDoctorSeesOffsetsThatAreNotThisLogs(t *testing.T) {
	p := &patient{t, oneBroker(devtest.Kafka(t))}
	p.dsn = devtest.Postgres(t)
	db, err := postgres.Open(t.Context(), p.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	client := newClient(t, p.kafka.Brokers[0])
	cluster, err := client.ClusterID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	offset := func(partition int, cluster string, next int64) {
		t.Helper()
		if _, err := factstore.New(db).TakeOver(t.Context(), wire.TopicEvents, partition, cluster, "", next); err != nil {
			t.Fatal(err)
		}
	}
	p.finds("ok", "processor's offsets", "no processor has run")
	p.finds("FAIL", "PostgreSQL", "fsync is off") // of the tests' server
	p.finds("FAIL", "PostgreSQL", "synchronous_commit is off")
	offset(0, cluster, 0)
	key := []byte("c_1")
	for kafka.PartitionFor(key, devtest.Partitions) != 0 {
		key = append(key, 'x')
	}
	if err := kafka.NewProducer(client).Publish(t.Context(), wire.TopicEvents, key, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	p.finds("ok", "processor's offsets", "1 records not yet applied")
	offset(1, cluster, 5)
	p.finds("FAIL", "processor's offsets", "past the log's end")
	offset(2, "another", 0)
	p.finds("FAIL", "processor's offsets", `"another"`)
	p.dsn = "postgres://nobody@127.0.0.1:1/none?connect_timeout=2"
	p.finds("FAIL", "PostgreSQL", "127.0.0.1")
}

func TestDoctorComparesTheHashingSecret(t *testing.T) {
	broker := devtest.Kafka(t)
	p := &patient{t, oneBroker(broker)}
	p.finds("-", "hashing secret", "no --hashing-secret-file")
	p.hasher = hasherOf(t, "a")
	p.finds("-", "hashing secret", "no company yet")
	publishCompany(t, broker, "c_1", hasherOf(t, "a"))
	p.finds("ok", "hashing secret", "fits all 1")
	rotating, err := hasherOf(t, "b").Rotating(hasherOf(t, "a"))
	if err != nil {
		t.Fatal(err)
	}
	p.hasher = rotating // and admin is not restarted yet
	p.finds("ok", "hashing secret", "fits all 1")
	publishCompany(t, broker, "c_1", rotating)
	for _, letter := range []string{"a", "b"} {
		p.hasher = hasherOf(t, letter)
		p.finds("ok", "hashing secret", "fits all 1 companies; admin takes a former one's keys too")
	}
	publishCompany(t, broker, "c_1", hasherOf(t, "a"))
	p.hasher = hasherOf(t, "a")
	publishCompany(t, broker, "c_2", hasherOf(t, "b"))
	p.finds("FAIL", "hashing secret", "the keys of 1 of 2 companies are made with, such as c_2")
}

func TestDoctorLooksAtTheDisk(t *testing.T) {
	f := func(change func(e *examination, dir string), level, about, what string) {
		t.Helper()
		dir := t.TempDir()
		e := examination{spoolBytes: 1 << 20}
		change(&e, dir)
		var out bytes.Buffer
		if e.checkDisk(&findings{out: &out}); !hasLine(out.String(), level, about, what) {
			t.Errorf("want %s %q %q in\n%s", level, about, what, out.String())
		}
	}
	file := func(path string) string {
		if err := os.WriteFile(path, make([]byte, 4096), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	f(func(*examination, string) {}, "-", "disk", "neither")
	f(func(e *examination, dir string) { e.spool = dir }, "ok", "spool", "can be written")
	f(func(e *examination, dir string) { e.spool = filepath.Join(dir, "a", "b") }, "ok", "spool", "can be written")
	f(func(e *examination, dir string) { e.spool, e.spoolBytes = dir, 1<<60 }, "FAIL", "spool", "may be needed")
	f(func(e *examination, dir string) { e.spool = file(filepath.Join(dir, "x")) }, "FAIL", "spool", "is no directory")
	f(func(e *examination, _ string) { e.snapshot = "/proc/directory.json" }, "FAIL", "snapshot", "cannot be written")
	// What is in the spool already needs no room any more.
	f(func(e *examination, dir string) {
		file(filepath.Join(dir, "1.seg"))
		e.spool, e.spoolBytes = dir, 4096
	}, "ok", "spool", "can be written")
}

func TestDoctorComparesClocks(t *testing.T) {
	asked := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	f := func(other, took, precision time.Duration, level, what string) {
		t.Helper()
		var out bytes.Buffer
		checkClock(&findings{out: &out}, "PostgreSQL", asked.Add(other), asked, asked.Add(took), precision)
		if !hasLine(out.String(), level, "clock of PostgreSQL", what) {
			t.Errorf("%v, asked for %v: want %s %q in\n%s", other, took, level, what, out.String())
		}
	}
	f(0, 0, 0, "ok", "agrees")
	f(2*time.Second, 0, 0, "ok", "agrees")
	f(-2*time.Second, 0, 0, "ok", "agrees")
	f(2001*time.Millisecond, 0, 0, "FAIL", "2.001s ahead of")
	f(-2001*time.Millisecond, 0, 0, "FAIL", "2.001s behind")
	f(5*time.Second, 3*time.Second, 0, "ok", "agrees") // it may have been read at the end
	f(-3*time.Second, 0, time.Second, "ok", "agrees")  // a Date without its fraction
	f(-3100*time.Millisecond, 0, time.Second, "FAIL", "behind")
}

func TestDoctorAsksServices(t *testing.T) {
	status, date := http.StatusOK, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if date != "" {
			w.Header().Set("Date", date)
		}
		w.WriteHeader(status)
		io.WriteString(w, `{"status":"not_ready","reasons":["kafka_unavailable"]}`+"\x1b[2J")
	}))
	defer server.Close()
	f := func(origin, level, about, what string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), checkTimeout)
		defer cancel()
		var out bytes.Buffer
		checkService(ctx, &findings{out: &out}, origin)
		if !hasLine(out.String(), level, about, what) || strings.Contains(out.String(), "\x1b") {
			t.Errorf("want %s %q %q in\n%q", level, about, what, out.String())
		}
	}
	f(server.URL+"/", "ok", "service", "is ready")
	f(server.URL, "ok", "clock", "agrees")
	status = http.StatusServiceUnavailable
	f(server.URL, "FAIL", "service", "kafka_unavailable")
	date = time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)
	f(server.URL, "FAIL", "clock", "behind")
	f("http://127.0.0.1:1", "FAIL", "service", "127.0.0.1:1")
	f("::", "FAIL", "service", "missing protocol scheme")
}

// The one broker of `tributary dev` cannot have three replicas, and keeps all records: that is
// told, and is no fault.
func TestDoctorKnowsTheBrokerOfDev(t *testing.T) {
	broker, err := devstack.StartBroker(devstack.BrokerConfig{ClusterPrefix: dev.ClusterPrefix})
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Stop()
	client, err := kafka.NewClient(kafka.Config{Brokers: []string{broker.Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.EnsureTopics(t.Context(),
		kafka.TopicPlan{Partitions: 2, Replication: 1, MinInsyncReplicas: 1, KeepForever: true}); err != nil {
		t.Fatal(err)
	}
	p := &patient{t, oneBroker(broker.Addr())}
	p.replication, p.minInSync = 3, 2
	if out := p.finds("-", "Kafka", "one copy of each record"); strings.Contains(out, "FAIL") || strings.Contains(out, "WARN") {
		t.Errorf("what the embedded broker is meant to be is a fault:\n%s", out)
	}
}
