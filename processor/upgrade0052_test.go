package processor

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/packed"
	"github.com/tributary-io/tributary/internal/wire"
)

// The digests of keys that the migration computes are those that the program writes, with
// each key's hub.
func TestKeysOfBeforeGetTheirDigests(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.cost(ana, inverno, 100, "7.5")
	r := rand.New(rand.NewPCG(5, 2))
	records := s.randomFacts(r)
	for i := range 205 { // more than a key may have
		records = append(records, s.record(s.order(fmt.Sprint("till", i), noon.Add(time.Duration(i)*time.Minute), 1000, func(o *wire.Order) { o.EmailKey = wire.Some("k1:till") })))
	}
	s.apply(records, func() int { return 300 })
	want := s.outcomes()
	keys := func() []string {
		return s.texts(`select concat_ws(' ', order_id, kind, encode(key, 'hex'), hub, created_at, digest) from order_key order by 1`)
	}
	stored := keys()
	if n := s.int(`select count(*) from order_key where hub <> 0`); n < 5 || len(stored) < 50 {
		t.Fatalf("%d of %d keys are hubs", n, len(stored))
	}
	rows, err := s.pool.Query(s.ctx, `select kind, key, hub, digest from order_key`)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var kind, hub int16
		var key []byte
		var digest int64
		if err := rows.Scan(&kind, &key, &hub, &digest); err != nil {
			t.Fatal(err)
		}
		value, err := packed.Text(key)
		if err != nil {
			t.Fatal(err)
		}
		k, err := facts.KindOf(kind)
		if err != nil {
			t.Fatal(err)
		}
		if want := facts.KeyDigest(s.company, facts.Key{Kind: k, Value: value}) | int64(hub); digest != want {
			t.Errorf("%s %s has the digest %d, want %d", k, value, digest, want)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	up := s.takeBack(52)
	if n := s.int(`select count(*) from order_key`); n != int64(len(stored)) {
		t.Errorf("%d keys of before, want %d", n, len(stored))
	}
	up()
	wantTexts(t, "keys", keys(), stored...)
	s.exec(`insert into recompute (company_id, order_id, cause) select company_id, order_id, 'upgrade' from orders`)
	s.exec(`insert into recompute_company (company_id) values ($1) on conflict do nothing`, s.company)
	s.workOff()
	if got := s.outcomes(); got != want {
		t.Error(firstDifference(got, want))
	}
	wantTexts(t, "keys after orders are computed again", keys(), stored...)
	s.wantSums("after the migration")
}
