package rules

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

func (s *Pages) changeCategory(w http.ResponseWriter, r *http.Request, v site.Request, i commerce.Influencer) {
	category := strings.TrimSpace(r.PostForm.Get("category"))
	if bad := commerce.CheckCategory(i.Name, category); bad.Any() {
		s.showInfluencer(w, r, v, http.StatusUnprocessableEntity, influencerPage{Alert: site.ViolationText(v.Lang, bad.List[0])})
		return
	}
	if err := s.db.UpdateInfluencer(r.Context(), s.Author(v), i.Name, commerce.InfluencerChange{Category: wire.Some(category)}); err != nil {
		s.NotFoundOr(w, r, err, "no_influencer")
		return
	}
	s.back(w, r, v, "influencer_saved")
}

func (s *Pages) addLinks(w http.ResponseWriter, r *http.Request, v site.Request, i commerce.Influencer) {
	f := s.linksForm(v, r.PostForm)
	_, ok := s.tryRegister(w, r, v, f, s.influencerHere(v, i),
		commerce.Registration{Name: i.Name, Campaign: strings.TrimSpace(r.PostForm.Get("campaign")), Links: typedLinks(r.PostForm.Get("links"))})
	switch {
	case !ok:
	case f.Failed():
		s.showInfluencer(w, r, v, f.Status(), influencerPage{Links: f})
	default:
		s.back(w, r, v, "influencer_saved")
	}
}

func (s *Pages) addCoupon(w http.ResponseWriter, r *http.Request, v site.Request, i commerce.Influencer) {
	f := s.couponForm(v, i, r.PostForm)
	asked := commerce.NewCoupon{CampaignID: s.campaignOf(i, r.PostForm.Get("campaign_id")), CouponTerms: typedCoupon(r, f)}
	f.Refuse(asked.Check(), couponNames)
	s.saveHere(w, r, v, i, f, influencerPage{Coupon: f}, func(ctx context.Context) error {
		_, err := s.db.AddCoupon(ctx, s.Author(v), asked.CampaignID, asked.CouponTerms, s.Random)
		return err
	})
}

// campaignOf returns the id of one of an influencer's campaigns, else "".
func (s *Pages) campaignOf(i commerce.Influencer, id string) string {
	for _, c := range i.Campaigns {
		if c.CampaignID == id {
			return id
		}
	}
	return ""
}

func (s *Pages) removeCoupon(w http.ResponseWriter, r *http.Request, v site.Request, i commerce.Influencer) {
	campaign, code := s.campaignOf(i, r.PostForm.Get("campaign_id")), r.PostForm.Get("code")
	if campaign == "" || !commerce.IsID(code) {
		s.ProblemOf(w, r, http.StatusNotFound, "no_influencer")
		return
	}
	s.removeHere(w, r, v, i, "coupon_removed", func(ctx context.Context) error {
		_, err := s.db.DeleteCoupon(ctx, s.Author(v), campaign, code)
		return err
	})
}

func (s *Pages) addCost(w http.ResponseWriter, r *http.Request, v site.Request, i commerce.Influencer) {
	f := s.agreementForm(v, i, r.PostForm)
	asked := commerce.NewCost{InfluencerRef: commerce.InfluencerRef{Name: i.Name, CampaignID: s.campaignOf(i, r.PostForm.Get("campaign_id"))},
		CostTerms: s.typedCost(r, v, f)}
	asked.CampaignCost = asked.CampaignID != ""
	if r.PostForm.Get("campaign_id") != asked.CampaignID {
		f.Fail("campaign_id", v.Lang.T("form.choose"))
	}
	f.Refuse(asked.Check(), costNames)
	if err := s.warnOfFee(r.Context(), v, f, asked.CostTerms); err != nil {
		s.Unavailable(w, r, err)
		return
	}
	s.saveHere(w, r, v, i, f, influencerPage{Cost: f}, func(ctx context.Context) error {
		_, _, err := s.db.AddCost(ctx, s.Author(v), asked.Name, asked.CampaignID, asked.CostTerms, s.Random)
		return err
	})
}

func (s *Pages) removeInfluencerCost(w http.ResponseWriter, r *http.Request, v site.Request, i commerce.Influencer) {
	cost := r.PostForm.Get("cost")
	if !slices.ContainsFunc(i.Costs, func(c commerce.Cost) bool { return c.CostID == cost }) {
		s.ProblemOf(w, r, http.StatusNotFound, "no_influencer")
		return
	}
	s.removeHere(w, r, v, i, "agreement_removed", func(ctx context.Context) error { return s.db.DeleteCost(ctx, s.Author(v), cost, false) })
}

// archive ends an influencer's links, coupons and costs, or those of one campaign.
func (s *Pages) archive(w http.ResponseWriter, r *http.Request, v site.Request, i commerce.Influencer) {
	campaign := r.PostForm.Get("campaign_id")
	if campaign != s.campaignOf(i, campaign) {
		s.ProblemOf(w, r, http.StatusNotFound, "no_influencer")
		return
	}
	answered, err := s.save(w, r, v, nil, s.influencerHere(v, i), func(ctx context.Context) error {
		_, err := s.db.ArchiveInfluencer(ctx, s.Author(v), i.Name, campaign)
		return err
	})
	if err != nil {
		s.NotFoundOr(w, r, err, "no_influencer")
		return
	}
	if answered {
		return
	}
	if campaign != "" {
		s.back(w, r, v, "campaign_archived")
		return
	}
	site.Done(w, r, v.Path(site.InfluencersPath), "influencer_archived")
}
