package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

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
		return fmt.Errorf("no topic %s in Kafka: %s", strings.Join(missing, ", "), runMigrate)
	}
	return nil
}

// checkSchema returns an error where PostgreSQL says that its schema is older
// than this program.
func checkSchema(ctx context.Context, dsn string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if pending, err := postgres.Pending(ctx, dsn); err == nil && pending {
		return errors.New("PostgreSQL's schema is older than this program: " + runMigrate)
	}
	return nil
}

// hasRun tells whether an edge with this snapshot has run before. It goes on
// without the topics then: what it knows it serves, and what comes it spools.
func hasRun(snapshot string) bool {
	_, err := os.Stat(snapshot)
	return snapshot != "" && !errors.Is(err, fs.ErrNotExist)
}
