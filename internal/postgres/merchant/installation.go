package merchant

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/postgres"
)

// Installation is the id that was made once with the database, and the prefix of its topics;
// claimed is false where it has none yet.
func (s *Store) Installation(ctx context.Context) (id, prefix string, claimed bool, err error) {
	var stored *string
	if err := s.db.Pool().QueryRow(ctx, `select installation_id, topic_prefix from installation`).Scan(&id, &stored); err != nil {
		return "", "", false, fmt.Errorf("postgres: installation: %w", postgres.Translate(err))
	}
	if stored != nil {
		prefix = *stored
	}
	return id, prefix, stored != nil, nil
}

// KafkaClusters returns the ids of the Kafka clusters to which the stored offsets belong, ordered: one; none before a processor
// has run.
func (s *Store) KafkaClusters(ctx context.Context) (ids []string, err error) {
	ids, err = postgres.Collect(ctx, s.db.Pool(), pgx.RowTo[string], `select distinct cluster_id from consumer_offset order by cluster_id`)
	return ids, postgres.Wrapf(postgres.Translate(err), "postgres: the Kafka cluster of the offsets")
}

// ClaimTopics stores the prefix of the installation's topics, where it has none yet.
func (s *Store) ClaimTopics(ctx context.Context, prefix string) error {
	_, err := s.db.Pool().Exec(ctx, `update installation set topic_prefix = $1 where topic_prefix is null`, prefix)
	return postgres.Wrapf(postgres.Translate(err), "postgres: claim topics")
}

func installationID(ctx context.Context, q postgres.Querier) (id string, err error) {
	id, err = postgres.One(ctx, q, pgx.RowTo[string], `select installation_id from installation`)
	return id, postgres.Wrapf(postgres.Translate(err), "postgres: the installation's id")
}

// KnowsCompany reports whether the database has one of the companies.
func (s *Store) KnowsCompany(ctx context.Context, ids []string) (known bool, err error) {
	err = s.db.Pool().QueryRow(ctx, `select exists (select 1 from company where company_id = any($1))`, ids).Scan(&known)
	return known, postgres.Wrapf(postgres.Translate(err), "postgres: companies")
}
