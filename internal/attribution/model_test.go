package attribution

import (
	"slices"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/models"
)

const day = 24 * time.Hour

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func testIndex(change func(*facts.Rules)) *Index {
	rules := &facts.Rules{
		CompanyID: "c_1", Rev: 1, Location: time.FixedZone("BRT", -3*60*60), Hosts: []string{"loja.example.com"},
		Settings: facts.Settings{PayoutRule: facts.CouponFirst, Window: 30 * day, HalfLife: 7 * day, IgnoreDirect: true, HoldDays: 30,
			DeliveredHoldDays: 15},
	}
	if change != nil {
		change(rules)
	}
	return NewIndex(rules)
}

func TestOrdersAreDividedByAllModelsOfOrders(t *testing.T) {
	if !slices.Equal(models.OfOrders(), facts.Models[:]) {
		t.Errorf("%v, but %v are stored", models.OfOrders(), facts.Models)
	}
}
