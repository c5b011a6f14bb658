package factstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
)

// TakeOver makes the caller the partition's owner for one topic: from then on those who
// took it over before are fenced. It waits until a transaction of theirs has ended.
// Where no offset is stored, it stores first, the beginning of the log, and the log's id.
// facts.ErrOtherCluster where the stored offset belongs to another cluster: then nothing
// changes.
func (s *Store) TakeOver(ctx context.Context, topic string, partition int, clusterID, logID string,
	first int64) (taken facts.Taken, err error) {
	var cluster string
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `
			insert into consumer_offset as o (topic, partition, cluster_id, next, epoch, log_id) values ($1, $2, $3, $4, 1, $5)
			on conflict (topic, partition) do update set epoch = o.epoch + (o.cluster_id = excluded.cluster_id)::int
			returning next, epoch, cluster_id, log_id, last`, topic, partition, clusterID, first, logID).Scan(&taken.Next, &taken.Epoch, &cluster,
			&taken.LogID, &taken.Last)
	})
	if err != nil {
		return facts.Taken{}, fmt.Errorf("postgres: take over %s/%d: %w", topic, partition, err)
	}
	if cluster != clusterID {
		return facts.Taken{},
			fmt.Errorf("postgres: take over %s/%d: %w: stored %q, connected to %q", topic, partition, facts.ErrOtherCluster, cluster, clusterID)
	}
	return taken, nil
}

// Offsets returns the stored offset of every partition that a processor has ever
// owned, ordered by topic and partition.
func (s *Store) Offsets(ctx context.Context) ([]facts.StoredOffset, error) {
	rows, err := s.db.Pool().Query(ctx,
		`select topic, partition, cluster_id, next, epoch, log_id, last from consumer_offset order by topic, partition`)
	if err != nil {
		return nil, fmt.Errorf("postgres: offsets: %w", postgres.Translate(err))
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[facts.StoredOffset])
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: offsets")
}

// MoveOffsets moves offsets, each by a compare-and-set, so that a batch is applied
// once. The locks on the rows make a new owner wait until an old one's transaction
// has ended. facts.ErrFenced where an offset is not where its move begins, or where
// somebody has taken the partition over since (TakeOver).
func (t *Tx) MoveOffsets(ctx context.Context, clusterID string, moves []facts.Move) error {
	for _, m := range moves {
		tag, err := t.tx.Exec(ctx, `
			update consumer_offset set next = @to, log_id = coalesce(nullif(@log_id, ''), log_id), last = coalesce(@last, last)
			where topic = @topic and partition = @partition and cluster_id = @cluster_id and epoch = @epoch and next = @from`,
			pgx.NamedArgs{"topic": m.Topic, "partition": m.Partition, "cluster_id": clusterID, "epoch": m.Epoch, "from": m.From, "to": m.To,
				"log_id": m.LogID, "last": m.Last})
		if err != nil {
			return fmt.Errorf("move offset of %s/%d: %w", m.Topic, m.Partition, err)
		}
		if tag.RowsAffected() == 0 {
			return fmt.Errorf("move offset of %s/%d from %d: %w", m.Topic, m.Partition, m.From, facts.ErrFenced)
		}
	}
	return nil
}

// MarkReplaced notes of a partition whose log is not known that its offset is not of the log
// as it is now: however far that log grows, it stays so until ResetOffset.
func (s *Store) MarkReplaced(ctx context.Context, topic string, partition int, epoch int64) error {
	_, err := s.db.Pool().Exec(ctx, `
		update consumer_offset set log_id = $4
		where topic = $1 and partition = $2 and epoch = $3 and log_id = '' and last is null`, topic, partition, epoch, facts.LogReplaced)
	return postgres.Wrapf(postgres.Translate(err), "postgres: mark %s/%d", topic, partition)
}

// ResetOffset makes a partition be read anew from the beginning of the log as it is now. Its
// owner is fenced, and takes it over again. commerce.ErrNotFound where no offset is stored.
func (s *Store) ResetOffset(ctx context.Context, to facts.LogReset) error {
	tag, err := s.db.Pool().Exec(ctx, `
		update consumer_offset set next = @next, cluster_id = @cluster_id, log_id = @log_id, last = null, epoch = epoch + 1
		where topic = @topic and partition = @partition`,
		pgx.NamedArgs{"topic": to.Topic, "partition": to.Partition, "cluster_id": to.ClusterID, "log_id": to.LogID, "next": to.First})
	if err != nil {
		return fmt.Errorf("postgres: reset offset of %s/%d: %w", to.Topic, to.Partition, postgres.Translate(err))
	}
	if tag.RowsAffected() == 0 {
		return fmt.Errorf("postgres: reset offset of %s/%d: %w", to.Topic, to.Partition, commerce.ErrNotFound)
	}
	return nil
}

// AllPartitions is LockPartition's, where it is not known to which one a company belongs.
const AllPartitions = -1

// LockPartition keeps owners of a partition from applying anything until the transaction
// ends: MoveOffsets takes the same locks, in the same order.
func (t *Tx) LockPartition(ctx context.Context, partition int) error {
	return t.exec(ctx, "lock a partition", `
		select topic from consumer_offset where partition = @partition or @partition = -1 order by topic, partition for update`,
		pgx.NamedArgs{"partition": partition})
}
