package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Bounds of a registration.
const (
	maxName       = 200
	maxCategory   = 100
	maxCampaignID = 100
	maxElements   = 100 // of links, coupons and costs each
)

// createInfluencer is POST /influencers: all of it or nothing.
func (s *Server) createInfluencer(w http.ResponseWriter, r *http.Request, c caller) (answer, error) {
	o, err := readObject(w, r)
	if err != nil {
		return answer{}, err
	}
	registration := s.readRegistration(r.Context(), o)
	if err := o.bad.problem(); err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.config.DependencyTimeout)
	defer cancel()
	made, err := s.deps.Store.RegisterInfluencer(ctx, c.author(s.now()), registration, s.random)
	switch {
	case errors.Is(err, commerce.ErrTooManyCosts):
		o.bad.add("costs", "too_many", "the influencer would have more than %d costs that are not removed", commerce.MaxLiveCosts)
		return answer{}, o.bad.problem()
	case errors.Is(err, commerce.ErrCampaignTaken):
		o.bad.add("campaign_id", "not_yours", "belongs to another influencer or to a deleted campaign")
		return answer{}, o.bad.problem()
	case errors.Is(err, commerce.ErrCampaignName):
		o.bad.add("campaign", "conflict", "is not the name of the campaign that campaign_id names")
		return answer{}, o.bad.problem()
	case err != nil:
		return answer{}, err
	}
	signal(s.wake)
	urls := make([]string, len(made.Codes))
	for i, code := range made.Codes {
		urls[i] = s.shortURL(code)
	}
	return answer{data: urls}, nil
}

// shortURL is where a code is opened, without scheme. Only the code is stored.
func (s *Server) shortURL(code string) string {
	return strings.TrimSuffix(s.config.ShortBase, "/") + "/" + code
}

func (s *Server) readRegistration(ctx context.Context, o object) commerce.Registration {
	r := commerce.Registration{
		Name:       strings.TrimSpace(required(o, "name", foldable(maxName))),
		Campaign:   strings.TrimSpace(optional(o, "campaign", text(maxName)).Value),
		CampaignID: optional(o, "campaign_id", filled(maxCampaignID)).Value,
		Category:   strings.TrimSpace(optional(o, "category", text(maxCategory)).Value),
	}
	r.Links = s.readLinks(ctx, o)
	for _, coupon := range o.children("coupons", maxElements).Value {
		r.Coupons = append(r.Coupons, readCoupon(coupon))
	}
	for _, cost := range o.children("costs", maxElements).Value {
		r.Costs = append(r.Costs, readCost(cost))
		if r.Costs[len(r.Costs)-1].CampaignCost && r.CampaignID == "" {
			o.bad.add("campaign_id", "required", "is required, since %s is true", cost.at("is_campaign_cost"))
		}
	}
	return r
}

// foldable reads a name that is still one after folding: "\u200b" is not.
func foldable(max int) reader[string] {
	return func(value any) (string, *fault) {
		name, f := filled(max)(value)
		if f == nil && commerce.FoldName(name) == "" {
			f = &fault{"empty", "has no visible character"}
		}
		return name, f
	}
}

func (s *Server) readLinks(ctx context.Context, o object) []string {
	links := required(o, "links", func(value any) ([]object, *fault) {
		if list, ok := value.([]any); ok && len(list) == 0 {
			return nil, &fault{"too_few", "must have at least 1 element"}
		}
		return o.children("links", maxElements).Value, nil
	})
	var urls []string
	var destinations []pathURL
	for _, link := range links {
		before := len(o.bad.details)
		url := required(link, "url", text(maxURL))
		urls = append(urls, url)
		if len(o.bad.details) == before {
			destinations = append(destinations, pathURL{link.at("url"), url})
		}
	}
	s.links.checkAll(ctx, destinations, o.bad)
	return urls
}

// updateInfluencer is PUT /influencers: the category of the influencer of that name.
func (s *Server) updateInfluencer(w http.ResponseWriter, r *http.Request, c caller) (answer, error) {
	o, err := readObject(w, r)
	if err != nil {
		return answer{}, err
	}
	name := required(o, "name", foldable(maxName))
	category := required(o, "category", text(maxCategory))
	if err := o.bad.problem(); err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.config.DependencyTimeout)
	defer cancel()
	err = s.deps.Store.UpdateInfluencer(ctx, c.author(s.now()), name, strings.TrimSpace(category))
	if errors.Is(err, commerce.ErrNotFound) {
		return answer{}, notFound("there is no influencer of that name")
	}
	signal(s.wake)
	return answer{}, err
}

// deleteInfluencer is DELETE /influencers: archives the influencer, or one
// campaign. History and past attribution stay.
func (s *Server) deleteInfluencer(w http.ResponseWriter, r *http.Request, c caller) (answer, error) {
	o, err := readObject(w, r)
	if err != nil {
		return answer{}, err
	}
	name := required(o, "name", foldable(maxName))
	campaignID := optional(o, "campaign_id", filled(maxCampaignID)).Value
	if err := o.bad.problem(); err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.config.DependencyTimeout)
	defer cancel()
	archived, err := s.deps.Store.ArchiveInfluencer(ctx, c.author(s.now()), name, campaignID)
	if errors.Is(err, commerce.ErrNotFound) {
		return answer{}, nothingDeleted("there is no such influencer or campaign")
	}
	if err != nil {
		return answer{}, err
	}
	signal(s.wake)
	data := outcomes{Message: "archived: past orders keep their attribution", Data: []outcome{}}
	for _, campaign := range archived.Campaigns {
		data.Data = append(data.Data, outcome{Message: fmt.Sprintf("campaign %s archived", campaign.CampaignID), Status: http.StatusOK})
	}
	return answer{data: data}, nil
}

// influencerRecord is an influencer of GET /influencers (specification, listing record).
type influencerRecord struct {
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	Category  string           `json:"category"`
	Campaigns []campaignRecord `json:"campaigns"`
	Links     []linkRecord     `json:"links"`
	Coupons   []couponRecord   `json:"coupons"`
	Costs     []costRecord     `json:"costs"`
}

type campaignRecord struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type linkRecord struct {
	ID         string `json:"id"`
	CampaignID string `json:"campaignId"`
	URL        string `json:"url"`
	ShortURL   string `json:"short_url"`
}

// listInfluencers is GET /influencers: the full list, or a page of it.
func (s *Server) listInfluencers(_ http.ResponseWriter, r *http.Request, c caller) (answer, error) {
	records := []influencerRecord{}
	paging, err := s.eachInfluencer(r, c.companyID, s.deps.Store.Influencers, func(i commerce.Influencer) {
		records = append(records, s.record(i))
	})
	return answer{data: records, pagination: paging}, err
}

// influencerLister reads influencers after a cursor.
type influencerLister func(ctx context.Context, companyID string, after commerce.InfluencerCursor, limit int) ([]commerce.Influencer, error)

// eachInfluencer calls f with the page that the query asks for, or with all in
// pages; pagination is nil then.
func (s *Server) eachInfluencer(r *http.Request, companyID string, list influencerLister, f func(commerce.Influencer)) (*pagination, error) {
	bad := &violations{}
	limit, after := pageQuery(r.URL.Query(), bad)
	if err := bad.problem(); err != nil {
		return nil, err
	}
	size := limit
	if limit == 0 {
		size = maxPage
	}
	for {
		// One more than the page tells whether there is another.
		page, err := s.influencerPage(r.Context(), list, companyID, after, size+1)
		if err != nil {
			return nil, err
		}
		more := len(page) > size
		if more {
			page = page[:size]
		}
		for _, influencer := range page {
			f(influencer)
		}
		if more {
			last := page[size-1]
			after = commerce.InfluencerCursor{CreatedAt: last.CreatedAt, InfluencerID: last.InfluencerID}
		}
		switch {
		case limit > 0 && more:
			next := after.String()
			return &pagination{HasMore: true, NextCursor: &next}, nil
		case limit > 0:
			return &pagination{}, nil
		case !more:
			return nil, nil
		}
	}
}

func (s *Server) influencerPage(ctx context.Context, list influencerLister, companyID string, after commerce.InfluencerCursor, limit int) ([]commerce.Influencer, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.DependencyTimeout)
	defer cancel()
	return list(ctx, companyID, after, limit)
}

func (s *Server) record(i commerce.Influencer) influencerRecord {
	record := influencerRecord{
		ID: i.InfluencerID, Name: i.Name, Category: i.Category,
		Campaigns: []campaignRecord{}, Links: []linkRecord{}, Coupons: []couponRecord{}, Costs: []costRecord{},
	}
	for _, c := range i.Campaigns {
		record.Campaigns = append(record.Campaigns, campaignRecord{c.CampaignID, c.Name})
	}
	for _, l := range i.Links {
		record.Links = append(record.Links, linkRecord{l.LinkID, l.CampaignID, l.URL, s.shortURL(l.Code)})
	}
	for _, c := range i.Coupons {
		record.Coupons = append(record.Coupons, couponRecord{c.CouponID, c.CampaignID, c.Code, c.StartDate, c.EndDate})
	}
	for _, c := range i.Costs {
		record.Costs = append(record.Costs, recordCost(c))
	}
	return record
}
