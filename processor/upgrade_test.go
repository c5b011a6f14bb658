package processor

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDataOfTheVersionBeforeIsKept takes the schema back to what it was before
// 0007, with the keys as they were written then, and up again: all orders are
// computed anew, and every outcome is what it was.
func TestDataOfTheVersionBeforeIsKept(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana, inverno := s.influencer("Ana Prado", "Inverno")
	s.coupon(ana, inverno, "ANA10")
	s.cost(ana, inverno, 100, "7.5")
	r := rand.New(rand.NewPCG(1, 7))
	s.apply(s.randomFacts(r), func() int { return 50 })
	want := s.outcomes()
	keys := func() []string {
		return s.texts(`select concat_ws(' ', kind, key, order_id, hub) from order_key order by 1`)
	}
	wantKeys := keys()

	text, err := os.ReadFile(filepath.Join("..", "internal", "postgres", "migrations", "0007_bounded_keys.sql"))
	if err != nil {
		t.Fatal(err)
	}
	up, down, found := strings.Cut(string(text), "-- +goose Down")
	if !found {
		t.Fatal("0007 has no way down")
	}
	s.exec(down)
	for _, code := range []string{"ANA10", "BETO", "X", "X, BETO", "OTHER"} {
		s.exec(`update order_key set key = $1::text
			where kind = 'code' and key = rtrim(translate(encode(substring(sha256(convert_to($1::text, 'UTF8')) for 16), 'base64'), '+/', '-_'), '=')`, code)
	}
	if left := s.texts(`select distinct key from order_key where kind = 'code' and length(key) = 22`); len(left) > 0 {
		t.Fatalf("codes that the version before would not have written: %v", left)
	}
	s.exec(up)
	s.workOff()
	if got := s.outcomes(); got != want {
		t.Error(firstDifference(got, want))
	}
	wantTexts(t, "keys", keys(), wantKeys...)
}
