package dashboard

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
)

func (s *rulePages) listRoutes() []route {
	return []route{
		{pattern: "GET " + influencersPath + csvEnding,
			handle: s.file("influencers", []string{"influencer_id", "influencer", "category", "links", "coupons_today", "costs",
				"orders_30_days", "sales_30_days", "commission_30_days", "currency"}, s.influencersFile)},
		{pattern: "GET " + influencerPath + csvEnding,
			handle: s.file("clicks", []string{"day", "code", "short_url", "url", "campaign_id", "clicks"}, s.clicksFile)},
		{pattern: "GET " + costsPath + csvEnding,
			handle: s.file("costs",
				[]string{"additional_cost_id", "name", "category", "value_brl", "frequency", "start_date", "end_date"}, s.costsFile)},
		{pattern: "GET " + keysPath + csvEnding, owner: true,
			handle: s.file("keys",
				[]string{"key_id", "name", "environment", "type", "scopes", "ends_with", "created_at", "last_used_at", "expires_at", "revoked_at"},
				s.keysFile)},
	}
}

func (s *rulePages) influencersFile(ctx context.Context, r *http.Request, v pageRequest, f *listFile) error {
	query := r.URL.Query()
	search, err := s.influencerSearch(v, strings.TrimSpace(query.Get("q")), query.Get("sort"))
	if err != nil {
		return err
	}
	search.Limit = rowsPerRead
	for {
		list, err := s.db.FindInfluencers(ctx, v.current.CompanyID, search)
		if err != nil {
			return err
		}
		for _, i := range list {
			if err := f.add(i.InfluencerID, i.Name, i.Category, strconv.FormatInt(i.Links, 10), strconv.FormatInt(i.Coupons, 10),
				strconv.FormatInt(i.Costs, 10), strconv.FormatInt(i.Orders, 10),
				minorText(i.TotalMinor, search.Currency), minorText(i.CommissionMinor, search.Currency), search.Currency); err != nil {
				return err
			}
		}
		if len(list) < rowsPerRead {
			return nil
		}
		search.Offset += len(list)
	}
}

func (s *rulePages) costsFile(ctx context.Context, _ *http.Request, v pageRequest, f *listFile) error {
	list, err := s.db.AdditionalCosts(ctx, v.current.CompanyID, commerce.CostFilter{}, mostCosts)
	if err != nil {
		return err
	}
	for _, c := range list {
		if err := f.add(c.ID, c.Name, c.Category, minorText(decimal.NewFromInt(c.ValueMinor), commerce.BRL), c.Frequency, c.StartDate,
			c.EndDate); err != nil {
			return err
		}
	}
	return nil
}

// keysFile lists the keys of both environments. What a key ends with is all that is known
// of its text.
func (s *rulePages) keysFile(ctx context.Context, _ *http.Request, v pageRequest, f *listFile) error {
	for _, environment := range []string{commerce.Live, commerce.Sandbox} {
		company := v.companyOf(environment)
		if company == "" {
			continue
		}
		list, err := s.db.ListAPIKeys(ctx, company, mostKeys)
		if err != nil {
			return err
		}
		for _, k := range list {
			if err := f.add(k.KeyID, k.Name, environment, k.Type, strings.Join(scopeNames(k.Scopes), " "), k.Hint, momentText(k.CreatedAt),
				momentText(k.LastUsedAt),
				momentText(k.ExpiresAt), momentText(k.RevokedAt)); err != nil {
				return err
			}
		}
	}
	return nil
}
