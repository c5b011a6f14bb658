package merchant

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// refuseArchived is commerce.ErrArchived for an archived company: for changes that make no
// revision of its rules.
func refuseArchived(ctx context.Context, tx pgx.Tx, companyID string) error {
	var archivedAt time.Time
	if err := tx.QueryRow(ctx, `select archived_at from company where company_id = $1`,
		companyID).Scan(postgres.ZeroIfNull(&archivedAt)); err != nil {
		return err
	}
	if !archivedAt.IsZero() {
		return commerce.ErrArchived
	}
	return nil
}

// Archive archives companies, or takes them back into use, all of them or none. An archived
// company takes no events and orders, and nothing of it can be changed: edges learn of it by
// the directory, and the rest by its row. It returns the companies as they are then, and
// which of them were changed. An unknown company is commerce.ErrNotFound.
func (s *Store) Archive(ctx context.Context, a commerce.Archiving) (list []commerce.Company, changed []string, err error) {
	ids := slices.Sorted(slices.Values(a.CompanyIDs)) // locked in one order
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		list, changed = nil, nil
		for _, id := range ids {
			was, err := postgres.One(ctx, tx, postgres.Scan(companyColumns),
				`select `+postgres.List(companyColumns)+` from company where company_id = $1 for no key update`, id)
			if err != nil {
				return err
			}
			if was.ArchivedAt.IsZero() == a.Back {
				list = append(list, was)
				continue
			}
			rev, now, _, err := bumpAny(ctx, tx, id)
			if err != nil {
				return err
			}
			change := Change{CompanyID: id, Rev: rev, At: now, Actor: a.Actor, Action: "company.archive", Subject: id,
				Detail: map[string]any{"environment": was.Environment}}
			var since *time.Time
			if a.Back {
				change.Action = "company.unarchive"
			} else {
				since = &now
			}
			is, err := postgres.One(ctx, tx, postgres.Scan(companyColumns),
				`update company set archived_at = $2 where company_id = $1 returning `+postgres.List(companyColumns), id, since)
			if err != nil {
				return err
			}
			if err := putDirectoryCompany(ctx, tx, id, nil); err != nil {
				return err
			}
			if err := audit(ctx, tx, change); err != nil {
				return err
			}
			list, changed = append(list, is), append(changed, id)
		}
		return nil
	})
	return list, changed, postgres.Wrapf(err, "postgres: archive %v", a.CompanyIDs)
}
