package merchant

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/postgres"
)

// knownAtOnce bounds of how many names the influencers are read at once.
const knownAtOnce = 500

// knownInfluencer is what an import read of an influencer before its first line, with the keys that name it as a customer.
type knownInfluencer struct {
	commerce.Influencer
	keys []commerce.IdentityKey
}

type namedInfluencer struct{ influencerID, folded string }

func namedColumns(n *namedInfluencer) postgres.Columns {
	return postgres.Columns{postgres.Into("i.influencer_id", &n.influencerID), postgres.Into("n.folded", &n.folded)}
}

func keyColumns(k *owned[commerce.IdentityKey]) postgres.Columns {
	return postgres.Columns{
		postgres.Into("influencer_id", &k.influencerID),
		postgres.Into("kind", &k.it.Kind),
		postgres.Into("key", &k.it.Key),
	}
}

// readKnown reads the influencers who have or had some folded names, and are not archived.
func (m *importing) readKnown(ctx context.Context, names []string) error {
	company := m.author.CompanyID
	named, err := postgres.Collect(ctx, m.tx, postgres.Scan(namedColumns), `
		select `+postgres.List(namedColumns)+` from (
			select influencer_id, name_folded as folded from influencer where company_id = @company_id and name_folded = any(@names)
			union select influencer_id, name_folded from former_name where company_id = @company_id and name_folded = any(@names)) n
		join influencer i on i.company_id = @company_id and i.influencer_id = n.influencer_id
		where i.archived_at is null`, pgx.NamedArgs{"company_id": company, "names": names})
	if err != nil || len(named) == 0 {
		return err
	}
	ids := make([]string, len(named))
	for i, n := range named {
		ids[i] = n.influencerID
	}
	list, err := influencersOf(ctx, m.tx, company, ids)
	if err != nil {
		return err
	}
	byID := map[string]*knownInfluencer{}
	for _, i := range list {
		byID[i.InfluencerID] = &knownInfluencer{Influencer: i}
	}
	keys, err := postgres.Collect(ctx, m.tx, postgres.Scan(keyColumns), `
		select `+postgres.List(keyColumns)+` from influencer_identity
		where company_id = $1 and influencer_id = any($2::uuid[]) and until is null`, company, ids)
	if err != nil {
		return err
	}
	for _, k := range keys {
		byID[k.influencerID].keys = append(byID[k.influencerID].keys, k.it)
	}
	for _, n := range named {
		m.known[n.folded] = byID[n.influencerID]
	}
	return nil
}

// saysNothingNew reports whether all that a registration says is known of its influencer, of what was read before the first line;
// false also where that must be looked at. It drops from the registration what is known.
func (m *importing) saysNothingNew(reg *registering) bool {
	known := m.known[fold.Name(reg.Name)]
	if known == nil || reg.CampaignID != "" {
		return false
	}
	reg.drop(&known.Influencer)
	after := known.Details
	reg.Details.Apply(&after)
	return reg.Category == "" && len(reg.Links)+len(reg.Coupons)+len(reg.Costs) == 0 && len(known.Details.Differs(&after)) == 0 &&
		!slices.ContainsFunc(reg.Details.Keys, func(asked commerce.IdentityKey) bool { return !slices.ContainsFunc(known.keys, asked.Is) })
}
