package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/dev/devstack"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/devtest"
)

// emptyBroker is a broker as it is before migrate.
func emptyBroker(t *testing.T) string {
	t.Helper()
	broker, err := devstack.StartBroker(devstack.BrokerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Stop)
	return broker.Addr()
}

func TestServicesBeforeMigrateSayToRunIt(t *testing.T) {
	dsn, empty, made := durablePostgres(t), emptyBroker(t), devtest.Kafka(t)
	secret := strings.Repeat("s", identity.MinSecret)
	t.Setenv("TRIBUTARY_HASHING_SECRET", secret)
	t.Setenv("TRIBUTARY_TOKEN_SECRET", secret)
	t.Setenv("TRIBUTARY_POSTGRES", dsn)
	t.Setenv("TRIBUTARY_SHORT_BASE", "go.example.com")
	f := func(service, broker string, want ...string) {
		t.Helper()
		out, status := command(t, service, "--addr", "127.0.0.1:0", "--kafka-brokers", broker)
		if status != 1 {
			t.Errorf("%s: exit status %d, want 1", service, status)
		}
		for _, text := range append(want, "run `tributary migrate`") {
			if !strings.Contains(out, text) {
				t.Errorf("%s says nothing of %q:\n%s", service, text, out)
			}
		}
	}
	f("edge", empty, "no topic events.v1, directory.v1, rejected.v1")
	f("admin", empty, "no topic commerce.v1, events.v1, bulk.v1", "schema is older")
	f("processor", empty, "no topic commerce.v1, events.v1, bulk.v1", "schema is older")
	f("admin", made, "schema is older")
	f("processor", made, "schema is older")
}

// An edge that has run before goes on without its topics: it serves what its
// snapshot knows.
func TestAnEdgeWithASnapshotStartsWithoutTopics(t *testing.T) {
	snapshot := filepath.Join(t.TempDir(), "directory.json")
	if hasRun("") || hasRun(snapshot) {
		t.Error("no snapshot, and yet it has run")
	}
	if err := os.WriteFile(snapshot, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TRIBUTARY_HASHING_SECRET", strings.Repeat("s", identity.MinSecret))
	edge := start(t, "edge", "--addr", "127.0.0.1:0", "--kafka-brokers", emptyBroker(t), "--snapshot", snapshot)
	edge.says("goes on by its snapshot")
	edge.stop()
}

// A store that does not answer keeps no service from starting.
func TestStartChecksPassWhereNobodyAnswers(t *testing.T) {
	if err := checkTopics(t.Context(), newClient(t, "127.0.0.1:1"), wire.Topics...); err != nil {
		t.Error(err)
	}
	if err := checkSchema(t.Context(), "postgres://nobody@127.0.0.1:1/none"); err != nil {
		t.Error(err)
	}
}

// A role without any grant is told of it by services at their start, and by doctor.
func TestStartChecksRefuseARoleWithoutAnyGrant(t *testing.T) {
	const want = "run `tributary migrate --grant trb_services`"
	dsn := devtest.RoleOfServices(t, devtest.Postgres(t))
	if err := checkSchema(t.Context(), dsn); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	p := &patient{t, oneBroker(devtest.Kafka(t))}
	p.dsn = dsn
	p.finds("FAIL", "privileges", want)
}

// A service that ends before it serves gives both ports back.
func TestPortsAreFreeAfterAFailedStart(t *testing.T) {
	var ports []string
	for range 2 {
		l, err := listen("addr", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, l.Addr().String())
		l.Close()
	}
	t.Setenv("TRIBUTARY_HASHING_SECRET", strings.Repeat("s", identity.MinSecret))
	if out, status := command(t, "edge", "--addr", ports[0], "--internal-addr", ports[1], "--kafka-brokers", emptyBroker(t)); status != 1 {
		t.Fatalf("%d:\n%s", status, out)
	}
	for _, addr := range ports {
		l, err := listen("addr", addr)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		l.Close()
	}
}
