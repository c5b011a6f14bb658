package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

// maxElements bounds the links, coupons and costs that are read, each.
const maxElements = 100

// createInfluencer is POST /influencers. All of it is stored or nothing.
func (s *Server) createInfluencer(ctx context.Context, c caller, o object) (change, error) {
	registration := s.readRegistration(ctx, o)
	var err error
	if registration.Details, err = readDetails(c, o); err != nil {
		return nil, err
	}
	return func(ctx context.Context, author commerce.Author) (answer, error) {
		made, err := s.deps.Database.RegisterInfluencer(ctx, author, registration, s.random)
		var payee *commerce.PayeeKnownError
		switch {
		case errors.As(err, &payee):
			return answer{}, refusePayee(o, payee)
		case errors.Is(err, commerce.ErrTooManyCosts):
			return answer{}, o.refuse("costs", commerce.CodeTooMany,
				"the influencer would have more than %d costs that are not removed", commerce.MaxLiveCosts)
		case errors.Is(err, commerce.ErrOwedTooEarly):
			return answer{}, o.refuse("costs", commerce.CodeOutOfRange, "owed_from of one is more than %d days ago", commerce.MaxEntryAge)
		case errors.Is(err, commerce.ErrCampaignTaken):
			return answer{}, o.refuse("campaign_id", commerce.CodeNotYours, "belongs to another influencer or to a deleted campaign")
		case errors.Is(err, commerce.ErrCampaignName):
			return answer{}, o.refuse("campaign", commerce.CodeConflict, "is not the name of the campaign that campaign_id names")
		case err != nil:
			return answer{}, err
		}
		urls := make([]string, len(made.Codes))
		for i, code := range made.Codes {
			urls[i] = s.shortURL(code)
		}
		return answer{data: urls}, nil
	}, o.broken()
}

// shortURL returns a short link, without scheme. Only its code is stored.
func (s *Server) shortURL(code string) string {
	return strings.TrimSuffix(s.config.ShortBase, "/") + "/" + code
}

// readRegistration reads and checks a registration, the addresses of its links'
// hosts included.
func (s *Server) readRegistration(ctx context.Context, o object) commerce.Registration {
	r := commerce.Registration{
		Name:       strings.TrimSpace(required(o, "name", text)),
		Campaign:   strings.TrimSpace(optional(o, "campaign", text).Value),
		CampaignID: optional(o, "campaign_id", given).Value,
		Category:   strings.TrimSpace(optional(o, "category", text).Value),
	}
	r.CouponOnly = optional(o, "coupon_only", boolean).Value
	links := func(any) ([]object, *fault) { return o.children("links", maxElements).Value, nil }
	read := required[[]object]
	if r.CouponOnly {
		read = func(o object, name string, links reader[[]object]) []object { return optional(o, name, links).Value }
	}
	for _, link := range read(o, "links", links) {
		r.Links = append(r.Links, required(link, "url", text))
	}
	for _, coupon := range o.children("coupons", maxElements).Value {
		r.Coupons = append(r.Coupons, readCoupon(coupon))
	}
	for _, cost := range o.children("costs", maxElements).Value {
		r.Costs = append(r.Costs, readCost(cost))
	}
	o.bad.AddAll(r.Check())
	var urls []pathURL
	for i, link := range r.Links {
		if path := fmt.Sprintf("links[%d].url", i); !o.bad.Of(path) {
			urls = append(urls, pathURL{path, link})
		}
	}
	s.links.checkAll(ctx, urls, o.bad)
	return r
}

// updateInfluencer is PUT /influencers: changes the influencer that has a name, or had it.
func (s *Server) updateInfluencer(_ context.Context, c caller, o object) (change, error) {
	name := required(o, "name", text)
	var asked commerce.InfluencerChange
	var err error
	if asked.Details, err = readDetails(c, o); err != nil {
		return nil, err
	}
	newName := optional(o, "new_name", text)
	if _, other := o.values["details"]; other || newName.Present {
		asked.Category = optional(o, "category", text)
	} else {
		asked.Category = wire.Some(required(o, "category", text))
	}
	asked.Category.Value = strings.TrimSpace(asked.Category.Value)
	o.bad.AddAll(commerce.CheckCategory(name, asked.Category.Value))
	if newName.Valid {
		asked.Name = strings.TrimSpace(newName.Value)
		o.bad.AddAll(commerce.CheckNewName(asked.Name))
	}
	return func(ctx context.Context, author commerce.Author) (answer, error) {
		err := s.deps.Database.UpdateInfluencer(ctx, author, name, asked)
		var taken *commerce.NameTakenError
		switch {
		case errors.As(err, &taken):
			return answer{}, nameTaken(taken, "new_name")
		case errors.Is(err, commerce.ErrTooManyNames):
			return answer{}, o.refuse("new_name", commerce.CodeTooMany,
				"the influencer has had %d names; one of those may be taken again", commerce.MaxNames)
		case err != nil:
			return answer{}, missing(err, notFound("there is no influencer of that name"))
		}
		return answer{}, s.OnKafka(ctx, author.CompanyID)
	}, o.broken()
}

// nameTaken is the 409 that names who has or had the name in a field.
func nameTaken(e *commerce.NameTakenError, field string) *problem {
	whose := "is or was the name of " + e.Influencer
	if e.Archived {
		whose += ", who is archived"
	}
	return &problem{status: http.StatusConflict, code: codeNameTaken, message: "the name is another influencer's; nothing was stored",
		details: []detail{{Field: field, Code: codeNameTaken, Message: whose, Influencer: e.Influencer}}}
}

// restored is what came back with an influencer (docs/api.md, "Archive an influencer").
type restored struct {
	ID      string   `json:"id"`
	Links   int      `json:"links"`
	Coupons int      `json:"coupons"`
	Taken   []string `json:"taken"`
}

// restoreInfluencer is POST /influencers/restore: undoes DELETE /influencers.
func (s *Server) restoreInfluencer(_ context.Context, _ caller, o object) (change, error) {
	ref := commerce.InfluencerRef{Name: required(o, "name", text)}
	o.bad.AddAll(ref.Check())
	return func(ctx context.Context, author commerce.Author) (answer, error) {
		back, err := s.deps.Database.RestoreInfluencer(ctx, author, "", ref.Name)
		var taken *commerce.NameTakenError
		if errors.As(err, &taken) {
			refused := nameTaken(taken, "name")
			refused.message = "the name is another influencer's, and nothing was stored: archive the one who has it now, and restore then; " +
				"a name that somebody had before a rename stays theirs: register under another name"
			return answer{}, refused
		}
		return answer{data: restored{back.InfluencerID, back.Links, back.Coupons, append([]string{}, back.Taken...)}},
			missing(err, notFound("there is no archived influencer of that name"))
	}, o.broken()
}

// deleteInfluencer is DELETE /influencers: archives the influencer, or one
// campaign. History and past attribution stay.
func (s *Server) deleteInfluencer(_ context.Context, _ caller, o object) (change, error) {
	ref := commerce.InfluencerRef{Name: required(o, "name", text), CampaignID: optional(o, "campaign_id", given).Value}
	o.bad.AddAll(ref.Check())
	return func(ctx context.Context, author commerce.Author) (answer, error) {
		archived, err := s.deps.Database.ArchiveInfluencer(ctx, author, ref.Name, ref.CampaignID)
		if err != nil {
			return answer{}, missing(err, nothingDeleted("there is no such influencer or campaign"))
		}
		data := outcomes{Message: "archived: past orders keep their attribution", Data: []outcome{}}
		for _, campaign := range archived.Campaigns {
			data.Data = append(data.Data, outcome{Message: fmt.Sprintf("campaign %s archived", campaign.CampaignID), Status: http.StatusOK})
		}
		return answer{data: data}, nil
	}, o.broken()
}

// eraseInfluencer is DELETE /influencers/details: removes what is known of the person.
func (s *Server) eraseInfluencer(_ context.Context, _ caller, o object) (change, error) {
	ref := commerce.InfluencerRef{Name: required(o, "name", text)}
	o.bad.AddAll(ref.Check())
	return func(ctx context.Context, author commerce.Author) (answer, error) {
		err := s.deps.Database.EraseInfluencer(ctx, author, "", ref.Name)
		return answer{}, missing(err, notFound("there is no influencer of that name"))
	}, o.broken()
}

// influencerRecord is an influencer of GET /influencers (docs/api.md, "Influencers").
type influencerRecord struct {
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	Former    []string         `json:"former_names,omitempty"`
	Category  string           `json:"category"`
	Campaigns []campaignRecord `json:"campaigns"`
	Links     []linkRecord     `json:"links"`
	Coupons   []couponRecord   `json:"coupons"`
	Costs     []costRecord     `json:"costs"`
	Details   *detailsRecord   `json:"details,omitempty"` // nothing is known: absent
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
	paging, err := s.eachInfluencer(r, c.companyID, s.deps.Database.Influencers, func(i commerce.Influencer) {
		if c.forAssistantAlone(account.ReadInfluencers) {
			i.Details = commerce.Details{}
		}
		records = append(records, s.record(i, c.seesPayees()))
	})
	return answer{data: records, pagination: paging}, err
}

// influencerLister reads influencers after a cursor.
type influencerLister func(ctx context.Context, companyID string, after commerce.InfluencerCursor, limit int) ([]commerce.Influencer, error)

// eachInfluencer calls f with each influencer of the page that the query asks
// for, or with all influencers; then it returns no pagination.
func (s *Server) eachInfluencer(r *http.Request, companyID string, list influencerLister,
	f func(commerce.Influencer)) (*pagination, error) {
	bad := &commerce.Violations{}
	limit, after := pageQuery(r.URL.Query(), bad)
	if err := brokenRules(bad); err != nil {
		return nil, err
	}
	size := limit
	if limit == 0 {
		size = maxPage
	}
	var none *pagination // the full list has no pages
	for {
		// One more than the page: there is another page where it is found.
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
			return none, nil
		}
	}
}

func (s *Server) influencerPage(ctx context.Context, list influencerLister, companyID string, after commerce.InfluencerCursor,
	limit int) ([]commerce.Influencer, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.DependencyTimeout)
	defer cancel()
	return list(ctx, companyID, after, limit)
}

func (s *Server) record(i commerce.Influencer, whole bool) influencerRecord {
	record := influencerRecord{
		ID: i.InfluencerID, Name: i.Name, Former: i.FormerNames, Category: i.Category,
		Campaigns: []campaignRecord{}, Links: []linkRecord{}, Coupons: []couponRecord{}, Costs: []costRecord{},
		Details: recordDetails(i.Details, whole),
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
