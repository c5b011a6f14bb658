package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/devstack/devtest"
	"github.com/tributary-io/tributary/internal/postgres"
)

func TestAnOperatorIsToldWhatMendsAConnection(t *testing.T) {
	f := func(dsn, want string) {
		t.Helper()
		db, err := postgres.Open(t.Context(), dsn)
		if err == nil {
			defer db.Close()
			err = db.Ping(t.Context())
		}
		got := postgres.Advice(err)
		if !strings.Contains(got, want) || strings.ContainsAny(got, "\n") || strings.Contains(got, "s3cret") {
			t.Errorf("%s: %q of %v, want %q", dsn, got, err, want)
		}
	}
	f("postgres://u:s3cret@127.0.0.1:1/x", "cannot be reached")
	f("postgres://u:s3cret@h:port/x", "write it as postgres://user@host/database")
	f("host=127.0.0.1 password=s3cret port=y", "write it as")
	if got := postgres.Advice(errors.New("else")); got != "" {
		t.Errorf("of another error: %q", got)
	}
	db, err := postgres.Open(t.Context(), devtest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, sql := range []string{"select * from there_is_none", "select there_is_none from company", "select there_is_none()"} {
		_, err := db.Pool().Exec(t.Context(), sql)
		if got := postgres.Advice(err); !strings.Contains(got, "run `tributary migrate`") {
			t.Errorf("%s: %q of %v", sql, got, err)
		}
	}
}
