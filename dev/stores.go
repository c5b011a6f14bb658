package dev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/tributary-io/tributary/dev/devstack"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres"
)

// partitions is the number of partitions of events.v1 and commerce.v1 in dev (docs/notes/wire.md, "Topics").
const partitions = 8

// ClusterPrefix begins the id of dev's Kafka cluster, by which `tributary doctor` knows it.
const ClusterPrefix = "tributary-dev-"

// startStores starts the broker and PostgreSQL at the same time, makes the
// topics and migrates the database.
func (p *program) startStores(ctx context.Context) error {
	dir, elsewhere, err := devstack.ReachableDir(filepath.Join(p.Dir, "postgres"))
	if err != nil {
		return err
	}
	p.postgresLog = filepath.Join(dir, "postgres.log")
	if elsewhere != "" {
		fmt.Fprintf(p.Out, "PostgreSQL cannot reach %s as an unprivileged user: its data is in %s.\n", p.Dir, elsewhere)
	}
	var group errgroup.Group
	group.Go(func() (err error) {
		p.broker, err = devstack.StartBroker(devstack.BrokerConfig{Dir: filepath.Join(p.Dir, "kafka"), ClusterPrefix: ClusterPrefix})
		return err
	})
	group.Go(func() (err error) {
		p.postgres, err = devstack.StartPostgres(ctx, devstack.PostgresConfig{
			Dir: dir, Repository: p.PostgresRepository, Progress: progressOn(p.Out),
		})
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	if p.dsn, err = p.postgres.CreateDatabase(ctx, "tributary"); err != nil {
		return err
	}
	p.info.Kafka, p.info.Postgres = p.broker.Addr(), p.dsn
	return p.migrate(ctx)
}

// migrate makes the schema and the topics. Data of before 0.1.0 is refused by the name of its directory.
func (p *program) migrate(ctx context.Context) error {
	err := p.services.Migrate(ctx, p.dsn, p.kafka("migrate"), kafka.TopicPlan{
		Partitions: partitions, Replication: 1, MinInsyncReplicas: 1, KeepForever: true,
	})
	if errors.Is(err, postgres.ErrFormer) {
		return fmt.Errorf("%s has data of a version before 0.1.0, which is not carried over: remove it, or give another --data", p.Dir)
	}
	return err
}

func (p *program) kafka(client string) kafka.Config {
	return kafka.Config{Brokers: []string{p.info.Kafka}, ClientID: "tributary-" + client}
}

// progressOn returns a function that prints slow steps: each once, a download ten
// times.
func progressOn(out io.Writer) func(step string, done, total int64) {
	var last string
	return func(step string, done, total int64) {
		text := step
		if total > 0 {
			text = fmt.Sprintf("%s: %d of %d MB", step, done*10/total*total/10>>20, total>>20)
		}
		if text != last {
			fmt.Fprintln(out, text)
			last = text
		}
	}
}
