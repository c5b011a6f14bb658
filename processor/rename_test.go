package processor

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/postgres/replay"
	"github.com/tributary-io/tributary/internal/preview"
)

// A visit that carries a name of before is still the influencer's: one that came before the rename, and one that comes after.
// What is shown has the new name, no money moves, and the preview says so. A visit by the new name is the influencer's too.
// A replay gives the same.
func TestARenamedInfluencerKeepsItsVisits(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	rules := merchant.New(s.db)
	ana, _ := s.influencer("Ana Prado", "Inverno")
	beto, _ := s.influencer("Beto Lima", "Verão")
	s.cost(ana, "", 0, "10")
	s.cost(beto, "", 0, "5")
	visit := func(n int, id, name string) {
		at := noon.Add(time.Duration(n) * time.Minute)
		s.apply([]record{
			s.record(s.event("v"+id, at, n, landing(name, "Inverno"))), s.record(s.event("v"+id, at, 100+n, checkout("k1:"+id))),
			s.record(s.order(id, at.Add(time.Minute), 10_000, cart("k1:"+id))),
		}, func() int { return 3 })
	}
	rename := func(from, to string) preview.Change {
		return func(ctx context.Context) error {
			return rules.UpdateInfluencer(ctx, commerce.Author{CompanyID: s.company, Actor: "test", At: time.Now()}, from,
				commerce.InfluencerChange{Name: to})
		}
	}
	changed := func(name string, change preview.Change, want preview.Orders) {
		t.Helper()
		found, err := s.previewer(preview.Limits{}).Preview(s.ctx, s.company, change)
		if err != nil || found.Orders != want || len(found.Moves) != want.Moved {
			t.Errorf("%s: %+v, %v; want %+v", name, found, err, want)
		}
		if err := change(s.ctx); err != nil {
			t.Fatal(err)
		}
		s.told()
	}
	visit(1, "before", "ana+prado")
	visit(2, "unknown", "Ana+Lima")
	visit(3, "another", "Beto+Lima")
	ledger := s.texts(`select ledger_entry::text from ledger_entry order by 1`)
	wantTexts(t, "before", s.payouts(), "another Beto Lima link 500", "before Ana Prado link 1000", "unknown nobody - 0")

	changed("a rename to a name that no visit has", rename("Ana Prado", "Ana P."), preview.Orders{Concerned: 1, Computed: 1})
	visit(4, "after", "ANA+PRADO")
	wantTexts(t, "renamed", s.payouts(), "after Ana P. link 1000", "another Beto Lima link 500", "before Ana P. link 1000",
		"unknown nobody - 0")
	wantTexts(t, "channels", s.texts(`select distinct channel from credit where order_id in ('before', 'after')`), "Ana P.")
	if now := s.texts(`select ledger_entry::text from ledger_entry where order_id <> 'after' order by 1`); !slices.Equal(now, ledger) {
		t.Errorf("the ledger of before is %q, was %q", now, ledger)
	}

	changed("a rename to a name that a visit has", rename("Ana Prado", "Ana Lima"),
		preview.Orders{Concerned: 3, Computed: 3, Moved: 1, Credited: 1})
	changed("back", rename("Ana Lima", "Ana Prado"), preview.Orders{Concerned: 3, Computed: 3})
	changed("in other letters", rename("Ana Prado", "ANA PRADO"), preview.Orders{Concerned: 3, Computed: 3})
	wantTexts(t, "back", s.payouts(), "after ANA PRADO link 1000", "another Beto Lima link 500", "before ANA PRADO link 1000",
		"unknown ANA PRADO link 1000")
	for id, e := range s.explanations() {
		if text, err := json.Marshal(e); err != nil || strings.Contains(string(text), "Ana P.") {
			t.Errorf("the explanation of %s has a name of before: %s, %v", id, text, err)
		}
	}
	found, err := s.replay(s.ctx, replay.Options{})
	if err != nil || !found.Equal() || found.Orders != 4 {
		t.Errorf("%+v, %v", found, err)
	}
	// Nobody takes visits away by taking their name.
	if err := rename("Beto Lima", "ana prado")(s.ctx); err == nil {
		t.Error("Beto took Ana's name")
	}
	if s.told(); !slices.Equal(s.texts(`select count(*)::text from payout where influencer_id = $1`, beto), []string{"1"}) {
		t.Error("Beto has other orders")
	}
}
