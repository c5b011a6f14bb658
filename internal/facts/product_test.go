package facts

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

func parseProduct(body string) (Product, error) {
	return ParseProduct(wire.Commerce{Kind: wire.KindProduct, AcceptedAt: noon.Add(1999 * time.Nanosecond), Body: json.RawMessage(body)})
}

func TestUnreadableProductsHaveACode(t *testing.T) {
	f := func(name, body string, want error) {
		t.Helper()
		if _, err := parseProduct(body); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	long := strings.Repeat("x", maxOrderID+1)
	f("whole", `{"productId":"p","variants":[{"variantId":"`+long[1:]+`"}]}`, nil)
	f("no JSON", `{`, ErrNotJSON)
	f("no id", `{}`, ErrNoID)
	f("a long id", `{"productId":"`+long+`"}`, ErrLongID)
	f("a variant's long id", `{"productId":"p","variants":[{},{"variantId":"`+long+`"}]}`, ErrLongID)
	f("changed in another age", `{"productId":"p","updatedAt":"2200-01-01T00:00:00Z"}`, ErrTime)
	if _, err := ParseProduct(wire.Commerce{Body: json.RawMessage(`{"productId":"p","updatedAt":"2026-03-10T12:00:00Z"}`)}); !errors.Is(err,
		ErrTime) {
		t.Errorf("never accepted: %v", err)
	}
}

func TestProductsAreOfTheirUpdateElseOfWhenTheyWereAccepted(t *testing.T) {
	f := func(updatedAt string, want time.Time) {
		t.Helper()
		body := `{"productId":"p","updatedAt":"` + updatedAt + `"}`
		p, err := parseProduct(body)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(body))
		if p.UpdatedAt != want || p.AcceptedAt != noon.Add(time.Microsecond) || string(p.Digest) != string(sum[:]) || string(p.Body) != body {
			t.Errorf("%q: %s, accepted at %s; want %s", updatedAt, p.UpdatedAt, p.AcceptedAt, want)
		}
	}
	f("2026-03-09T09:00:00.0000019-03:00", noon.Add(-24*time.Hour+time.Microsecond))
	f("yesterday", noon.Add(time.Microsecond))
	f("", noon.Add(time.Microsecond))
}

// product is a version by its times, in seconds after noon, and its digest.
func product(id string, updated, accepted int, digest byte) Product {
	return Product{
		Product: wire.Product{ProductID: id}, Digest: []byte{digest},
		UpdatedAt: noon.Add(time.Duration(updated) * time.Second), AcceptedAt: noon.Add(time.Duration(accepted) * time.Second),
	}
}

func TestTheNewestVersionOfAProductCounts(t *testing.T) {
	f := func(name string, newer, older Product) {
		t.Helper()
		if !newer.Newer(&older) || older.Newer(&newer) {
			t.Errorf("%s: %t and %t", name, newer.Newer(&older), older.Newer(&newer))
		}
		for _, both := range [][]Product{{newer, older}, {older, newer}} {
			if got := NewestProducts(both); len(got) != 1 || got[0].Digest[0] != newer.Digest[0] {
				t.Errorf("%s: %v", name, got)
			}
		}
	}
	f("by updatedAt", product("p", 2, 0, 1), product("p", 1, 9, 2))
	f("then by when it was accepted", product("p", 1, 2, 1), product("p", 1, 1, 2))
	f("then by digest", product("p", 1, 1, 2), product("p", 1, 1, 1))
	same := product("p", 1, 1, 1)
	if same.Newer(&same) {
		t.Error("a version is newer than itself")
	}
}

func TestNewestProductsKeepTheOrderInWhichTheyCome(t *testing.T) {
	var got []string
	for _, p := range NewestProducts([]Product{product("c", 0, 0, 1), product("a", 0, 0, 2), product("c", 1, 0, 3), product("b", 0, 0, 4),
		product("a", -1, 0, 5)}) {
		got = append(got, fmt.Sprint(p.ProductID, p.Digest[0]))
	}
	if text := strings.Join(got, " "); text != "c3 a2 b4" {
		t.Error(text)
	}
	if got := NewestProducts(nil); len(got) != 0 {
		t.Errorf("%v of nothing", got)
	}
}

func TestVariantsAreThoseThatAnEventCanName(t *testing.T) {
	f := func(want []Variant, variants ...wire.Variant) {
		t.Helper()
		p := Product{Product: wire.Product{ProductID: "p", Variants: variants}}
		if got := VariantsOf(&p); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	f(nil)
	f(nil, wire.Variant{SKU: "without an id"})
	f([]Variant{{"1", "p", "a"}, {"2", "p", ""}}, wire.Variant{VariantID: "1", SKU: "a"}, wire.Variant{}, wire.Variant{VariantID: "2"},
		wire.Variant{VariantID: "1", SKU: "again"})
}
