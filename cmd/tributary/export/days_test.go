package export

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres/report"
)

// A row that cannot be read is told of with its day. The other days are written, and erasures go on waiting.
func TestADayThatFailsKeepsNoOtherFromBeingWritten(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	f.export("orders")
	id := f.ended()
	f.sql(`update orders set body = '\x00' where order_id = '1'`)
	f.sql(`update payout set commission_minor = 7 where order_id in ('1', '3')`)
	dir, _ := f.opened()
	r, err := Export(t.Context(), f.DB, dir, f.company, "orders", f.hasher.Export(f.company), false)
	if err == nil || !strings.Contains(err.Error(), "orders of "+f.company+" of 2024-11-05: ") || strings.Contains(err.Error(), "2024-11-06") {
		t.Errorf("%v", err)
	}
	if len(r.Anew) != 1 || r.Anew[0] != f.path("orders", "2024-11-07") || r.Unchanged != 1 || len(r.Erasures) > 0 {
		t.Errorf("%+v", r)
	}
	f.state(id, commerce.ErasingFiles, 1)
}

// meanwhile is a database in which something happens when the first file of a run is there.
type meanwhile struct {
	Store
	happens func()
}

func (m *meanwhile) NoteExportedDay(ctx context.Context, e commerce.Export, day string, d commerce.ExportedDay) error {
	if d.Digest != nil && m.happens != nil {
		m.happens()
		m.happens = nil
	}
	return m.Store.NoteExportedDay(ctx, e, day, d)
}

// orderIDs are the orders of all files, in the order of the files.
func (f *files) orderIDs() (ids []string) {
	f.t.Helper()
	for _, path := range f.list() {
		for _, o := range rowsOf[orderRow](f, "orders", strings.TrimPrefix(strings.Split(path, "/")[2], dayPrefix)) {
			ids = append(ids, o.OrderID)
		}
	}
	return ids
}

// An order that moves to another day while a run writes files is in one of them.
func TestAnOrderThatMovesMeanwhileIsInOneFile(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ moved, to, then string }{
		{"1", "2024-11-07", "2 1 3"}, {"3", "2024-11-05", "1 3 2"}, {"2", "2024-11-30", "1 3 2"}, {"1", "2024-11-30", "2 3 1"},
	} {
		f := newFiles(t)
		dir, _ := f.opened()
		db := &meanwhile{f.DB, func() { f.sql(`update orders set day = $1 where order_id = $2`, x.to, x.moved) }}
		if _, err := Export(t.Context(), db, dir, f.company, "orders", f.hasher.Export(f.company), false); err != nil {
			t.Fatal(err)
		}
		if ids := strings.Join(f.orderIDs(), " "); ids != "1 2 3" {
			t.Errorf("%s moved to %s: the files have %s", x.moved, x.to, ids)
		}
		if err := dir.Close(); err != nil {
			t.Fatal(err)
		}
		f.export("orders")
		if ids := strings.Join(f.orderIDs(), " "); ids != x.then {
			t.Errorf("after the next run: %s, want %s", ids, x.then)
		}
	}
}

// Who sends events chooses their ids, and with them how many days there are.
func TestEventsOfImpossibleTimesAreOneFile(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	now := time.Now()
	for _, at := range []time.Time{time.UnixMilli(5), earliestDay.AddDate(0, 0, -1), now.AddDate(0, 0, 4), now.AddDate(90, 0, 0),
		time.Date(2199, 12, 31, 0, 0, 0, 0, time.UTC)} {
		f.came(at, "https://loja.example.com/", "")
	}
	f.came(earliestDay, "https://loja.example.com/", "")
	f.came(now.AddDate(0, 0, 2), "https://loja.example.com/", "")
	f.is("events", 2+1+2, 0, 0, 0)
	if rows := rowsOf[eventRow](f, "events", report.OtherEvents); len(rows) != 5 {
		t.Errorf("%d events", len(rows))
	}
	f.is("events", 0, 0, 5, 0)
	f.sql(`delete from event_fact where event_id > $1::uuid`, idAt(t, now.AddDate(0, 0, 4).Add(-time.Hour)))
	f.is("events", 0, 1, 4, 0)
	f.sql(`delete from event_fact where event_id < $1::uuid`, idAt(t, earliestDay.AddDate(0, 0, -1).Add(time.Hour)))
	f.is("events", 0, 0, 4, 1)
}

var earliestDay = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Most runs do not read old events again. Those that did not compare all days end no erasure.
func TestMostRunsLeaveOldEventsAlone(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	f.came(time.Now(), "https://loja.example.com/", "")
	run := func(all bool, anew, unchanged, old int) Result {
		t.Helper()
		dir, err := Open(f.dir, f.format)
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		r, err := Export(t.Context(), f.DB, dir, f.company, "events", f.hasher.Export(f.company), all)
		if err != nil || len(r.Anew) != anew || r.Unchanged != unchanged || r.Old != old {
			t.Errorf("%v, %+v; want %d written anew, %d unchanged, %d not compared", err, r, anew, unchanged, old)
		}
		return r
	}
	run(false, 0, 0, 0)
	f.sql(`update event_fact set class = 0`)
	run(false, 1, 0, 2)
	run(true, 2, 1, 0)
	// An erasure that waits makes a run whole.
	f.sql(`update event_fact set class = 1`)
	run(false, 1, 0, 2)
	id := f.ended()
	if r := run(false, 2, 1, 0); !slices.Equal(r.Erasures, []string{id}) {
		t.Errorf("%+v", r)
	}
	// One that comes after such a run has begun is not ended by it, nor is one of before.
	_, x := f.opened()
	x.Kind = "events"
	f.begin(&x)
	id = f.ended()
	f.sql(`update erasure_export set begun = 0`)
	if done, err := f.DB.EndExport(t.Context(), x); err != nil || x.Whole || len(done) > 0 {
		t.Errorf("%v, %v, %+v", done, err, x)
	}
	f.state(id, commerce.ErasingFiles, 1)
	f.sql(`delete from erasure_export`)
	// And so does time: every seventh run is whole, whatever became of those between.
	whole := 0
	for range 14 {
		x.Whole = false
		if f.begin(&x); x.Whole {
			whole++
			if _, err := f.DB.EndExport(t.Context(), x); err != nil {
				t.Fatal(err)
			}
		}
	}
	if whole != 2 {
		t.Errorf("%d of 14 runs were whole", whole)
	}
}

// With another key all files are written anew, also those of old days.
func TestAnotherKeyReachesOldEvents(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	f.export("events")
	dir, _ := f.opened()
	if r, err := Export(t.Context(), f.DB, dir, f.company, "events", f.hasher.Export("another"), false); err != nil || len(r.Anew) != 2 {
		t.Errorf("%v, %+v", err, r)
	}
}
