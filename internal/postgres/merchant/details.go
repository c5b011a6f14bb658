package merchant

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

// storedDetails is the row of an influencer's details.
type storedDetails struct {
	commerce.Details
	influencerID               string
	emailAt, documentAt, pixAt time.Time
	emailBy, documentBy, pixBy string
	confirmedAt                time.Time
}

func detailsColumns(d *storedDetails) postgres.Columns {
	return postgres.Columns{
		postgres.Into("influencer_id", &d.influencerID),
		postgres.Into("email", &d.Email),
		postgres.Into("phone", &d.Phone),
		postgres.Into("document", &d.Document),
		postgres.Into("pix_type", &d.Pix.Type),
		postgres.Into("pix_key", &d.Pix.Key),
		postgres.Into("handles", &d.Handles),
		postgres.Into("notes", &d.Notes),
		postgres.Into("email_at", postgres.ZeroIfNull(&d.emailAt)),
		postgres.Into("coalesce(email_by, '')", &d.emailBy),
		postgres.Into("document_at", postgres.ZeroIfNull(&d.documentAt)),
		postgres.Into("coalesce(document_by, '')", &d.documentBy),
		postgres.Into("pix_at", postgres.ZeroIfNull(&d.pixAt)),
		postgres.Into("coalesce(pix_by, '')", &d.pixBy),
		postgres.Into("pix_confirmed_at", postgres.ZeroIfNull(&d.confirmedAt)),
		postgres.Into("email_before", &d.EmailBefore),
	}
}

// details are what the row says.
func (d *storedDetails) details() commerce.Details {
	d.PixConfirmed = !d.confirmedAt.IsZero()
	for _, of := range []struct {
		name, by string
		at       time.Time
	}{
		{commerce.DetailEmail, d.emailBy, d.emailAt},
		{commerce.DetailDocument, d.documentBy, d.documentAt},
		{commerce.DetailPix, d.pixBy, d.pixAt},
	} {
		if of.at.IsZero() {
			continue
		}
		if d.Changed == nil {
			d.Changed = map[string]commerce.Touched{}
		}
		d.Changed[of.name] = commerce.Touched{At: of.at, Actor: of.by}
	}
	return d.Details
}

func (c *ruleChange) storedDetails(ctx context.Context, influencerID string) (storedDetails, error) {
	return postgres.One(ctx, c.tx, postgres.Scan(detailsColumns), `
		select `+postgres.List(detailsColumns)+` from influencer_personal
		where company_id = $1 and influencer_id = $2`, c.change.CompanyID, influencerID)
}

// offersMessage notes in the audit log that who makes the change is shown a message to the influencer's former e-mail.
func (c *ruleChange) offersMessage(ctx context.Context, influencerID string) error {
	row, err := c.storedDetails(ctx, influencerID)
	if details := row.details(); err == nil && details.FormerEmail(c.now) != "" {
		if c.change.Detail == nil {
			c.change.Detail = map[string]any{}
		}
		c.change.Detail["message_offered"] = true
	}
	return err
}

// setDetails changes details of an influencer, and the identities that follow from them; with keep
// what is known of where money goes is not overwritten (*commerce.PayeeKnownError). It returns the
// names of the fields that changed, and adds the record of the change where money may follow from it.
func (c *ruleChange) setDetails(ctx context.Context, influencerID string, asked commerce.DetailsChange,
	keep bool) (changed []string, err error) {
	if len(asked.Fields()) == 0 {
		return nil, nil
	}
	var row storedDetails
	if c.later == nil {
		if row, err = c.storedDetails(ctx, influencerID); err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return nil, err
		}
	}
	before := row.details()
	after := before
	asked.Apply(&after)
	if keep {
		if err := before.KeepsPayee(&after); err != nil {
			return nil, err
		}
	}
	changed = before.Differs(&after)
	lacking, err := c.lackingKeys(ctx, influencerID, asked.Keys, changed)
	if err != nil || len(changed) == 0 && len(lacking) == 0 {
		return nil, err
	}
	if len(changed) > 0 {
		firstKey := row.pixAt.IsZero() && before.Pix == commerce.Pix{}
		if firstKey && c.later == nil {
			if firstKey, err = c.neverPaid(ctx, influencerID); err != nil {
				return nil, err
			}
		}
		if err := c.writeDetails(ctx, influencerID, after, changed, firstKey); err != nil {
			return nil, err
		}
	}
	identities := slices.DeleteFunc(slices.Clone(changed), func(name string) bool {
		return name != commerce.DetailEmail && name != commerce.DetailPhone && name != commerce.DetailDocument
	})
	keys := slices.DeleteFunc(slices.Clone(asked.Keys), func(k commerce.IdentityKey) bool { return !slices.Contains(identities, k.Field) })
	if keys = append(keys, lacking...); len(identities) > 0 || len(keys) > 0 {
		if err := c.setIdentities(ctx, influencerID, identities, keys); err != nil {
			return nil, err
		}
	}
	if len(identities) == 0 && len(lacking) == 0 && !slices.ContainsFunc(changed, isPayee) {
		return changed, nil
	}
	return changed, c.outbox.rule(c.change, influencerID,
		wire.Rule{Type: wire.RuleInfluencer, Change: wire.RuleUpdated, InfluencerID: influencerID})
}

// neverPaid reports whether no payment to an influencer was ever recorded, undone ones too.
func (c *ruleChange) neverPaid(ctx context.Context, influencerID string) (never bool, err error) {
	err = c.tx.QueryRow(ctx, `
		select not exists (
			select 1 from statement s join statement_payment p on p.company_id = s.company_id and p.statement_id = s.statement_id
			where s.company_id = $1 and s.influencer_id = $2)`, c.change.CompanyID, influencerID).Scan(&never)
	return never, err
}

func isPayee(field string) bool { return slices.Contains(commerce.PayeeFields, field) }

// writeDetails stores details of which some fields changed. firstKey: a Pix key among them is the first of an influencer who was
// never paid, which takes nobody's place: it needs no second person.
func (c *ruleChange) writeDetails(ctx context.Context, influencerID string, d commerce.Details, changed []string, firstKey bool) error {
	return c.exec(ctx, `
		insert into influencer_personal as p (company_id, influencer_id, email, phone, document, pix_type, pix_key, handles, notes,
			email_at, email_by, document_at, document_by, pix_at, pix_by, pix_confirmed_at, pix_confirmed_by)
		values (@company_id, @influencer_id, @email, @phone, @document, @pix_type, @pix_key, @handles, @notes,
			case when @email_changed then @now::timestamptz end, case when @email_changed then @actor::text end,
			case when @document_changed then @now::timestamptz end, case when @document_changed then @actor::text end,
			case when @pix_changed then @now::timestamptz end, case when @pix_changed then @actor::text end,
			case when @pix_first then @now::timestamptz end, case when @pix_first then @actor::text end)
		on conflict (company_id, influencer_id) do update set email = excluded.email, phone = excluded.phone, document = excluded.document,
			pix_type = excluded.pix_type, pix_key = excluded.pix_key, handles = excluded.handles, notes = excluded.notes,
			email_before = case when not @email_changed or p.email = '' or p.email_before <> '' and p.email_at > @rested then p.email_before
				else p.email end,
			email_at = coalesce(excluded.email_at, p.email_at), email_by = coalesce(excluded.email_by, p.email_by),
			document_at = coalesce(excluded.document_at, p.document_at), document_by = coalesce(excluded.document_by, p.document_by),
			pix_at = coalesce(excluded.pix_at, p.pix_at), pix_by = coalesce(excluded.pix_by, p.pix_by),
			pix_confirmed_at = case when @pix_changed then excluded.pix_confirmed_at else p.pix_confirmed_at end,
			pix_confirmed_by = case when @pix_changed then excluded.pix_confirmed_by else p.pix_confirmed_by end`,
		pgx.NamedArgs{"company_id": c.change.CompanyID, "influencer_id": influencerID, "now": c.now, "actor": c.change.Actor,
			"rested": c.now.Add(-commerce.LogInRest),
			"email":  d.Email, "phone": d.Phone, "document": d.Document, "pix_type": d.Pix.Type, "pix_key": d.Pix.Key,
			"handles": notNil(d.Handles), "notes": d.Notes,
			"email_changed":    slices.Contains(changed, commerce.DetailEmail),
			"document_changed": slices.Contains(changed, commerce.DetailDocument),
			"pix_changed":      slices.Contains(changed, commerce.DetailPix),
			"pix_first":        slices.Contains(changed, commerce.DetailPix) && firstKey})
}

// Payees returns what is known of influencers, archived ones too, by id.
func (s *Store) Payees(ctx context.Context, companyID string, influencerIDs []string) (map[string]commerce.Details, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(detailsColumns), `
		select `+postgres.List(detailsColumns)+` from influencer_personal
		where company_id = $1 and influencer_id = any($2::uuid[])`, companyID, notNil(influencerIDs))
	if err != nil {
		return nil, fmt.Errorf("postgres: payees of %s: %w", companyID, postgres.Translate(err))
	}
	payees := make(map[string]commerce.Details, len(list))
	for i := range list {
		payees[list[i].influencerID] = list[i].details()
	}
	return payees, nil
}

// details reads what is known of the page's influencers.
func (p *influencerPage) details(ctx context.Context, tx pgx.Tx) error {
	list, err := postgres.Collect(ctx, tx, postgres.Scan(detailsColumns), `
		select `+postgres.List(detailsColumns)+` from influencer_personal
		where company_id = $1 and influencer_id = any($2::uuid[])`, p.companyID, p.ids)
	for i := range list {
		p.byID[list[i].influencerID].Details = list[i].details()
	}
	return err
}
