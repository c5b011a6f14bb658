package attribution

import (
	"cmp"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/models"
	"github.com/tributary-io/tributary/internal/wire"
)

// Index is one company's rules, arranged for look-ups. It never changes, so it is
// safe for concurrent use.
type Index struct {
	rules       *facts.Rules
	hosts       []string                       // the store's own: see bareHost
	byID        map[string]*facts.Influencer   // by influencer id
	byName      map[string][]*facts.Influencer // by folded name, those of before too
	campaigns   map[string][]*facts.Campaign   // by influencer id
	campaignIDs map[string]*facts.Campaign     // by campaign id
	links       map[string]*facts.Link         // by code
	coupons     map[string][]*facts.Coupon     // by folded code
	costs       map[string][]*facts.Cost       // by influencer id
	identities  map[facts.Key][]facts.Identity
	calculator  *models.Calculator
	origins     map[string]bool // see OriginOf
	windows     []time.Duration // see Windows
}

// NewIndex makes an index of rules. The rules must not change afterwards.
func NewIndex(rules *facts.Rules) *Index {
	x := &Index{
		rules: rules, byID: map[string]*facts.Influencer{}, byName: map[string][]*facts.Influencer{},
		campaigns: map[string][]*facts.Campaign{}, campaignIDs: map[string]*facts.Campaign{},
		links: map[string]*facts.Link{}, coupons: map[string][]*facts.Coupon{}, costs: map[string][]*facts.Cost{},
		calculator: models.NewCalculator(), origins: originsOf(rules), windows: rules.Windows(),
	}
	for _, host := range rules.Hosts {
		x.hosts = append(x.hosts, bareHost(host))
	}
	for i := range rules.Influencers {
		f := &rules.Influencers[i]
		x.byID[f.ID] = f
		for _, name := range f.Names() {
			x.byName[name] = append(x.byName[name], f)
		}
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
	x.identities = make(map[facts.Key][]facts.Identity, len(rules.Identities))
	for _, i := range rules.Identities {
		x.identities[i.Key] = append(x.identities[i.Key], i)
	}
	return x
}

// CompanyID returns the id of the company whose rules these are.
func (x *Index) CompanyID() string { return x.rules.CompanyID }

// Rev returns the revision of the rules.
func (x *Index) Rev() int64 { return x.rules.Rev }

// DayOf returns an instant's day in the store's time zone, YYYY-MM-DD.
func (x *Index) DayOf(t time.Time) string { return t.In(x.rules.Location).Format(time.DateOnly) }

// inForce reports whether a rule that was closed at an instant (zero: never) was
// still in force at t.
func inForce(closed, t time.Time) bool { return closed.IsZero() || t.Before(closed) }

// match sets the influencer, campaign and channel of a touch that led to an order: by
// the link of its trb_click, else by utm_campaign and utm_content. It does not matter
// when a rule was registered, only when it was closed.
func (x *Index) match(t *Touch, o *wire.Order) {
	if link := x.links[t.Code]; t.Code != "" && link != nil && inForce(link.ArchivedAt, t.At) {
		if f := x.byID[link.InfluencerID]; f != nil && inForce(f.ArchivedAt, t.At) {
			t.InfluencerID, t.InfluencerName, t.CampaignID = f.ID, f.Name, link.CampaignID
		}
	}
	if t.InfluencerID == "" && t.Campaign != "" {
		if f := x.influencerNamed(fold.Name(t.Campaign), t.At); f != nil {
			t.InfluencerID, t.InfluencerName = f.ID, f.Name
			t.CampaignID = x.campaignNamed(f.ID, fold.Name(t.Content), t.At, o)
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

// influencerNamed returns the influencer with a folded name, or who had it before, at an instant. Of several
// it is the only one that existed then; before all of them it is the first one, if that
// was archived before the next one was registered. It returns nil where there is none,
// or the name is ambiguous.
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
	slices.SortFunc(candidates, func(a, b *facts.Influencer) int { return a.CreatedAt.Compare(b.CreatedAt) })
	switch {
	case len(candidates) == 1:
		return candidates[0]
	case len(then) == 1:
		return then[0]
	case len(then) == 0 && len(candidates) > 1 && !inForce(candidates[0].ArchivedAt, candidates[1].CreatedAt):
		return candidates[0]
	}
	return nil
}

// campaignNamed returns the id of an influencer's campaign with a folded name that
// was in force at an instant, and "" where there is none. Of several it is the newest
// of those that have a cost in force for the order by a link, else the newest.
func (x *Index) campaignNamed(influencerID, folded string, at time.Time, o *wire.Order) string {
	if folded == "" {
		return ""
	}
	var named []*facts.Campaign
	for _, c := range x.campaigns[influencerID] {
		if c.Folded == folded && inForce(c.ArchivedAt, at) {
			named = append(named, c)
		}
	}
	if len(named) == 0 {
		return ""
	}
	slices.SortFunc(named, func(a, b *facts.Campaign) int {
		return -cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	if len(named) > 1 {
		day := x.DayOf(o.CreatedAt)
		for _, c := range named {
			if level, _ := x.costsFor(influencerID, c.ID, facts.EvidenceLink, day, o.CreatedAt); level == facts.LevelCampaign {
				return c.ID
			}
		}
	}
	return named[0].ID
}

// coupon returns the coupon of the first of the codes that has one in force on the
// order's day, and nil where none has.
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

// earlierClosed reports whether coupon a is preferred to b, which has the same code
// and was in force too: the one that was closed first, since the other took its place.
func earlierClosed(a, b *facts.Coupon) bool {
	if a.DeletedAt.IsZero() != b.DeletedAt.IsZero() {
		return !a.DeletedAt.IsZero()
	}
	return cmp.Or(a.DeletedAt.Compare(b.DeletedAt), cmp.Compare(a.ID, b.ID)) < 0
}

// costsFor returns the winner's costs that are in force on an order's day: those of
// the campaign if there are any, else the influencer's. They are ordered by id. Of two
// that differ only in amount the later one alone is returned (see replaces).
func (x *Index) costsFor(influencerID, campaignID string, evidence facts.Evidence, day string,
	createdAt time.Time) (level facts.CostLevel, costs []*facts.Cost) {
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
		return facts.LevelCampaign, withoutReplaced(ofCampaign)
	}
	return facts.LevelInfluencer, withoutReplaced(ofInfluencer)
}

// withoutReplaced returns the costs that no other of the list replaces.
func withoutReplaced(costs []*facts.Cost) []*facts.Cost {
	return slices.DeleteFunc(slices.Clone(costs), func(old *facts.Cost) bool {
		return slices.ContainsFunc(costs, func(c *facts.Cost) bool { return c.Replaces(old) })
	})
}
