package postgres

import (
	"context"
	"fmt"
	"time"
)

// The orders of a key are found by the primary key of order_key, which begins with its column
// digest: facts.KeyDigest, which has the company in it, and in its last two bits the number of
// the hub (facts.Hub.Code). Two keys may have one digest, so a statement names the company,
// the kind and the key too.

// KeyDigest returns the SQL that computes facts.KeyDigest of a key of the company @company_id.
func KeyDigest(kind, key string) string {
	return fmt.Sprintf(`(('x' || encode(substring(sha256(convert_to(@company_id::text, 'UTF8') || '\x00'::bytea || set_byte('\x00'::bytea, `+
		`0, %s::int) || %s) for 8), 'hex'))::bit(64)::bigint & -4)`, kind, key)
}

// OfKey returns the SQL condition that rows of order_key have a key, whatever its hub is.
// digest is facts.KeyDigest.
func OfKey(row, digest, kind, key string) string {
	return fmt.Sprintf(`%[1]s.company_id = @company_id and %[1]s.digest = any(array[%[2]s, %[2]s | 1, %[2]s | 2, %[2]s | 3]) and `+
		`%[1]s.kind = %[3]s and %[1]s.key = %[4]s`, row, digest, kind, key)
}

// OfKeyAndHub is OfKey with one value of hub.
func OfKeyAndHub(row, digest, kind, key, hub string) string {
	return fmt.Sprintf(`%[1]s.company_id = @company_id and %[1]s.digest = %[2]s | %[5]s and %[1]s.kind = %[3]s and %[1]s.key = %[4]s`, row,
		digest, kind, key, hub)
}

// CountByOneSecret returns the SQL that counts the distinct keys of one kind among rows with a column
// key. While the hashing secret is being rotated, rows have the keys of both secrets, which their last two
// bytes tell apart (identity.Mark; forms 2 and 3 of a packed id): the secret of which there are most counts.
func CountByOneSecret(rows string) string {
	return `(select coalesce(max(n), 0) from (
		select count(distinct key) as n from (` + rows + `) d
		group by case when get_byte(key, 0) in (2, 3) then substring(key from length(key) - 1) end) m)`
}

// ErasedUntil returns, of the digests of keys (facts.ErasedDigest), those of erased persons,
// and until when the person's events were erased, by digest.
func ErasedUntil(ctx context.Context, q Querier, companyID string, digests [][]byte) (map[string]time.Time, error) {
	until := map[string]time.Time{}
	var digest []byte
	var at time.Time
	err := Each(ctx, q, []any{&digest, &at}, func() error { until[string(digest)] = at; return nil },
		`select digest, erased_at from erased_key where company_id = $1 and digest = any($2::bytea[])`, companyID, digests)
	return until, err
}
