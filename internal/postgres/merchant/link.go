package merchant

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

// codeAttempts bounds the search for unused short codes. There are 6.6e11 of
// them, so that even a second attempt is rare.
const codeAttempts = 5

// addLinks inserts the registration's links, each with a new short code.
func (reg *registering) addLinks(ctx context.Context) error {
	if len(reg.Links) == 0 {
		return nil
	}
	links := make([]commerce.Link, len(reg.Links))
	for i, url := range reg.Links {
		id, err := reg.newID()
		if err != nil {
			return err
		}
		links[i] = commerce.Link{LinkID: id, CampaignID: reg.campaignID, URL: url}
	}
	if err := reg.takeCodes(ctx, links); err != nil {
		return err
	}
	if err := reg.insertAll(ctx, len(links), `
		insert into link (company_id, link_id, influencer_id, campaign_id, url, code, rev, created_at)
		select @company_id, link_id, @influencer_id, campaign_id, url, code, @rev, @now
		from `+newLinks.Unnest("l")+`
		on conflict (company_id, link_id) do nothing returning link_id`,
		newLinks.Args(links, reg.args(pgx.NamedArgs{"influencer_id": reg.influencerID}))); err != nil {
		return err
	}
	ids := make([]string, len(links))
	for i, l := range links {
		ids[i] = l.LinkID
	}
	if err := reg.publishLinks(ctx, reg.influencerID, ids); err != nil {
		return err
	}
	for _, l := range links {
		if err := reg.outbox.rule(reg.change, l.LinkID, reg.rule(wire.RuleLink, wire.RuleCreated)); err != nil {
			return err
		}
		reg.codes = append(reg.codes, l.Code)
	}
	return nil
}

var newLinks = postgres.Rows[commerce.Link]{
	postgres.Col("link_id", "uuid", func(l *commerce.Link) string { return l.LinkID }),
	postgres.Col("campaign_id", "text", func(l *commerce.Link) string { return l.CampaignID }),
	postgres.Col("url", "text", func(l *commerce.Link) string { return l.URL }),
	postgres.Col("code", "text", func(l *commerce.Link) string { return l.Code }),
}

var newCodes = postgres.Rows[*commerce.Link]{
	postgres.Col("link_id", "uuid", func(l **commerce.Link) string { return (*l).LinkID }),
	postgres.Col("code", "text", func(l **commerce.Link) string { return (*l).Code }),
}

// takeCodes sets the Code of each link to one that no link of any company ever had.
func (reg *registering) takeCodes(ctx context.Context, links []commerce.Link) error {
	var missing []*commerce.Link
	for i := range links {
		missing = append(missing, &links[i])
	}
	for range codeAttempts {
		for _, l := range missing {
			code, err := commerce.NewShortCode(reg.random)
			if err != nil {
				return err
			}
			l.Code = code
		}
		asked := len(missing)
		if err := reg.query(ctx, `
			insert into short_code (code, company_id, link_id)
			select code, @company_id, link_id from `+newCodes.Unnest("c")+`
			on conflict do nothing returning link_id`,
			newCodes.Args(missing, pgx.NamedArgs{"company_id": reg.change.CompanyID}), func(claimed []string) error {
				missing = slices.DeleteFunc(missing, func(l *commerce.Link) bool { return slices.Contains(claimed, l.LinkID) })
				if reg.later != nil && len(claimed) != asked {
					return errCodeTaken
				}
				return nil
			}); err != nil {
			return err
		}
		if len(missing) == 0 || reg.later != nil {
			return nil
		}
	}
	return fmt.Errorf("no free short code in %d attempts", codeAttempts)
}

// publishLinks adds the records of an influencer's live links to the directory, as they are now: of those with the ids,
// or of all where ids is nil.
func (c *ruleChange) publishLinks(ctx context.Context, influencerID string, ids []string) error {
	return queryRows(ctx, c, postgres.Scan(directoryLinkColumns), selectDirectoryLinks+`
		where l.company_id = @company_id and l.influencer_id = @influencer_id and l.archived_at is null
			and (@link_ids::uuid[] is null or l.link_id = any(@link_ids))
		order by l.link_id`,
		pgx.NamedArgs{"company_id": c.change.CompanyID, "influencer_id": influencerID, "link_ids": ids}, func(list []directoryLink) error {
			for _, l := range list {
				l.link.V = 1
				if err := c.outbox.add(wire.TopicDirectory, wire.LinkKeyPrefix+l.code, l.link); err != nil {
					return err
				}
			}
			return nil
		})
}

func linkColumns(l *owned[commerce.Link]) postgres.Columns {
	return postgres.Columns{
		postgres.Into("influencer_id", &l.influencerID),
		postgres.Into("link_id", &l.it.LinkID),
		postgres.Into("campaign_id", &l.it.CampaignID),
		postgres.Into("url", &l.it.URL),
		postgres.Into("code", &l.it.Code),
	}
}

func (p *influencerPage) links(ctx context.Context, tx pgx.Tx) error {
	list, err := postgres.Collect(ctx, tx, postgres.Scan(linkColumns), `
		select `+postgres.List(linkColumns)+` from link
		where company_id = $1 and influencer_id = any($2::uuid[]) and archived_at is null
		order by link_id`, p.companyID, p.ids)
	for _, l := range list {
		of := p.byID[l.influencerID]
		of.Links = append(of.Links, l.it)
	}
	return err
}
