package money

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
)

// maxInfluencers bounds the table of a day, and feedLength the feed.
const (
	maxInfluencers = 200
	feedLength     = 100
)

// dayView is a day as texts: what the page shows, and what updates send.
type dayView struct {
	AsOf        int64           `json:"asOf"` // the database's clock, Unix µs: an older update is dropped
	Cursor      string          `json:"cursor"`
	Tiles       []site.Tile     `json:"tiles"`
	Influencers []influencerRow `json:"influencers"`
	Orders      []site.OrderRow `json:"orders"` // newest first
	Gone        []string        `json:"gone,omitempty"`
	Hidden      string          `json:"hidden,omitempty"` // how many influencers the table leaves out
}

type influencerRow struct {
	Name       string   `json:"name"`
	Href       string   `json:"href,omitempty"` // the influencer's page
	Nobody     bool     `json:"nobody,omitempty"`
	Orders     string   `json:"orders"`
	Pending    string   `json:"pending,omitempty"`
	Credited   []string `json:"credited"`
	Commission []string `json:"commission"`
	CouponPart int      `json:"couponPart"` // percent of the bar
	LinkPart   int      `json:"linkPart"`
	Evidence   string   `json:"evidence"` // "2 coupon, 1 link"
}

func viewDay(l *lang.Printer, d commerce.DaySales, c account.Access, zone *time.Location) dayView {
	v := dayView{AsOf: d.AsOf.UnixMicro(), Cursor: d.Cursor.String(), Orders: []site.OrderRow{}}
	v.Tiles = tiles(l, d, c.Currency)
	v.Influencers, v.Hidden = influencerRows(l, d, c)
	for _, sale := range d.Sales {
		v.Orders = append(v.Orders, site.ViewSale(l, sale, c.CompanyID, zone))
	}
	return v
}

func tiles(l *lang.Printer, d commerce.DaySales, home string) []site.Tile {
	byStatus := map[int]int64{}
	approved, pending, credited, expected, earned := sums{}, sums{}, sums{}, sums{}, sums{}
	var approvedOrders, creditedOrders int64
	for _, g := range d.Groups {
		byStatus[g.Status] += g.Orders
		switch g.Status {
		case commerce.OrderApproved:
			approved.add(g.Currency, g.TotalMinor)
			approvedOrders += g.Orders
			if g.InfluencerID != "" {
				credited.add(g.Currency, g.TotalMinor)
				creditedOrders += g.Orders
			}
		case commerce.OrderPending:
			pending.add(g.Currency, g.TotalMinor)
			expected.add(g.Currency, g.CommissionMinor)
			expected.add(commerce.BRL, g.FixedBRLMinor)
		}
	}
	for _, c := range d.Commissions {
		earned.add(c.Currency, c.AmountMinor)
	}
	var states, shares []string
	for status, word := range site.StatusWords {
		if n := byStatus[status]; n > 0 {
			states = append(states, l.N("sales.count_"+word, n))
		}
	}
	for _, code := range approved.codes(home) {
		share := l.Share(credited[code], approved[code])
		if len(approved.codes(home)) > 1 {
			share = code + " " + share
		}
		shares = append(shares, share)
	}
	note := func(s sums, key string) string {
		var list []string
		for _, code := range s.codes(home) {
			if !s[code].IsZero() {
				list = append(list, l.Sum(s[code], code))
			}
		}
		if list == nil {
			return ""
		}
		return l.T(key, site.JoinAnd(l, list))
	}
	list := []site.Tile{
		{ID: "orders", Label: l.T("sales.orders"), Lines: []string{l.Count(byStatus[0] + byStatus[1] + byStatus[2])},
			Note: strings.Join(states, " · ")},
		{ID: "approved", Label: l.T("sales.approved"), Lines: approved.lines(l, home), Note: note(pending, "sales.plus_pending")},
		{ID: "credited", Label: l.T("sales.credited"), Lines: credited.lines(l, home), Note: l.N("sales.n_orders", creditedOrders)},
		{ID: "commission", Label: l.T("sales.commission"), Lines: earned.lines(l, home), Note: note(expected, "sales.plus_expected")},
		{ID: "share", Label: l.T("sales.share"), Lines: shares, Note: l.N("sales.of_orders", approvedOrders, creditedOrders)},
	}
	for i := range list {
		list[i].Size = site.SizeOf(list[i].Lines...)
		for j, line := range list[i].Lines {
			list[i].Lines[j] = site.Breakable(line, list[i].Size)
		}
	}
	return list
}

func influencerRows(l *lang.Printer, d commerce.DaySales, c account.Access) (rows []influencerRow, hidden string) {
	home := c.Currency
	type total struct {
		id, name                        string
		orders, pending, coupons, links int64
		credited, commission            sums
	}
	byID := map[string]*total{}
	of := func(id, name string) *total {
		t := byID[id]
		if t == nil {
			t = &total{id: id, name: name, credited: sums{}, commission: sums{}}
			byID[id] = t
		}
		return t
	}
	for _, g := range d.Groups {
		if g.Status == commerce.OrderCancelled {
			continue
		}
		t := of(g.InfluencerID, g.Influencer)
		switch g.Evidence {
		case commerce.EvidenceCoupon:
			t.coupons += g.Orders
		case commerce.EvidenceLink:
			t.links += g.Orders
		}
		if g.Status == commerce.OrderPending {
			t.pending += g.Orders
			continue
		}
		t.orders += g.Orders
		t.credited.add(g.Currency, g.TotalMinor)
	}
	for _, sum := range d.Commissions {
		if !sum.AmountMinor.IsZero() || byID[sum.InfluencerID] != nil {
			of(sum.InfluencerID, sum.Influencer).commission.add(sum.Currency, sum.AmountMinor)
		}
	}
	totals := make([]*total, 0, len(byID))
	for _, t := range byID {
		totals = append(totals, t)
	}
	slices.SortFunc(totals, func(a, b *total) int {
		if (a.id == "") != (b.id == "") { // nobody comes last
			return strings.Compare(b.id, a.id)
		}
		return cmp.Or(b.credited[home].Cmp(a.credited[home]), cmp.Compare(b.orders+b.pending, a.orders+a.pending),
			strings.Compare(a.name, b.name), strings.Compare(a.id, b.id))
	})
	if extra := len(totals) - maxInfluencers; extra > 0 {
		hidden = l.N("sales.hidden", int64(extra))
		last := totals[len(totals)-1]
		totals = totals[:maxInfluencers]
		if last.id == "" {
			totals[maxInfluencers-1] = last
		}
	}
	rows = []influencerRow{}
	for _, t := range totals {
		row := influencerRow{
			Name: t.name, Orders: l.Count(t.orders), Credited: t.credited.lines(l, home), Commission: t.commission.lines(l, home),
		}
		if t.pending > 0 {
			row.Pending = "+ " + l.N("sales.count_pending", t.pending)
		}
		if t.id == "" {
			row.Name, row.Nobody, row.Commission, row.Evidence = l.T("sales.nobody"), true, []string{"–"}, l.T("sales.no_evidence")
		} else {
			row.Href = site.StorePath(site.InfluencerPath, c.CompanyID, "id", t.id)
			if both := t.coupons + t.links; both > 0 {
				row.CouponPart = int((t.coupons*200 + both) / (2 * both))
				row.LinkPart = 100 - row.CouponPart
			}
			row.Evidence = evidenceSplit(l, t.coupons, t.links)
		}
		rows = append(rows, row)
	}
	return rows, hidden
}

func evidenceSplit(l *lang.Printer, coupons, links int64) string {
	var parts []string
	if coupons > 0 {
		parts = append(parts, l.N("sales.by_coupon", coupons))
	}
	if links > 0 {
		parts = append(parts, l.N("sales.by_link", links))
	}
	return strings.Join(parts, " · ")
}
