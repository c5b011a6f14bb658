package rules

import (
	"context"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
)

// partnerColumns are the columns of the influencers' file, which an import reads again. Those from orders_30_days on are the
// page's figures, which an import does not read; influencer_id is the store's own.
var partnerColumns = []string{"influencer", "category", "campaign", "links", "coupon", "coupon_start", "coupon_end", "var_fee", "fixed_fee",
	"value", "frequency", "owed_from", "cost_start", "cost_end", "coupon_only", "campaign_only", "email", "phone", "document", "pix_type",
	"pix_key", "handles", "notes", "orders_30_days", "sales_30_days", "commission_30_days", "currency", "campaign_id", "influencer_id"}

// addPartners adds influencers to the file. One takes a row, and one more for each further campaign, coupon or agreement. What
// is known of the person and the figures are in the first row alone.
func (s *Pages) addPartners(ctx context.Context, v site.Request, f *site.ListFile, list []commerce.InfluencerSummary,
	currency string) error {
	ids := make([]string, 0, len(list))
	figures := make(map[string]commerce.InfluencerSummary, len(list))
	for _, i := range list {
		ids, figures[i.InfluencerID] = append(ids, i.InfluencerID), i
	}
	partners, err := s.db.InfluencersOf(ctx, v.Current.CompanyID, ids)
	if err != nil {
		return err
	}
	for _, i := range partners {
		for n, row := range partnerRows(i) {
			row["influencer"], row["influencer_id"] = i.Name, i.InfluencerID
			if n == 0 {
				sold := figures[i.InfluencerID]
				row["category"] = i.Category
				row["orders_30_days"], row["currency"] = decimal.NewFromInt(sold.Orders).String(), currency
				row["sales_30_days"], row["commission_30_days"] = site.MinorText(sold.TotalMinor, currency), site.MinorText(sold.CommissionMinor,
					currency)
				if v.MayChange() { // others see them masked
					addDetails(row, i.Details)
				}
			}
			cells := make([]string, len(partnerColumns))
			for c, name := range partnerColumns {
				cells[c] = row[name]
			}
			f.Add(cells...)
		}
	}
	return nil
}

func addDetails(row map[string]string, d commerce.Details) {
	row["email"], row["phone"], row["document"], row["notes"] = d.Email, d.Phone, commerce.ShownDocument(d.Document), d.Notes
	row["pix_type"], row["pix_key"], row["handles"] = d.Pix.Type, shownPix(d.Pix), strings.Join(d.Handles, " ")
}

// partnerRows are an influencer's links, coupons and agreements: those of a campaign in rows of their own. What belongs to no
// campaign stands in the rows of the one that has no name.
func partnerRows(i commerce.Influencer) (rows []map[string]string) {
	campaigns := slices.Clone(i.Campaigns)
	nameless := slices.IndexFunc(campaigns, func(c commerce.Campaign) bool { return c.Name == "" })
	if nameless < 0 {
		campaigns, nameless = append(campaigns, commerce.Campaign{}), len(campaigns)
	}
	campaigns[0], campaigns[nameless] = campaigns[nameless], campaigns[0]
	for n, campaign := range campaigns {
		rows = append(rows, rowsOfCampaign(i, campaign, n == 0)...)
	}
	if len(rows) == 0 {
		rows = append(rows, map[string]string{})
	}
	return rows
}

func rowsOfCampaign(i commerce.Influencer, campaign commerce.Campaign, first bool) (rows []map[string]string) {
	at := func(n int) map[string]string {
		for len(rows) <= n {
			rows = append(rows, map[string]string{"campaign": campaign.Name, "campaign_id": campaign.CampaignID})
		}
		return rows[n]
	}
	for _, link := range i.Links {
		if link.CampaignID == campaign.CampaignID {
			at(0)["links"] = strings.TrimSpace(at(0)["links"] + " " + link.URL)
		}
	}
	n := 0
	for _, c := range i.Coupons {
		if c.CampaignID == campaign.CampaignID {
			row := at(n)
			row["coupon"], row["coupon_start"], row["coupon_end"] = c.Code, c.StartDate, c.EndDate
			n++
		}
	}
	n = 0
	for _, c := range i.Costs {
		if c.CampaignID == campaign.CampaignID || first && c.CampaignID == "" {
			addCost(at(n), c)
			n++
		}
	}
	return rows
}

func addCost(row map[string]string, c commerce.Cost) {
	row["cost_start"], row["cost_end"], row["owed_from"] = c.StartDate, c.EndDate, c.OwedFrom
	if !c.VarFee.IsZero() {
		row["var_fee"] = c.VarFee.String()
	}
	if c.FixedFeeMinor != 0 {
		row["fixed_fee"] = site.MinorText(decimal.NewFromInt(c.FixedFeeMinor), commerce.BRL)
	}
	if c.ValueMinor != 0 {
		row["value"], row["frequency"] = site.MinorText(decimal.NewFromInt(c.ValueMinor), commerce.BRL), c.Frequency
	}
	for name, is := range map[string]bool{"coupon_only": c.CouponCost, "campaign_only": c.CampaignID != ""} {
		if is {
			row[name] = "true"
		}
	}
}
