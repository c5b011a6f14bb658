package connect

import (
	"context"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

// asideAtOnce is how many orders that are set aside are read again in one step.
const asideAtOnce = 10

// retryAside reads all orders again that are set aside. One that the shop fails to give holds up no other; the first such error is
// returned at the end.
func (v *visit) retryAside(ctx context.Context) error {
	var unread error
	after := ""
	for range commerce.MaxAside / asideAtOnce {
		last, failed, err := v.readAside(ctx, after)
		if err != nil {
			return err
		}
		if unread == nil {
			unread = failed
		}
		if after = last; last == "" {
			break
		}
	}
	return unread
}

// readAside reads some orders again that are set aside, by their ids from after on. last is the last of them; empty: there is none.
// unread is why the first could not be read that the shop failed to give.
func (v *visit) readAside(ctx context.Context, after string) (last string, unread, err error) {
	list, err := v.Database.Aside(ctx, v.c.CompanyID, v.c.ID, after, asideAtOnce)
	if err != nil {
		return "", nil, err
	}
	for _, order := range list {
		err := v.fetch(ctx, order.OrderID, true, &order)
		_, unavailable := platform.Failed(err, commerce.ShopUnavailable)
		switch {
		case err == nil:
		case unavailable && ctx.Err() == nil:
			if unread == nil {
				unread = err
			}
		default:
			return "", nil, err
		}
		last = order.OrderID
	}
	return last, unread, nil
}

// gone notes that the shop does not have an order any more. Where it is set aside and what we have of it earns, it stays so: that
// it was deleted does not say that it is to be paid. It is mended when it is sent as cancelled, or once more as it is. aside is how
// it is set aside; nil: it is not known to be.
func (v *visit) gone(ctx context.Context, id string, aside *commerce.AsideOrder) error {
	if v.c.AsideCount == 0 {
		return nil
	}
	ours, err := v.Database.OrderDigests(ctx, v.c.CompanyID, []string{id})
	if err != nil {
		return err
	}
	our, have := ours[id]
	earns := have && !our.Test && !our.NoCommission && our.Status != int(commerce.OrderCancelled)
	if !have { // what was sent may be stored soon
		sent, err := v.Database.SentOrders(ctx, v.c.CompanyID, v.c.ID, []string{id})
		if err != nil {
			return err
		}
		noCommission, came := sent[id]
		earns = came && !noCommission
	}
	switch {
	case !earns, aside != nil && our.UpdatedAt.After(aside.At):
		return v.store(ctx, commerce.ConnectPage{Mended: []string{id}})
	case aside == nil:
		return nil
	}
	stays := commerce.AsideOrder{OrderID: id, Reason: commerce.ShopNotFound, At: v.Now()}
	return v.store(ctx, commerce.ConnectPage{Aside: []commerce.AsideOrder{stays}})
}
