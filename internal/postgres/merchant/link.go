package merchant

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

// codeAttempts bounds the search for free short codes. With 6.6e11 of them the
// second attempt is already rare.
const codeAttempts = 5

// addLinks makes the registration's links, each with a short code of its own.
func (reg *registering) addLinks(ctx context.Context) error {
	ids := make([]string, len(reg.Links))
	for i := range ids {
		id, err := reg.newID()
		if err != nil {
			return err
		}
		ids[i] = id
	}
	codes, err := reg.takeCodes(ctx, ids)
	if err != nil {
		return err
	}
	_, err = reg.tx.Exec(ctx, `
		insert into link (company_id, link_id, influencer_id, campaign_id, url, code, rev, created_at)
		select $1, link_id, $2, $3, url, code, $4, clock_timestamp()
		from unnest($5::uuid[], $6::text[], $7::text[]) as l (link_id, url, code)`,
		reg.change.CompanyID, reg.influencerID, reg.campaignID, reg.change.Rev, ids, reg.Links, codes)
	if err != nil {
		return err
	}
	for i, id := range ids {
		link := wire.Link{
			V: 1, Rev: reg.change.Rev, CompanyID: reg.change.CompanyID, LinkID: id,
			InfluencerID: reg.influencerID, CampaignID: reg.campaignID, URL: reg.Links[i],
			Influencer: reg.influencerName, Campaign: reg.campaignName,
		}
		if err := reg.outbox.add(wire.TopicDirectory, wire.LinkKeyPrefix+codes[i], link); err != nil {
			return err
		}
		if err := reg.outbox.rule(reg.change, id, reg.rule(wire.RuleLink, wire.RuleCreated)); err != nil {
			return err
		}
	}
	reg.codes = codes
	return nil
}

// takeCodes claims a free code for each link, over all companies.
func (reg *registering) takeCodes(ctx context.Context, linkIDs []string) ([]string, error) {
	codes := make([]string, len(linkIDs))
	missing := make([]int, len(linkIDs))
	for i := range missing {
		missing[i] = i
	}
	for range codeAttempts {
		var tryCodes, tryIDs []string
		for _, i := range missing {
			code, err := commerce.NewShortCode(reg.random)
			if err != nil {
				return nil, err
			}
			codes[i] = code
			tryCodes, tryIDs = append(tryCodes, code), append(tryIDs, linkIDs[i])
		}
		rows, err := reg.tx.Query(ctx, `
			insert into short_code (code, company_id, link_id)
			select code, $1, link_id from unnest($2::text[], $3::uuid[]) as c (code, link_id)
			on conflict do nothing returning link_id::text`, reg.change.CompanyID, tryCodes, tryIDs)
		if err != nil {
			return nil, err
		}
		taken, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return nil, err
		}
		if len(taken) == len(missing) {
			return codes, nil
		}
		done := make(map[string]bool, len(taken))
		for _, id := range taken {
			done[id] = true
		}
		var still []int
		for _, i := range missing {
			if !done[linkIDs[i]] {
				still = append(still, i)
			}
		}
		missing = still
	}
	return nil, fmt.Errorf("no free short code in %d attempts", codeAttempts)
}

func (p *influencerPage) links(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
		select influencer_id::text, link_id::text, campaign_id, url, code from link
		where company_id = $1 and influencer_id = any($2::uuid[]) and archived_at is null
		order by link_id`, p.companyID, p.ids)
	if err != nil {
		return err
	}
	var id string
	var l commerce.Link
	_, err = pgx.ForEachRow(rows, []any{&id, &l.LinkID, &l.CampaignID, &l.URL, &l.Code}, func() error {
		p.byID[id].Links = append(p.byID[id].Links, l)
		return nil
	})
	return err
}
