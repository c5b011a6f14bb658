package merchant

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

// directoryPage is the greatest number of records in a page of Directory.
const directoryPage = 500

// Directory calls f with pages of all records of directory.v1, as the tables are
// now: the installation's id, companies, then each company's links, then API keys. For what exists no
// more it makes a tombstone, since an earlier one may have been lost: for archived
// links, for companies without a row and their links, which short_code still
// lists, and for API keys a day after their end.
func (r *Relay) Directory(ctx context.Context, shortBase string, keyCheck func(string) string,
	f func(page []account.OutboxRecord) error) error {
	pages := &directoryPages{f: f}
	for _, part := range []struct {
		name string
		walk func() error
	}{
		{"the installation", func() error {
			id, err := installationID(ctx, r.conn)
			if err != nil {
				return err
			}
			return pages.add(wire.InstallationKey, wire.Installation{V: 1, ID: id, ShortBase: shortBase})
		}},
		{"companies", func() error {
			return r.eachText(ctx, `select company_id from company where company_id > $1 order by company_id limit $2`, func(id string) error {
				c, err := directoryCompany(ctx, r.conn.Conn(), id, keyCheck)
				if err != nil {
					return err
				}
				return pages.add(wire.CompanyKeyPrefix+id, c)
			})
		}},
		{"gone companies", func() error {
			return r.eachText(ctx, `
				select distinct s.company_id from short_code s
				where s.company_id > $1 and not exists (select 1 from company c where c.company_id = s.company_id)
				order by s.company_id limit $2`, func(id string) error { return pages.add(wire.CompanyKeyPrefix+id, nil) })
		}},
		{"links", func() error {
			return r.eachText(ctx, `select company_id from company where company_id > $1 order by company_id limit $2`, func(id string) error {
				return r.directoryLinks(ctx, id, pages)
			})
		}},
		{"links of gone companies", func() error {
			return r.eachText(ctx, `
				select s.code from short_code s
				where s.code > $1 and not exists (select 1 from company c where c.company_id = s.company_id)
				order by s.code limit $2`, func(code string) error { return pages.add(wire.LinkKeyPrefix+code, nil) })
		}},
		{"API keys", func() error { return r.directoryKeys(ctx, pages) }},
	} {
		err := part.walk()
		if err == nil {
			err = pages.flush()
		}
		if err != nil {
			return fmt.Errorf("postgres: directory of %s: %w", part.name, postgres.Translate(err))
		}
	}
	return nil
}

// Company is the record of a company as Directory has it.
func (r *Relay) Company(ctx context.Context, companyID string, keyCheck func(string) string) (record account.OutboxRecord, err error) {
	pages := directoryPages{}
	c, err := directoryCompany(ctx, r.conn, companyID, keyCheck)
	if err == nil {
		err = pages.add(wire.CompanyKeyPrefix+companyID, c)
	}
	if err != nil {
		return record, fmt.Errorf("postgres: directory of %s: %w", companyID, postgres.Translate(err))
	}
	return pages.page[0], nil
}

// Directory calls f with what Relay.Directory would publish, without the key checks and the short base.
func (s *Store) Directory(ctx context.Context, f func(page []account.OutboxRecord) error) error {
	conn, err := s.db.Pool().Acquire(ctx)
	if err != nil {
		return fmt.Errorf("postgres: directory: %w", postgres.Translate(err))
	}
	defer conn.Release()
	return (&Relay{conn: conn}).Directory(ctx, "", nil, f)
}

// directoryPages collects records and calls f with pages of them.
type directoryPages struct {
	f    func(page []account.OutboxRecord) error
	page []account.OutboxRecord
}

// add adds the record of a key; a nil value makes it a tombstone.
func (p *directoryPages) add(key string, value any) error {
	record := account.OutboxRecord{Topic: wire.TopicDirectory, Key: key}
	if value != nil {
		var err error
		if record.Value, err = json.Marshal(value); err != nil {
			return err
		}
	}
	if p.page = append(p.page, record); len(p.page) < directoryPage {
		return nil
	}
	return p.flush()
}

func (p *directoryPages) flush() error {
	page := p.page
	if p.page = nil; len(page) == 0 {
		return nil
	}
	return p.f(page)
}

// eachRow calls f with each row that page reads, page by page: page returns the
// first directoryPage rows whose key is above after.
func eachRow[T any](after string, page func(after string) ([]T, error), key func(*T) string, f func(*T) error) error {
	for {
		rows, err := page(after)
		if err != nil {
			return err
		}
		for i := range rows {
			if err := f(&rows[i]); err != nil {
				return err
			}
			after = key(&rows[i])
		}
		if len(rows) < directoryPage {
			return nil
		}
	}
}

// eachText calls f with each text that a query returns, page by page: $1 is the
// text after which the next page begins, $2 the number of texts in a page.
func (r *Relay) eachText(ctx context.Context, sql string, f func(text string) error) error {
	return eachRow("", func(after string) ([]string, error) {
		return postgres.Collect(ctx, r.conn, pgx.RowTo[string], sql, after, directoryPage)
	}, func(text *string) string { return *text }, func(text *string) error { return f(*text) })
}

type directoryLink struct {
	code     string
	archived bool
	link     wire.Link
}

func directoryLinkColumns(l *directoryLink) postgres.Columns {
	return postgres.Columns{
		postgres.Into("l.code", &l.code),
		postgres.Into("l.archived_at is not null", &l.archived),
		postgres.Into("l.company_id", &l.link.CompanyID),
		postgres.Into("l.link_id", &l.link.LinkID),
		postgres.Into("l.influencer_id", &l.link.InfluencerID),
		postgres.Into("l.campaign_id", &l.link.CampaignID),
		postgres.Into("l.url", &l.link.URL),
		postgres.Into("i.name", &l.link.Influencer),
		postgres.Into("c.name", &l.link.Campaign),
		postgres.Into(formerNames, &l.link.Former),
		postgres.Into("greatest(l.rev, i.rev, c.rev)", &l.link.Rev),
	}
}

// selectDirectoryLinks begins a statement on links (l).
var selectDirectoryLinks = `
	select ` + postgres.List(directoryLinkColumns) + `
	from link l
	join influencer i on i.company_id = l.company_id and i.influencer_id = l.influencer_id
	join campaign c on c.company_id = l.company_id and c.campaign_id = l.campaign_id`

// directoryLinks adds every link of a company, the archived ones as tombstones.
func (r *Relay) directoryLinks(ctx context.Context, companyID string, pages *directoryPages) error {
	return eachRow(uuid.Nil.String(), func(after string) ([]directoryLink, error) {
		return postgres.Collect(ctx, r.conn, postgres.Scan(directoryLinkColumns), selectDirectoryLinks+`
			where l.company_id = @company_id and l.link_id > @after
			order by l.link_id limit @most`, pgx.NamedArgs{"company_id": companyID, "after": after, "most": directoryPage})
	}, func(l *directoryLink) string { return l.link.LinkID }, func(l *directoryLink) error {
		if l.archived {
			return pages.add(wire.LinkKeyPrefix+l.code, nil)
		}
		l.link.V = 1
		return pages.add(wire.LinkKeyPrefix+l.code, l.link)
	})
}

func directoryCompanyColumns(c *wire.Company) postgres.Columns {
	return postgres.Columns{
		postgres.Into("company_id", &c.CompanyID),
		postgres.Into("rules_rev", &c.Rev),
		postgres.Into("store_id::text", &c.StoreID),
		postgres.Into("environment", &c.Environment),
		postgres.Into("origins", &c.Origins),
		postgres.Into("country", &c.Country),
		postgres.Into("timezone", &c.Timezone),
		postgres.Into("hosts", &c.Hosts),
		postgres.Into("limits", &c.Limits),
		postgres.Into("consent_policy", &c.ConsentPolicy),
		postgres.Into("archived_at", &c.ArchivedAt),
	}
}

// directoryCompany reads what the edge needs of a company. Where keyCheck is nil
// the relay has to add the check.
func directoryCompany(ctx context.Context, q postgres.Querier, companyID string, keyCheck func(string) string) (wire.Company, error) {
	c, err := postgres.One(ctx, q, postgres.Scan(directoryCompanyColumns),
		`select `+postgres.List(directoryCompanyColumns)+` from company where company_id = $1`, companyID)
	if err != nil {
		return c, err
	}
	c.V = 1
	if c.ArchivedAt != nil {
		*c.ArchivedAt = c.ArchivedAt.UTC()
	}
	if keyCheck != nil {
		c.KeyCheck = keyCheck(companyID)
	}
	return c, nil
}
