package attribution

import (
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/models"
	"github.com/tributary-io/tributary/internal/wire"
)

// The order's own campaign is a touch at createdAt: a direct touch of the same
// second may come after it, and the models see both in the order of time.
func TestTheOrdersOwnCampaignIsSortedByTime(t *testing.T) {
	x := shop(func(r *facts.Rules) { r.IgnoreDirect = false })
	direct := at(60, "/")
	direct.At = direct.At.Add(900 * time.Millisecond)
	o := x.Decide(sale(func(o *wire.Order) { o.UTMCampaign = wire.Some("ana") }, direct))
	touches := o.Explanation.Touches
	if len(touches) != 2 || touches[0].ID != facts.OrderTouch || touches[1].Arrival != facts.Direct {
		t.Fatalf("touches %+v, want the order's own and then the direct one", touches)
	}
	for model, want := range map[string]int64{models.First: 10005, models.Last: 0, models.Linear: 5003, models.TimeDecay: 5002} {
		var got int64
		for _, c := range o.Credits {
			if c.TouchID == facts.OrderTouch {
				got += c.Of(model).Minor
			}
		}
		if got < want-1 || got > want+1 { // 900 ms of a half-life of days are less than a cent
			t.Errorf("%s: the order's own touch has %d, want %d", model, got, want)
		}
	}
}
