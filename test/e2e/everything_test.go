package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
)

// stored is one text that the services keep, or wrote: a record, a row, a line
// of the log. personal says that it is the one place for personal data.
type stored struct {
	place    string
	personal bool
	text     *searched
}

// allRecords reads every record of every topic. An order's "personal" is a text
// of its own.
func allRecords(t *testing.T, broker string) (all []stored) {
	t.Helper()
	client, err := kafka.NewClient(kafka.Config{Brokers: []string{broker}, ClientID: "privacy-test"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, topic := range wire.Topics {
		partitions, err := client.Partitions(t.Context(), topic)
		if err != nil {
			t.Fatal(err)
		}
		for p := range partitions {
			ctx, cancel := context.WithTimeout(t.Context(), await.Long)
			reached := false
			err := client.Follow(ctx, topic, p, kafka.FromFirst, func(_ int64, r kafka.Record) error {
				record, personal := splitPersonal(t, topic, r.Value)
				all = append(all, stored{place: topic, text: search(string(r.Key) + " " + record)})
				if personal != "" {
					all = append(all, stored{place: topic + ", personal", personal: true, text: search(personal)})
				}
				return nil
			}, func() { reached = true; cancel() })
			cancel()
			if !reached {
				t.Fatalf("the end of %s/%d was not reached: %v", topic, p, err)
			}
		}
	}
	return all
}

// splitPersonal takes the personal part out of an order's record.
func splitPersonal(t *testing.T, topic string, value []byte) (rest, personal string) {
	t.Helper()
	if topic != wire.TopicCommerce && topic != wire.TopicBulk {
		return string(value), ""
	}
	var record, body map[string]json.RawMessage
	if err := json.Unmarshal(value, &record); err != nil {
		t.Fatalf("record of %s: %v: %s", topic, err, value)
	}
	if string(record["kind"]) != `"`+string(wire.KindOrder)+`"` {
		return string(value), ""
	}
	if err := json.Unmarshal(record["body"], &body); err != nil {
		t.Fatalf("order on %s: %v: %s", topic, err, value)
	}
	personal = string(body["personal"])
	delete(body, "personal")
	var err error
	if record["body"], err = json.Marshal(body); err != nil {
		t.Fatal(err)
	}
	whole, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	return string(whole), personal
}

// allRows reads every row of every table, as text. Binary columns are read both
// as the text that they may hold and in hexadecimal.
func allRows(t *testing.T, dsn string) (all []stored) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	rows, err := conn.Query(t.Context(), `
		select n.nspname || '.' || c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
		where c.relkind in ('r', 'p', 'm') and not c.relispartition and n.nspname not in ('pg_catalog', 'information_schema')
		and n.nspname not like 'pg_toast%'`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	all = unpackedRows(t, conn)
	for _, output := range []string{"escape", "hex"} {
		if _, err := conn.Exec(t.Context(), "set bytea_output = "+output); err != nil {
			t.Fatal(err)
		}
		for _, table := range tables {
			rows, err := conn.Query(t.Context(), fmt.Sprintf("select r::text from %s r", table))
			if err != nil {
				t.Fatal(err)
			}
			texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				t.Fatalf("%s: %v", table, err)
			}
			for _, text := range texts {
				all = append(all, stored{place: table, personal: table == "public.order_personal", text: search(text)})
			}
		}
	}
	for _, e := range storedEvents(t, dsn) { // their rows are packed
		all = append(all, stored{place: "public.event_fact", text: search(string(e.Raw))})
	}
	return all
}

// storedEvents reads all stored events.
func storedEvents(t *testing.T, dsn string) []facts.Event {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	rows, err := conn.Query(t.Context(), `select company_id, event_id, name, visitor, at, record from event_fact`)
	if err != nil {
		t.Fatal(err)
	}
	events, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (facts.Event, error) {
		var s facts.StoredEvent
		if err := row.Scan(&s.CompanyID, (*[16]byte)(&s.EventID), &s.Name, &s.Visitor, &s.At, &s.Record); err != nil {
			return facts.Event{}, err
		}
		return s.Parse()
	})
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// allFiles reads the logs that servers write into dev's directory, and what the
// edge keeps there of the directory.
func allFiles(t *testing.T, dir string) (all []stored) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".log") && filepath.Ext(path) != ".json" {
			return err
		}
		text, err := os.ReadFile(path)
		all = append(all, stored{place: entry.Name(), text: search(string(text))})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}
