package main

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres/factstore"
	"github.com/tributary-io/tributary/processor"
)

// An erasure whose record is left waits for it: orders of its person that come before it still give credit.
func TestOnlyErasuresWhoseRecordsAreLostBegin(t *testing.T) {
	live, dsn := installation(t)
	db, err := openStores(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	asked := time.Now()
	author := commerce.Author{CompanyID: live.CompanyID, Actor: actor, At: asked}
	_, err = db.AskErasure(t.Context(), author, []string{"email"}, []facts.Key{{Kind: facts.KeyEmail, Value: "k1:e"}}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		left time.Time // when the first record that is left was written
		want int
	}{{asked.Add(-2 * time.Minute), 1}, {asked.Add(time.Second), 0}} {
		err := processor.ComputeAgain(t.Context(), processor.StoreOf(factstore.New(db.db)), map[string]time.Time{live.CompanyID: c.left})
		if err != nil {
			t.Fatal(err)
		}
		if n := one[int](t, dsn, `select count(*)::int from erasure where phase = $1`, int16(facts.EraseWaits)); n != c.want {
			t.Errorf("the first record left is of %v, the erasure of %v: %d erasures wait, want %d", c.left, asked, n, c.want)
		}
	}
}
