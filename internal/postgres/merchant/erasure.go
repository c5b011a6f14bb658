package merchant

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

var erasureKeys = postgres.Rows[facts.Key]{
	postgres.Col("kind", "smallint", func(k *facts.Key) int16 { return k.Kind.Code() }),
	postgres.Col("key", "bytea", func(k *facts.Key) []byte { return k.Pack() }),
}

var insertErasureKeys = `
	insert into erasure_key (company_id, erasure_id, kind, key)
	select @company_id, @erasure_id::uuid, kind, key from ` + erasureKeys.Unnest("k") + `
	on conflict (company_id, erasure_id, kind, key) do nothing`

// saltBytes is the length of the salt of an erasure's surrogates: that of their hash.
const saltBytes = 32

// AskErasure asks to erase the person whom keyed hashes name. kinds are the names of what
// was given. Where the same is asked for already and not done, that erasure is returned. The
// processor does it. Neither the record on Kafka nor the audit log says who it is. Where as
// many erasures wait as may, it is commerce.ErrTooManyErasures.
func (s *Store) AskErasure(ctx context.Context, author commerce.Author, kinds []string, keys []facts.Key,
	random io.Reader) (e commerce.Erasure, err error) {
	keys = slices.Clone(keys)
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		// The lock on the company's row: two who ask at once come one after the other.
		if err := lockCompany(ctx, tx, author.CompanyID); err != nil {
			return err
		}
		e, err = waitingErasure(ctx, tx, author.CompanyID, kinds, keys)
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if err := roomForErasure(ctx, tx, author.CompanyID); err != nil {
			return err
		}
		if e.ErasureID, err = addErasure(ctx, tx, author, kinds, random); err != nil {
			return err
		}
		e.State = commerce.Erasing
		_, err = tx.Exec(ctx, insertErasureKeys,
			erasureKeys.Args(keys, pgx.NamedArgs{"company_id": author.CompanyID, "erasure_id": e.ErasureID}))
		return err
	})
	return e, postgres.Wrapf(err, "postgres: ask for an erasure")
}

// addErasure adds an erasure, of which the caller says whose it is. The company's row is locked.
func addErasure(ctx context.Context, tx pgx.Tx, author commerce.Author, kinds []string, random io.Reader) (erasureID string, err error) {
	rev, now, _, err := bumpAny(ctx, tx, author.CompanyID)
	if err != nil {
		return "", err
	}
	id, err := uuid.NewRandomFromReader(random)
	if err != nil {
		return "", err
	}
	salt := make([]byte, saltBytes)
	if _, err := io.ReadFull(random, salt); err != nil {
		return "", err
	}
	if _, err := tx.Exec(ctx, `
		insert into erasure (company_id, erasure_id, rev, asked_at, actor, kinds, salt, phase)
		values (@company_id, @erasure_id, @rev, @now, @actor, @kinds, @salt, @waits)`, pgx.NamedArgs{
		"waits":      int16(facts.EraseWaits),
		"company_id": author.CompanyID, "erasure_id": id.String(), "rev": rev, "now": now, "actor": author.Actor,
		"kinds": strings.Join(kinds, ","), "salt": salt,
	}); err != nil {
		return "", err
	}
	change := Change{CompanyID: author.CompanyID, Rev: rev, At: now, Actor: author.Actor, Action: "customer.erase", Subject: id.String(),
		Detail: map[string]any{"by": kinds}}
	if err := putCommerce(ctx, tx, change, wire.KindErasure, id.String(), wire.Erasure{ErasureID: id.String()}); err != nil {
		return "", err
	}
	return id.String(), audit(ctx, tx, change)
}

// LogExport writes into the audit log that a person's data is written to a file, and by what the person is named; not who
// it is.
func (s *Store) LogExport(ctx context.Context, author commerce.Author, kinds []string, random io.Reader) error {
	id, err := uuid.NewRandomFromReader(random)
	if err == nil {
		err = s.db.InTx(ctx, func(tx pgx.Tx) error {
			return audit(ctx, tx, Change{CompanyID: author.CompanyID, Actor: author.Actor, Action: "customer.export", Subject: id.String(),
				Detail: map[string]any{"by": kinds}})
		})
	}
	return postgres.Wrapf(err, "postgres: log the export of a person")
}

// roomForErasure refuses one more erasure where commerce.MaxErasing are not done. The
// company's row is locked.
func roomForErasure(ctx context.Context, tx pgx.Tx, companyID string) error {
	var waiting int
	if err := tx.QueryRow(ctx, `select count(*) from erasure where company_id = $1 and done_at is null`,
		companyID).Scan(&waiting); err != nil {
		return err
	}
	if waiting >= commerce.MaxErasing {
		return commerce.ErrTooManyErasures
	}
	return nil
}

// waitingErasure returns the erasure of the same keys that has not begun, and
// pgx.ErrNoRows where there is none.
func waitingErasure(ctx context.Context, tx pgx.Tx, companyID string, kinds []string, keys []facts.Key) (commerce.Erasure, error) {
	codes, packed := make([]int16, len(keys)), make([][]byte, len(keys))
	for i, k := range keys {
		codes[i], packed[i] = k.Kind.Code(), k.Pack()
	}
	return postgres.One(ctx, tx, func(row pgx.CollectableRow) (e commerce.Erasure, err error) {
		e.State = commerce.Erasing
		return e, row.Scan(&e.ErasureID)
	}, `
		select e.erasure_id::text from erasure e
		where e.company_id = @company_id and e.done_at is null and e.phase in (0, 7) and e.kinds = @kinds
			and not exists (
				select 1 from unnest(@codes::smallint[], @keys::bytea[]) as k (kind, key)
				where not exists (select 1 from erasure_key x where x.company_id = @company_id and x.erasure_id = e.erasure_id and x.kind = k.kind
				and x.key = k.key))
		order by e.rev limit 1`, pgx.NamedArgs{"company_id": companyID, "kinds": strings.Join(kinds, ","), "codes": codes, "keys": packed})
}

// erasureColumns are of erasures (e).
func erasureColumns(e *commerce.Erasure) postgres.Columns {
	return postgres.Columns{
		postgres.Into("e.erasure_id::text", &e.ErasureID),
		postgres.Into("e.asked_at", &e.AskedAt),
		postgres.Into("string_to_array(e.kinds, ',')", &e.Kinds),
		postgres.Into(`case when e.done_at is null then '`+commerce.Erasing+`' when exists (
			select 1 from erasure_export x where x.company_id = @company_id and x.erasure_id = e.erasure_id)
			then '`+commerce.ErasingFiles+`' else '`+commerce.Erased+`' end`, &e.State),
		postgres.Into("e.done_at", postgres.ZeroIfNull(&e.DoneAt)),
		postgres.Into(`array(
			select x.kind || ' ' || coalesce(p.place, '') from erasure_export x
			left join export p on p.company_id = @company_id and p.export_id = x.export_id and p.kind = x.kind
			where x.company_id = @company_id and x.erasure_id = e.erasure_id order by 1)`, &e.Exports),
		postgres.Into("e.orders", &e.Orders),
		postgres.Into("e.events", &e.Events),
	}
}

// scanErasure reads erasureColumns.
func scanErasure(row pgx.CollectableRow) (commerce.Erasure, error) {
	e, err := postgres.Scan(erasureColumns)(row)
	if e.State != commerce.Erased {
		e.DoneAt = time.Time{} // what the database had is removed since, and files may be left
	}
	return e, err
}

// Erasures lists a company's erasures, those that were asked for last first.
func (s *Store) Erasures(ctx context.Context, companyID string, limit int) ([]commerce.Erasure, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), scanErasure, `
		select `+postgres.List(erasureColumns)+` from erasure e where e.company_id = @company_id
		order by e.rev desc limit @most`, pgx.NamedArgs{"company_id": companyID, "most": limit})
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: erasures of %s", companyID)
}

// Erasure returns an erasure; an unknown one is commerce.ErrNotFound.
func (s *Store) Erasure(ctx context.Context, companyID, erasureID string) (commerce.Erasure, error) {
	e, err := postgres.One(ctx, s.db.Pool(), scanErasure, `
		select `+postgres.List(erasureColumns)+` from erasure e where e.company_id = @company_id and e.erasure_id = @erasure_id::uuid`,
		pgx.NamedArgs{"company_id": companyID, "erasure_id": erasureID})
	return e, postgres.Wrapf(postgres.Translate(err), "postgres: erasure %s", erasureID)
}
