package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/factstore"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/processor"
)

func newDoctor() *cobra.Command {
	var broker kafkaFlags
	var database postgresFlags
	var urls []string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check that an installation's parts can be reached and fit together",
		Long: `Check that Kafka and PostgreSQL answer, that the schema is up to date, that the
topics are there with equal partition counts, that the processor's offsets are of
this Kafka and how far they are behind, that the outbox is being published and
that running services say they are ready. Exit status 1 when a check fails.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dsn, err := database.require()
			if err != nil {
				return err
			}
			config, err := broker.config("tributary-doctor")
			if err != nil {
				return err
			}
			return examine(cmd.Context(), cmd.OutOrStdout(), dsn, config, urls)
		},
	}
	broker.register(cmd.Flags())
	database.register(cmd.Flags())
	cmd.Flags().StringSliceVar(&urls, "service", nil, "origin of a running service to ask for /readyz; repeat or separate by commas")
	return cmd
}

// checkTimeout bounds each check.
const checkTimeout = 10 * time.Second

// staleOutbox is an age of the outbox's oldest record. The admin publishes
// records within a second: one that waits longer than this means that none runs.
const staleOutbox = time.Minute

func examine(ctx context.Context, out io.Writer, dsn string, config kafka.Config, urls []string) error {
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	client, err := kafka.NewClient(config)
	if err != nil {
		return err
	}
	defer client.Close()
	failed := 0
	check := func(name string, f func(ctx context.Context) (string, error)) {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		said, err := f(ctx)
		if err != nil {
			failed++
			fmt.Fprintf(out, "FAIL  %-24s %v\n", name, err)
			return
		}
		fmt.Fprintf(out, "ok    %-24s %s\n", name, said)
	}
	check("PostgreSQL", func(ctx context.Context) (string, error) { return "answers", db.Ping(ctx) })
	check("schema", func(ctx context.Context) (string, error) {
		pending, err := postgres.Pending(ctx, dsn)
		if err == nil && pending {
			err = errors.New("is not up to date: run tributary migrate")
		}
		return "up to date", err
	})
	check("Kafka", func(ctx context.Context) (string, error) {
		id, err := client.ClusterID(ctx)
		return "cluster " + id, err
	})
	check("topics", func(ctx context.Context) (string, error) { return examineTopics(ctx, client) })
	check("processor's offsets", func(ctx context.Context) (string, error) { return examineOffsets(ctx, db, client) })
	check("outbox", func(ctx context.Context) (string, error) {
		waiting, oldest, err := merchant.New(db).OutboxSize(ctx)
		if err == nil && waiting > 0 && time.Since(oldest) > staleOutbox {
			err = fmt.Errorf("%d records wait since %s: is an admin running?", waiting, moment(oldest))
		}
		return fmt.Sprintf("%d records wait", waiting), err
	})
	for _, url := range urls {
		check(url, func(ctx context.Context) (string, error) { return examineService(ctx, url) })
	}
	if failed > 0 {
		return &statusError{status: statusFailed, shown: true, err: fmt.Errorf("%d checks failed", failed)}
	}
	return nil
}

// examineTopics counts the topics' partitions.
func examineTopics(ctx context.Context, client *kafka.Client) (string, error) {
	counts := map[string]int{}
	for _, topic := range []string{wire.TopicEvents, wire.TopicCommerce, wire.TopicDirectory, wire.TopicRejected, wire.TopicResults} {
		n, err := client.Partitions(ctx, topic)
		if err != nil {
			return "", err
		}
		counts[topic] = n
	}
	if counts[wire.TopicEvents] != counts[wire.TopicCommerce] {
		return "", fmt.Errorf("%s has %d partitions and %s %d: they must be equal", wire.TopicEvents, counts[wire.TopicEvents], wire.TopicCommerce, counts[wire.TopicCommerce])
	}
	return fmt.Sprintf("%d partitions of events and commerce", counts[wire.TopicEvents]), nil
}

// examineOffsets compares the processor's stored offsets with the log. It finds
// the same errors that the processor reports at its start.
func examineOffsets(ctx context.Context, db *postgres.DB, client *kafka.Client) (string, error) {
	stored, err := factstore.New(db).Offsets(ctx)
	if err != nil {
		return "", err
	}
	if len(stored) == 0 {
		return "none yet: no processor has run", nil
	}
	cluster, err := client.ClusterID(ctx)
	if err != nil {
		return "", err
	}
	group := kafka.NewGroup(client, processorGroup, nil, wire.TopicEvents, wire.TopicCommerce)
	behind := int64(0)
	for _, o := range stored {
		if o.ClusterID != cluster {
			return "", fmt.Errorf("%s/%d: %w: %q, not %q", o.Topic, o.Partition, facts.ErrOtherCluster, o.ClusterID, cluster)
		}
		first, end, err := group.Bounds(ctx, o.Topic, o.Partition)
		switch {
		case err != nil:
			return "", err
		case o.Next > end:
			return "", fmt.Errorf("%s/%d: %w: stored %d, log ends at %d", o.Topic, o.Partition, processor.ErrPastEnd, o.Next, end)
		case o.Next < first:
			return "", fmt.Errorf("%s/%d: %w: stored %d, log begins at %d", o.Topic, o.Partition, processor.ErrRetained, o.Next, first)
		}
		behind += end - o.Next
	}
	return fmt.Sprintf("%d records not yet applied", behind), nil
}

// examineService asks a running service for /readyz.
func examineService(ctx context.Context, origin string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(origin, "/")+"/readyz", nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 2000))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, text)
	}
	return "ready", err
}
