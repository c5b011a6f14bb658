package devtest

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/tributary-io/tributary/internal/postgres"
)

// MainOr runs a package's tests. Where the environment has the variable, with the DSN of a database, the test program is what run does
// instead, until SIGTERM comes: a process that a test starts, and kills.
func MainOr(m *testing.M, variable string, run func(ctx context.Context, db *postgres.DB) error) {
	dsn := os.Getenv(variable)
	if dsn == "" {
		os.Exit(m.Run())
	}
	if err := runOn(dsn, run); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func runOn(dsn string, run func(ctx context.Context, db *postgres.DB) error) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	return run(ctx, db)
}
