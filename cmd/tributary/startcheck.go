package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres"
)

// startTimeout bounds each question that a service asks before it starts. A
// store that does not answer by then does not keep it from starting: the service
// waits for it, and its /readyz says so.
const startTimeout = 3 * time.Second

// checkTopics returns an error where Kafka says that it has not got the topics.
func checkTopics(ctx context.Context, client *kafka.Client, topics ...string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	missing, err := client.MissingTopics(ctx, topics...)
	if err != nil {
		return nil //nolint:nilerr // Kafka does not answer: see startTimeout
	}
	if len(missing) > 0 {
		for i, name := range missing {
			missing[i] = client.Named(name)
		}
		return fmt.Errorf("no topic %s in Kafka: %s", strings.Join(missing, ", "), runMigrate)
	}
	return nil
}

// schemaEvery is how often a service that runs looks whether it may still use the schema: one query of two small tables.
const schemaEvery = 5 * time.Second

// checkSchema returns an error where PostgreSQL says that this program and its
// schema do not fit together, or that its role lacks a privilege.
func checkSchema(ctx context.Context, dsn string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	err = usable(ctx, db)
	for _, says := range []error{postgres.ErrFormer, postgres.ErrOldSchema, postgres.ErrOldProgram, postgres.ErrPrivileges} {
		if errors.Is(err, says) {
			return err
		}
	}
	return nil // PostgreSQL does not answer: see startTimeout
}

// usable returns an error where this program may not use the schema, or its role lacks a privilege.
func usable(ctx context.Context, db *postgres.DB) error {
	state, err := db.Schema(ctx)
	if err != nil {
		return err
	}
	if err := state.Problem(); err != nil {
		return err
	}
	return db.Privileges(ctx)
}

// watchSchema returns a context that ends with ctx, and also where a newer program's migration refuses this one:
// what it would write might not fit any more. refused returns that reason, nil for any other end.
func watchSchema(ctx context.Context, log *slog.Logger, db *postgres.DB) (watched context.Context, refused func() error) {
	watched, end := context.WithCancelCause(ctx)
	task := background.Start(ctx, log, "schema", func(ctx context.Context) error {
		ticker := time.NewTicker(schemaEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C:
			}
			asked, cancel := context.WithTimeout(ctx, startTimeout)
			state, err := db.Schema(asked)
			cancel()
			if err == nil && errors.Is(state.Problem(), postgres.ErrOldProgram) {
				end(state.Problem())
				return nil
			}
		}
	})
	return watched, func() error {
		end(nil)
		if cause := context.Cause(watched); errors.Is(cause, postgres.ErrOldProgram) {
			return errors.Join(cause, task.Stop())
		}
		return task.Stop()
	}
}

// hasRun tells whether an edge with this snapshot has run before. It goes on
// without the topics then: what it knows it serves, and what comes it spools.
func hasRun(snapshot string) bool {
	_, err := os.Stat(snapshot)
	return snapshot != "" && !errors.Is(err, fs.ErrNotExist)
}
