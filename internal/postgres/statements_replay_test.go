package postgres_test

import (
	"context"
	"crypto/rand"
	"iter"
	"testing"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/ledger"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/postgres/replay"
	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/statements"
)

func replayStatements(t *testing.T, recorder *statements.Recorder) {
	must := mustOf(t)
	dsn := devtest.Postgres(t)
	db, err := postgres.Open(t.Context(), dsn, postgres.WithTracer(recorder))
	must(err)
	defer db.Close()
	_, err = merchant.New(db).CreateStore(t.Context(),
		commerce.NewStore{Name: "Loja", Actor: "test", Random: rand.Reader, KeyCheck: func(string) string { return "" }})
	must(err)
	_, err = db.Pool().Exec(t.Context(), `delete from outbox`)
	must(err)
	read := func(_ context.Context, _ *replay.Schema, parts iter.Seq2[facts.Stored, error]) error {
		for _, err := range parts {
			must(err)
		}
		return nil
	}
	_, err = db.Pool().Exec(t.Context(),
		`insert into statement (company_id, statement_id, rev, influencer_id, currency, end_date, minimum_minor, asked_at, actor, closed_at,
			opening_minor, total_minor, digest)
		select company_id, gen_random_uuid(), 1, gen_random_uuid(), 'BRL', '2026-04-30', 0, now(), 'cli', now(), 0, 0, '' from company`)
	must(err)
	must(replay.Run(t.Context(), db, dsn, replay.Options{Connect: []postgres.Option{postgres.WithTracer(recorder)}}, read,
		func(live *replay.Snapshot, fresh *replay.Schema) error {
			_, _, err := live.AlteredStatements(t.Context(), 1)
			must(err)
			_, err = live.Imbalances(t.Context(), 1)
			must(err)
			_, err = live.CheckSums(t.Context())
			must(err)
			_, err = fresh.CheckSums(t.Context(), live.Companies)
			must(err)
			for _, nets := range []iter.Seq2[ledger.Net, error]{live.Nets(t.Context()), fresh.Nets(t.Context(), live.Companies)} {
				for _, err := range nets {
					must(err)
				}
			}
			return nil
		}))
	_, err = replay.LeftOver(t.Context(), db)
	must(err)
}
