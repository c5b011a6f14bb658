package factstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
)

// TakeOver makes the caller the partition's owner for one topic: from then on those who
// took it over before are fenced. It waits until a transaction of theirs has ended.
// Where no offset is stored, it stores first, the beginning of the log.
// facts.ErrOtherCluster where the stored offset belongs to another cluster: then nothing
// changes.
func (s *Store) TakeOver(ctx context.Context, topic string, partition int, clusterID string, first int64) (taken facts.Taken, err error) {
	var cluster string
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `
			insert into consumer_offset as o (topic, partition, cluster_id, next, epoch) values ($1, $2, $3, $4, 1)
			on conflict (topic, partition) do update set epoch = o.epoch + (o.cluster_id = excluded.cluster_id)::int
			returning next, epoch, cluster_id`, topic, partition, clusterID, first).Scan(&taken.Next, &taken.Epoch, &cluster)
	})
	if err != nil {
		return facts.Taken{}, fmt.Errorf("postgres: take over %s/%d: %w", topic, partition, err)
	}
	if cluster != clusterID {
		return facts.Taken{}, fmt.Errorf("postgres: take over %s/%d: %w: stored %q, connected to %q", topic, partition, facts.ErrOtherCluster, cluster, clusterID)
	}
	return taken, nil
}

// Offsets returns the stored offset of every partition that a processor has ever
// owned, ordered by topic and partition.
func (s *Store) Offsets(ctx context.Context) ([]facts.StoredOffset, error) {
	rows, err := s.db.Pool().Query(ctx, `select topic, partition, cluster_id, next from consumer_offset order by topic, partition`)
	if err != nil {
		return nil, fmt.Errorf("postgres: offsets: %w", postgres.Translate(err))
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByName[facts.StoredOffset])
	if err != nil {
		return nil, fmt.Errorf("postgres: offsets: %w", postgres.Translate(err))
	}
	return list, nil
}

// MoveOffsets moves offsets, each by a compare-and-set, so that a batch is applied
// once. The locks on the rows make a new owner wait until an old one's transaction
// has ended. facts.ErrFenced where an offset is not where its move begins, or where
// somebody has taken the partition over since (TakeOver).
func (t *Tx) MoveOffsets(ctx context.Context, clusterID string, moves []facts.Move) error {
	for _, m := range moves {
		tag, err := t.tx.Exec(ctx, `
			update consumer_offset set next = @to
			where topic = @topic and partition = @partition and cluster_id = @cluster_id and epoch = @epoch and next = @from`,
			pgx.NamedArgs{"topic": m.Topic, "partition": m.Partition, "cluster_id": clusterID, "epoch": m.Epoch, "from": m.From, "to": m.To})
		if err != nil {
			return fmt.Errorf("move offset of %s/%d: %w", m.Topic, m.Partition, err)
		}
		if tag.RowsAffected() == 0 {
			return fmt.Errorf("move offset of %s/%d from %d: %w", m.Topic, m.Partition, m.From, facts.ErrFenced)
		}
	}
	return nil
}
