package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/factstore"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/wire"
)

func newMigrate() *cobra.Command {
	var database postgresFlags
	var broker kafkaFlags
	var plan kafka.TopicPlan
	var status, dryRun, newKafka bool
	var report reportFlag
	var grant []string
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the schema up to date and make the topics",
		Long: `Bring PostgreSQL's schema up to date and make the topics that are missing.

events.v1 and commerce.v1 get the same number of partitions, for life: one
processor owns the same partition of both. A cluster whose counts differ is
refused.

Several may run at once: one does it, and the others wait for it. The database's
connection string must lead to PostgreSQL itself, not to a pooler that shares
sessions.`,
		Example: `  tributary migrate --postgres "$DSN" --kafka-brokers kafka-1:9092
  tributary migrate --dry-run
  tributary migrate --grant trb_services`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var wrong problems
			dsn, err := database.require()
			wrong.add(err)
			config, err := broker.config("tributary-migrate")
			wrong.add(err)
			if status && (dryRun || len(grant) > 0) || dryRun && len(grant) > 0 {
				wrong.add(errors.New("only one of --status, --dry-run and --grant can be given"))
			}
			if err := wrong.err(); err != nil {
				return err
			}
			if status || dryRun {
				return tellSchema(cmd, dsn, config, dryRun, report)
			}
			err = tellingEach(time.Minute, cmd.ErrOrStderr(), func() error {
				return migrateAndGrant(cmd.Context(), dsn, config, plan, grant, newKafka)
			})
			if err != nil {
				return err
			}
			if report.asJSON {
				return tellSchema(cmd, dsn, config, false, report)
			}
			fmt.Fprintln(cmd.OutOrStdout(), "The schema and the topics are up to date.")
			if len(grant) > 0 {
				fmt.Fprintln(cmd.OutOrStdout(), "May read and write, and not change the schema:", strings.Join(grant, ", "))
			}
			return nil
		},
	}
	flags := cmd.Flags()
	database.register(flags)
	broker.register(flags)
	flags.IntVar(&plan.Partitions, "partitions", 64, "partitions of events.v1 and of commerce.v1, fixed for life")
	flags.IntVar(&plan.Replication, "replication", 3, "replicas of each partition")
	flags.IntVar(&plan.MinInsyncReplicas, "min-insync-replicas", 2, "replicas that must have a record before it is acknowledged")
	flags.BoolVar(&status, "status", false, "tell what the schema and Kafka have, and change nothing")
	flags.BoolVar(&dryRun, "dry-run", false, "tell what would be done, and change nothing")
	flags.StringSliceVar(&grant, "grant", nil,
		"a role of PostgreSQL that services log in with: afterwards it may read and write all tables, and not change them; repeat or "+
			"separate by commas")
	flags.BoolVar(&newKafka, "new-kafka", false,
		"the Kafka cluster of this database is lost for good: make the topics on this one (docs/operations.md, Kafka is lost)")
	report.register(cmd, schemaStatus{4, 4, 1, "", []migrationStatus{{1, "…", "applied | pending | unknown"}}, []string{"events.v1"}})
	return cmd
}

// tellingEach says at each end of a time that the migrations still go on, until do is done.
func tellingEach(period time.Duration, out io.Writer, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	began, ticker := time.Now(), time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-ticker.C:
			fmt.Fprintf(out, "migrate has gone on for %s: a large table takes long, or others hold it, or another migrate runs (pg_stat_activity "+
				"has them).\n", time.Since(began).Round(time.Second))
		}
	}
}

// grantTo lets roles do what services do.
func grantTo(ctx context.Context, dsn string, roles []string) error {
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, role := range roles {
		if err := db.Grant(ctx, role); err != nil {
			return err
		}
	}
	return nil
}

// schemaStatus is --status and --dry-run as JSON.
type schemaStatus struct {
	SchemaVersion  int64             `json:"schema_version"`  // of the newest migration that is applied; 0: none
	ProgramVersion int64             `json:"program_version"` // of the newest migration that this program has
	OldestProgram  int64             `json:"oldest_program"`  // what a program must know at least; 0: the schema does not say it
	Problem        string            `json:"problem,omitempty"`
	Migrations     []migrationStatus `json:"migrations"`
	MissingTopics  []string          `json:"missing_topics"`
}

type migrationStatus struct {
	Version int64  `json:"version"`
	Name    string `json:"name,omitempty"`
	State   string `json:"state"` // applied | pending | unknown: of a newer program
}

// tellSchema prints what the schema and Kafka have; with pendingOnly what migrate would do.
func tellSchema(cmd *cobra.Command, dsn string, config kafka.Config, pendingOnly bool, report reportFlag) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	state, err := db.Schema(ctx)
	if err != nil {
		return err
	}
	client, err := kafka.NewClient(config)
	if err != nil {
		return err
	}
	defer client.Close()
	missing, err := client.MissingTopics(ctx, wire.Topics...)
	if err != nil {
		return err
	}
	s := schemaStatus{SchemaVersion: state.Version, ProgramVersion: state.Known, OldestProgram: state.Oldest, Migrations: []migrationStatus{},
		MissingTopics: append([]string{}, missing...)}
	if err := state.Problem(); err != nil {
		s.Problem = err.Error()
	}
	for _, m := range state.Migrations {
		one := migrationStatus{m.Version, m.Name, "pending"}
		switch {
		case m.Name == "":
			one.State = "unknown"
		case m.Applied:
			one.State = "applied"
		}
		if !pendingOnly || one.State == "pending" {
			s.Migrations = append(s.Migrations, one)
		}
	}
	if report.asJSON {
		return report.write(cmd, s)
	}
	if err := state.Refusal(); err != nil && pendingOnly {
		return err
	}
	for _, m := range s.Migrations {
		fmt.Fprintf(out, "%04d  %-8s %s\n", m.Version, m.State, m.Name)
	}
	for _, topic := range missing {
		fmt.Fprintf(out, "topic %s is missing\n", topic)
	}
	switch pending := len(state.Pending()); {
	case !pendingOnly:
		fmt.Fprintf(out, "schema: version %d; this program: %d; programs of %d and later may use it\n", s.SchemaVersion,
			s.ProgramVersion, s.OldestProgram)
		if s.Problem != "" {
			fmt.Fprintln(out, s.Problem)
		}
	case pending == 0 && len(missing) == 0:
		fmt.Fprintln(out, "Nothing is to be done.")
	default:
		fmt.Fprintf(out, "tributary migrate would apply %d migrations and make %d topics. Nothing was changed.\n", pending, len(missing))
	}
	return nil
}

// migrate is for dev.
func migrate(ctx context.Context, dsn string, config kafka.Config, plan kafka.TopicPlan) error {
	return migrateAndGrant(ctx, dsn, config, plan, nil, false)
}

// migrateAndGrant makes the topics and grants, also where the other of the two fails.
func migrateAndGrant(ctx context.Context, dsn string, config kafka.Config, plan kafka.TopicPlan, grant []string, newKafka bool) error {
	if err := postgres.Migrate(ctx, dsn); err != nil {
		return err
	}
	return errors.Join(grantTo(ctx, dsn, grant), makeTopics(ctx, dsn, config, plan, newKafka))
}

// makeTopics makes the topics that are missing and claims them for the database.
func makeTopics(ctx context.Context, dsn string, config kafka.Config, plan kafka.TopicPlan, newKafka bool) error {
	client, err := kafka.NewClient(config)
	if err != nil {
		return err
	}
	defer client.Close()
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := installationOf(ctx, client, merchant.New(db), newKafka); err != nil { // before any topic is made
		return err
	}
	if newKafka {
		if err := checkStoredPartitions(ctx, factstore.New(db), plan.Partitions); err != nil {
			return err
		}
	}
	if err := client.EnsureTopics(ctx, plan); err != nil {
		return err
	}
	return claimTopics(ctx, client, db, newKafka)
}

// checkStoredPartitions refuses to make topics anew with another partition count than the lost ones had: edges that run go on with that
// one, and offsets of partitions that are not there could be reset by nobody.
func checkStoredPartitions(ctx context.Context, store *factstore.Store, planned int) error {
	list, err := store.Offsets(ctx)
	if err != nil {
		return err
	}
	count := 0
	for _, o := range list {
		count = max(count, o.Partition+1)
	}
	if count > 0 && count != planned {
		return fmt.Errorf("the lost topics had %d partitions, not %d: give --partitions %d", count, planned, count)
	}
	return nil
}
