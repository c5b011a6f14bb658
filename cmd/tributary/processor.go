package main

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/cmd/tributary/memory"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/factstore"
	"github.com/tributary-io/tributary/internal/postgres/upkeep"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/processor"
)

func newProcessor() *cobra.Command {
	var common serviceFlags
	var database postgresFlags
	var config processor.Config
	cmd := &cobra.Command{
		Use:   "processor",
		Short: "Run the processor: facts and credits from the two logs",
		Long: `Run the processor. It needs Kafka and PostgreSQL. As many may run as events.v1
has partitions: each partition has one owner, and what an owner had not
committed when it died is done by the next.`,
		Example: `  tributary processor --postgres "$DSN" --kafka-brokers kafka-1:9092`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			setup := processorSetup{config: config}
			var wrong problems
			setup.service, err = common.read(cmd)
			wrong.add(err)
			setup.dsn, err = database.require()
			wrong.add(err)
			if err := wrong.err(); err != nil {
				return err
			}
			if err := common.listen(&setup.service); err != nil {
				return err
			}
			memory.Tune(memory.Processor, os.LookupEnv, os.DirFS("/"))
			return runProcessor(cmd.Context(), setup)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&config.BatchRecords, "batch-records", 0, "records a transaction (default 3000)")
	common.register(flags, "processor", "127.0.0.1:7703")
	database.register(flags)
	return cmd
}

// processorSetup is everything that runProcessor needs. Its listener serves
// /healthz, /readyz and /metrics; nil: they are not served.
type processorSetup struct {
	service
	config processor.Config
	dsn    string
}

// processorGroup is the consumer group of all processors.
const processorGroup = "tributary-processor"

// runProcessor runs a processor until ctx ends.
func runProcessor(ctx context.Context, s processorSetup) (err error) {
	defer s.closeListeners()
	ctx, leaving, release := s.leave(ctx, "processor")
	defer release()
	client, err := kafka.NewClient(s.kafka)
	if err != nil {
		return err
	}
	defer client.Close()
	err = errors.Join(checkTopics(ctx, client, append(slices.Clone(wire.Processed), wire.TopicRejected, wire.TopicResults)...),
		checkSchema(ctx, s.dsn))
	if err != nil {
		return err
	}
	db, err := postgres.Open(ctx, s.dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, refused := watchSchema(ctx, s.log, db)
	defer func() { err = errors.Join(refused(), err) }()
	// The range balancer assigns the same partition of all topics to the same member.
	group := kafka.NewGroup(client, processorGroup, func(err error) {
		s.log.Warn("processor waits for Kafka", "error", err)
	}, wire.Processed...)
	registry := newRegistry(true)
	ctx, stopped := watchStop(ctx, s.log, "processor", registry, stopMetrics{
		counted: map[string]string{"tributary_processor_records_total": "records", "tributary_processor_orders_computed_total": "orders"},
		held:    map[string]string{"tributary_processor_partitions": "partitions_handed_over"},
	})
	defer func() { stopped(err) }()
	tracer, stopTracing, err := s.startTracing(ctx)
	if err != nil {
		return err
	}
	defer stopTracing()
	store := factstore.New(db)
	p := processor.New(s.config, processor.Deps{
		Registry: registry, Tracer: tracer,
		Log:   ownLog{group, func(ctx context.Context) error { return ownTopics(ctx, s.log, client, db) }},
		Store: processor.StoreOf(store), Books: upkeep.NewBooks(db), Privileges: db.Privileges, Leaving: leaving,
		Results: kafka.NewProducer(client), Logger: s.log,
	})
	if s.listener == nil {
		return p.Run(ctx)
	}
	health := background.Start(ctx, s.log, "health", func(ctx context.Context) error {
		return serveInternal(ctx, p.Handler(), s.listener)
	})
	return errors.Join(p.Run(ctx), health.Stop())
}
