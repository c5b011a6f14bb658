package postgres_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/test/devtest"
)

// adviceOf returns what a connection's error advises.
func adviceOf(t *testing.T, dsn string) string {
	t.Helper()
	db, err := postgres.Open(t.Context(), dsn)
	if err == nil {
		defer db.Close()
		err = db.Ping(t.Context())
	}
	return postgres.Advice(err)
}

// The server of the tests has no TLS: the attempt over TLS fails first.
func TestAnOperatorIsToldWhichPartOfAConnectionIsWrong(t *testing.T) {
	t.Parallel()
	f := func(change func(u *url.URL), want string) {
		t.Helper()
		u, err := url.Parse(devtest.Postgres(t))
		if err != nil {
			t.Fatal(err)
		}
		u.RawQuery = "" // sslmode=prefer
		change(u)
		if got := adviceOf(t, u.String()); !strings.Contains(got, want) || strings.Contains(got, "TLS") || strings.Contains(got, "start it") {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f(func(u *url.URL) { u.Path = "/none" }, "there is no such database")
	f(func(u *url.URL) { u.User = url.UserPassword(u.User.Username(), "wrong") }, "wrong password")
	f(func(u *url.URL) { u.User = url.UserPassword("nobody_here", "wrong") }, "there is no such role")
}

// A role to which nothing is granted cannot even read the schema's version.
func TestARoleWithoutAnyGrantIsToldToGetOne(t *testing.T) {
	t.Parallel()
	db, err := postgres.Open(t.Context(), devtest.RoleOfServices(t, devtest.Postgres(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const want = "run `tributary migrate --grant "
	if _, err := db.Schema(t.Context()); !errors.Is(err, postgres.ErrPrivileges) || !strings.Contains(err.Error(), want+"trb_services`") {
		t.Errorf("the schema: %v", err)
	}
	_, err = db.Pool().Exec(t.Context(), "select 1 from company")
	if got := postgres.Advice(err); !strings.Contains(got, want) {
		t.Errorf("%q of %v", got, err)
	}
}

func TestAnOperatorIsToldWhatMendsAConnection(t *testing.T) {
	f := func(dsn, want string) {
		t.Helper()
		got := adviceOf(t, dsn)
		if !strings.Contains(got, want) || strings.ContainsAny(got, "\n") || strings.Contains(got, "s3cret") {
			t.Errorf("%s: %q, want %q", dsn, got, want)
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
