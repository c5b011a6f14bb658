package processor

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDataOfAnEarlierVersionIsKept takes the schema back to what it was before a
// migration, and up again: all orders are computed anew, and every outcome, key and
// sighting is what it was.
func TestDataOfAnEarlierVersionIsKept(t *testing.T) {
	t.Parallel()
	f := func(before string, as func(s *shop), migrations ...string) {
		t.Run(before, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			ana, inverno := s.influencer("Ana Prado", "Inverno")
			s.influencer("Beto Lima", "x")
			s.coupon(ana, inverno, "ANA10")
			s.cost(ana, inverno, 100, "7.5")
			r := rand.New(rand.NewPCG(1, 7))
			s.apply(s.randomFacts(r), func() int { return 50 })
			want := s.outcomes()
			keys := func() []string {
				return s.texts(`select concat_ws(' ', kind, key, order_id, hub) from order_key order by 1`)
			}
			wantKeys := keys()
			var ups []string
			for _, name := range migrations {
				text, err := os.ReadFile(filepath.Join("..", "internal", "postgres", "migrations", name))
				if err != nil {
					t.Fatal(err)
				}
				up, down, found := strings.Cut(string(text), "-- +goose Down")
				if !found {
					t.Fatalf("%s has no way down", name)
				}
				s.exec(down)
				ups = append(ups, up)
			}
			as(s)
			for _, up := range ups {
				s.exec(up)
			}
			s.workOff()
			if got := s.outcomes(); got != want {
				t.Error(firstDifference(got, want))
			}
			wantTexts(t, "keys", keys(), wantKeys...)
		})
	}
	f("0007", func(s *shop) {
		for _, code := range []string{"ANA10", "BETO", "X", "X, BETO", "OTHER"} {
			s.exec(`update order_key set key = $1::text
				where kind = 'code' and key = rtrim(translate(encode(substring(sha256(convert_to($1::text, 'UTF8')) for 16), 'base64'), '+/', '-_'), '=')`, code)
		}
		if left := s.texts(`select distinct key from order_key where kind = 'code' and length(key) = 22`); len(left) > 0 {
			t.Errorf("codes that the version before would not have written: %v", left)
		}
	}, "0007_bounded_keys.sql")
	f("0010", func(*shop) {}, "0010_proof.sql")
	f("0014", func(*shop) {}, "0014_proven_events.sql")
}
