package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
)

// Offset is the first record of a partition not yet applied. Where none is
// stored it becomes first, the log's beginning. facts.ErrOtherCluster where the
// stored one belongs to another cluster.
func (db *DB) Offset(ctx context.Context, topic string, partition int, clusterID string, first int64) (int64, error) {
	var next int64
	var cluster string
	err := db.InTx(ctx, func(tx pgx.Tx) error {
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

// Offsets lists where every partition stands that a processor has ever owned.
func (db *DB) Offsets(ctx context.Context) ([]facts.StoredOffset, error) {
	rows, err := db.pool.Query(ctx, `select topic, partition, cluster_id, next from consumer_offset order by topic, partition`)
	if err != nil {
		return nil, fmt.Errorf("postgres: offsets: %w", Translate(err))
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[facts.StoredOffset])
	if err != nil {
		return nil, fmt.Errorf("postgres: offsets: %w", Translate(err))
	}
	return list, nil
}

// moveOffsets is the compare-and-set that makes a batch exactly once: its row
// locks also make a new owner wait for an old one's transaction.
func moveOffsets(ctx context.Context, tx pgx.Tx, clusterID string, moves []facts.Move) error {
	for _, m := range moves {
		tag, err := tx.Exec(ctx, `
			update consumer_offset set next = $5 where topic = $1 and partition = $2 and cluster_id = $3 and next = $4`,
			m.Topic, m.Partition, clusterID, m.From, m.To)
		if err != nil {
			return fmt.Errorf("move offset of %s/%d: %w", m.Topic, m.Partition, err)
		}
		if tag.RowsAffected() == 0 {
			return fmt.Errorf("move offset of %s/%d from %d: %w", m.Topic, m.Partition, m.From, facts.ErrFenced)
		}
	}
	return nil
}
