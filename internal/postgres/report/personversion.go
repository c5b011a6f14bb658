package report

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

// Bounds of the versions of orders that are looked at. Nothing finds them by a key: most orders have one version, which the order's
// own keys find.
const (
	mostPersonVersions = 100_000
	versionsAtOnce     = 1_000
)

// personVersion is an earlier version of an order, by which the order was the person's. What the order is now is another's.
type personVersion struct {
	Order     *wire.Order `json:"order"`
	VersionAt time.Time   `json:"version_at"`
}

// storedVersion is a row of order_version.
type storedVersion struct {
	id                    string
	versionAt, acceptedAt time.Time
	hash                  []byte
	order                 wire.Order
}

var versionsOfOrders = `
	select order_id, version_at, accepted_at, content_hash, body from order_version
	where company_id = @company_id
	and (order_id, version_at, accepted_at, content_hash) > (@id, @version_at::timestamptz, @accepted_at::timestamptz, @hash::bytea)
	order by order_id, version_at, accepted_at, content_hash limit @most`

// writeVersions writes the versions that have one of the keys of orders that have none now; written are the ids of those that do.
func (r *Reader) writeVersions(ctx context.Context, companyID string, keys []facts.Key, written map[string]bool, f *personFile) error {
	f.begin("earlier_versions")
	defer f.text("]")
	last := storedVersion{versionAt: beginning, acceptedAt: beginning, hash: []byte{}}
	for looked := 0; ; {
		list, err := postgres.Collect(ctx, r.db.Pool(), func(row pgx.CollectableRow) (v storedVersion, err error) {
			var body []byte
			if err = row.Scan(&v.id, &v.versionAt, &v.acceptedAt, &v.hash, &body); err == nil {
				v.order, err = facts.UnpackOrder(body)
			}
			return v, err
		}, versionsOfOrders, pgx.NamedArgs{"company_id": companyID, "id": last.id, "version_at": last.versionAt,
			"accepted_at": last.acceptedAt, "hash": last.hash, "most": versionsAtOnce})
		if err != nil {
			return err
		}
		for i := range list {
			v := &list[i]
			if !written[v.id] && facts.InOrder(&v.order, keys) &&
				!f.add(&personVersion{Order: withoutProofs(v.order), VersionAt: v.versionAt.UTC()}) {
				return f.err
			}
		}
		if len(list) < versionsAtOnce {
			return f.err
		}
		last = list[len(list)-1]
		if looked += len(list); looked >= mostPersonVersions {
			f.whole = false
			return f.err
		}
	}
}
