package main

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	segment "github.com/segmentio/kafka-go"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/devtest"
)

// TestServicesOfAnotherInstallationAreRefused: two databases, one Kafka. The second one's
// processor and admin end, its processor joins no group and writes no dead letter, migrate
// refuses to take the topics, and doctor says it. With a prefix both go on.
func TestServicesOfAnotherInstallationAreRefused(t *testing.T) {
	live, _ := installation(t)
	broker := devtest.Kafka(t)
	t.Setenv("TRIBUTARY_KAFKA_BROKERS", broker)
	t.Setenv("TRIBUTARY_ADDR", "127.0.0.1:0")
	t.Setenv("TRIBUTARY_TOKEN_SECRET", strings.Repeat("t", 32))
	plan := []string{"migrate", "--partitions", "8", "--replication", "1", "--min-insync-replicas", "1"}
	f := func(status int, want string, args ...string) {
		t.Helper()
		if out, got := command(t, args...); got != status || !strings.Contains(out, want) {
			t.Errorf("%s: exit status %d and\n%s\nwant %d and %s", strings.Join(args, " "), got, out, status, want)
		}
	}
	f(0, "up to date", plan...)
	f(0, "up to date", plan...) // its own topics
	publishCompany(t, broker, live.CompanyID, hasherOf(t, "s"))
	publishCompany(t, broker, "c_unknown", hasherOf(t, "s"))
	client := newClient(t, broker)
	if err := kafka.NewProducer(client).Publish(t.Context(), wire.TopicEvents, []byte(live.CompanyID), []byte("{}")); err != nil {
		t.Fatal(err)
	}

	other := devtest.Postgres(t)
	execute(t, other, `update installation set installation_id = 'i_other'`) // the tests' databases are copies of one
	t.Setenv("TRIBUTARY_POSTGRES", other)
	const refused = "these topics belong to another installation: directory.v1 is of i_"
	f(1, refused, plan...)
	f(1, refused, "processor")
	f(1, refused, "admin", "--short-base", "go.example.com")
	if records, err := client.ReadPartition(t.Context(), wire.TopicRejected, 0); err != nil || len(records) != 0 {
		t.Errorf("%d dead letters (%v), want none", len(records), err)
	}
	groups, err := (&segment.Client{Addr: segment.TCP(broker)}).ListGroups(t.Context(), &segment.ListGroupsRequest{})
	if err != nil || len(groups.Groups) != 0 {
		t.Errorf("groups %+v (%v), want none", groups.Groups, err)
	}
	p := &patient{t, oneBroker(broker)}
	p.dsn = other
	p.finds("FAIL", "installation", "belong to another installation")

	t.Setenv("TRIBUTARY_TOPIC_PREFIX", "staging.")
	f(0, "up to date", plan...)
	running := start(t, "processor")
	running.says("partition owned")
	running.stop()
	p.kafka.TopicPrefix = "staging."
	p.finds("ok", "installation", "i_other")

	t.Setenv("TRIBUTARY_TOPIC_PREFIX", "stagin.")
	const mistyped = `--topic-prefix is "stagin.", and those of the database begin with "staging."`
	f(1, mistyped, plan...)
	f(1, "no topic stagin.commerce.v1", "processor")
	if missing, err := client.MissingTopics(t.Context(), "stagin."+wire.TopicEvents); err != nil || len(missing) != 1 {
		t.Errorf("a topic of the mistyped prefix was made: %v, %v", missing, err)
	}
}

// Kafka does not answer while the admin starts. It ends once Kafka does, and has published nothing.
func TestAnAdminEndsWhereTheTopicsTurnOutToBeOthers(t *testing.T) {
	installation(t)
	broker := devtest.Kafka(t)
	client := newClient(t, broker)
	if err := kafka.NewProducer(client).Publish(t.Context(), wire.TopicDirectory, []byte(wire.InstallationKey),
		[]byte(`{"v":1,"id":"i_other"}`)); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	free.Close()
	t.Setenv("TRIBUTARY_KAFKA_BROKERS", addr)
	t.Setenv("TRIBUTARY_ADDR", "127.0.0.1:0")
	t.Setenv("TRIBUTARY_TOKEN_SECRET", strings.Repeat("t", 32))
	admin := start(t, "admin", "--short-base", "go.example.com")
	admin.says("it is not known yet whether the topics are this installation's")
	forward(t, addr, broker)
	if status := admin.ends(); status != statusFailed {
		t.Errorf("exit status %d", status)
	}
	admin.says("these topics belong to another installation")
	if end, err := client.LogEnd(t.Context(), wire.TopicDirectory, 0); err != nil || end != 1 {
		t.Errorf("the directory has %d records (%v), want the one of its owner", end, err)
	}
}

// forward leads what comes to an address on to another one, until the test ends.
func forward(t *testing.T, from, to string) {
	t.Helper()
	listener, err := net.Listen("tcp", from)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() {
		listener.Close()
		all.Wait()
	})
	all.Go(func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			stop := context.AfterFunc(t.Context(), func() { in.Close(); out.Close() }) // before the cleanup
			all.Go(func() { _, _ = io.Copy(out, in); out.Close() })
			all.Go(func() { defer stop(); _, _ = io.Copy(in, out); in.Close() })
		}
	})
}

// TestADirectoryOfBeforeIsNotTakenByAnEmptyDatabase: it names no installation and has companies
// that the database does not know.
func TestADirectoryOfBeforeIsNotTakenByAnEmptyDatabase(t *testing.T) {
	live, _ := installation(t)
	broker := devtest.Kafka(t)
	t.Setenv("TRIBUTARY_KAFKA_BROKERS", broker)
	plan := []string{"migrate", "--partitions", "8", "--replication", "1", "--min-insync-replicas", "1"}
	publishCompany(t, broker, "c_unknown", hasherOf(t, "s"))
	if out, status := command(t, plan...); status != 1 ||
		!strings.Contains(out, "directory.v1 has companies, such as c_unknown, of which the database has none") {
		t.Errorf("exit status %d:\n%s", status, out)
	}
	publishCompany(t, broker, live.CompanyID, hasherOf(t, "s"))
	if out, status := command(t, plan...); status != 0 {
		t.Errorf("exit status %d:\n%s", status, out)
	}
}
