package attribution

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// Index is one company's rules, ready to match. Read-only once made, so safe
// for concurrent use.
type Index struct {
	rules       *facts.Rules
	hosts       []string // bare, lower case
	byID        map[string]*facts.Influencer
	byName      map[string][]*facts.Influencer // folded
	campaigns   map[string][]*facts.Campaign   // by influencer id
	campaignIDs map[string]*facts.Campaign
	links       map[string]*facts.Link // by code
	coupons     map[string][]*facts.Coupon
	costs       map[string][]*facts.Cost // by influencer id
	halvings    []*big.Int               // see decay
}

// NewIndex indexes rules, which must not change afterwards.
func NewIndex(rules *facts.Rules) *Index {
	x := &Index{
		rules: rules, byID: map[string]*facts.Influencer{}, byName: map[string][]*facts.Influencer{},
		campaigns: map[string][]*facts.Campaign{}, campaignIDs: map[string]*facts.Campaign{},
		links: map[string]*facts.Link{}, coupons: map[string][]*facts.Coupon{}, costs: map[string][]*facts.Cost{},
		halvings: halvings(),
	}
	for _, host := range rules.Hosts {
		x.hosts = append(x.hosts, bareHost(host))
	}
	for i := range rules.Influencers {
		f := &rules.Influencers[i]
		x.byID[f.ID] = f
		x.byName[f.Folded] = append(x.byName[f.Folded], f)
	}
	for i := range rules.Campaigns {
		c := &rules.Campaigns[i]
		x.campaigns[c.InfluencerID] = append(x.campaigns[c.InfluencerID], c)
		x.campaignIDs[c.ID] = c
	}
	for i := range rules.Links {
		x.links[rules.Links[i].Code] = &rules.Links[i]
	}
	for i := range rules.Coupons {
		c := &rules.Coupons[i]
		x.coupons[c.Code] = append(x.coupons[c.Code], c)
	}
	for i := range rules.Costs {
		c := &rules.Costs[i]
		x.costs[c.InfluencerID] = append(x.costs[c.InfluencerID], c)
	}
	for _, list := range x.costs {
		slices.SortFunc(list, func(a, b *facts.Cost) int { return cmp.Compare(a.ID, b.ID) })
	}
	return x
}

// CompanyID names the company whose rules these are.
func (x *Index) CompanyID() string { return x.rules.CompanyID }

// Rev is the revision of the rules.
func (x *Index) Rev() int64 { return x.rules.Rev }

// DayOf is an instant's day in the store's time zone, YYYY-MM-DD.
func (x *Index) DayOf(t time.Time) string { return t.In(x.rules.Location).Format(time.DateOnly) }

// inForce tells whether a rule closed at an instant (zero: never) still held at t.
func inForce(closed, t time.Time) bool { return closed.IsZero() || t.Before(closed) }

// match gives a touch its influencer, campaign and channel: by trb_click's
// link, else by utm_campaign and utm_content. When a rule was registered does
// not matter; when it was closed does.
func (x *Index) match(t *Touch) {
	if link := x.links[t.Code]; t.Code != "" && link != nil && inForce(link.ArchivedAt, t.At) {
		if f := x.byID[link.InfluencerID]; f != nil && inForce(f.ArchivedAt, t.At) {
			t.InfluencerID, t.InfluencerName, t.CampaignID = f.ID, f.Name, link.CampaignID
		}
	}
	if t.InfluencerID == "" && t.Campaign != "" {
		if f := x.influencerNamed(commerce.FoldName(t.Campaign), t.At); f != nil {
			t.InfluencerID, t.InfluencerName = f.ID, f.Name
			t.CampaignID = x.campaignNamed(f.ID, commerce.FoldName(t.Content), t.At)
		}
	}
	switch {
	case t.InfluencerID != "":
		t.Channel = t.InfluencerName
	case t.Kind == facts.Direct:
		t.Channel = ChannelDirect
	default:
		t.Channel = channelOf(t.Source, t.Medium)
	}
}

// influencerNamed is the one influencer of a folded name at an instant; nil where there
// is none or the name is ambiguous. Of several, the one who existed then.
func (x *Index) influencerNamed(folded string, at time.Time) *facts.Influencer {
	var candidates, then []*facts.Influencer
	for _, f := range x.byName[folded] {
		if !inForce(f.ArchivedAt, at) {
			continue
		}
		candidates = append(candidates, f)
		if !f.CreatedAt.After(at) {
			then = append(then, f)
		}
	}
	switch {
	case len(candidates) == 1:
		return candidates[0]
	case len(then) == 1:
		return then[0]
	}
	return nil
}

// campaignNamed is the influencer's campaign of a folded name, empty where it
// is unknown; of several, the oldest that was open.
func (x *Index) campaignNamed(influencerID, folded string, at time.Time) string {
	if folded == "" {
		return ""
	}
	var best *facts.Campaign
	for _, c := range x.campaigns[influencerID] {
		if c.Folded != folded || !inForce(c.ArchivedAt, at) {
			continue
		}
		if best == nil || cmp.Or(c.CreatedAt.Compare(best.CreatedAt), cmp.Compare(c.ID, best.ID)) < 0 {
			best = c
		}
	}
	if best == nil {
		return ""
	}
	return best.ID
}

// coupon is the coupon an order's codes name on its day; nil where none does.
// The whole field is tried first, then its parts, first part first.
func (x *Index) coupon(codes []string, day string, createdAt time.Time) *facts.Coupon {
	for _, code := range codes {
		var best *facts.Coupon
		for _, c := range x.coupons[code] {
			if (c.From != "" && day < c.From) || (c.To != "" && day > c.To) || !inForce(c.DeletedAt, createdAt) {
				continue
			}
			if f := x.byID[c.InfluencerID]; f == nil || !inForce(f.ArchivedAt, createdAt) {
				continue
			}
			if best == nil || earlierClosed(c, best) {
				best = c
			}
		}
		if best != nil {
			return best
		}
	}
	return nil
}

// earlierClosed prefers, of two coupons of one code that both hold, the one
// that was closed first: its successor did not exist then.
func earlierClosed(a, b *facts.Coupon) bool {
	if a.DeletedAt.IsZero() != b.DeletedAt.IsZero() {
		return !a.DeletedAt.IsZero()
	}
	return cmp.Or(a.DeletedAt.Compare(b.DeletedAt), cmp.Compare(a.ID, b.ID)) < 0
}

// costsFor are the costs in force on an order's day for its winner: the
// campaign's if any apply, else the influencer's.
func (x *Index) costsFor(influencerID, campaignID string, evidence facts.Evidence, day string, createdAt time.Time) (level facts.CostLevel, costs []*facts.Cost) {
	var ofCampaign, ofInfluencer []*facts.Cost
	for _, c := range x.costs[influencerID] {
		switch {
		case c.FixedFeeMinor == 0 && c.VarFee.IsZero(),
			c.From != "" && day < c.From, c.To != "" && day > c.To,
			!inForce(c.DeletedAt, createdAt),
			c.CouponOnly && evidence != facts.EvidenceCoupon:
		case c.CampaignID == "":
			ofInfluencer = append(ofInfluencer, c)
		case c.CampaignID == campaignID:
			ofCampaign = append(ofCampaign, c)
		}
	}
	if len(ofCampaign) > 0 {
		return facts.LevelCampaign, ofCampaign
	}
	return facts.LevelInfluencer, ofInfluencer
}
