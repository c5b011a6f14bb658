package connect

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

// lane says how orders are sent.
type lane int

const (
	liveLane lane = iota // each alone: what changed now
	bulkLane             // together, behind other stores' live orders: what is old, or much
)

// manyOrders is from how many orders of one page on they go the bulk lane: it is a backlog.
const manyOrders = 50

// outgoing is an order on its way to the admin API.
type outgoing struct {
	id        string
	createdAt time.Time
	body      []byte
	sum       uint64
	unpaid    bool      // it is sent as one that earns nothing
	why       *apiError // why it was refused; nil: it was taken
}

// deliver sends the orders of a page to the admin API and then stores page, with what became of them. An order that cannot be
// read, or that the API refuses, is set aside and holds up no other one. Again sends also what was sent just so.
// After an error nothing is stored, and the page must be read again.
func (v *visit) deliver(ctx context.Context, items []platform.Item, by lane, again bool, page commerce.ConnectPage) error {
	var send []*outgoing
	var seen []outgoing // beside those
	var done []string   // ids that are not aside any more
	unpaid, err := v.unpaid(ctx, items)
	if err != nil {
		return err
	}
	for _, item := range items {
		one := outgoing{id: item.ID}
		aside := v.encode(item, unpaid[item.ID], &one)
		switch {
		case !again && v.sent.has(one.id, one.sum):
		case aside != nil:
			aside.OrderID, aside.At = one.id, v.Now()
			page.Aside = append(page.Aside, *aside)
			seen = append(seen, one)
		case item.Order.Test:
			page.Tests++
			seen, done = append(seen, one), append(done, one.id)
		default:
			send = append(send, &one)
		}
	}
	if err := v.send(ctx, send, by); err != nil {
		return err
	}
	for _, one := range send {
		if one.why != nil {
			page.Aside = append(page.Aside,
				commerce.AsideOrder{OrderID: one.id, Reason: commerce.ShopOrderRefused, Detail: one.why.why(), At: v.Now()})
			continue
		}
		page.Orders++
		page.LastOrderAt = v.Now()
		page.Sent = append(page.Sent, commerce.SentOrder{OrderID: one.id, CreatedAt: one.createdAt, NoCommission: one.unpaid})
		done = append(done, one.id)
	}
	if v.c.AsideCount > 0 {
		page.Mended = append(page.Mended, done...)
	}
	if err := v.store(ctx, page); err != nil {
		return err
	}
	for _, one := range send {
		v.sent.add(one.id, one.sum)
	}
	for _, one := range seen {
		v.sent.add(one.id, one.sum)
	}
	v.metrics.delivered(v.c.Platform, page)
	return nil
}

// unpaid says of orders what is sent as noCommission; of those that it leaves out nothing is sent. Two things are kept: what came as
// an order that earns goes on to, wherever the first day of commissions moves, and where a merchant's own key said that an order earns
// nothing, only a true of ours is taken back.
func (v *visit) unpaid(ctx context.Context, items []platform.Item) (map[string]*bool, error) {
	var ids, early []string
	for _, item := range items {
		if item.Order != nil {
			ids = append(ids, item.ID)
		}
	}
	sent := map[string]bool{}
	for chunk := range slices.Chunk(ids, digestsAtOnce) {
		some, err := v.Database.SentOrders(ctx, v.c.CompanyID, v.c.ID, chunk)
		if err != nil {
			return nil, err
		}
		maps.Copy(sent, some)
	}
	unpaid := map[string]*bool{}
	for _, item := range items {
		saidTrue, came := sent[item.ID]
		switch {
		case item.Order == nil:
		case !item.Order.CreatedAt.Before(v.c.CommissionsFrom):
			if saidTrue {
				unpaid[item.ID] = new(bool) // the first day was moved to before it
			}
		case saidTrue || !came:
			early = append(early, item.ID)
		}
	}
	for chunk := range slices.Chunk(early, digestsAtOnce) {
		ours, err := v.Database.OrderDigests(ctx, v.c.CompanyID, chunk)
		if err != nil {
			return nil, err
		}
		for _, id := range chunk {
			if our, have := ours[id]; !have || our.NoCommission { // else it came in another way, and earns
				unpaid[id] = &theyWerePaid
			}
		}
	}
	return unpaid, nil
}

var theyWerePaid = true

// encode writes an order as it is sent. It returns why it is set aside, nil where it is not.
func (v *visit) encode(item platform.Item, unpaid *bool, one *outgoing) *commerce.AsideOrder {
	if item.Order == nil {
		why := item.Aside
		if why == nil {
			why = &platform.Aside{Reason: commerce.ShopUnknownShape}
		}
		one.sum = v.sent.sum([]byte(why.Reason), []byte(why.Detail), []byte(strconv.FormatInt(item.UpdatedAt.UnixNano(), 10)))
		return &commerce.AsideOrder{Reason: why.Reason, Detail: cut(why.Detail), Fields: why.Fields[:min(len(why.Fields), 100)]}
	}
	body, err := json.Marshal(sentOrder{Order: item.Order, NoCommission: unpaid})
	one.createdAt, one.body, one.sum = item.Order.CreatedAt, body, v.sent.sum(body)
	one.unpaid = unpaid != nil && *unpaid
	switch {
	case err != nil:
		return &commerce.AsideOrder{Reason: commerce.ShopUnknownShape, Detail: "an amount is no number"}
	case len(body) >= maxBytes:
		return &commerce.AsideOrder{Reason: commerce.ShopUnknownShape, Detail: "is larger than 1 MiB"}
	case item.Order.Currency != v.c.StoreCurrency && v.c.StoreCurrency != "" && !item.Order.Test:
		return &commerce.AsideOrder{Reason: commerce.ShopCurrency, Detail: cut(item.Order.Currency)}
	}
	return nil
}

// send sends orders, and notes of each whether it was refused.
func (v *visit) send(ctx context.Context, list []*outgoing, by lane) error {
	if by == liveLane && len(list) <= manyOrders {
		for _, one := range list {
			var err error
			if one.why, err = refusalOf(v.api.order(ctx, v.key, one.body)); err != nil {
				return err
			}
		}
		return nil
	}
	for len(list) > 0 {
		var lines [][]byte
		for bytes := 0; len(lines) < min(len(list), maxLines); {
			body := list[len(lines)].body
			if bytes += len(body) + 1; bytes > maxBytes {
				break
			}
			lines = append(lines, body)
		}
		results, err := v.api.orders(ctx, v.key, lines)
		if err != nil {
			return err
		}
		for i, why := range results {
			list[i].why = why
		}
		list = list[len(lines):]
	}
	return nil
}

// store stores what became of a page, here and in the database.
func (v *visit) store(ctx context.Context, page commerce.ConnectPage) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	if err := v.Database.StorePage(ctx, v.lease, v.c.CompanyID, v.c.ID, page); err != nil {
		return err
	}
	c := &v.c
	if page.Cursor.After(c.Cursor) {
		c.Cursor = page.Cursor
	}
	if !page.PolledAt.IsZero() {
		c.PolledAt, c.PollNow = page.PolledAt, false
	}
	if page.Backfill != nil {
		c.Backfill = *page.Backfill
	}
	if !page.Reconciled.IsZero() {
		c.Reconciled = page.Reconciled
	}
	c.AsideCount += int64(len(page.Aside)) // at least: what is mended is removed there, and this only asks for it
	return nil
}
