package merchant

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// CreateAPIKey makes a key for a company and gives its text, which is shown
// once and never stored. An unknown company is commerce.ErrNotFound.
func (s *Store) CreateAPIKey(ctx context.Context, k commerce.NewAPIKey) (key commerce.APIKey, text string, err error) {
	fail := func(err error) (commerce.APIKey, string, error) {
		return commerce.APIKey{}, "", fmt.Errorf("postgres: create API key: %w", err)
	}
	if k.Type == "" {
		k.Type = commerce.OwnPlatform
	}
	if len(k.Scopes) == 0 {
		return fail(errors.New("a key needs at least one scope"))
	}
	company, err := s.Company(ctx, k.CompanyID)
	if err != nil {
		return fail(err)
	}
	if text, err = commerce.NewKeyText(k.Random, company.Environment); err != nil {
		return fail(err)
	}
	id, err := commerce.NewID(k.Random, "key_")
	if err != nil {
		return fail(err)
	}
	hash := commerce.KeyHash(text)
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			insert into api_key (key_id, secret_sha256, company_id, name, type, hint, scopes, expires_at)
			values ($1, $2, $3, $4, $5, $6, $7, $8)`,
			id, hash[:], k.CompanyID, k.Name, k.Type, text[len(text)-4:], scopeNames(k.Scopes), orNull(k.ExpiresAt))
		if err != nil {
			return err
		}
		if key, err = scanAPIKey(tx.QueryRow(ctx, selectAPIKey+` where k.key_id = $1`, id)); err != nil {
			return err
		}
		return audit(ctx, tx, Change{CompanyID: k.CompanyID, Actor: k.Actor, Action: "api_key.create", Subject: id,
			Detail: map[string]any{"name": k.Name, "type": k.Type, "scopes": k.Scopes}})
	})
	if err != nil {
		return fail(err)
	}
	return key, text, nil
}

// RotateAPIKey makes a key like another, its lifetime included, and lets the
// other work until an instant, so that its holder can change over: both or
// neither. It gives the new key's text, which is shown once. A key that is
// unknown or does not work any more is commerce.ErrNotFound.
func (s *Store) RotateAPIKey(ctx context.Context, r commerce.KeyRotation) (key commerce.APIKey, text string, err error) {
	fail := func(err error) (commerce.APIKey, string, error) {
		return commerce.APIKey{}, "", fmt.Errorf("postgres: rotate API key %s: %w", r.KeyID, err)
	}
	id, err := commerce.NewID(r.Random, "key_")
	if err != nil {
		return fail(err)
	}
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		old, err := scanAPIKey(tx.QueryRow(ctx, selectAPIKey+` where k.company_id = $1 and k.key_id = $2 for update of k`, r.CompanyID, r.KeyID))
		if err != nil {
			return err
		}
		if !old.ActiveAt(r.At) {
			return pgx.ErrNoRows
		}
		if text, err = commerce.NewKeyText(r.Random, old.Environment); err != nil {
			return err
		}
		hash := commerce.KeyHash(text)
		_, err = tx.Exec(ctx, `
			insert into api_key (key_id, secret_sha256, company_id, name, type, hint, scopes, expires_at)
			select $1, $2, company_id, name, type, $3, scopes, $4::timestamptz + (expires_at - created_at) from api_key where key_id = $5`,
			id, hash[:], text[len(text)-4:], r.At, r.KeyID)
		if err != nil {
			return err
		}
		var until time.Time // as stored: an end that was set before may be sooner
		if err := tx.QueryRow(ctx, `update api_key set revoked_at = least(revoked_at, $2) where key_id = $1
			returning least(revoked_at, expires_at)`, r.KeyID, r.At.Add(r.Grace)).Scan(&until); err != nil {
			return err
		}
		if key, err = scanAPIKey(tx.QueryRow(ctx, selectAPIKey+` where k.key_id = $1`, id)); err != nil {
			return err
		}
		return audit(ctx, tx, Change{CompanyID: r.CompanyID, Actor: r.Actor, Action: "api_key.rotate", Subject: r.KeyID,
			Detail: map[string]any{"new_key": id, "until": until.UTC()}})
	})
	if err != nil {
		return fail(err)
	}
	return key, text, nil
}

// ListAPIKeys lists a company's keys, oldest first, revoked ones included; at most limit.
func (s *Store) ListAPIKeys(ctx context.Context, companyID string, limit int) ([]commerce.APIKey, error) {
	rows, err := s.db.Pool().Query(ctx, selectAPIKey+` where k.company_id = $1 order by k.created_at, k.key_id limit $2`, companyID, limit)
	if err != nil {
		return nil, fmt.Errorf("postgres: API keys of %s: %w", companyID, postgres.Translate(err))
	}
	keys, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (commerce.APIKey, error) { return scanAPIKey(row) })
	if err != nil {
		return nil, fmt.Errorf("postgres: API keys of %s: %w", companyID, postgres.Translate(err))
	}
	return keys, nil
}

// RevokeAPIKey ends a key at an instant: now, or later where a rotation leaves
// its holder time to change. It gives the instant at which the key ends: one
// that ended already, or ends sooner, keeps that end, and nothing is written.
func (s *Store) RevokeAPIKey(ctx context.Context, companyID, keyID string, at time.Time, actor string) (ends time.Time, err error) {
	at = at.Truncate(time.Microsecond) // Postgres's precision: what is told is what is stored
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		var sooner *time.Time
		// least() passes over nulls.
		err := tx.QueryRow(ctx, `select least(revoked_at, expires_at) from api_key where company_id = $1 and key_id = $2 for update`,
			companyID, keyID).Scan(&sooner)
		if err != nil {
			return err
		}
		if ends = timeOrZero(sooner); sooner != nil && !at.Before(ends) {
			return nil
		}
		ends = at
		if _, err := tx.Exec(ctx, `update api_key set revoked_at = $3 where company_id = $1 and key_id = $2`, companyID, keyID, at); err != nil {
			return err
		}
		return audit(ctx, tx, Change{CompanyID: companyID, Actor: actor, Action: "api_key.revoke", Subject: keyID,
			Detail: map[string]any{"at": at.UTC()}})
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("postgres: revoke API key %s: %w", keyID, err)
	}
	return ends, nil
}

// APIKeyByHash looks a key up by the SHA-256 of its text (commerce.KeyHash),
// revoked and expired ones included: the caller judges. Unknown is
// commerce.ErrNotFound.
func (s *Store) APIKeyByHash(ctx context.Context, hash [32]byte) (commerce.APIKey, error) {
	key, err := scanAPIKey(s.db.Pool().QueryRow(ctx, selectAPIKey+` where k.secret_sha256 = $1`, hash[:]))
	if err != nil {
		return key, fmt.Errorf("postgres: API key: %w", postgres.Translate(err))
	}
	return key, nil
}

// APIKeysByHash looks several keys up at once; unknown ones are left out.
func (s *Store) APIKeysByHash(ctx context.Context, hashes [][32]byte) (map[[32]byte]commerce.APIKey, error) {
	raw := make([][]byte, len(hashes))
	for i := range hashes {
		raw[i] = hashes[i][:]
	}
	rows, err := s.db.Pool().Query(ctx, selectHashAndKey+` where k.secret_sha256 = any($1)`, raw)
	if err != nil {
		return nil, fmt.Errorf("postgres: API keys: %w", postgres.Translate(err))
	}
	keys := make(map[[32]byte]commerce.APIKey, len(hashes))
	var hash []byte
	for rows.Next() {
		key, err := scanAPIKey(rows, &hash)
		if err != nil {
			rows.Close()
			return nil, fmt.Errorf("postgres: API keys: %w", postgres.Translate(err))
		}
		keys[[32]byte(hash)] = key
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("postgres: API keys: %w", postgres.Translate(err))
	}
	return keys, nil
}

// TouchAPIKeys stores when keys were last used; an older time than the stored
// one changes nothing.
func (s *Store) TouchAPIKeys(ctx context.Context, lastUsed map[string]time.Time) error {
	ids, times := make([]string, 0, len(lastUsed)), make([]time.Time, 0, len(lastUsed))
	for id, at := range lastUsed {
		ids, times = append(ids, id), append(times, at)
	}
	_, err := s.db.Pool().Exec(ctx, `
		update api_key k set last_used_at = greatest(k.last_used_at, u.at)
		from unnest($1::text[], $2::timestamptz[]) as u (key_id, at) where k.key_id = u.key_id`, ids, times)
	if err != nil {
		return fmt.Errorf("postgres: last use of API keys: %w", postgres.Translate(err))
	}
	return nil
}

const (
	selectAPIKey     = `select ` + apiKeyColumns
	selectHashAndKey = `select k.secret_sha256, ` + apiKeyColumns
)

const apiKeyColumns = `
	k.key_id, k.company_id, c.environment, c.country, k.name, k.type, k.hint, k.scopes, k.created_at, k.expires_at, k.revoked_at, k.last_used_at
	from api_key k join company c using (company_id)`

// scanAPIKey scans apiKeyColumns, and before them whatever stands before.
func scanAPIKey(row pgx.Row, before ...any) (k commerce.APIKey, err error) {
	var scopes []string
	var expires, revoked, used *time.Time
	err = row.Scan(append(before, &k.KeyID, &k.CompanyID, &k.Environment, &k.Country, &k.Name, &k.Type, &k.Hint, &scopes, &k.CreatedAt, &expires, &revoked, &used)...)
	if err != nil {
		return k, err
	}
	for _, s := range scopes {
		k.Scopes = append(k.Scopes, commerce.Scope(s))
	}
	k.ExpiresAt, k.RevokedAt, k.LastUsedAt = timeOrZero(expires), timeOrZero(revoked), timeOrZero(used)
	return k, nil
}

func scopeNames(scopes []commerce.Scope) []string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return names
}

// orNull is a time as a column, null where it is zero.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func timeOrZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
