package merchant

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

type directoryKey struct {
	hash string
	gone bool
	key  wire.APIKey
}

// The revision is the company's: each change of a key raises it, and one
// statement reads both.
func directoryKeyColumns(k *directoryKey) postgres.Columns {
	return postgres.Columns{
		postgres.Into("encode(k.secret_sha256, 'hex')", &k.hash),
		postgres.Into("coalesce(least(k.expires_at, k.revoked_at) < now() - interval '1 day', false)", &k.gone),
		postgres.Into("c.rules_rev", &k.key.Rev),
		postgres.Into("k.company_id", &k.key.CompanyID),
		postgres.Into("k.key_id", &k.key.KeyID),
		postgres.Into("k.scopes", &k.key.Scopes),
		postgres.Into("k.expires_at", &k.key.ExpiresAt),
		postgres.Into("k.revoked_at", &k.key.RevokedAt),
	}
}

func (k *directoryKey) value() wire.APIKey {
	k.key.V = 1
	for _, at := range []*time.Time{k.key.ExpiresAt, k.key.RevokedAt} {
		if at != nil {
			*at = at.UTC()
		}
	}
	return k.key
}

// directoryKeys adds every API key, those that ended over a day ago as
// tombstones: till then a key that ended is known and says so.
func (r *Relay) directoryKeys(ctx context.Context, pages *directoryPages) error {
	return eachRow("", func(after string) ([]directoryKey, error) {
		return postgres.Collect(ctx, r.conn, postgres.Scan(directoryKeyColumns), `
			select `+postgres.List(directoryKeyColumns)+keysAndCompanies+`
			where k.key_id > $1 order by k.key_id limit $2`, after, directoryPage)
	}, func(k *directoryKey) string { return k.key.KeyID }, func(k *directoryKey) error {
		if k.gone {
			return pages.add(wire.APIKeyPrefix+k.hash, nil)
		}
		return pages.add(wire.APIKeyPrefix+k.hash, k.value())
	})
}

// putDirectoryKey adds the record from which edges learn of a key's change.
func putDirectoryKey(ctx context.Context, tx pgx.Tx, keyID string) error {
	k, err := postgres.One(ctx, tx, postgres.Scan(directoryKeyColumns),
		`select `+postgres.List(directoryKeyColumns)+keysAndCompanies+` where k.key_id = $1`, keyID)
	if err != nil {
		return err
	}
	return put(ctx, tx, wire.TopicDirectory, wire.APIKeyPrefix+k.hash, k.value())
}
