package connect

import (
	"context"
	"slices"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

// Bounds of notices that are worked on.
const (
	noticeBatch    = 20
	noticeAttempts = 6 // of an order that cannot be read while others can
	unreadInARow   = 3 // orders that cannot be read: then it is the shop that cannot
)

// notices does what platforms sent and what is due: of an order it only says "look at this order now".
func (v *visit) notices(ctx context.Context) (bool, error) {
	due, err := v.dueNotices(ctx)
	if err != nil {
		return false, err
	}
	return len(due) > 0, v.work(ctx, due)
}

// persons does what platforms ask in persons' names, once in a visit: a shop that fails does not put it off.
func (v *visit) persons(ctx context.Context) (did bool, err error) {
	if v.personsDone || !v.c.Notices {
		return false, nil
	}
	v.personsDone = true
	due, err := v.dueNotices(ctx)
	due = slices.DeleteFunc(due, func(n commerce.ShopNotice) bool { return !slices.Contains(ofPersons, n.Kind) })
	if err != nil || len(due) == 0 {
		return false, err
	}
	return true, v.work(ctx, due)
}

// dueNotices are those that are due, others before those of orders.
func (v *visit) dueNotices(ctx context.Context) ([]commerce.ShopNotice, error) {
	return v.Database.DueNotices(ctx, v.lease, v.c.CompanyID, v.c.ID, v.Now(), noticeBatch)
}

// work does notices, one after the other.
func (v *visit) work(ctx context.Context, due []commerce.ShopNotice) error {
	for _, n := range due {
		retryAt, err := v.notice(ctx, n)
		if err != nil {
			return err
		}
		if !retryAt.IsZero() && (v.noticeAt.IsZero() || retryAt.Before(v.noticeAt)) {
			v.noticeAt = retryAt
		}
		if err := v.Database.DoneNotice(ctx, v.lease, v.c.CompanyID, v.c.ID, n, retryAt); err != nil {
			return err
		}
	}
	return nil
}

// notice does one notice. retryAt is when it is tried again; zero: it is done.
func (v *visit) notice(ctx context.Context, n commerce.ShopNotice) (retryAt time.Time, err error) {
	switch n.Kind {
	case platform.NoticeRedact, platform.NoticeRedactShop, platform.NoticeDataRequest:
		return v.privacy(ctx, n)
	case platform.NoticeUninstalled:
		return v.left(ctx, n)
	}
	if !v.runs() {
		return time.Time{}, nil // what changed meanwhile is read from the cursor on, when the connection goes on
	}
	switch n.Kind {
	case platform.NoticeOrder:
		return v.look(ctx, n)
	case platform.NoticeSuspended, platform.NoticeResumed:
		v.c.PollNow = true
	}
	return time.Time{}, nil
}

// look reads the order of a notice and sends it. One that cannot be read while the shop answers holds up no other: it is tried
// again, and set aside at last.
func (v *visit) look(ctx context.Context, n commerce.ShopNotice) (retryAt time.Time, err error) {
	err = v.fetch(ctx, n.Key, false, nil)
	failed, unavailable := platform.Failed(err, commerce.ShopUnavailable)
	if err == nil {
		v.unread = 0
	}
	if !unavailable {
		return time.Time{}, err
	}
	if v.unread++; v.unread >= unreadInARow {
		v.unread = 0
		return time.Time{}, err
	}
	if n.Attempts+1 < noticeAttempts {
		return v.Now().Add(backOff(n.Attempts + 1)), nil
	}
	v.sent.forget(n.Key) // a poll that lists it just as it was sent mends it
	aside := commerce.AsideOrder{OrderID: n.Key, Reason: failed.Reason, Detail: cut(failed.Detail), At: v.Now()}
	return time.Time{}, v.store(ctx, commerce.ConnectPage{Aside: []commerce.AsideOrder{aside}})
}

// fetch reads one order of the shop and sends it. Again sends it also where it was sent just so. An order that the shop does not
// have any more is nothing to send. aside is how it is set aside, where that is known.
func (v *visit) fetch(ctx context.Context, id string, again bool, aside *commerce.AsideOrder) error {
	if err := v.open(); err != nil {
		return err
	}
	item, err := v.shop.Order(ctx, id)
	failed, unread := platform.Failed(err, commerce.ShopUnknownShape)
	switch {
	case platform.NotFound(err):
		return v.gone(ctx, id, aside)
	case unread:
		item = platform.Item{ID: id, Aside: &platform.Aside{Reason: failed.Reason, Detail: failed.Detail}}
	case err != nil:
		return err
	}
	return v.deliver(ctx, []platform.Item{item}, liveLane, again, commerce.ConnectPage{})
}

// left ends a connection whose shop removed the app, also one that is paused, or waits to ask its shop again.
func (v *visit) left(ctx context.Context, n commerce.ShopNotice) (retryAt time.Time, err error) {
	if !brings(v.c.State) && v.c.State != commerce.ConnectionPaused {
		return time.Time{}, nil
	}
	err = v.uninstalled(ctx)
	failed, asked := platform.Failed(err)
	switch {
	case !asked || failed.Reason == commerce.ShopUninstalled:
		return time.Time{}, err
	case n.Attempts+1 < noticeAttempts:
		return v.Now().Add(backOff(n.Attempts + 1)), nil
	}
	return time.Time{}, nil // the shop does not say
}

// uninstalled asks the shop whether it has removed the app, as it said: what it said may be old.
func (v *visit) uninstalled(ctx context.Context) error {
	if err := v.open(); err != nil {
		return err
	}
	_, err := v.shop.About(ctx)
	if _, gone := platform.Failed(err, commerce.ShopRefusedKey, commerce.ShopNotFound); gone {
		return &platform.Error{Reason: commerce.ShopUninstalled}
	}
	return err
}
