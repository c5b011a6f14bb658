package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Bounds of a registration (admin-api.md; the texts are ours).
const (
	maxName       = 200
	maxCategory   = 100
	maxCampaignID = 100
	maxElements   = 100 // of links, coupons and costs each
)

// createInfluencer is POST /influencers: all of it or nothing.
func (s *Server) createInfluencer(w http.ResponseWriter, r *http.Request, c caller) (answer, error) {
	body, err := readObject(w, r)
	if err != nil {
		return answer{}, err
	}
	bad := &violations{}
	registration := s.readRegistration(r.Context(), object{values: body, bad: bad})
	if err := bad.problem(); err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.config.DependencyTimeout)
	defer cancel()
	made, err := s.deps.Store.RegisterInfluencer(ctx, c.author(s.now()), registration, s.random)
	switch {
	case errors.Is(err, commerce.ErrCampaignTaken):
		bad.add("campaign_id", "not_yours", "belongs to another influencer or to a deleted campaign")
		return answer{}, bad.problem()
	case errors.Is(err, commerce.ErrCampaignName):
		bad.add("campaign", "conflict", "is not the name of the campaign that campaign_id names")
		return answer{}, bad.problem()
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

// couponConflict is the 409 that names each overlapped coupon's influencer and period.
func couponConflict(e *commerce.CouponConflictError) *problem {
	p := &problem{status: http.StatusConflict, code: codeCouponConflict, message: "a coupon's period overlaps that of the same code; nothing was stored"}
	for _, c := range e.Conflicts {
		p.details = append(p.details, detail{
			Field: fmt.Sprintf("coupons[%d].cupom", c.Index), Code: codeCouponConflict,
			Message:    fmt.Sprintf("%s is already %s's %s", c.Code, c.Influencer, periodWords(c.StartDate, c.EndDate)),
			Influencer: c.Influencer, StartDate: &c.StartDate, EndDate: &c.EndDate,
		})
	}
	return p
}

func periodWords(start, end string) string {
	switch {
	case start == "" && end == "":
		return "at all times"
	case start == "":
		return "until " + end
	case end == "":
		return "from " + start
	}
	return "from " + start + " to " + end
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
	bad := &violations{}
	limit, after := pageQuery(r.URL.Query(), bad)
	if err := bad.problem(); err != nil {
		return answer{}, err
	}
	records := []influencerRecord{}
	for {
		// One more than the page tells whether there is another.
		page, err := s.influencerPage(r.Context(), c.companyID, after, pageSize(limit)+1)
		if err != nil {
			return answer{}, err
		}
		more := len(page) > pageSize(limit)
		if more {
			page = page[:pageSize(limit)]
		}
		for _, influencer := range page {
			records = append(records, s.record(influencer))
		}
		if len(page) > 0 {
			last := page[len(page)-1]
			after = commerce.InfluencerCursor{CreatedAt: last.CreatedAt, InfluencerID: last.InfluencerID}
		}
		switch {
		case limit > 0:
			paging := &pagination{HasMore: more}
			if more {
				next := cursorText(after)
				paging.NextCursor = &next
			}
			return answer{data: records, pagination: paging}, nil
		case !more:
			return answer{data: records}, nil
		}
	}
}

func pageSize(limit int) int {
	if limit > 0 {
		return limit
	}
	return maxPage
}

func (s *Server) influencerPage(ctx context.Context, companyID string, after commerce.InfluencerCursor, limit int) ([]commerce.Influencer, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.DependencyTimeout)
	defer cancel()
	return s.deps.Store.Influencers(ctx, companyID, after, limit)
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
