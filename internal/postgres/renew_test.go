package postgres

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// A password that changed in PGPASSFILE is the one of the next connection. A file that is missing or half written leaves the one before.
func TestANewPasswordIsTheNextConnections(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pgpass")
	t.Setenv("PGPASSFILE", path)
	write := func(password string) {
		t.Helper()
		if err := os.WriteFile(path, []byte("db.invalid:5432:tributary:trb_services:"+password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("before")
	var config *pgxpool.Config
	db, err := Open(t.Context(), "postgres://trb_services@db.invalid:5432/tributary", func(c *pgxpool.Config) { config = c })
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	f := func(want string) {
		t.Helper()
		to := config.ConnConfig.Copy()
		if err := config.BeforeConnect(t.Context(), to); err != nil || to.Password != want {
			t.Errorf("the password is %q, %v; want %s", to.Password, err, want)
		}
	}
	f("before")
	write("after")
	f("after")
	write("")
	f("after")
	if err := os.WriteFile(path, []byte("db.invalid:5432:tribut"), 0o600); err != nil {
		t.Fatal(err)
	}
	f("after")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	f("after")
	t.Setenv("PGSSLMODE", "verify-full")
	t.Setenv("PGSSLROOTCERT", path) // which is missing: the connection string cannot be read again
	f("after")
	write("last")
	t.Setenv("PGSSLMODE", "disable")
	t.Setenv("PGSSLROOTCERT", "")
	f("last")
}
