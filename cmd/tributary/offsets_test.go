package main

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/factstore"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/devtest"
)

// TestOffsetsShowsAndResetsAHaltedPartition: the topic has another id than the stored one, and
// more records than were applied.
func TestOffsetsShowsAndResetsAHaltedPartition(t *testing.T) {
	_, dsn := installation(t)
	broker := devtest.Kafka(t)
	t.Setenv("TRIBUTARY_KAFKA_BROKERS", broker)
	client := newClient(t, broker)
	key := []byte("c_1")
	partition := kafka.PartitionFor(key, devtest.Partitions)
	for range 5 {
		if err := kafka.NewProducer(client).Publish(t.Context(), wire.TopicEvents, key, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	cluster, err := client.ClusterID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id, err := client.TopicID(t.Context(), wire.TopicEvents)
	if err != nil || len(id) != 32 {
		t.Fatalf("the topic's id: %q, %v", id, err)
	}
	other := (partition + 1) % devtest.Partitions
	for p, logID := range map[int]string{partition: "that of the topic before", other: id} {
		if _, err := factstore.New(db).TakeOver(t.Context(), wire.TopicEvents, p, cluster, logID, 0); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `update consumer_offset set next = 3 where partition = $1`, partition); err != nil {
		t.Fatal(err)
	}
	f := func(status int, want string, args ...string) {
		t.Helper()
		out, got := command(t, append([]string{"offsets"}, args...)...)
		if got != status || !strings.Contains(out, want) {
			t.Errorf("offsets %s: exit status %d and\n%s\nwant %d and %s", strings.Join(args, " "), got, out, status, want)
		}
	}
	next := func(want int64) {
		t.Helper()
		var got int64
		if err := conn.QueryRow(t.Context(), `select next from consumer_offset where partition = $1`, partition).Scan(&got); err != nil ||
			got != want {
			t.Errorf("the offset is %d (%v), want %d", got, err, want)
		}
	}
	p := &patient{t, oneBroker(broker)}
	p.dsn = dsn
	p.finds("FAIL", "processor's offsets", "deleted and made again since 3 records")
	f(0, "the log is not the one that the stored offset belongs to", "show")
	f(statusUsage, `--topic "rejected.v1": give one of commerce.v1, events.v1, bulk.v1`, "reset", "--topic", "rejected.v1", "--partition", "1")
	f(statusUsage, "give --partition, once for each, or --halted", "reset", "--topic", wire.TopicEvents)
	f(1, "no offset of commerce.v1/0 is stored", "reset", "--topic", wire.TopicCommerce, "--partition", "0")
	f(1, "give --yes, since nobody can be asked here", "reset", "--topic", wire.TopicEvents, "--halted")
	next(3)
	f(0, "It will be read from 0: 5 records. Those that are stored already are not stored again.\n  Records of the former log from 3 on "+
		"are lost",
		"reset", "--topic", wire.TopicEvents, "--halted", "--yes")
	next(0)
	p.finds("ok", "processor's offsets", "5 records not yet applied")
	f(0, "No partition of events.v1 is halted: nothing was changed.", "reset", "--topic", wire.TopicEvents, "--halted", "--yes")

	again := []string{"offsets", "reset", "--topic", wire.TopicEvents, "--yes"}
	if got := reported[resetReport](t, 0, append(again, "--halted")...); len(got.Reset) != 0 {
		t.Errorf("where nothing is halted these were reset: %+v", got)
	}
	want := []resetPlace{{Topic: wire.TopicEvents, Partition: partition}}
	if got := reported[resetReport](t, 0, append(again, "--partition", strconv.Itoa(partition))...); !slices.Equal(got.Reset, want) {
		t.Errorf("reset %+v, want %+v", got.Reset, want)
	}
}
