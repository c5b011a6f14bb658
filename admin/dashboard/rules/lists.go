package rules

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
)

func (s *Pages) listRoutes() []site.Route {
	return []site.Route{
		{Pattern: "GET " + site.InfluencersPath + site.CSVEnding,
			Handle: s.File("influencers", partnerColumns, s.influencersFile)},
		{Pattern: "GET " + site.InfluencerPath + site.CSVEnding,
			Handle: s.File("clicks", []string{"day", "code", "short_url", "url", "campaign_id", "clicks"}, s.clicksFile)},
		{Pattern: "GET " + site.CostsPath + site.CSVEnding,
			Handle: s.File("costs",
				[]string{"additional_cost_id", "name", "category", "value_brl", "frequency", "start_date", "end_date"}, s.costsFile)},
		{Pattern: "GET " + site.KeysPath + site.CSVEnding, Owner: true,
			Handle: s.File("keys",
				[]string{"key_id", "name", "environment", "type", "scopes", "ends_with", "created_at", "last_used_at", "expires_at", "revoked_at"},
				s.keysFile)},
	}
}

func (s *Pages) influencersFile(ctx context.Context, r *http.Request, v site.Request, f *site.ListFile) error {
	query := r.URL.Query()
	search, err := s.influencerSearch(v, strings.TrimSpace(query.Get("q")), query.Get("sort"))
	if err != nil {
		return err
	}
	search.Limit = site.RowsPerRead
	return f.AddPages(func() (int, error) {
		list, err := s.db.FindInfluencers(ctx, v.Current.CompanyID, search)
		if err == nil {
			err = s.addPartners(ctx, v, f, list, search.Currency)
		}
		search.Offset += len(list)
		return len(list), err
	})
}

func (s *Pages) costsFile(ctx context.Context, _ *http.Request, v site.Request, f *site.ListFile) error {
	list, err := s.db.AdditionalCosts(ctx, v.Current.CompanyID, commerce.CostFilter{}, mostCosts)
	if err != nil {
		return err
	}
	for _, c := range list {
		f.Add(c.ID, c.Name, c.Category, site.MinorText(decimal.NewFromInt(c.ValueMinor), commerce.BRL), c.Frequency, c.StartDate,
			c.EndDate)
	}
	return nil
}

// keysFile lists the keys of both environments. What a key ends with is all that is known
// of its text.
func (s *Pages) keysFile(ctx context.Context, _ *http.Request, v site.Request, f *site.ListFile) error {
	for _, environment := range []string{commerce.Live, commerce.Sandbox} {
		company := v.CompanyOf(environment)
		if company == "" {
			continue
		}
		list, err := s.db.ListAPIKeys(ctx, company, mostKeys)
		if err != nil {
			return err
		}
		slices.Reverse(list) // as on the page
		for _, k := range list {
			f.Add(k.KeyID, k.Name, environment, k.Type, strings.Join(scopeNames(k.Scopes), " "), k.Hint, site.MomentText(k.CreatedAt),
				site.MomentText(k.LastUsedAt),
				site.MomentText(k.ExpiresAt), site.MomentText(k.RevokedAt))
		}
	}
	return nil
}
