package merchant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// CreateAPIKey makes a key for a company and returns its text, which is shown
// once and never stored. An unknown company is commerce.ErrNotFound.
func (s *Store) CreateAPIKey(ctx context.Context, k account.NewAPIKey) (key account.APIKey, text string, err error) {
	fail := func(err error) (account.APIKey, string, error) {
		return account.APIKey{}, "", fmt.Errorf("postgres: create API key: %w", err)
	}
	if k.Type == "" {
		k.Type = account.OwnPlatform
	}
	if len(k.Scopes) == 0 {
		return fail(errors.New("a key needs at least one scope"))
	}
	company, err := s.Company(ctx, k.CompanyID)
	if err != nil {
		return fail(err)
	}
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		made, err := newAPIKey(ctx, tx, k, company.Environment)
		if err != nil {
			return err
		}
		text = made.text
		key, err = apiKey(ctx, tx, made.id)
		return err
	})
	if err != nil {
		return fail(err)
	}
	return key, text, nil
}

type madeKey struct{ id, text string }

// newAPIKey makes a key of a company, whose type and scopes are set, in a transaction.
func newAPIKey(ctx context.Context, tx pgx.Tx, k account.NewAPIKey, environment string) (made madeKey, err error) {
	if made.text, err = account.NewKeyText(k.Random, environment); err != nil {
		return made, err
	}
	if made.id, err = commerce.NewID(k.Random, "key_"); err != nil {
		return made, err
	}
	hash := account.KeyHash(made.text)
	// First of all, so that changes of one company's keys are in one order.
	_, now, err := bumpRules(ctx, tx, k.CompanyID)
	if err != nil {
		return made, err
	}
	if _, err := tx.Exec(ctx, `
		insert into api_key (key_id, secret_sha256, company_id, name, type, hint, scopes, expires_at)
		values (@key_id, @secret_sha256, @company_id, @name, @type, @hint, @scopes, @expires_at)`,
		pgx.NamedArgs{"key_id": made.id, "secret_sha256": hash[:], "company_id": k.CompanyID, "name": k.Name, "type": k.Type,
			"hint": hint(made.text), "scopes": k.Scopes, "expires_at": postgres.NullIfZero(k.ExpiresAt)}); err != nil {
		return made, err
	}
	if err := boundKeys(ctx, tx, k.CompanyID, now); err != nil {
		return made, err
	}
	if err := putDirectoryKey(ctx, tx, made.id); err != nil {
		return made, err
	}
	return made, audit(ctx, tx, Change{CompanyID: k.CompanyID, Actor: k.Actor, Action: "api_key.create", Subject: made.id,
		Detail: map[string]any{"name": k.Name, "type": k.Type, "scopes": k.Scopes}})
}

// boundKeys is account.ErrTooManyKeys where more keys of a company work than may. The
// caller holds the company's row, so that there is one at a time.
func boundKeys(ctx context.Context, tx pgx.Tx, companyID string, at time.Time) error {
	var working int
	if err := tx.QueryRow(ctx, `
		select count(*) from api_key
		where company_id = $1 and coalesce(least(revoked_at, expires_at), 'infinity') > $2`, companyID, at).Scan(&working); err != nil {
		return err
	}
	if working > account.MaxAPIKeys {
		return account.ErrTooManyKeys
	}
	return nil
}

// RotateAPIKey replaces a key by a new one with the same name, type, scopes and
// lifetime, in one transaction. The old key works for r.Grace longer, so that
// its holder can change over. It returns the new key's text, which is shown
// once. A key that is unknown or does not work any more is commerce.ErrNotFound; while the
// old ones of many rotations still work, it may be account.ErrTooManyKeys.
func (s *Store) RotateAPIKey(ctx context.Context, r account.KeyRotation) (key account.APIKey, text string, err error) {
	fail := func(err error) (account.APIKey, string, error) {
		return account.APIKey{}, "", fmt.Errorf("postgres: rotate API key %s: %w", r.KeyID, err)
	}
	id, err := commerce.NewID(r.Random, "key_")
	if err != nil {
		return fail(err)
	}
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		old, err := postgres.One(ctx, tx, postgres.Scan(apiKeyColumns),
			selectAPIKeys+` where k.company_id = $1 and k.key_id = $2 for update of k`, r.CompanyID, r.KeyID)
		if err != nil {
			return err
		}
		if !old.ActiveAt(r.At) {
			return pgx.ErrNoRows
		}
		if _, _, err := bumpRules(ctx, tx, r.CompanyID); err != nil { // after the key's row, as in RevokeAPIKey
			return err
		}
		if text, err = account.NewKeyText(r.Random, old.Environment); err != nil {
			return err
		}
		hash := account.KeyHash(text)
		_, err = tx.Exec(ctx, `
			insert into api_key (key_id, secret_sha256, company_id, name, type, hint, scopes, expires_at)
			select @new_id, @secret_sha256, company_id, name, type, @hint, scopes, @at::timestamptz + (expires_at - created_at)
			from api_key where key_id = @key_id`,
			pgx.NamedArgs{"new_id": id, "secret_sha256": hash[:], "hint": hint(text), "at": r.At, "key_id": r.KeyID})
		if err != nil {
			return err
		}
		var until time.Time // as stored: it may have had an earlier end
		if err := tx.QueryRow(ctx, `update api_key set revoked_at = least(revoked_at, $2) where key_id = $1
			returning least(revoked_at, expires_at)`, r.KeyID, r.At.Add(r.Grace)).Scan(&until); err != nil {
			return err
		}
		if err := boundKeys(ctx, tx, r.CompanyID, r.At); err != nil {
			return err
		}
		if key, err = apiKey(ctx, tx, id); err != nil {
			return err
		}
		for _, changed := range []string{r.KeyID, id} {
			if err := putDirectoryKey(ctx, tx, changed); err != nil {
				return err
			}
		}
		return audit(ctx, tx, Change{CompanyID: r.CompanyID, Actor: r.Actor, Action: "api_key.rotate", Subject: r.KeyID,
			Detail: map[string]any{"new_key": id, "until": until.UTC()}})
	})
	if err != nil {
		return fail(err)
	}
	return key, text, nil
}

// ListAPIKeys returns a company's keys, oldest first; at most limit. Where there are more,
// those that do not work any more are left out first, then the older ones.
func (s *Store) ListAPIKeys(ctx context.Context, companyID string, limit int) ([]account.APIKey, error) {
	keys, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(apiKeyColumns),
		selectAPIKeys+` where k.company_id = $1
		order by coalesce(least(k.revoked_at, k.expires_at), 'infinity') > now() desc, k.created_at desc, k.key_id desc limit $2`, companyID,
		limit)
	if err != nil {
		return nil, fmt.Errorf("postgres: API keys of %s: %w", companyID, postgres.Translate(err))
	}
	slices.SortFunc(keys, func(a, b account.APIKey) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.KeyID, b.KeyID))
	})
	return keys, nil
}

// RevokeAPIKey ends a key at an instant, which may lie ahead, and returns when
// the key ends. A key that has an earlier end keeps it, and nothing is written.
func (s *Store) RevokeAPIKey(ctx context.Context, companyID, keyID string, at time.Time, actor string) (ends time.Time, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		ends, err = revokeKey(ctx, tx, companyID, keyID, at, actor)
		return err
	})
	return ends, postgres.Wrapf(err, "postgres: revoke API key %s", keyID)
}

// revokeKey is RevokeAPIKey in a transaction.
func revokeKey(ctx context.Context, tx pgx.Tx, companyID, keyID string, at time.Time, actor string) (ends time.Time, err error) {
	at = at.Truncate(time.Microsecond) // PostgreSQL's precision: the returned time is the stored one
	// least() ignores nulls.
	if err := tx.QueryRow(ctx, `select least(revoked_at, expires_at) from api_key where company_id = $1 and key_id = $2 for update`,
		companyID, keyID).Scan(postgres.ZeroIfNull(&ends)); err != nil {
		return ends, err
	}
	if !ends.IsZero() && !at.Before(ends) {
		return ends, nil
	}
	if _, _, _, err := bumpAny(ctx, tx, companyID); err != nil {
		return ends, err
	}
	if _, err := tx.Exec(ctx, `update api_key set revoked_at = $3 where company_id = $1 and key_id = $2`, companyID, keyID, at); err != nil {
		return ends, err
	}
	if err := putDirectoryKey(ctx, tx, keyID); err != nil {
		return ends, err
	}
	return at, audit(ctx, tx, Change{CompanyID: companyID, Actor: actor, Action: "api_key.revoke", Subject: keyID,
		Detail: map[string]any{"at": at.UTC()}})
}

// APIKeyByHash returns the key whose text has a SHA-256 (account.KeyHash). It
// may be revoked or expired: see account.APIKey.ActiveAt. An unknown hash is
// commerce.ErrNotFound.
func (s *Store) APIKeyByHash(ctx context.Context, hash [32]byte) (account.APIKey, error) {
	key, err := postgres.One(ctx, s.db.Pool(), postgres.Scan(apiKeyColumns), selectAPIKeys+` where k.secret_sha256 = $1`, hash[:])
	return key, postgres.Wrapf(postgres.Translate(err), "postgres: API key")
}

// APIKeysByHash is APIKeyByHash for several hashes; unknown ones are left out.
func (s *Store) APIKeysByHash(ctx context.Context, hashes [][32]byte) (map[[32]byte]account.APIKey, error) {
	raw := make([][]byte, len(hashes))
	for i := range hashes {
		raw[i] = hashes[i][:]
	}
	list, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(hashedKeyColumns),
		`select `+postgres.List(hashedKeyColumns)+keysAndCompanies+` where k.secret_sha256 = any($1)`, raw)
	if err != nil {
		return nil, fmt.Errorf("postgres: API keys: %w", postgres.Translate(err))
	}
	keys := make(map[[32]byte]account.APIKey, len(list))
	for _, k := range list {
		keys[[32]byte(k.hash)] = k.APIKey
	}
	return keys, nil
}

// TouchAPIKeys stores when keys were last used; an older time than the stored
// one changes nothing.
func (s *Store) TouchAPIKeys(ctx context.Context, lastUsed map[string]time.Time) error {
	var uses []keyUse
	for id, at := range lastUsed {
		uses = append(uses, keyUse{id, at})
	}
	_, err := s.db.Pool().Exec(ctx, `
		update api_key k set last_used_at = greatest(k.last_used_at, u.at)
		from `+keyUses.Unnest("u")+` where k.key_id = u.key_id`, keyUses.Args(uses, nil))
	return postgres.Wrapf(postgres.Translate(err), "postgres: last use of API keys")
}

type keyUse struct {
	keyID string
	at    time.Time
}

var keyUses = postgres.Rows[keyUse]{
	postgres.Col("key_id", "text", func(u *keyUse) string { return u.keyID }),
	postgres.Col("at", "timestamptz", func(u *keyUse) time.Time { return u.at }),
}

const keysAndCompanies = ` from api_key k join company c using (company_id)`

var selectAPIKeys = `select ` + postgres.List(apiKeyColumns) + keysAndCompanies

func apiKeyColumns(k *account.APIKey) postgres.Columns {
	return postgres.Columns{
		postgres.Into("k.key_id", &k.KeyID),
		postgres.Into("k.company_id", &k.CompanyID),
		postgres.Into("c.environment", &k.Environment),
		postgres.Into("c.country", &k.Country),
		postgres.Into("k.name", &k.Name),
		postgres.Into("k.type", &k.Type),
		postgres.Into("k.hint", &k.Hint),
		postgres.Into("k.scopes", &k.Scopes),
		postgres.Into("k.created_at", &k.CreatedAt),
		postgres.Into("k.expires_at", postgres.ZeroIfNull(&k.ExpiresAt)),
		postgres.Into("k.revoked_at", postgres.ZeroIfNull(&k.RevokedAt)),
		postgres.Into("k.last_used_at", postgres.ZeroIfNull(&k.LastUsedAt)),
		postgres.Into("c.archived_at", postgres.ZeroIfNull(&k.ArchivedAt)),
	}
}

type hashedKey struct {
	account.APIKey
	hash []byte
}

func hashedKeyColumns(k *hashedKey) postgres.Columns {
	return append(apiKeyColumns(&k.APIKey), postgres.Into("k.secret_sha256", &k.hash))
}

// apiKey reads one key by its id.
func apiKey(ctx context.Context, tx pgx.Tx, keyID string) (account.APIKey, error) {
	return postgres.One(ctx, tx, postgres.Scan(apiKeyColumns), selectAPIKeys+` where k.key_id = $1`, keyID)
}

// hint returns the last four characters of a key's text.
func hint(text string) string { return text[len(text)-4:] }
