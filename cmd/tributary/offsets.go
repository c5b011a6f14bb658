package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

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
	first, end int64     // of the log
	halted     error     // nil: the two belong together
	firstAt    time.Time // when the first record that is left was written, where records before it were not read; zero: none is left
}

// lost returns the offsets of the records that are lost: from the first to the last. last is -1 where nothing tells it, and
// both are where none is lost.
func (p *place) lost() (first, last int64) {
	switch {
	case errors.Is(p.halted, processor.ErrRetained):
		return p.Next, p.first - 1
	case p.halted != nil:
		return p.Next, -1
	}
	return -1, -1
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
		if p.halted != nil && p.first < p.end {
			record, _, err := group.RecordAt(ctx, p.Topic, p.Partition, p.first)
			if err != nil {
				return nil, err
			}
			p.firstAt = record.Time
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
func (f *offsetsFlags) run(cmd *cobra.Command, do func(db stores, client *kafka.Client, group *kafka.Group) error) error {
	return f.connect(cmd.Context(), "tributary-offsets", func(db stores, client *kafka.Client) error {
		return do(db, client, kafka.NewGroup(client, processorGroup, nil, wire.Processed...))
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
			return flags.run(cmd, func(db stores, _ *kafka.Client, group *kafka.Group) error {
				list, err := places(cmd.Context(), factstore.New(db.db), group, func(*facts.StoredOffset) bool { return true })
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
	var report reportFlag
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Make partitions be read from the beginning of their log as it is now",
		Long: `Make partitions of a topic be read from the beginning of their log as it is now. That
ends a halt, which nothing else does: see "A halted partition" in docs/operations.md.
To read records a second time is harmless: every fact is stored once. Records that
the log does not have any more are not read: bring them back first if you can.
Where such records of commerce.v1 are lost, all orders of these partitions' companies
are computed again: a lost record may have told of a changed rule.

It says what it will do and asks. It works beside running processors: a running
partition begins anew within seconds, a halted one within 30.`,
		Example: `  tributary offsets reset --topic events.v1 --partition 7
  tributary offsets reset --halted`,
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
			if !slices.Contains(wire.Processed, topic) && (topic != "" || !halted) {
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
			return flags.run(cmd, func(db stores, client *kafka.Client, group *kafka.Group) error {
				if _, _, err := compareOwner(cmd.Context(), client, db.db, true); err != nil { // another installation's log tells nothing of ours
					return err
				}
				store := factstore.New(db.db)
				list, err := places(cmd.Context(), store, group, func(o *facts.StoredOffset) bool {
					return (topic == "" || o.Topic == topic) && (halted || slices.Contains(partitions, o.Partition))
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
					fmt.Fprintln(report.text(cmd), "No partition of", cmp.Or(topic, "any topic"), "is halted: nothing was changed.")
					return report.write(cmd, resetReport{Reset: []resetPlace{}})
				}
				for i := range list {
					sayReset(cmd.ErrOrStderr(), &list[i])
				}
				if !yes {
					what := fmt.Sprintf("%d partitions of %s would be read anew", len(list), cmp.Or(topic, "all topics"))
					if err := askYes(cmd, what, "Type yes to reset: "); err != nil {
						return err
					}
				}
				if err := computeAgain(cmd, store, group, list, report); err != nil {
					return err
				}
				return resetOffsets(cmd, store, client, list, report)
			})
		},
	}
	flags.register(cmd)
	from, to := int64(1100), int64(1199)
	report.register(cmd, resetReport{[]resetPlace{{"events.v1", 7, 1200, &from, &to}}})
	cmd.Flags().StringVar(&topic, "topic", "", "events.v1, commerce.v1 or bulk.v1; with --halted none: all of them")
	cmd.Flags().StringSliceVar(&numbers, "partition", nil, "number of the partition; repeat or separate by commas")
	cmd.Flags().BoolVar(&halted, "halted", false, "all partitions that are halted")
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
		if !p.firstAt.IsZero() {
			fmt.Fprintln(out, "  All of them were written before", moment(p.firstAt)+".")
		}
	case p.halted != nil:
		fmt.Fprintf(out, "  Records of the former log from %d on are lost, unless you bring that log back first.\n", p.Next)
	}
}

// companyPage is how many companies are read at once.
const companyPage = 500

// computeAgain queues the orders of the companies of which records of commerce.v1 are lost, and says of how many.
func computeAgain(cmd *cobra.Command, store *factstore.Store, group *kafka.Group, list []place, report reportFlag) error {
	ctx, concerned, after, now := cmd.Context(), 0, "", time.Now()
	if !slices.ContainsFunc(list, func(p place) bool { return p.Topic == wire.TopicCommerce && p.halted != nil }) {
		return nil
	}
	for {
		companies, err := store.CompaniesAfter(ctx, after, companyPage)
		if err != nil {
			return err
		}
		lost := map[string]time.Time{}
		for _, id := range companies {
			partition, err := group.PartitionOf(ctx, []byte(id))
			if err != nil {
				return err
			}
			at := slices.IndexFunc(list, func(p place) bool {
				return p.Topic == wire.TopicCommerce && p.halted != nil && p.Partition == partition
			})
			if at >= 0 {
				lost[id] = cmp.Or(list[at].firstAt, now)
			}
		}
		if err := processor.ComputeAgain(ctx, processor.StoreOf(store), lost); err != nil {
			return err
		}
		if concerned += len(lost); len(companies) < companyPage {
			break
		}
		after = companies[len(companies)-1]
	}
	fmt.Fprintf(report.text(cmd), "All orders of %d companies will be computed again: what is lost may have changed their rules.\n", concerned)
	return nil
}

// resetReport is what was reset, as JSON.
type resetReport struct {
	Reset []resetPlace `json:"reset"`
}

type resetPlace struct {
	Topic     string `json:"topic"`
	Partition int    `json:"partition"`
	Next      int64  `json:"next"`                // what is read first
	LostFrom  *int64 `json:"lost_from,omitempty"` // the first record that was not read and is lost
	LostTo    *int64 `json:"lost_to,omitempty"`   // the last one; none: the end of a former log, which nothing tells
}

// resetOffsets resets partitions one by one. Where one fails, the JSON has those before it.
func resetOffsets(cmd *cobra.Command, store *factstore.Store, client *kafka.Client, list []place, report reportFlag) (err error) {
	ctx := cmd.Context()
	done := resetReport{Reset: []resetPlace{}}
	defer func() { err = errors.Join(err, report.write(cmd, done)) }()
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
		fmt.Fprintf(report.text(cmd), "%s will be read from %d.\n", p, p.first)
		of := resetPlace{Topic: p.Topic, Partition: p.Partition, Next: p.first}
		if from, to := p.lost(); from >= 0 {
			if of.LostFrom = &from; to >= 0 {
				of.LostTo = &to
			}
		}
		done.Reset = append(done.Reset, of)
	}
	return nil
}
