package factstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
)

// Offset returns a partition's first record that is not yet applied. Where none is
// stored, it stores first, the beginning of the log, and returns it.
// facts.ErrOtherCluster where the stored offset belongs to another cluster.
func (s *Store) Offset(ctx context.Context, topic string, partition int, clusterID string, first int64) (int64, error) {
	var next int64
	var cluster string
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `insert into consumer_offset (topic, partition, cluster_id, next) values ($1, $2, $3, $4) on conflict do nothing`,
			topic, partition, clusterID, first)
		if err != nil {
			return err
		}
		return tx.QueryRow(ctx, `select next, cluster_id from consumer_offset where topic = $1 and partition = $2`, topic, partition).Scan(&next, &cluster)
	})
	if err != nil {
		return 0, fmt.Errorf("postgres: offset of %s/%d: %w", topic, partition, err)
	}
	if cluster != clusterID {
		return 0, fmt.Errorf("postgres: offset of %s/%d: %w: stored %q, connected to %q", topic, partition, facts.ErrOtherCluster, cluster, clusterID)
	}
	return next, nil
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
// has ended. facts.ErrFenced where an offset is not where its move begins.
func (t *Tx) MoveOffsets(ctx context.Context, clusterID string, moves []facts.Move) error {
	for _, m := range moves {
		tag, err := t.tx.Exec(ctx, `
			update consumer_offset set next = @to
			where topic = @topic and partition = @partition and cluster_id = @cluster_id and next = @from`,
			pgx.NamedArgs{"topic": m.Topic, "partition": m.Partition, "cluster_id": clusterID, "from": m.From, "to": m.To})
		if err != nil {
			return fmt.Errorf("move offset of %s/%d: %w", m.Topic, m.Partition, err)
		}
		if tag.RowsAffected() == 0 {
			return fmt.Errorf("move offset of %s/%d from %d: %w", m.Topic, m.Partition, m.From, facts.ErrFenced)
		}
	}
	return nil
}
