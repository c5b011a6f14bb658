package copied

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tributary-io/tributary/test/devtest"
)

func TestSavedRowsAreCopiedIntoTheSameTables(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dsns := []string{devtest.Postgres(t), devtest.Postgres(t)}
	open := func(dsn string) *Database {
		d, err := Open(ctx, dsn)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	from, to := open(dsns[0]), open(dsns[1])
	defer from.Close(ctx)
	defer to.Close(ctx)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	empty, err := from.Empty(ctx)
	must(err)
	tables := []string{"consumer_offset", "event_fact"}
	for _, table := range tables {
		if !slices.Contains(empty, table) {
			t.Fatalf("%s is not among the empty tables %q", table, empty)
		}
	}
	before, err := from.Sizes(ctx, tables)
	must(err)
	_, err = from.conn.Exec(ctx, `
		insert into consumer_offset (topic, partition, cluster_id, next) values ('events.v1', 0, 'x', 40), ('commerce.v1', 0, 'x', 2);
		insert into event_fact (company_id, at, event_id, class, name, visitor, record)
		select 'co_1', now(), gen_random_uuid(), 1, 'PAGE_VIEW', 'v', '' from generate_series(1, 3000)`)
	must(err)
	after, err := from.Sizes(ctx, tables)
	must(err)
	if grown := after["event_fact"] - before["event_fact"]; grown < 3000*80 {
		t.Errorf("3,000 events took %d bytes: the partitions are not counted", grown)
	}
	if empty, err = from.Empty(ctx); err != nil || slices.Contains(empty, "event_fact") {
		t.Errorf("empty tables: %q, %v", empty, err)
	}
	dir := t.TempDir()
	must(from.Save(ctx, dir, tables))
	must(to.Load(ctx, dir, tables))
	if p, err := to.Progress(ctx); err != nil || p != (Progress{Records: 42}) {
		t.Errorf("progress: %+v, %v", p, err)
	}
	var events int
	must(to.conn.QueryRow(ctx, "select count(*) from event_fact").Scan(&events))
	if events != 3000 {
		t.Errorf("%d events were copied", events)
	}
	if orders, touches, err := to.Attributed(ctx); err != nil || orders != 0 || touches != 0 {
		t.Errorf("%d orders, %d touches, %v", orders, touches, err)
	}
	if indexes, err := to.Indexes(ctx); err != nil || len(indexes) == 0 {
		t.Errorf("indexes: %v, %v", indexes, err)
	}
	must(to.Checkpoint(ctx))
	must(os.WriteFile(filepath.Join(dir, "event_fact"), []byte("no rows"), 0o600))
	if err := to.Load(ctx, dir, tables[1:]); err == nil {
		t.Error("a broken file was loaded")
	}
}
