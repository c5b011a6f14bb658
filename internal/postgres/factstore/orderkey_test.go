package factstore

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/test/devtest"
)

// The orders of a key are found by its digest, and never by all orders of the company: also
// where the table has no statistics yet, as in the first minutes of a large store.
func TestTheOrdersOfAKeyAreFoundByItsDigest(t *testing.T) {
	t.Parallel()
	db, err := postgres.Open(t.Context(), devtest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	at := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	const company, orders = "c_1", 3000
	keys := make([]facts.OrderKey, orders)
	for i := range keys {
		keys[i] = facts.OrderKey{Key: facts.Key{Kind: facts.KeyEmail, Value: fmt.Sprint("k", i/2)}, OrderID: fmt.Sprint("o", i), CreatedAt: at}
	}
	span := facts.KeySpan{Key: keys[7].Key, From: at, To: at}
	changed := facts.ChangedKey{Key: keys[7].Key, From: at, To: at, Most: 10, Lost: true}
	for _, analyzed := range []string{"without statistics", "with statistics"} {
		err = db.InTx(t.Context(), func(tx pgx.Tx) error {
			s := &Tx{tx: tx}
			if _, err := tx.Exec(t.Context(), `delete from order_key`); err != nil {
				return err
			}
			if _, err := s.ReplaceKeys(t.Context(), company, nil, facts.JoinKinds, keys); err != nil {
				return err
			}
			if analyzed == "with statistics" {
				if _, err := tx.Exec(t.Context(), `analyze order_key`); err != nil {
					return err
				}
			}
			f := func(name, sql string, args pgx.NamedArgs) {
				t.Helper()
				rows, err := tx.Query(t.Context(), "explain "+sql, args)
				if err != nil {
					t.Fatal(err)
				}
				plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				text := strings.Join(plan, "\n")
				scans, byDigest := strings.Count(text, " on order_key "), strings.Count(text, "Index Cond: ((digest ")
				if scans == 0 || scans != byDigest {
					t.Errorf("%s, %s:\n%s", name, analyzed, text)
				}
			}
			company := pgx.NamedArgs{"company_id": company, "changed_ids": []string{"o1"}, "before": time.Hour, "after": time.Hour}
			f("around a key", ordersOfKeys[false], spanRows.Args(digestedSpans("c_1", []facts.KeySpan{span}), company))
			f("of a key", ordersOfKeys[true], spanRows.Args(digestedSpans("c_1", []facts.KeySpan{span}), company))
			f("of a changed key", ordersOfChangedKeys,
				changedKeyRows.Args(digestedOf("c_1", []facts.ChangedKey{changed}, func(k *facts.ChangedKey) facts.Key { return k.Key }), company))
			f("following", ordersFollowing, followRows.Args(digestedKeys("c_1", keys[7:8]), company))
			found, err := s.OrdersByKeys(t.Context(), "c_1", []facts.KeySpan{span}, false, 10)
			if err != nil || len(found) != 2 {
				t.Errorf("%q, %v, want two orders", found, err)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Anybody can make two keys that have the same digest: some billions of attempts find a pair.
// An order that has both is stored, and its hubs are marked, without an error: that would
// leave the order without an outcome, and let each of its events hold up the partition.
func TestTwoKeysOfAnOrderMayHaveTheSameDigest(t *testing.T) {
	t.Parallel()
	db, err := postgres.Open(t.Context(), devtest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const company = "c_1"
	key := func(value string, hub facts.Hub) facts.OrderKey {
		return facts.OrderKey{Key: facts.Key{Kind: facts.KeyEmail, Value: value}, OrderID: "o1",
			CreatedAt: time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC), Hub: hub}
	}
	f := func(name string, hubs []facts.OrderKey, want int16) {
		t.Helper()
		if err := db.Undone(t.Context(), func(tx pgx.Tx) error {
			s := &Tx{tx: tx}
			if _, err := s.ReplaceKeys(t.Context(), company, nil, facts.JoinKinds,
				[]facts.OrderKey{key("a", facts.NoHub), key("b", facts.NoHub)}); err != nil {
				return err
			}
			// b is marked, and has the digest of a.
			if _, err := tx.Exec(t.Context(), `update order_key set digest = $1, hub = 2 where key = $2`,
				facts.KeyDigest(company, key("a", facts.NoHub).Key)|2, key("b", facts.NoHub).Key.Pack()); err != nil {
				return err
			}
			if err := s.MarkHubs(t.Context(), company, []string{"o1"}, facts.JoinKinds, hubs); err != nil {
				return err
			}
			rows, err := postgres.Collect(t.Context(), tx, pgx.RowTo[int16], `select hub from order_key`)
			if err == nil && (len(rows) == 0 || slices.ContainsFunc(rows, func(hub int16) bool { return hub != want })) {
				t.Errorf("%s: marks %d, want %d", name, rows, want)
			}
			return err
		}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	f("one more is marked", []facts.OrderKey{key("a", facts.HubOfVisitors), key("b", facts.HubOfVisitors)}, 2)
	f("none is marked any more", nil, 0)
}
