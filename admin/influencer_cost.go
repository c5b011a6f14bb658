package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/uuidtext"
)

// costGroup is the costs of one influencer (docs/api.md, "Influencers").
type costGroup struct {
	Name             string       `json:"name"`
	InfluencerCostID string       `json:"influencer_cost_id"` // the influencer's id: each has one group
	Details          []costDetail `json:"details"`
}

// costDetail is one cost of a group. campaign_cost_id is the cost's id where it
// is a cost of a campaign, else "".
type costDetail struct {
	CostID         string          `json:"cost_id"`
	FixedFee       commerce.Amount `json:"fixed_fee"`
	VarFee         number          `json:"var_fee"`
	StartDate      string          `json:"start_date"`
	EndDate        string          `json:"end_date"`
	Frequency      string          `json:"frequency"`
	Value          commerce.Amount `json:"value"`
	CampaignCostID string          `json:"campaign_cost_id"`
	Campaign       string          `json:"campaign"`
	IsCampaignCost bool            `json:"is_campaign_cost"`
	IsCouponCost   bool            `json:"is_coupon_cost"`
}

// listInfluencerCosts is GET /influencers/costs: the full list, or a page of it.
func (s *Server) listInfluencerCosts(_ http.ResponseWriter, r *http.Request, c caller) (answer, error) {
	groups := []costGroup{}
	paging, err := s.eachInfluencer(r, c.companyID, s.deps.Database.InfluencersWithCosts, func(i commerce.Influencer) {
		groups = append(groups, groupCosts(i))
	})
	return answer{data: groups, pagination: paging}, err
}

func groupCosts(i commerce.Influencer) costGroup {
	campaigns := make(map[string]string, len(i.Campaigns))
	for _, c := range i.Campaigns {
		campaigns[c.CampaignID] = c.Name
	}
	group := costGroup{Name: i.Name, InfluencerCostID: i.InfluencerID, Details: []costDetail{}}
	for _, c := range i.Costs {
		d := costDetail{
			CostID: c.CostID, StartDate: c.StartDate, EndDate: c.EndDate, Frequency: c.Frequency,
			FixedFee: commerce.Amount{Minor: c.FixedFeeMinor, Currency: commerce.BRL}, VarFee: number{c.VarFee},
			Value:    commerce.Amount{Minor: c.ValueMinor, Currency: commerce.BRL},
			Campaign: campaigns[c.CampaignID], IsCampaignCost: c.CampaignCost, IsCouponCost: c.CouponCost,
		}
		if c.CampaignCost {
			d.CampaignCostID = c.CostID
		}
		group.Details = append(group.Details, d)
	}
	return group
}

// createInfluencerCost is POST /influencers/costs.
func (s *Server) createInfluencerCost(_ context.Context, _ caller, o object) (change, error) {
	asked := commerce.NewCost{
		InfluencerRef: commerce.InfluencerRef{Name: required(o, "name", text), CampaignID: optional(o, "campaign_id", given).Value},
		CostTerms:     readCost(o),
	}
	o.bad.AddAll(asked.Check())
	return func(ctx context.Context, author commerce.Author) (answer, error) {
		influencerID, cost, err := s.deps.Database.AddCost(ctx, author, asked.Name, asked.CampaignID, asked.CostTerms, s.random)
		switch {
		case errors.Is(err, commerce.ErrTooManyCosts):
			return answer{}, o.refuse("name", commerce.CodeTooMany,
				"the influencer would have more than %d costs that are not removed", commerce.MaxLiveCosts)
		case errors.Is(err, commerce.ErrOwedTooEarly):
			return answer{}, o.refuse("owed_from", commerce.CodeOutOfRange, "is more than %d days ago", commerce.MaxEntryAge)
		case errors.Is(err, commerce.ErrCampaignTaken):
			return answer{}, o.refuse("campaign_id", commerce.CodeNotYours, "belongs to another influencer or to a deleted campaign")
		case err != nil:
			return answer{}, missing(err, notFound("there is no such influencer or campaign"))
		}
		data := createdCost{InfluencerCostID: influencerID, CostID: cost.CostID}
		if len(cost.Replaces) > 0 {
			data.Note = fmt.Sprintf("from %s on it counts in place of %s, which differs only in amount or was removed", cost.StartDate,
				strings.Join(cost.Replaces, ", "))
		}
		if cost.CampaignID != "" {
			data.CampaignCostID = cost.CostID
		}
		return answer{data: data}, nil
	}, o.broken()
}

// createdCost is the data of POST /influencers/costs.
type createdCost struct {
	InfluencerCostID string `json:"influencer_cost_id"`
	CostID           string `json:"cost_id"`
	CampaignCostID   string `json:"campaign_cost_id,omitempty"`
	Note             string `json:"note,omitempty"` // which costs do not count where this one does
}

// deleteInfluencerCost is DELETE /influencers/costs: ends the cost now.
func (s *Server) deleteInfluencerCost(_ context.Context, _ caller, o object) (change, error) {
	costID, campaignCostID := optional(o, "cost_id", given), optional(o, "campaign_cost_id", given)
	switch {
	case costID.Valid && campaignCostID.Valid && costID.Value != campaignCostID.Value:
		o.bad.Add("campaign_cost_id", commerce.CodeConflict, "names another cost than cost_id")
	case !costID.Valid && !campaignCostID.Valid && !o.bad.Any():
		o.bad.Add("cost_id", commerce.CodeRequired, "is required, or campaign_cost_id")
	}
	id := costID.Or(campaignCostID.Value)
	return func(ctx context.Context, author commerce.Author) (answer, error) {
		err := commerce.ErrNotFound // ids of costs are UUIDs
		if uuidtext.Is(id) {
			err = s.deps.Database.DeleteCost(ctx, author, id, campaignCostID.Valid)
		}
		if err != nil {
			return answer{}, missing(err, nothingDeleted("there is no such cost"))
		}
		return answer{data: outcomes{Message: "cost removed", Data: []outcome{{Message: "cost " + id + " removed", Status: http.StatusOK}}}}, nil
	}, o.broken()
}
