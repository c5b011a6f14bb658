package merchant

import (
	"context"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// ClaimEntry keeps what is asked for under a manual entry's id, before its record is sent: so the id has one content. accepted:
// the processor has its record already. Errors: commerce.ErrNotFound for an unknown influencer, commerce.ErrEntryExists. An entry
// overwrites nothing, so its version is compared without a lock: of two that are added at once, neither is refused.
func (s *Store) ClaimEntry(ctx context.Context, author commerce.Author, e commerce.NewEntry) (accepted bool, err error) {
	of := pgx.NamedArgs{"company_id": author.CompanyID, "influencer_id": e.InfluencerID}
	args := pgx.NamedArgs{"entry_id": e.EntryID, "kind": e.Kind, "amount": e.PostedMinor(), "currency": e.Currency, "day": e.Day,
		"reason": e.Reason}
	maps.Copy(args, of)
	asked := maps.Clone(args)
	asked["now"], asked["actor"] = author.At, author.Actor
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := postgres.Hit(ctx, tx, `select 1 from influencer where company_id = @company_id and influencer_id = @influencer_id`,
			of); err != nil {
			return err
		}
		added, err := tx.Exec(ctx, `
			insert into manual_entry (company_id, entry_id, influencer_id, kind, amount_minor, currency, day, reason, asked_at, actor)
			values (@company_id, @entry_id, @influencer_id, @kind, @amount, @currency, @day, @reason, @now, @actor)
			on conflict (company_id, entry_id) do nothing`, asked)
		if err == nil && added.RowsAffected() > 0 {
			err = checkVersion(ctx, tx, author.CompanyID)
		}
		if err != nil {
			return err
		}
		var same bool
		var at time.Time
		if err := tx.QueryRow(ctx, `
			select influencer_id = @influencer_id and kind = @kind and amount_minor = @amount and currency = @currency and day = @day::date
				and reason = @reason, accepted_at
			from manual_entry where company_id = @company_id and entry_id = @entry_id`, args).Scan(&same, postgres.ZeroIfNull(&at)); err != nil {
			return err
		}
		if accepted = !at.IsZero(); !same {
			return commerce.ErrEntryExists
		}
		return nil
	})
	return accepted, postgres.Wrapf(postgres.Translate(err), "postgres: manual entry %s", e.EntryID)
}
