package processor

import (
	"testing"

	"github.com/tributary-io/tributary/internal/postgres"
)

// A month whose events cannot be moved stops the migration. What was moved stays so, and
// the next run goes on with what is left.
func TestMovingEventsGoesOnWhereItWasStopped(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.apply([]record{
		s.record(s.event("v1", noon, 1, checkout("k1:a"))),
		s.record(s.event("v1", noon.AddDate(0, 1, 0), 2, nil)),
		s.record(s.event("v1", noon.AddDate(-30, 0, 0), 3, nil)), // in the default partition
		s.record(s.order("o1", noon.AddDate(0, 1, 1), 1000, cart("k1:a"))),
	}, func() int { return 10 })
	want := s.outcomes()
	if err := postgres.MigrateBack(s.ctx, s.dsn, 14); err != nil {
		t.Fatal(err)
	}
	s.exec(`create table kept as table event_fact`)
	s.exec(`update event_fact set body = '{"eventId": 1}' where at > $1`, noon)
	for range 2 {
		if err := postgres.Migrate(s.ctx, s.dsn); err == nil {
			t.Fatal("a record that cannot be read was moved")
		}
	}
	if moved := s.int(`select count(*) from event_fact`); moved != 1 {
		t.Errorf("%d events were moved, want those of the first month", moved)
	}
	s.exec(`update event_fact_2026_04_0014 f set body = k.body from kept k where k.event_id = f.event_id`)
	s.exec(`drop table kept`)
	if err := postgres.Migrate(s.ctx, s.dsn); err != nil {
		t.Fatal(err)
	}
	s.pool.Reset()
	s.db.Pool().Reset()
	s.workOff()
	if got := s.outcomes(); got != want {
		t.Error(firstDifference(got, want))
	}
	if left := s.int(`select count(*) from pg_class where relname like '%\_0014%'`); left != 0 {
		t.Errorf("%d tables and indexes of before are left", left)
	}
}
