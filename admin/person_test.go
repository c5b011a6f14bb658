package admin

import (
	"testing"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
)

func TestItemsOfAnOrderNameNobody(t *testing.T) {
	t.Parallel()
	hasher, err := identity.NewHasher(make([]byte, identity.MinSecret))
	if err != nil {
		t.Fatal(err)
	}
	items := []wire.Item{
		{ItemID: "ana@example.com", ProductID: "+55 11 98765-4321", VariantID: "ana%40example.com"},
		{ItemID: "44123456789012", ProductID: "7891234567895", VariantID: "tee-m / 2026-03-15"},
	}
	order := wire.Order{Items: wire.Some(items)}
	if err := conceal(&order, wire.Personal{}, hasher.Company("c_1", "BR"), identity.NewSigner(hasher, nil)); err != nil {
		t.Fatal(err)
	}
	for i, want := range []wire.Item{
		{ItemID: "(email)", ProductID: "(phone)", VariantID: "(email)"},
		{ItemID: "44123456789012", ProductID: "7891234567895", VariantID: "tee-m / 2026-03-15"},
	} {
		if got := order.Items.Value[i]; got != want {
			t.Errorf("item %d became %+v, want %+v", i, got, want)
		}
	}
}
