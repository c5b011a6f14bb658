package merchant

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Change is one change of a store's data, as it is written to the audit log and
// to records of commerce.v1. Detail holds no personal data and no secret.
type Change struct {
	CompanyID string
	Rev       int64 // the revision of the rules that it made; 0 where it changes no rule
	At        time.Time
	Actor     string // "key/<keyId>", "user/<userId>" or "cli"
	Action    string // e.g. influencer.create
	Subject   string
	PartOf    string // what the subject is a part of: the influencer of a coupon; may be empty
	Detail    map[string]any
}

// audit writes the change's row of the audit log.
func audit(ctx context.Context, tx pgx.Tx, c Change) error {
	if c.Rev == 0 { // else bumpAny has checked it
		if err := checkVersion(ctx, tx, c.CompanyID); err != nil {
			return err
		}
	}
	return auditRow(ctx, atOnce{tx}, c)
}

// auditRow is audit of what was checked.
func auditRow(ctx context.Context, e executor, c Change) error {
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("audit id: %w", err)
	}
	detail, err := json.Marshal(c.Detail)
	if err != nil {
		return fmt.Errorf("audit detail: %w", err)
	}
	if c.Detail == nil {
		detail = []byte("{}")
	}
	return e.exec(ctx, `
		insert into audit_log (company_id, audit_id, actor, action, subject, part_of, detail)
		values (@company_id, @audit_id, @actor, @action, @subject, @part_of, @detail)`,
		pgx.NamedArgs{"company_id": c.CompanyID, "audit_id": id.String(), "actor": c.Actor, "action": c.Action,
			"subject": c.Subject, "part_of": c.PartOf, "detail": detail})
}
