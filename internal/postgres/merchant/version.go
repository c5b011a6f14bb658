package merchant

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// isChange narrows the audit log (a) to what changed something that a form shows: not what a platform asked a connection for, or what
// an endpoint was sent.
const isChange = `a.action not in ('statement.link', 'statement.revoke_links', 'order.test', 'connection.coupon', 'connection.redact',
	'connection.redact_shop', 'connection.data_request', 'webhook.resend', 'webhook.replay', 'webhook.test', 'network.resend',
	'network.replay', 'network.test')`

// Versions returns the version of each subject as it is now.
func (s *Store) Versions(ctx context.Context, companyID string, subjects []string) (map[string]commerce.Version, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), pgx.RowToStructByPos[commerce.Version], `
		select s.subject, count(a.audit_id) from unnest($2::text[]) s (subject)
		left join audit_log a on a.company_id = $1 and (a.subject = s.subject or a.part_of = s.subject) and `+isChange+`
		group by s.subject`, companyID, notNil(subjects))
	if err != nil {
		return nil, fmt.Errorf("postgres: versions of %s: %w", companyID, postgres.Translate(err))
	}
	versions := make(map[string]commerce.Version, len(list))
	for _, v := range list {
		versions[v.Subject] = v
	}
	return versions, nil
}

// checkVersion refuses a change that is made from an older version than there is:
// *commerce.StaleError. The caller holds a lock that every change of the subject takes first.
func checkVersion(ctx context.Context, tx pgx.Tx, companyID string) error {
	v, ok := commerce.VersionOf(ctx)
	if !ok {
		return nil
	}
	var changes int64
	if err := tx.QueryRow(ctx, `
		select count(*) from audit_log a where a.company_id = $1 and (a.subject = $2 or a.part_of = $2) and `+isChange,
		companyID, v.Subject).Scan(&changes); err != nil {
		return err
	}
	if changes != v.Changes {
		return &commerce.StaleError{CompanyID: companyID, Subject: v.Subject}
	}
	return nil
}

// LastChange returns who changed a subject, or a part of it, last; commerce.ErrNotFound
// where nobody did.
func (s *Store) LastChange(ctx context.Context, companyID, subject string) (account.AuditEntry, error) {
	e, err := postgres.One(ctx, s.db.Pool(), postgres.Scan(auditColumns), `
		select `+postgres.List(auditColumns)+` from audit_log a
		where a.company_id = $1 and (a.subject = $2 or a.part_of = $2) and `+isChange+`
		order by a.at desc, a.audit_id desc limit 1`, companyID, subject)
	if err != nil {
		return e, fmt.Errorf("postgres: last change of %q: %w", subject, postgres.Translate(err))
	}
	names, err := s.actorNames(ctx, companyID, []string{e.Actor})
	e.Name = names[e.Actor]
	return e, postgres.Wrapf(postgres.Translate(err), "postgres: last change of %q", subject)
}
