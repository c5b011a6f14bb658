package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/test/devtest"
)

type stay struct {
	guest       string
	first, last string
	paid        time.Time
}

func stayColumns(s *stay) postgres.Columns {
	return postgres.Columns{
		postgres.Into("lower(period)", postgres.Day(&s.first)),
		postgres.Into("upper(period)", postgres.DayBefore(&s.last)),
		postgres.Into("guest", &s.guest),
		postgres.Into("paid", postgres.ZeroIfNull(&s.paid)),
	}
}

var newStays = postgres.Rows[stay]{
	postgres.Col("guest", "text", func(s *stay) string { return s.guest }),
	postgres.Col("first", "date", func(s *stay) *string { return postgres.NullIfEmpty(s.first) }),
	postgres.Col("last", "date", func(s *stay) *string { return postgres.NullIfEmpty(s.last) }),
	postgres.Col("paid", "timestamptz", func(s *stay) *time.Time { return postgres.NullIfZero(s.paid) }),
}

func TestRowsAndColumnsCarryWhatTheyAreGiven(t *testing.T) {
	t.Parallel()
	ctx, conn := t.Context(), connect(t, devtest.Postgres(t))
	stays := []stay{
		{guest: "Ana", first: "2026-02-27", last: "2026-02-28", paid: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)},
		{guest: "Bia", first: "2026-12-31"},
		{guest: "Caio", last: "2027-01-01"},
		{guest: "Davi"},
	}
	const from = ` from (select guest, daterange(first, last, '[]') as period, paid from `
	got, err := postgres.Collect(ctx, conn, postgres.Scan(stayColumns),
		`select `+postgres.List(stayColumns)+from+newStays.Unnest("s")+`) s order by guest`, newStays.Args(stays, nil))
	if err != nil || len(got) != len(stays) {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, want := range stays {
		got[i].paid = got[i].paid.UTC()
		if got[i] != want {
			t.Errorf("%+v, want %+v", got[i], want)
		}
	}
	one := func(guest string) (stay, error) {
		return postgres.One(ctx, conn, postgres.Scan(stayColumns),
			`select `+postgres.List(stayColumns)+from+newStays.Unnest("s")+`) s where guest = @only`,
			newStays.Args(stays, pgx.NamedArgs{"only": guest}))
	}
	if bia, err := one("Bia"); err != nil || bia != stays[1] {
		t.Errorf("%+v, %v", bia, err)
	}
	if _, err := one("Eva"); !errors.Is(err, pgx.ErrNoRows) {
		t.Errorf("nobody is there: %v", err)
	}
}
