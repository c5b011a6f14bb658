package connect

import (
	"context"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

// Bounds of comparing a shop with what we have.
const (
	noticesKept   = 4 * 24 * time.Hour // the shortest time that a platform keeps what happened
	longCompared  = 90                 // days, after a gap that was longer
	nightBegins   = 3                  // o'clock, in the store's time zone
	nightLasts    = 2 * time.Hour      // connections begin spread over it
	fetchEach     = 50                 // orders of one day that differ: of more, the whole day is read
	digestsAtOnce = 500
)

// comparison is a comparison that goes on. It is kept in memory: where the process ends, it begins anew.
type comparison struct {
	began   time.Time
	days    []time.Time // their beginnings that are still to be compared
	again   []time.Time // what differed, and was sent again
	againAt time.Time   // when those are compared again: by then what was sent is stored
	aside   string      // orders set aside are read again up to this one
	noAside bool        // all are
	coupons string      // compared up to this code
	ended   bool        // all coupons are
	tasks   []commerce.ConnectTask
}

// due is when it goes on; zero: nothing goes on.
func (c *comparison) due() time.Time {
	switch {
	case c == nil:
		return time.Time{}
	case len(c.days) == 0 && len(c.again) > 0 && c.ended:
		return c.againAt
	}
	return c.began
}

// compareDue is when the next comparison of a night begins; zero: never.
func (v *visit) compareDue() time.Time {
	if v.c.State != commerce.ConnectionLive || v.compared != nil {
		return time.Time{}
	}
	before := v.c.Reconciled
	if before.IsZero() {
		before = v.c.CreatedAt
	}
	local := before.In(v.zone())
	h := fnv.New32a()
	_, _ = h.Write([]byte(v.c.ID)) // it never fails
	spread := nightLasts * time.Duration(h.Sum32()%1000) / 1000
	for day := 0; ; day++ {
		if at := time.Date(local.Year(), local.Month(), local.Day()+day, nightBegins, 0, 0, 0, local.Location()).Add(spread); at.After(before) {
			return at
		}
	}
}

func (v *visit) zone() *time.Location {
	if zone, err := time.LoadLocation(v.c.Timezone); err == nil {
		return zone
	}
	return time.UTC
}

// compareAll begins a comparison of so many days before today, of those that the connection brings.
func (v *visit) compareAll(days int) {
	now := v.Now().In(v.zone())
	begun := &comparison{began: v.Now()}
	for n := days; n > 0; n-- {
		day := time.Date(now.Year(), now.Month(), now.Day()-n, 0, 0, 0, 0, now.Location())
		if day.AddDate(0, 0, 1).After(v.bringsFrom()) {
			begun.days = append(begun.days, day)
		}
	}
	if v.compared != nil {
		begun.tasks = v.compared.tasks
	}
	v.compared = begun
}

// bringsFrom is from when on the connection brings orders, by their creation.
func (v *visit) bringsFrom() time.Time {
	if from := v.c.Backfill.From; !from.IsZero() {
		return from
	}
	return v.c.CreatedAt
}

// compare does one step of a comparison: a day, or some coupons.
func (v *visit) compare(ctx context.Context) (bool, error) {
	if !v.runs() || v.c.State != commerce.ConnectionLive {
		return false, nil
	}
	if v.compared == nil {
		if due := v.compareDue(); v.Now().Before(due) {
			return false, nil
		}
		v.compareAll(commerce.ReconciledDays)
	}
	if err := v.open(); err != nil {
		return false, err
	}
	ctx = platform.Patient(ctx)
	c := v.compared
	switch {
	case v.c.AsideCount > 0 && !c.noAside:
		last, _, err := v.readAside(ctx, c.aside)
		if err != nil {
			return false, err
		}
		c.aside, c.noAside = last, last == ""
	case len(c.days) > 0:
		differs, err := v.compareDay(ctx, c.days[0], true)
		if err != nil {
			return false, err
		}
		if differs {
			c.again, c.againAt = append(c.again, c.days[0]), v.Now().Add(v.config.CompareAgain)
		}
		c.days = c.days[1:]
	case !c.ended:
		return true, v.compareCoupons(ctx)
	case len(c.again) > 0:
		if v.Now().Before(c.againAt) {
			return false, nil
		}
		if _, err := v.compareDay(ctx, c.again[0], false); err != nil {
			return false, err
		}
		c.again = c.again[1:]
	default:
		return true, v.compareEnds(ctx)
	}
	return true, nil
}

func (v *visit) compareEnds(ctx context.Context) error {
	if err := v.store(ctx, commerce.ConnectPage{Reconciled: v.compared.began}); err != nil {
		return err
	}
	tasks := v.compared.tasks
	v.compared = nil
	for _, t := range tasks {
		if err := v.finish(ctx, t, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// compareDay compares the orders that were created on one day. What differs is sent again where mend is set, to be compared once
// more; else, and where nothing differs, the day's figures are stored.
func (v *visit) compareDay(ctx context.Context, day time.Time, mend bool) (differs bool, err error) {
	from, to := commerce.Later(day, v.bringsFrom()), day.AddDate(0, 0, 1)
	theirs, err := v.digests(ctx, from, to)
	if err != nil {
		return false, err
	}
	found := commerce.ConnectionDay{Day: day.Format(time.DateOnly), ComparedAt: v.Now()}
	oursAlone, err := v.oursAlone(ctx, from, to, theirs)
	if err != nil {
		return false, err
	}
	var shopTotal, total decimal.Decimal
	var wrong []string
	for chunk := range slices.Chunk(slices.Concat(slices.Sorted(maps.Keys(theirs)), oursAlone), digestsAtOnce) {
		ours, err := v.Database.OrderDigests(ctx, v.c.CompanyID, chunk)
		if err != nil {
			return false, err
		}
		for _, id := range chunk {
			shop, listed := theirs[id]
			our, have := ours[id]
			if !listed && (!have || our.Test || our.Status == int(commerce.OrderCancelled)) {
				continue // not stored yet, or what the shop's list may be without: a test, or one that was cancelled and removed
			}
			if listed {
				found.ShopOrders++
				shopTotal = shopTotal.Add(counted(shop.Status, shop.Total))
			}
			if have {
				found.Orders++
				total = total.Add(counted(our.Status, our.Total))
			}
			switch {
			case !listed:
				found.OursAlone++
			case !have:
				found.Missing++
			case our.Status != shop.Status || !counted(our.Status, our.Total).Equal(counted(shop.Status, shop.Total)):
				found.Differ++
			default:
				continue
			}
			wrong = append(wrong, id)
		}
	}
	if mend && len(wrong) > 0 {
		return true, v.mendDay(ctx, from, to, wrong)
	}
	found.ShopTotal, found.Total = shopTotal.String(), total.String()
	if len(wrong) > 0 {
		v.metrics.differ.WithLabelValues(v.c.Platform).Add(float64(len(wrong)))
		v.Logger.Warn("orders of a shop differ from ours", v.named("day", found.Day, "missing", found.Missing, "differ", found.Differ,
			"ours_alone", found.OursAlone, "shop_total", found.ShopTotal, "total", found.Total)...)
	}
	return len(wrong) > 0, v.Database.StoreDay(ctx, v.lease, v.c.CompanyID, v.c.ID, found)
}

// oursAlone are the orders that came from the shop, were created in [from, to), and are not in its list: it has removed them.
func (v *visit) oursAlone(ctx context.Context, from, to time.Time, theirs map[string]platform.Digest) (alone []string, err error) {
	var after commerce.SentOrder
	for range maxPages {
		orders, err := v.Database.OrdersOfShop(ctx, v.c.CompanyID, v.c.ID, from, to, after, digestsAtOnce)
		if err != nil || len(orders) == 0 {
			return alone, err
		}
		for _, o := range orders {
			if _, there := theirs[o.OrderID]; !there {
				alone = append(alone, o.OrderID)
			}
		}
		after = orders[len(orders)-1]
	}
	return alone, nil
}

// counted is what an order counts in a sum: one that is cancelled counts nothing, whatever its total is.
func counted(status int, total string) decimal.Decimal {
	amount, err := decimal.NewFromString(total)
	if err != nil || status == int(commerce.OrderCancelled) {
		return decimal.Zero
	}
	return amount
}

// digests are the shop's orders that were created in [from, to), without test orders.
func (v *visit) digests(ctx context.Context, from, to time.Time) (map[string]platform.Digest, error) {
	found, token := map[string]platform.Digest{}, ""
	for n := 0; n < maxPages; n++ {
		list, next, err := v.shop.Digests(ctx, from, to, token)
		if err != nil {
			return nil, err
		}
		for _, d := range list {
			if !d.Test {
				found[d.ID] = d
			}
		}
		switch next {
		case "":
			return found, nil
		case token:
			return nil, &platform.Error{Reason: commerce.ShopUnknownShape, Detail: "a page of orders names itself as the next"}
		}
		token = next
		if _, err := v.notices(ctx); err != nil {
			return nil, err
		}
	}
	return nil, &platform.Error{Reason: commerce.ShopUnknownShape, Detail: "the list of a day's orders has no end"}
}

// mendDay reads orders of a day again and sends them.
func (v *visit) mendDay(ctx context.Context, from, to time.Time, ids []string) error {
	if len(ids) <= fetchEach {
		for _, id := range ids {
			if err := v.fetch(ctx, id, true, nil); err != nil {
				return err
			}
		}
		return nil
	}
	token := ""
	for n := 0; n < maxPages; n++ {
		page, err := v.shop.Created(ctx, from, to, token)
		if err != nil {
			return err
		}
		if err := v.deliver(ctx, page.Items, bulkLane, true, commerce.ConnectPage{}); err != nil {
			return err
		}
		if page.Next == "" || page.Next == token {
			return nil
		}
		token = page.Next
	}
	return nil
}
