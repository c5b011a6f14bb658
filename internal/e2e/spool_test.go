package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/await"
	"github.com/tributary-io/tributary/internal/devstack/devtest"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
)

// TestSpooledEventsOutliveSIGKILLOfTheEdge kills the edge while Kafka is away,
// with events that only its spool holds, and then the one that found them.
func TestSpooledEventsOutliveSIGKILLOfTheEdge(t *testing.T) {
	broker := devtest.RealKafka(t)
	client, err := kafka.NewClient(kafka.Config{Brokers: []string{broker.Addr}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	const company = "c_spool"
	secret := strings.Repeat("h", 48)
	hasher, err := identity.NewHasher([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	entry, err := json.Marshal(wire.Company{V: 1, Rev: 1, CompanyID: company, KeyCheck: hasher.Check(company), Environment: "live", Country: "BR", Timezone: "America/Sao_Paulo"})
	if err == nil {
		err = kafka.NewProducer(client).Produce(t.Context(), wire.TopicDirectory, kafka.Record{Key: []byte(wire.CompanyKeyPrefix + company), Value: entry})
	}
	if err != nil {
		t.Fatal(err)
	}
	addr, dir := freeAddr(t), t.TempDir()
	snapshot := filepath.Join(dir, "directory.json")
	startEdge := func() *process {
		p := startIn(t, []string{"TRIBUTARY_HASHING_SECRET=" + secret}, "edge", "--addr", addr, "--kafka-brokers", broker.Addr,
			"--snapshot", snapshot, "--spool", filepath.Join(dir, "spool"))
		await.Until(t, await.Long, func() bool {
			got, err := call(t.Context(), http.MethodGet, "http://"+addr+"/readyz", "", nil)
			return err == nil && got.status == http.StatusOK
		}, func() string { return "the edge is ready" })
		return p
	}
	var sent []string
	send := func(durability string) {
		t.Helper()
		id := uuid.Must(uuid.NewV7()).String()
		got, err := call(t.Context(), http.MethodPost, "http://"+addr+"/v1/events", "", map[string]any{
			"companyId": company, "events": []map[string]any{{"eventId": id, "event": "PAGE_VIEW", "timestamp": "2026-11-21T06:00:00.000Z"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		var answer struct{ Durability string }
		if err := json.Unmarshal(got.body, &answer); err != nil || got.status != http.StatusOK || answer.Durability != durability {
			t.Fatalf("%d %s, %v; want durability %s", got.status, got.body, err, durability)
		}
		sent = append(sent, id)
	}

	edge := startEdge()
	send("kafka")
	edge.stop(t) // writes the snapshot, with the counts of partitions
	edge = startEdge()
	send("kafka")
	broker.Kill()
	for range 2 {
		for range 20 {
			send("spool")
		}
		edge.kill(t)
		edge = startEdge()
	}
	send("spool")
	edge.signal(syscall.SIGTERM) // what is spooled stays
	select {
	case <-edge.done:
		if edge.err != nil {
			t.Errorf("the edge ended with %v at SIGTERM", edge.err)
		}
	case <-time.After(await.Long):
		t.Fatal("the edge did not end")
	}
	broker.Restart()
	startEdge()

	want := strings.Join(sent, "\n")
	var got string
	await.Until(t, await.Long, func() bool {
		got = strings.Join(firstCopies(t, client, company), "\n")
		return len(got) >= len(want)
	}, func() string { return "all events are in the log; there are\n" + got })
	if got != want {
		t.Errorf("in the log:\n%s\nsent:\n%s", got, want)
	}
}

// firstCopies are the ids of a company's events in the order of their first
// copies in the log.
func firstCopies(t *testing.T, client *kafka.Client, company string) []string {
	t.Helper()
	n, err := client.Partitions(t.Context(), wire.TopicEvents)
	if err != nil {
		return nil // a broker just back
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var ids []string
	seen := map[string]bool{}
	_ = client.Follow(ctx, wire.TopicEvents, kafka.PartitionFor([]byte(company), n), kafka.FromFirst, func(_ int64, r kafka.Record) error { // ended by cancel
		var e wire.Event
		if err := json.Unmarshal(r.Value, &e); err != nil {
			return err
		}
		if !seen[e.EventID] {
			seen[e.EventID] = true
			ids = append(ids, e.EventID)
		}
		return nil
	}, cancel)
	return ids
}
