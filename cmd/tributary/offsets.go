package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres/factstore"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/processor"
)

func newOffsets() *cobra.Command {
	return group("offsets", "Show how far the processors have come in Kafka, and repair a halted partition",
		newOffsetsShow(), newOffsetsReset())
}

// place is the stored offset of a partition beside its log.
type place struct {
	facts.StoredOffset
	first, end int64 // of the log
	halted     error // nil: the two belong together
}

func (p *place) String() string { return fmt.Sprintf("%s/%d", p.Topic, p.Partition) }

// places compares stored offsets with their logs; keep chooses which.
func places(ctx context.Context, store *factstore.Store, group *kafka.Group, keep func(*facts.StoredOffset) bool) ([]place, error) {
	stored, err := store.Offsets(ctx)
	if err != nil {
		return nil, err
	}
	cluster, err := group.ClusterID(ctx)
	if err != nil {
		return nil, err
	}
	var list []place
	for _, o := range stored {
		if !keep(&o) {
			continue
		}
		p := place{StoredOffset: o}
		p.first, p.end, err = processor.ComparePlace(ctx, group, o)
		switch {
		case o.ClusterID != cluster:
			p.halted = fmt.Errorf("%w: %q, not %q", facts.ErrOtherCluster, o.ClusterID, cluster)
		case processor.IsHalting(err):
			p.halted = err
		case err != nil:
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// repairFlags are those of commands that compare PostgreSQL with Kafka.
type repairFlags struct {
	database postgresFlags
	broker   kafkaFlags
}

func (f *repairFlags) register(cmd *cobra.Command) {
	f.database.register(cmd.Flags())
	f.broker.register(cmd.Flags())
}

// connect connects to both, calls do, and closes them. clientID is for Kafka.
func (f *repairFlags) connect(ctx context.Context, clientID string, do func(db stores, client *kafka.Client) error) error {
	config, err := f.broker.config(clientID)
	if err != nil {
		return err
	}
	db, err := f.database.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	client, err := kafka.NewClient(config)
	if err != nil {
		return err
	}
	defer client.Close()
	return do(db, client)
}

type offsetsFlags struct{ repairFlags }

// run connects to both and calls do.
func (f *offsetsFlags) run(cmd *cobra.Command, do func(store *factstore.Store, client *kafka.Client, group *kafka.Group) error) error {
	return f.connect(cmd.Context(), "tributary-offsets", func(db stores, client *kafka.Client) error {
		return do(factstore.New(db.db), client, kafka.NewGroup(client, processorGroup, nil, wire.Processed...))
	})
}

func newOffsetsShow() *cobra.Command {
	var flags offsetsFlags
	var how listing
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show each partition's stored offset beside its log",
		Long: `Show for each partition of commerce.v1, events.v1 and bulk.v1 how many of its records are
applied, where its log begins and ends, and whether the two belong together. A
partition is halted where they do not. Nothing is changed.`,
		Example: `  tributary offsets show`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return flags.run(cmd, func(store *factstore.Store, _ *kafka.Client, group *kafka.Group) error {
				list, err := places(cmd.Context(), store, group, func(*facts.StoredOffset) bool { return true })
				if err != nil {
					return err
				}
				return writeList(cmd.OutOrStdout(), how, []column[place]{
					{"topic", "TOPIC", func(p *place) any { return p.Topic }},
					{"partition", "PARTITION", func(p *place) any { return p.Partition }},
					{"next", "NEXT", func(p *place) any { return p.Next }},
					{"log_begins", "LOG BEGINS", func(p *place) any { return p.first }},
					{"log_ends", "LOG ENDS", func(p *place) any { return p.end }},
					{"halted", "HALTED", func(p *place) any {
						if p.halted == nil {
							return nil
						}
						return p.halted.Error()
					}},
				}, list)
			})
		},
	}
	flags.register(cmd)
	how.register(cmd)
	return cmd
}

func newOffsetsReset() *cobra.Command {
	var flags offsetsFlags
	var topic string
	var numbers []string
	var halted, yes bool
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Make partitions be read from the beginning of their log as it is now",
		Long: `Make partitions of a topic be read from the beginning of their log as it is now. That
ends a halt, which nothing else does: see "A halted partition" in docs/operations.md.
To read records a second time is harmless: every fact is stored once. Records that
the log does not have any more are not read: bring them back first if you can.

It says what it will do and asks. It works beside running processors: a running
partition begins anew within seconds, a halted one within 30.`,
		Example: `  tributary offsets reset --topic events.v1 --partition 7
  tributary offsets reset --topic events.v1 --halted --yes`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var wrong problems
			var partitions []int
			for _, text := range numbers {
				n, err := strconv.Atoi(text)
				if err != nil {
					wrong.add(fmt.Errorf("--partition %q is no number", text))
				}
				partitions = append(partitions, n)
			}
			if !slices.Contains(wire.Processed, topic) {
				wrong.add(fmt.Errorf("--topic %q: give one of %s", topic, strings.Join(wire.Processed, ", ")))
			}
			if halted == (len(partitions) > 0) {
				wrong.add(errors.New("give --partition, once for each, or --halted"))
			}
			_, err := flags.database.require()
			wrong.add(err)
			if err := wrong.err(); err != nil {
				return err
			}
			return flags.run(cmd, func(store *factstore.Store, client *kafka.Client, group *kafka.Group) error {
				list, err := places(cmd.Context(), store, group, func(o *facts.StoredOffset) bool {
					return o.Topic == topic && (halted || slices.Contains(partitions, o.Partition))
				})
				if err != nil {
					return err
				}
				if halted {
					list = slices.DeleteFunc(list, func(p place) bool { return p.halted == nil })
				}
				for _, n := range partitions {
					if !slices.ContainsFunc(list, func(p place) bool { return p.Partition == n }) {
						return fmt.Errorf("no offset of %s/%d is stored: `tributary offsets show` shows those there are", topic, n)
					}
				}
				if len(list) == 0 {
					fmt.Fprintln(cmd.OutOrStdout(), "No partition of", topic, "is halted: nothing was changed.")
					return nil
				}
				for i := range list {
					sayReset(cmd.ErrOrStderr(), &list[i])
				}
				if !yes {
					if err := askYes(cmd, fmt.Sprintf("%d partitions of %s would be read anew", len(list), topic), "Type yes to reset: "); err != nil {
						return err
					}
				}
				return resetOffsets(cmd, store, client, list)
			})
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&topic, "topic", "", "events.v1 or commerce.v1")
	cmd.Flags().StringSliceVar(&numbers, "partition", nil, "number of the partition; repeat or separate by commas")
	cmd.Flags().BoolVar(&halted, "halted", false, "all partitions of the topic that are halted")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// sayReset says what a reset will do, and what follows.
func sayReset(out io.Writer, p *place) {
	fmt.Fprintf(out, "%s: stored %d; the log begins at %d and ends at %d.\n", p, p.Next, p.first, p.end)
	if p.halted != nil {
		fmt.Fprintln(out, "  halted:", p.halted)
	}
	fmt.Fprintf(out, "  It will be read from %d: %d records. Those that are stored already are not stored again.\n", p.first, p.end-p.first)
	switch {
	case errors.Is(p.halted, processor.ErrRetained):
		fmt.Fprintf(out, "  %d records were removed from the log before they were read (%d to %d): they are lost.\n",
			p.first-p.Next, p.Next, p.first-1)
	case p.halted != nil:
		fmt.Fprintln(out, "  Records of the former log that were not read are lost, unless you bring that log back first.")
	}
}

func resetOffsets(cmd *cobra.Command, store *factstore.Store, client *kafka.Client, list []place) error {
	ctx := cmd.Context()
	cluster, err := client.ClusterID(ctx)
	if err != nil {
		return err
	}
	for i := range list {
		p := &list[i]
		id, err := client.TopicID(ctx, p.Topic)
		if err == nil {
			err = store.ResetOffset(ctx, facts.LogReset{Topic: p.Topic, Partition: p.Partition, ClusterID: cluster, LogID: id, First: p.first})
		}
		if errors.Is(err, commerce.ErrNotFound) {
			err = fmt.Errorf("no offset of %s is stored any more", p)
		}
		if err != nil {
			return fmt.Errorf("%d of %d partitions were reset: %w", i, len(list), err)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s will be read from %d.\n", p, p.first)
	}
	return nil
}
