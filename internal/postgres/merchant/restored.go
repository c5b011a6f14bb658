package merchant

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// MarkRestored notes of companies that changes of them are lost: paying is blocked until ConfirmRestored. Their revision, and
// that of the links that are older than what the directory has, goes past the lost one: edges keep the record of
// the higher revision, and would not take what the database has now. Companies whose revision is past
// it are left as they are, and so are unknown ones. It returns which were marked.
func (s *Store) MarkRestored(ctx context.Context, lost map[string]commerce.LostChanges) (marked []string, err error) {
	for _, id := range slices.Sorted(maps.Keys(lost)) {
		done := false
		err := s.db.InTx(ctx, func(tx pgx.Tx) (err error) {
			done, err = markRestored(ctx, tx, id, lost[id])
			return err
		})
		if err != nil {
			return marked, fmt.Errorf("postgres: mark %s as restored: %w", id, err)
		}
		if done {
			marked = append(marked, id)
		}
	}
	return marked, nil
}

func markRestored(ctx context.Context, tx pgx.Tx, companyID string, lost commerce.LostChanges) (done bool, err error) {
	found, err := postgres.Collect(ctx, tx, pgx.RowTo[int64],
		`select rules_rev from company where company_id = $1 for no key update`, companyID)
	if err != nil || len(found) == 0 || found[0] >= lost.Rev {
		return false, err
	}
	change := Change{CompanyID: companyID, Actor: "cli", Action: "company.restored", Subject: companyID,
		Detail: map[string]any{"revision": found[0], "lost_revision": lost.Rev}}
	if err := tx.QueryRow(ctx, `
		update company set rules_rev = $2::bigint + 1, restored_at = clock_timestamp() where company_id = $1 returning rules_rev, restored_at`,
		companyID, lost.Rev).Scan(&change.Rev, &change.At); err != nil {
		return false, err
	}
	if _, err := tx.Exec(ctx, `update link set rev = $2 where company_id = $1 and code = any($3)`, companyID, change.Rev,
		lost.Codes); err != nil {
		return false, err
	}
	return true, audit(ctx, tx, change)
}

// ConfirmRestored ends what MarkRestored began: an owner says that the store may pay again. It
// tells whether paying was blocked.
func (s *Store) ConfirmRestored(ctx context.Context, author commerce.Author) (was bool, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `update company set restored_at = null where company_id = $1 and restored_at is not null`, author.CompanyID)
		if was = err == nil && tag.RowsAffected() > 0; !was {
			return err
		}
		return audit(ctx, tx,
			Change{CompanyID: author.CompanyID, Actor: author.Actor, Action: "company.confirm_restored", Subject: author.CompanyID})
	})
	return was, postgres.Wrapf(err, "postgres: confirm %s", author.CompanyID)
}

// Restored returns the companies in which paying is blocked.
func (s *Store) Restored(ctx context.Context) (ids []string, err error) {
	ids, err = postgres.Collect(ctx, s.db.Pool(), pgx.RowTo[string],
		`select company_id from company where restored_at is not null order by company_id`)
	return ids, postgres.Wrapf(postgres.Translate(err), "postgres: restored companies")
}
