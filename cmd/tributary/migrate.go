package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres"
)

func newMigrate() *cobra.Command {
	var database postgresFlags
	var broker kafkaFlags
	var plan kafka.TopicPlan
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the schema up to date and make the topics",
		Long: `Bring PostgreSQL's schema up to date and make the topics that are missing.

events.v1 and commerce.v1 get the same number of partitions, for life: one
processor owns the same partition of both. A cluster whose counts differ is
refused.`,
		Example: `  tributary migrate --postgres "$DSN" --kafka-brokers kafka-1:9092`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var wrong problems
			dsn, err := database.require()
			wrong.add(err)
			config, err := broker.config("tributary-migrate")
			wrong.add(err)
			if err := wrong.err(); err != nil {
				return err
			}
			if err := migrate(cmd.Context(), dsn, config, plan); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "The schema and the topics are up to date.")
			return nil
		},
	}
	flags := cmd.Flags()
	database.register(flags)
	broker.register(flags)
	flags.IntVar(&plan.Partitions, "partitions", 64, "partitions of events.v1 and of commerce.v1, fixed for life")
	flags.IntVar(&plan.Replication, "replication", 3, "replicas of each partition")
	flags.IntVar(&plan.MinInsyncReplicas, "min-insync-replicas", 2, "replicas that must have a record before it is acknowledged")
	return cmd
}

// migrate is used by dev too.
func migrate(ctx context.Context, dsn string, config kafka.Config, plan kafka.TopicPlan) error {
	if err := postgres.Migrate(ctx, dsn); err != nil {
		return err
	}
	client, err := kafka.NewClient(config)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.EnsureTopics(ctx, plan)
}
